-- Time: the business date of a live lender moves at its cut-off, and what a day brings into force is
-- read again by every worker.

-- Settings that are valid from one of the days after one, up to another.
create function usance.begins_between(since date, until date) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select exists (select from usance.settings where valid_from > since and valid_from <= until)
$$;
alter function usance.begins_between owner to usance_writer;
grant select on usance.settings to usance_writer;
revoke all on function usance.begins_between from public;
grant execute on function usance.begins_between to usance_writer;

-- Months that a business date reaches, open from then on.
create function usance.reach_periods(since date, until date) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.periods (period, state)
    select ((extract(year from m) - 1970) * 12 + extract(month from m) - 1)::smallint, 0
    from generate_series(date_trunc('month', since), date_trunc('month', until), '1 month') m
    on conflict do nothing
$$;
alter function usance.reach_periods owner to usance_writer;
revoke all on function usance.reach_periods from public;
grant execute on function usance.reach_periods to usance_writer;

create or replace function usance.set_clock(moment timestamptz, day date) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    since date := (select business_date from usance.installation);
begin
    update usance.installation set clock = moment, business_date = day,
        configuration = configuration + usance.begins_between(since, day)::integer
    where mode = 0 and clock <= moment;
    if not found then
        raise exception 'the clock moves forwards, and in a sandbox alone' using errcode = 'US030';
    end if;
    perform setval('usance.ticks', 0, false);
    perform usance.reach_periods(since, day);
end
$$;

-- The cut-off of a live lender: its business date becomes the day that its clock says. True if it
-- moved. The moment is kept, so that a clock that is set back later gives no earlier one.
create function usance.cut_off() returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    since date := (select business_date from usance.installation);
    day date := (select (clock_timestamp() at time zone time_zone)::date from usance.installation);
begin
    update usance.installation set clock = clock_timestamp(), business_date = day,
        configuration = configuration + usance.begins_between(since, day)::integer
    where mode = 1 and business_date = since and day > since and clock <= clock_timestamp();
    if not found then
        return false;
    end if;
    perform usance.reach_periods(since, day);
    if not exists (select from usance.business_days) then
        -- A new lender's days begin with the evening of its first.
        insert into usance.business_days values (since, 'morning', clock_timestamp(), 0, 0);
    end if;
    return true;
end
$$;
grant select, insert on usance.business_days to usance_writer;
alter function usance.cut_off owner to usance_writer;
revoke all on function usance.cut_off from public;
grant execute on function usance.cut_off to usance_application;
