-- Split settlement: batches of each institution, never changed once closed, and claims.

create table usance.settlements (
    settlement_id bigint primary key,
    institution smallint not null,
    day date not null,                                      -- cut-off
    settled_through date,                                   -- of the batch before
    lines integer not null,
    total_minor bigint not null,                            -- owed to it, or by it where negative
    corrections_minor bigint not null,                      -- the part for days settled before
    carried_minor bigint not null,                          -- owed by it of batches before
    digest text not null,
    state text not null check (state in ('closed', 'acknowledged', 'disputed')),
    differences jsonb not null,                             -- theirs less ours, line by line
    order_id bigint not null,                               -- that pays it, or 0
    made_at timestamptz not null,
    answered_at timestamptz,
    unique (institution, day)
);
create table usance.settlement_rows (
    settlement_id bigint not null,
    no integer not null check (no > 0),
    institution smallint not null,
    loan_id bigint not null,
    day date not null,
    kind smallint not null,
    amount_minor bigint not null,
    primary key (settlement_id, no)
);
create index settlement_rows_loan on usance.settlement_rows (loan_id, institution);
create trigger append_only before update or delete or truncate on usance.settlement_rows
    for each statement execute function usance.refuse_change();
create table usance.settlement_marks (                      -- what is known and was looked at
    institution smallint primary key,
    day date not null,
    through_xid bigint not null
);

create table usance.claims (                                -- of a loan that was compensated
    claim_id bigint primary key,
    loan_id bigint not null,
    institution smallint not null,
    guarantor smallint not null,                            -- 0: the platform itself
    fact_ref bigint not null,
    amount_minor bigint not null,
    made_on date not null,
    settlement_id bigint not null,                          -- the batch that pays it, or 0
    state text not null check (state in ('paid', 'withdrawn')),
    unique (loan_id, fact_ref)
);

do $$
declare
    name text;
begin
    foreach name in array array['settlements', 'settlement_rows', 'settlement_marks', 'claims'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal()))'
            ' or ((select (usance.principal()).kind) = ''institution'''
            ' and institution = (select (usance.principal()).party)))', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format(
            'grant select on usance.%I to usance_application, usance_batch_writer, usance_reader',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;
insert into usance.live_tables values
    ('settlements', 'settlement_id', '{state,differences,answered_at}'),
    ('settlement_rows', 'settlement_id, no', '{}'),
    ('settlement_marks', 'institution', '{day,through_xid}'),
    ('claims', 'claim_id', '{state,settlement_id}');
