-- Deals of asset-backed funding: what was agreed, its loans, its payment dates.
create table usance.deals (
    deal text primary key,
    text text not null,                                     -- the deal file
    source smallint not null,                               -- whose loans it takes
    holders smallint[] not null,                            -- institutions that hold its notes
    closing_on date not null,
    paid_on date not null,                                  -- the last payment date, or the closing
    until date not null,                                    -- collections up to this day are in
    next_on date,                                           -- none once it has ended
    known_at timestamptz not null,                          -- what the last date knew of
    carried jsonb not null,                                 -- reversed receipts beyond a period's own
    state jsonb not null,
    check (until < paid_on)
);
create index deals_next on usance.deals (next_on) where next_on is not null;

create table usance.deal_pools (
    deal text not null,
    loan_id bigint not null,
    from_on date not null,
    to_on date,                                             -- the deal's end
    price_minor bigint not null check (price_minor >= 0),
    reason text not null check (reason in ('closing', 'purchase')),
    defaulted_on date,                                      -- what it pays from then on is recovered
    primary key (deal, loan_id)
);
create unique index deal_pools_once on usance.deal_pools (loan_id) where to_on is null;

create table usance.deal_dates (
    deal text not null,
    period smallint not null,
    paid_on date not null,
    holders smallint[] not null,
    distribution jsonb not null,
    primary key (deal, period)
);

do $$
declare
    name text;
    test text;
begin
    for name, test in
        select * from (values
            ('deals', 'or ((usance.principal()).kind = ''institution'' '
                'and (usance.principal()).party = any (holders))'),
            ('deal_dates', 'or ((usance.principal()).kind = ''institution'' '
                'and (usance.principal()).party = any (holders))'),
            ('deal_pools', '')
        ) as each (name, test)
    loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using (usance.sees_all(usance.principal()) %s)', name, test);
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
    ('deals', 'deal', '{paid_on,until,next_on,known_at,carried,state}'),
    ('deal_pools', 'deal, loan_id', '{to_on,defaulted_on}'),
    ('deal_dates', 'deal, period', '{}');
