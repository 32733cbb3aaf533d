-- Closes on live data: the moment a period closes at, the closes that were made, and who may post
-- into a period that is closing.
alter table usance.periods add column closing_at timestamptz;  -- what this close knows of
update usance.live_tables set changes = '{state,known_at,closing_at}' where name = 'periods';

create table usance.closes (
    name text primary key,                                  -- 2024-07.1
    close_no integer not null unique,
    period text not null,                                   -- as it was asked for: 2024-07, 2024Q3
    first smallint not null,                                -- month
    last smallint not null,
    known_at timestamptz not null,
    closed_at timestamptz not null,
    state text not null check (state in ('effective', 'reopened')),
    loans bigint not null,
    journals integer not null,                              -- that came back into the ledger
    controls jsonb not null
);
alter table usance.closes enable row level security;
alter table usance.closes force row level security;
create policy seen on usance.closes for select
    to usance_application, usance_reader, usance_batch_writer
    using (usance.sees_all(usance.principal()));
create policy written on usance.closes to usance_writer using (true) with check (true);
grant select on usance.closes to usance_application, usance_batch_writer, usance_reader;
grant select, insert, update on usance.closes to usance_writer;
insert into usance.live_tables values ('closes', 'name', '{state}');

-- Postings go into open periods alone; those of a close also into the one that is closing. The lock
-- is shared and held to the commit: a period begins to close when no posting into it is under way.
create or replace function usance.check_period() returns trigger
language plpgsql as $$
declare
    refused smallint;
begin
    perform pg_advisory_xact_lock_shared(1885696617);
    select added.period into refused
    from (select distinct period, journal_id < 4503599627370496 as of_close from added) added
    left join usance.periods p
        on p.period = added.period and (p.state = 0 or p.state = 1 and added.of_close)
    where p.period is null
    limit 1;
    if found then
        raise exception 'period % is not open', refused using errcode = 'US003';
    end if;
    return null;
end
$$;

-- Periods are opened again before what they admit is moved into them, in the same transaction.
create function usance.open_periods(since smallint) returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.periods set state = 0 where period >= since and state in (1, 2)
$$;
alter function usance.open_periods owner to usance_writer;
revoke all on function usance.open_periods from public;
grant execute on function usance.open_periods to usance_application;
