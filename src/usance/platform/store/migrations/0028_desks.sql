-- Desks: strategies in force, who works cases, agencies, channels that are down, what was sent.

alter table usance.settings drop constraint settings_kind_check;
alter table usance.settings add constraint settings_kind_check check (kind in
    ('lender', 'mandates', 'flow', 'model', 'parameter', 'strategy', 'agency', 'c_score'));

alter table usance.contact_profiles add column language text not null default 'zh'
    check (language in ('zh', 'en'));

alter table usance.cases
    add column principal_minor bigint not null default 0,
    add column loans integer not null default 0,
    add column segment text not null default '',
    add column arm text not null default '',
    add column is_automatic boolean not null default false, -- worked by a machine, not offered
    add column agency bigint not null default 0,            -- the agency it is placed with
    add column assigned bigint not null default 0;          -- by the morning's allocation
drop index usance.cases_next;
create index cases_next on usance.cases (agency, assigned, priority_minor desc, user_id)
    where closed_on is null and not is_automatic;
create index cases_automatic on usance.cases (next_at)
    where closed_on is null and is_automatic;
update usance.live_tables set changes = changes || '{principal_minor,loans,segment,arm,is_automatic,agency,assigned}'
where name = 'cases';
update usance.live_tables set changes = changes || '{language}' where name = 'contact_profiles';

create table usance.case_days (                             -- every case as it was on an evening
    day date not null,
    user_id bigint not null,
    days_past_due integer not null,
    past_due_minor bigint not null,
    principal_minor bigint not null,
    loans integer not null,
    stage smallint not null,
    segment text not null,
    arm text not null,
    primary key (user_id, day)
);
create index case_days_by_day on usance.case_days (day);

create table usance.agency_placements (
    user_id bigint not null,
    agency bigint not null,
    placed_on date not null,
    owed_minor bigint not null,
    target_ppm integer not null,
    recalled_on date,
    primary key (user_id, agency, placed_on)
);
create unique index agency_placements_open on usance.agency_placements (user_id)
    where recalled_on is null;
create index agency_placements_of on usance.agency_placements (agency, placed_on);

create table usance.outgoing (                              -- what a local adapter would send
    attempt_id bigint primary key,
    user_id bigint not null,
    channel text not null,
    language text not null,
    content text not null,
    sha256 text not null,                                   -- of a letter's file
    reference text not null
);

create table usance.collectors (                            -- who works cases, and what they can
    principal_id bigint primary key,
    desk text not null,
    slots integer not null check (slots >= 0),              -- cases a day
    stages smallint[] not null,
    languages text[] not null,
    skill_ppm integer not null check (skill_ppm >= 0)
);
create table usance.channel_outages (
    outage_id bigint primary key,
    channel text not null,
    began_at timestamptz not null,
    ended_at timestamptz,
    reason text not null
);
create unique index channel_outages_open on usance.channel_outages (channel)
    where ended_at is null;
create table usance.agency_reports (                        -- payments as an agency reports them
    agency bigint not null,
    reference text not null,
    user_id bigint not null,
    paid_on date not null,
    amount_minor bigint not null check (amount_minor > 0),
    primary key (agency, reference)
);

do $$
declare
    name text;
begin
    foreach name in array array['case_days', 'agency_placements', 'outgoing', 'agency_reports',
        'collectors', 'channel_outages'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format(
            'grant select on usance.%I to usance_application, usance_batch_writer, usance_reader',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
    foreach name in array array['case_days', 'outgoing'] loop
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal()))'
            ' or usance.sees_user((select usance.principal()), user_id))', name);
    end loop;
    foreach name in array array['agency_placements', 'agency_reports'] loop
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal()))'
            ' or agency = (select (usance.principal()).principal_id))', name);
    end loop;
    foreach name in array array['collectors', 'channel_outages'] loop
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal()))'
            ' or (select (usance.principal()).kind = ''agency''))', name);
    end loop;
end
$$;
insert into usance.live_tables values
    ('collectors', 'principal_id', '{desk,slots,stages,languages,skill_ppm}'),
    ('channel_outages', 'outage_id', '{ended_at}'),
    ('outgoing', 'attempt_id', '{}'),
    ('agency_reports', 'agency, reference', '{}');

-- An agency sees the borrowers whose case is placed with it, as long as it is.
create or replace function usance.sees_user(who usance.principals, id bigint) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select case
        when usance.sees_all(who) then true
        when who.kind = 'borrower' then who.user_id = id
        when who.kind = 'channel' then exists (
            select from usance.users u where u.user_id = id and u.channel = who.party)
        when who.kind = 'agency' then exists (
            select from usance.agency_placements p where p.user_id = id
                and p.agency = who.principal_id and p.recalled_on is null)
        else false
    end
$$;

-- The case that an agent has in work, else the best of theirs, else the best that is nobody's; theirs
-- until a moment. An agency is offered what is placed with it, everybody else what is with none.
create or replace function usance.next_case(
    who bigint, stages smallint[], now timestamptz, until timestamptz
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
        select c.user_id into found_user from usance.cases c
            where c.closed_on is null and not c.is_automatic
                and c.agency = of_agency and c.assigned = of_agent and c.stage = any (stages)
                and (c.locked_until is null or c.locked_until <= now)
                and (c.next_at is null or c.next_at <= now)
                and not exists (select from usance.stops s
                                where s.user_id = c.user_id and s.ended_at is null)
            order by c.priority_minor desc, c.user_id
            limit 1 for update of c skip locked;
    end loop;
    update usance.cases c set agent = who, locked_until = until where c.user_id = found_user;
    return found_user;
end
$$;

-- Cases at the end of a day: those given are open, every other one is closed, and comes back from its
-- agency. Who works a case, and when it is offered again, stays; all of it is kept by day.
drop function usance.serve_cases(date, bigint[], bigint[], bigint[], smallint[], bigint[]);
create function usance.serve_cases(
    day date, users bigint[], days bigint[], owed bigint[], principals bigint[], counts bigint[],
    stages smallint[], worth bigint[], segments text[], arms text[], automatic boolean[]
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
#variable_conflict use_column
begin
    if not usance.sees_all(usance.principal()) then
        return;
    end if;
    update usance.cases c set closed_on = serve_cases.day, days_past_due = 0, past_due_minor = 0,
        principal_minor = 0, loans = 0, locked_until = null, agency = 0, assigned = 0
        where c.closed_on is null and c.user_id <> all (serve_cases.users);
    update usance.agency_placements p set recalled_on = serve_cases.day
        where p.recalled_on is null and p.user_id <> all (serve_cases.users);
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
    select serve_cases.day, g.id, g.late, g.owed, g.principal, g.count, g.stage, g.segment, g.arm
    from unnest(users, days, owed, principals, counts, stages, segments, arms)
        g (id, late, owed, principal, count, stage, segment, arm)
    on conflict (user_id, day) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        principal_minor = excluded.principal_minor, loans = excluded.loans,
        stage = excluded.stage, segment = excluded.segment, arm = excluded.arm;
end
$$;

-- The morning's allocation; a case that nobody was given is nobody's.
create function usance.assign_cases(users bigint[], agents bigint[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_all(usance.principal()) then
        update usance.cases c set assigned = 0
            where c.closed_on is null and c.assigned <> 0 and c.user_id <> all (users);
        update usance.cases c set assigned = g.agent
        from unnest(users, agents) g (id, agent) where c.user_id = g.id and c.closed_on is null;
    end if;
end
$$;

create function usance.place_cases(
    who bigint, users bigint[], owed bigint[], target integer, day date
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_all(usance.principal()) then
        insert into usance.agency_placements
        select g.id, who, day, g.owed, target, null from unnest(users, owed) g (id, owed)
        on conflict (user_id, agency, placed_on) do update set
            owed_minor = excluded.owed_minor, target_ppm = excluded.target_ppm, recalled_on = null;
        update usance.cases c set agency = who, assigned = 0, agent = 0, locked_until = null
            where c.user_id = any (users);
    end if;
end
$$;

create function usance.recall_cases(users bigint[], day date) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_all(usance.principal()) then
        update usance.agency_placements p set recalled_on = day
            where p.user_id = any (users) and p.recalled_on is null;
        update usance.cases c set agency = 0, assigned = 0, agent = 0, locked_until = null
            where c.user_id = any (users);
    end if;
end
$$;

-- Cases that a machine works now are put off before it begins, so that no other takes them too.
create function usance.take_automatic(now timestamptz, until timestamptz, most integer)
returns bigint[]
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found bigint[];
begin
    if not usance.sees_all(usance.principal()) then
        return '{}';
    end if;
    with taken as (
        select c.user_id from usance.cases c
        where c.closed_on is null and c.is_automatic and c.agency = 0
            and (c.next_at is null or c.next_at <= now)
            and (c.locked_until is null or c.locked_until <= now)
        order by c.user_id limit most for update skip locked
    ), moved as (
        update usance.cases c set next_at = until from taken t where c.user_id = t.user_id
        returning c.user_id
    )
    select coalesce(array_agg(m.user_id order by m.user_id), '{}') into found from moved m;
    return found;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'assign_cases(bigint[], bigint[])', 'recall_cases(bigint[], date)',
        'place_cases(bigint, bigint[], bigint[], integer, date)',
        'take_automatic(timestamptz, timestamptz, integer)',
        'serve_cases(date, bigint[], bigint[], bigint[], bigint[], bigint[], smallint[], bigint[], text[], text[], boolean[])'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
