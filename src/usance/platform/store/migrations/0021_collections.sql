-- Collections: cases, contacts with their hard limit, promises, stops, complaints, offers of help.

create table usance.cases (                                 -- one for each borrower, opened again
    user_id bigint primary key,
    days_past_due integer not null check (days_past_due >= 0),
    past_due_minor bigint not null check (past_due_minor >= 0),
    stage smallint not null,
    priority_minor bigint not null,
    opened_on date not null,
    closed_on date,
    agent bigint not null,                                  -- who works it, or did last; 0 nobody
    locked_until timestamptz,                               -- it goes back then
    next_at timestamptz,                                    -- not offered before
    check ((closed_on is null) = (past_due_minor > 0))
);
create index cases_next on usance.cases (priority_minor desc, user_id) where closed_on is null;
create index cases_of_agent on usance.cases (agent) where locked_until is not null;

-- Every attempt is here before it is made. A call takes a place of its person's local day, and gives
-- it back only when it did not reach them: two cannot take one place, and there are three.
create table usance.contact_attempts (
    attempt_id bigint primary key,
    user_id bigint not null,
    person_id bigint not null,                              -- below zero: a user without a person
    channel text not null
        check (channel in ('push', 'message', 'email', 'ai_voice', 'voice', 'letter')),
    agent bigint not null,
    script text not null,
    began_at timestamptz not null,
    local_day date not null,                                -- on the debtor's own clock
    local_time time not null,
    place smallint not null,                                -- of a call; 0 for other channels
    reached text not null check (reached in ('open', 'connected', 'not_connected')),
    ended_at timestamptz,
    check ((place > 0) = (channel in ('voice', 'ai_voice'))),
    constraint contact_attempts_daily_limit check (place <= 3),
    constraint contact_attempts_quiet_hours
        check (channel = 'letter' or (local_time >= '08:00' and local_time < '22:00'))
);
create unique index contact_attempts_place on usance.contact_attempts (person_id, local_day, place)
    where place > 0 and reached <> 'not_connected';
create index contact_attempts_of_user on usance.contact_attempts (user_id, began_at);

create table usance.contact_profiles (
    user_id bigint primary key,
    time_zone text not null,
    channels text[] not null                                -- the debtor agreed to these
);

create table usance.promises (
    promise_id bigint primary key,
    user_id bigint not null,
    made_on date not null,
    due_on date not null check (due_on >= made_on),
    amount_minor bigint not null check (amount_minor > 0),
    channel text not null,
    agent bigint not null,
    state text not null check (state in ('open', 'kept', 'partly', 'broken'))
);
create index promises_open on usance.promises (user_id) where state = 'open';

create table usance.stops (                                 -- contacts rest, and debits with most
    stop_id bigint primary key,
    user_id bigint not null,
    reason text not null
        check (reason in ('deceased', 'fraud_victim', 'dispute', 'insolvency', 'request')),
    begun_at timestamptz not null,
    ended_at timestamptz,
    text text not null
);
create index stops_in_force on usance.stops (user_id) where ended_at is null;

create table usance.complaints (
    complaint_id bigint primary key,
    user_id bigint not null,
    subject text not null,
    against text not null,
    text text not null,
    received_on date not null,
    acknowledged_on date,
    answered_on date,
    answer text not null
);

create table usance.plan_offers (
    plan_id bigint primary key,
    user_id bigint not null,
    loan_id bigint not null,
    kind text not null,
    request jsonb not null,
    before jsonb not null,
    after jsonb not null,
    offered_on date not null,
    answer_by date not null,
    state text not null check (state in ('offered', 'accepted', 'declined'))
);

do $$
declare
    name text;
begin
    foreach name in array array['cases', 'contact_attempts', 'contact_profiles', 'promises', 'stops',
        'complaints', 'plan_offers'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal()))'
            ' or usance.sees_user((select usance.principal()), user_id))', name);
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
    ('cases', 'user_id', '{days_past_due,past_due_minor,stage,priority_minor,opened_on,closed_on,agent,locked_until,next_at}'),
    ('contact_attempts', 'attempt_id', '{reached,ended_at}'),
    ('contact_profiles', 'user_id', '{time_zone,channels}'),
    ('promises', 'promise_id', '{state}'),
    ('stops', 'stop_id', '{ended_at}'),
    ('complaints', 'complaint_id', '{acknowledged_on,answered_on,answer}'),
    ('plan_offers', 'plan_id', '{state}');

-- The case that an agent has in work, or the best that nobody has, theirs until a moment.
create function usance.next_case(
    who bigint, stages smallint[], now timestamptz, until timestamptz
) returns bigint
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_user bigint;
begin
    if not usance.sees_all(usance.principal()) then
        return null;
    end if;
    select c.user_id into found_user from usance.cases c
        where c.agent = who and c.locked_until > now and c.closed_on is null
        order by c.user_id limit 1 for update;
    if found_user is null then
        select c.user_id into found_user from usance.cases c
            where c.closed_on is null and c.stage = any (stages)
                and (c.locked_until is null or c.locked_until <= now)
                and (c.next_at is null or c.next_at <= now)
                and not exists (select from usance.stops s
                                where s.user_id = c.user_id and s.ended_at is null)
            order by c.priority_minor desc, c.user_id
            limit 1 for update of c skip locked;
    end if;
    update usance.cases c set agent = who, locked_until = until where c.user_id = found_user;
    return found_user;
end
$$;

-- Cases at the end of a day: those given are open, every other one is closed. Who works a case, and
-- when it is offered again, stays.
create function usance.serve_cases(
    day date, users bigint[], days bigint[], owed bigint[], stages smallint[], worth bigint[]
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if not usance.sees_all(usance.principal()) then
        return;
    end if;
    update usance.cases c set closed_on = day, days_past_due = 0, past_due_minor = 0,
        locked_until = null
        where c.closed_on is null and c.user_id <> all (users);
    insert into usance.cases
    select g.id, g.late, g.owed, g.stage, g.worth, day, null, 0, null, null
    from unnest(users, days, owed, stages, worth) g (id, late, owed, stage, worth)
    on conflict (user_id) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        stage = excluded.stage, priority_minor = excluded.priority_minor,
        opened_on = case when cases.closed_on is null then cases.opened_on
                    else excluded.opened_on end,
        next_at = case when cases.closed_on is null then cases.next_at end,
        closed_on = null;
end
$$;

create function usance.decide_promises(ids bigint[], states text[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if usance.sees_all(usance.principal()) then
        update usance.promises p set state = g.state
        from unnest(ids, states) g (id, state) where p.promise_id = g.id and p.state = 'open';
    end if;
end
$$;

-- Attempts of a person on one local day, over all users, desks and agencies.
create function usance.calls_of_person(person bigint, day date) returns smallint[]
language sql stable security definer set search_path = usance, pg_temp as $$
    select coalesce(array_agg(a.place order by a.place), '{}') from usance.contact_attempts a
    where a.person_id = person and a.local_day = day and a.place > 0
        and a.reached <> 'not_connected'
$$;

-- A stop or an open promise of any user of a person counts for all of them.
create function usance.users_of_person(person bigint) returns bigint[]
language sql stable security definer set search_path = usance, pg_temp as $$
    select coalesce(array_agg(p.user_id), '{}') from usance.user_persons p
    where p.person_id = person
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'next_case(bigint, smallint[], timestamptz, timestamptz)', 'calls_of_person(bigint, date)',
        'users_of_person(bigint)', 'decide_promises(bigint[], text[])',
        'serve_cases(date, bigint[], bigint[], bigint[], smallint[], bigint[])'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
