-- Commands that waited together: read once, written once, each row checked for its own principal.

-- A batch looks up the keys of all its commands, whoever gave them.
create policy seen_by_batches on usance.idempotency for select to usance_batch_writer using (true);

-- Who asks is found once for a statement, not once for a row; whoever sees all is asked no further.
do $$
declare
    each record;
begin
    for each in
        select tablename, qual from pg_policies
        where schemaname = 'usance' and policyname = 'seen'
            and (qual like '%sees_user(%' or qual like '%sees_loan(%')
    loop
        execute format(
            'alter policy seen on usance.%I using '
            '((select usance.sees_all(usance.principal())) or (%s))', each.tablename,
            replace(each.qual, 'usance.principal()', '(select usance.principal())'));
    end loop;
end
$$;
