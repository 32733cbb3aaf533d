-- `next` offers what may be worked now: by day at the debtor, in a language that the caller speaks.
-- What may not be contacted yet is put off, and whoever's hour it is stays with it.

drop function usance.next_case(bigint, smallint[], timestamptz, timestamptz);

-- The case that somebody has in work, else the best of theirs, else the best that is nobody's; its row
-- is locked until the end of the transaction, and nothing is changed. An agency is offered what is
-- placed with it, everybody else what is with none.
create function usance.next_case(
    who bigint, wanted smallint[], spoken text[], now timestamptz,
    opens time, closes time, zone text
) returns bigint
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_user bigint;
    caller usance.principals := usance.principal();
    of_agency bigint := 0;
    of_agent bigint;
begin
    if caller.kind = 'agency' then
        of_agency := caller.principal_id;
    elsif not usance.sees_all(caller) then
        return null;
    end if;
    select c.user_id into found_user from usance.cases c
        where c.agent = who and c.locked_until > now and c.closed_on is null
        order by c.user_id limit 1 for update;
    foreach of_agent in array case when who = 0 then array[0] else array[who, 0] end loop
        exit when found_user is not null;
        select c.user_id into found_user
            from usance.cases c left join usance.contact_profiles p using (user_id)
            where c.closed_on is null and not c.is_automatic
                and c.agency = of_agency and c.assigned = of_agent and c.stage = any (wanted)
                and (c.locked_until is null or c.locked_until <= now)
                and (c.next_at is null or c.next_at <= now)
                and (of_agent <> 0 or coalesce(p.language, 'zh') = any (spoken))
                and (now at time zone coalesce(p.time_zone, zone))::time >= opens
                and (now at time zone coalesce(p.time_zone, zone))::time < closes
                and not exists (select from usance.stops s
                                where s.user_id = c.user_id and s.ended_at is null)
            order by c.priority_minor desc, c.user_id
            limit 1 for update of c skip locked;
    end loop;
    return found_user;
end
$$;

create function usance.hold_case(id bigint, who bigint, until timestamptz) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_user(usance.principal(), id) then
        update usance.cases c set agent = who, locked_until = until where c.user_id = id;
    end if;
end
$$;

-- A case that may not be contacted yet: nobody's until then.
create function usance.rest_case(id bigint, until timestamptz) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_user(usance.principal(), id) then
        update usance.cases c set next_at = until, locked_until = null where c.user_id = id;
    end if;
end
$$;

-- Who says that a debtor lives elsewhere does not begin the day anew: for a day the zone before counts
-- as well, and so do calls of the last hours that another zone's clock has on another day.
alter table usance.contact_profiles
    add column zone_before text,
    add column zone_changed_at timestamptz;
update usance.live_tables set changes = changes || '{zone_before,zone_changed_at}'
where name = 'contact_profiles';

create function usance.calls_of_person(person bigint, day date, since timestamptz)
returns smallint[]
language sql stable security definer set search_path = usance, pg_temp as $$
    select coalesce(array_agg(a.place order by a.place), '{}') from usance.contact_attempts a
    where a.person_id = person and (a.local_day = day or a.began_at >= since) and a.place > 0
        and a.reached <> 'not_connected'
$$;
drop function usance.calls_of_person(bigint, date);

do $$
declare
    name text;
begin
    foreach name in array array[
        'next_case(bigint, smallint[], text[], timestamptz, time, time, text)',
        'hold_case(bigint, bigint, timestamptz)', 'rest_case(bigint, timestamptz)',
        'calls_of_person(bigint, date, timestamptz)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
