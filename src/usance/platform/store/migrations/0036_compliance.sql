-- Screening against lists, requests of persons about their data and decisions, and retention.

-- A hit stops money until a person has decided it. Channels and borrowers do not see hits: whoever
-- is on a list is not told so by the platform. Why it was decided lies under the user's key.
create table usance.screening_hits (
    hit_id bigint primary key,
    user_id bigint not null,
    list text not null,
    entry text not null,
    digest bytea not null check (length(digest) = 32),      -- of the entry as it was
    kind text not null,
    score_ppm integer not null,
    occasion text not null check (occasion in ('registration', 'payout', 'list')),
    state text not null check (state in ('open', 'cleared', 'confirmed')),
    found_at timestamptz not null,
    decided_at timestamptz,
    decided_by integer
);
create unique index screening_hits_entry on usance.screening_hits (user_id, list, entry, digest);
create index screening_hits_stopping on usance.screening_hits (user_id) where state <> 'cleared';
create index screening_hits_open on usance.screening_hits (hit_id) where state = 'open';
create table usance.screened (                              -- the lists a user was compared with
    user_id bigint primary key,
    version text not null,
    at timestamptz not null
);
create table usance.screening_runs (
    run_id bigint generated always as identity primary key,
    version text not null,
    entries integer not null,
    persons integer not null,
    hits integer not null,
    ended_at timestamptz not null
);

-- What a person asks for about their data and decisions; its words lie under the user's key.
create table usance.rights_requests (
    request_id bigint primary key,
    user_id bigint not null,
    kind text not null check (kind in ('correction', 'review')),
    field text not null,                                    -- of a correction
    decision_id bigint not null,                            -- of a review, else 0
    received_on date not null,
    answer_by date not null,
    state text not null check (state in ('open', 'granted', 'refused')),
    answered_on date,
    answered_by integer
);
create index rights_requests_of_user on usance.rights_requests (user_id);
create index rights_requests_open on usance.rights_requests (answer_by) where state = 'open';

-- What retention has deleted and kept, rule by rule, for ever.
create table usance.retention_runs (
    run_id bigint generated always as identity primary key,
    day date not null,
    rule text not null,
    days integer not null,
    before timestamptz not null,
    deleted bigint not null,
    kept bigint not null,
    at timestamptz not null default clock_timestamp(),
    unique (day, rule)
);
create trigger append_only before update or delete or truncate on usance.retention_runs
    for each statement execute function usance.refuse_change();

do $$
declare
    name text;
begin
    foreach name in array array['screening_hits', 'screened', 'screening_runs', 'rights_requests',
        'retention_runs'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert on usance.%I to usance_writer', name);
        execute format(
            'grant select on usance.%I to usance_application, usance_batch_writer, usance_reader',
            name);
        if name <> 'rights_requests' then
            execute format(
                'create policy seen on usance.%I for select to usance_application, usance_reader,'
                ' usance_batch_writer using ((select usance.sees_all(usance.principal())))', name);
        end if;
    end loop;
end
$$;
create policy seen on usance.rights_requests for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal()))
        or usance.sees_user((select usance.principal()), user_id));
grant update, delete on usance.screening_hits, usance.screened, usance.rights_requests
    to usance_writer;
insert into usance.live_tables values
    ('screening_hits', 'hit_id', '{state,decided_at,decided_by}'),
    ('screened', 'user_id', '{version,at}'),
    ('rights_requests', 'request_id', '{state,answered_on,answered_by}');
-- Words that were kept in clear before lie under the key from their next change on.
update usance.live_tables set changes = changes || '{text}'
    where name in ('complaints', 'stops', 'hardship_requests');

-- Whether hits stop a user's money: blocked, held, or the lists they were compared with last.
create function usance.screening_state(id bigint) returns text
language sql stable security definer set search_path = usance, pg_temp as $$
    select case
        when not usance.sees_user(usance.principal(), id) then null
        else coalesce(
            (select case when bool_or(h.state = 'confirmed') then 'blocked' else 'held' end
             from usance.screening_hits h where h.user_id = id and h.state <> 'cleared'
             having count(*) > 0),
            (select s.version from usance.screened s where s.user_id = id), '')
    end
$$;
create function usance.screening_of(id bigint)
returns table (list text, entry text, digest bytea, state text)
language sql stable security definer set search_path = usance, pg_temp as $$
    select h.list, h.entry, h.digest, h.state from usance.screening_hits h
    where h.user_id = id and usance.sees_user(usance.principal(), id)
$$;
create function usance.mark_screened(ids bigint[], version text, at timestamptz) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.screened
    select g.id, mark_screened.version, mark_screened.at from unnest(ids) g (id)
    where (usance.principal()).principal_id = 0
    on conflict (user_id) do update set version = excluded.version, at = excluded.at
$$;
create function usance.note_screening_run(
    version text, entries integer, persons integer, hits integer
) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.screening_runs (version, entries, persons, hits, ended_at)
    select note_screening_run.version, note_screening_run.entries, note_screening_run.persons,
        note_screening_run.hits, clock_timestamp() where (usance.principal()).principal_id = 0
$$;

create or replace function usance.erase_user(id bigint, moment timestamptz) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if not usance.sees_user(usance.principal(), id) then
        return false;
    end if;
    insert into usance.erasures values (id, moment, (usance.principal()).principal_id)
        on conflict do nothing;
    if not found then
        return false;
    end if;
    perform usance.replay_erasures(array[id]);
    return true;
end
$$;
create or replace function usance.replay_erasures(users bigint[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    known bigint[];
begin
    delete from usance.subject_keys k where k.subject = any (users);
    delete from usance.sealed s where s.user_id = any (users);
    delete from usance.client_refs c where c.user_id = any (users);
    with gone as (
        delete from usance.user_persons p where p.user_id = any (users) returning p.person_id)
    select array_agg(person_id) into known from gone;
    delete from usance.persons p where p.person_id = any (known)
        and not exists (select from usance.user_persons o where o.person_id = p.person_id);
    update usance.accounts a set details = '', masked = '' where a.user_id = any (users);
    delete from usance.screened s where s.user_id = any (users);
    delete from usance.screening_hits h where h.user_id = any (users) and h.state = 'cleared';
    update usance.complaints c set text = '', answer = '' where c.user_id = any (users);
    update usance.hardship_requests h set text = '', answer = '' where h.user_id = any (users);
    update usance.stops s set text = '' where s.user_id = any (users);
end
$$;

-- A try to sign in is counted before the password is looked at, so that many at once are no more
-- than one after the other; who comes in begins anew. False while the account rests.
create function usance.begin_sign_in(principal_id integer) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.operators o set
        failures = o.failures + 1,
        locked_until = case when o.failures + 1 >= 5
            then clock_timestamp() + least(interval '1 hour',
                interval '15 seconds' * power(2, least(o.failures - 4, 20))) end
    where o.principal_id = begin_sign_in.principal_id
        and (o.locked_until is null or o.locked_until <= clock_timestamp());
    return found;
end
$$;
drop function usance.note_failure(integer);

-- True for a phone that somebody has: messages go to no other.
create function usance.is_known_phone(phone bytea) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select exists (select from usance.user_persons p where p.phone = is_known_phone.phone)
$$;

-- After a restore to a moment: erase again whom the log erased after it.
create function usance.erase_again(users bigint[], moments timestamptz[], principals integer[])
returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    insert into usance.erasures
        select g.id, g.at, g.who from unnest(users, moments, principals) g (id, at, who)
        on conflict do nothing;
    perform usance.replay_erasures(users);
end
$$;
alter function usance.erase_again owner to usance_writer;
revoke all on function usance.erase_again from public;

-- Retention: delete what a rule no longer allows, and count what stays. Times of use are of the
-- wall clock; what a loan or a decision carries is of the business clock.
create function usance.retain(
    day date, rule text, days integer, before timestamptz,
    out deleted bigint, out kept bigint
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    gone bigint[];
begin
    if (usance.principal()).principal_id is distinct from 0 then
        return;
    end if;
    deleted := 0;
    case rule
    when 'answers' then
        delete from usance.idempotency i where i.booked_at < before;
        get diagnostics deleted = row_count;
        select count(*) into kept from usance.idempotency;
    when 'request_log' then
        delete from usance.api_requests r where r.at < before;
        get diagnostics deleted = row_count;
        select count(*) into kept from usance.api_requests;
    when 'codes' then
        delete from usance.one_time_codes c where c.made_at < before;
        get diagnostics deleted = row_count;
        with old as (delete from usance.borrower_links l where l.made_at < before returning 1)
        select deleted + count(*) into deleted from old;
        select (select count(*) from usance.one_time_codes)
            + (select count(*) from usance.borrower_links) into kept;
    when 'sessions' then
        delete from usance.sessions s where s.ends_at < before;
        get diagnostics deleted = row_count;
        select count(*) into kept from usance.sessions;
    when 'deliveries' then
        delete from usance.deliveries d where d.state <> 'waiting' and d.first_at < before;
        get diagnostics deleted = row_count;
        select count(*) into kept from usance.deliveries;
    when 'inputs' then                                      -- of users who were granted nothing
        delete from usance.sealed s using usance.decisions d
            where s.kind = 'inputs' and d.decision_id = s.number and d.booked_at < before
            and not exists (select from usance.lines l
                where l.line_id between s.user_id * 16384 and s.user_id * 16384 + 16383);
        get diagnostics deleted = row_count;
        select count(*) into kept from usance.sealed s where s.kind = 'inputs';
    when 'free_text' then
        delete from usance.sealed s using usance.complaints c
            where s.kind in ('complaint', 'complaint_answer') and s.number = c.complaint_id
            and s.user_id = c.user_id and c.answered_on < before::date;
        get diagnostics deleted = row_count;
        with old as (
            delete from usance.sealed s using usance.rights_requests r
            where s.kind in ('right', 'right_answer') and s.number = r.request_id
            and s.user_id = r.user_id and r.answered_on < before::date returning 1)
        select deleted + count(*) into deleted from old;
        with old as (
            delete from usance.sealed s using usance.hardship_requests h
            where s.kind in ('hardship', 'hardship_answer') and s.number = h.request_id
            and s.user_id = h.user_id and h.answered_on < before::date returning 1)
        select deleted + count(*) into deleted from old;
        with old as (
            delete from usance.sealed s using usance.stops t
            where s.kind = 'stop' and s.number = t.stop_id
            and s.user_id = t.user_id and t.ended_at < before returning 1)
        select deleted + count(*) into deleted from old;
        select count(*) into kept from usance.sealed s
            where s.kind not in ('inputs', 'client_ref');
    when 'person' then                                      -- whose last loan ended, or who has none
        select array_agg(u.user_id) into gone from usance.users u
            where u.registered_on < before::date
            and exists (select from usance.subject_keys k where k.subject = u.user_id)
            and not exists (select from usance.loan_states s where s.is_open
                and s.loan_id between u.user_id * 16384 and u.user_id * 16384 + 16383)
            and not exists (select from usance.placements p where p.user_id = u.user_id
                and p.state in ('pending', 'approved'))
            and not exists (select from usance.facts f
                where f.loan_id between u.user_id * 16384 and u.user_id * 16384 + 16383
                and f.effective_on >= before::date)
            and not exists (select from usance.decisions d
                where d.decision_id between u.user_id * 16384 and u.user_id * 16384 + 16383
                and d.booked_at >= before)
            and not exists (select from usance.screening_hits h
                where h.user_id = u.user_id and h.state <> 'cleared');
        insert into usance.erasures
            select id, clock_timestamp(), 0 from unnest(gone) g (id) on conflict do nothing;
        perform usance.replay_erasures(coalesce(gone, '{}'));
        deleted := coalesce(array_length(gone, 1), 0);
        select count(*) into kept from usance.subject_keys;
    end case;
    insert into usance.retention_runs (day, rule, days, before, deleted, kept)
    values (retain.day, retain.rule, retain.days, retain.before, deleted, kept);
end
$$;
grant delete on usance.idempotency, usance.api_requests, usance.one_time_codes,
    usance.borrower_links, usance.sessions, usance.deliveries to usance_writer;
grant update on usance.complaints, usance.hardship_requests, usance.stops to usance_writer;

do $$
declare
    name text;
begin
    foreach name in array array[
        'screening_state(bigint)', 'screening_of(bigint)',
        'mark_screened(bigint[], text, timestamptz)',
        'note_screening_run(text, integer, integer, integer)',
        'retain(date, text, integer, timestamptz)', 'replay_erasures(bigint[])',
        'erase_user(bigint, timestamptz)', 'begin_sign_in(integer)', 'is_known_phone(bytea)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
    end loop;
    foreach name in array array[
        'screening_state(bigint)', 'screening_of(bigint)',
        'mark_screened(bigint[], text, timestamptz)',
        'note_screening_run(text, integer, integer, integer)',
        'retain(date, text, integer, timestamptz)', 'erase_user(bigint, timestamptz)',
        'begin_sign_in(integer)', 'is_known_phone(bytea)'
    ] loop
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
grant execute on function usance.screening_state(bigint) to usance_batch_writer;
