-- Evenings with the version of their strategy and the desk it gave each case to.

alter table usance.case_days
    add column strategy text not null default '',           -- empty before it was kept
    add column desk text not null default '';

drop function usance.serve_cases(
    date, bigint[], bigint[], bigint[], bigint[], bigint[], smallint[], bigint[], text[], text[],
    boolean[]
);
create function usance.serve_cases(
    day date, users bigint[], days bigint[], owed bigint[], principals bigint[], counts bigint[],
    stages smallint[], worth bigint[], segments text[], arms text[], automatic boolean[],
    desks text[], strategy text
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
#variable_conflict use_column
declare
    gone bigint[];
begin
    if not usance.sees_all(usance.principal()) then
        return;
    end if;
    -- `<> all (users)` would look through every user for each case.
    select array_agg(user_id) into gone from (
        select user_id from (
            select c.user_id from usance.cases c where c.closed_on is null
            union select p.user_id from usance.agency_placements p where p.recalled_on is null
        ) known except select unnest(serve_cases.users)) left_over;
    update usance.cases c set closed_on = serve_cases.day, days_past_due = 0, past_due_minor = 0,
        principal_minor = 0, loans = 0, locked_until = null, agency = 0, assigned = 0
        from unnest(gone) g (id) where c.user_id = g.id and c.closed_on is null;
    update usance.agency_placements p set recalled_on = serve_cases.day
        from unnest(gone) g (id) where p.user_id = g.id and p.recalled_on is null;
    insert into usance.cases
    select g.id, g.late, g.owed, g.stage, g.worth, serve_cases.day, null, 0, null, null, g.principal, g.count,
        g.segment, g.arm, g.automatic, 0, 0
    from unnest(users, days, owed, principals, counts, stages, worth, segments, arms, automatic)
        g (id, late, owed, principal, count, stage, worth, segment, arm, automatic)
    on conflict (user_id) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        principal_minor = excluded.principal_minor, loans = excluded.loans,
        stage = excluded.stage, priority_minor = excluded.priority_minor,
        segment = excluded.segment, arm = excluded.arm, is_automatic = excluded.is_automatic,
        opened_on = case when cases.closed_on is null then cases.opened_on
                    else excluded.opened_on end,
        next_at = case when cases.closed_on is null then cases.next_at end,
        closed_on = null;
    insert into usance.case_days
    select serve_cases.day, g.id, g.late, g.owed, g.principal, g.count, g.stage, g.segment, g.arm,
        serve_cases.strategy, g.desk
    from unnest(users, days, owed, principals, counts, stages, segments, arms, desks)
        g (id, late, owed, principal, count, stage, segment, arm, desk)
    on conflict (user_id, day) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        principal_minor = excluded.principal_minor, loans = excluded.loans,
        stage = excluded.stage, segment = excluded.segment, arm = excluded.arm,
        strategy = excluded.strategy, desk = excluded.desk;
end
$$;
alter function usance.serve_cases(date, bigint[], bigint[], bigint[], bigint[], bigint[],
    smallint[], bigint[], text[], text[], boolean[], text[], text) owner to usance_writer;
revoke all on function usance.serve_cases(date, bigint[], bigint[], bigint[], bigint[], bigint[],
    smallint[], bigint[], text[], text[], boolean[], text[], text) from public;
grant execute on function usance.serve_cases(date, bigint[], bigint[], bigint[], bigint[], bigint[],
    smallint[], bigint[], text[], text[], boolean[], text[], text) to usance_application;
