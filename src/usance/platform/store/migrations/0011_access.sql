-- Who may come in: keys and sessions as hashes alone, and the log of requests.
-- Nobody reads a hash or a password: the functions below answer who somebody is.
-- Times here are those of the wall clock; a sandbox moves only the business clock.

-- The person behind a principal: whoever proposes and approves is compared by it.
alter table usance.principals add column human text not null default '';

create table usance.keys (
    key_id integer primary key,
    principal_id integer not null references usance.principals,
    hash bytea not null unique check (length(hash) = 32),
    hint text not null,                                     -- its last characters, to tell keys apart
    scopes text[] not null,
    per_minute integer check (per_minute > 0),              -- requests; null: no limit
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    ended_at timestamptz
);
create unlogged table usance.buckets (                      -- tokens of keys that have a limit
    key_id integer primary key,
    tokens double precision not null,
    at timestamptz not null
);

create table usance.operators (
    principal_id integer primary key references usance.principals,
    email text not null unique check (email = lower(email)),
    role text not null,
    password text not null,                                 -- argon2id
    totp bytea,                                             -- secret, under the master key
    totp_step bigint not null default 0,                    -- the last one used: none counts twice
    failures integer not null default 0,
    locked_until timestamptz
);

create table usance.sessions (
    session_id bigint primary key,
    principal_id integer not null references usance.principals,
    hash bytea not null unique check (length(hash) = 32),
    has_totp boolean not null,
    address text not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    ends_at timestamptz not null,
    ended_at timestamptz
);
create index sessions_of on usance.sessions (principal_id) where ended_at is null;

create table usance.api_requests (
    request_id text primary key,
    at timestamptz not null,
    principal_id integer not null,
    method text not null,
    path text not null,                                     -- without its query
    status smallint not null,
    code text not null,                                     -- of an error
    idempotency_key text not null,
    microseconds integer not null
);
create index api_requests_at on usance.api_requests (at);
create index api_requests_key on usance.api_requests (idempotency_key) where idempotency_key <> '';

insert into usance.counters values ('session', 0);

do $$
declare
    name text;
begin
    foreach name in array array['keys', 'buckets', 'operators', 'sessions', 'api_requests'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;
create policy seen on usance.api_requests for select to usance_application
    using (usance.sees_all(usance.principal())
        or principal_id = (usance.principal()).principal_id);
create policy added on usance.api_requests for insert to usance_application with check (true);
grant select, insert on usance.api_requests to usance_application;
grant insert, update on usance.principals to usance_writer;
grant select, insert on usance.parties to usance_writer;
grant update on usance.installation to usance_writer;

-- The number of a party, given when its name is first heard.
create function usance.party_of(kind text, name text) returns smallint
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    number smallint;
begin
    perform pg_advisory_xact_lock(hashtextextended('usance.parties', 0));
    select p.party into number from usance.parties p
        where p.kind = party_of.kind and p.name = party_of.name;
    if not found then
        insert into usance.parties (kind, party, name)
        select party_of.kind, coalesce(max(p.party), 0) + 1, party_of.name
        from usance.parties p where p.kind = party_of.kind
        returning party into number;
        update usance.installation set configuration = configuration + 1;
    end if;
    return number;
end
$$;

create function usance.add_principal(
    name text, kind text, party smallint, user_id bigint, scopes text[], human text
) returns integer
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    number integer;
begin
    perform pg_advisory_xact_lock(hashtextextended('usance.principals', 0));
    select max(p.principal_id) + 1 into number from usance.principals p;
    insert into usance.principals (principal_id, name, kind, party, user_id, scopes, human)
    values (number, add_principal.name, add_principal.kind, add_principal.party,
        add_principal.user_id, add_principal.scopes, add_principal.human);
    return number;
end
$$;

create function usance.add_key(
    principal_id integer, hash bytea, hint text, scopes text[], per_minute integer,
    expires_at timestamptz
) returns integer
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    number integer;
begin
    perform pg_advisory_xact_lock(hashtextextended('usance.keys', 0));
    select coalesce(max(k.key_id), 0) + 1 into number from usance.keys k;
    insert into usance.keys (key_id, principal_id, hash, hint, scopes, per_minute, expires_at)
    values (number, add_key.principal_id, add_key.hash, add_key.hint, add_key.scopes,
        add_key.per_minute, add_key.expires_at);
    return number;
end
$$;

create function usance.has_keys() returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select exists (select from usance.keys)
$$;

-- The principal of a key, and the seconds it has to wait for when it has used up its requests.
create function usance.key_owner(
    hash bytea, out key_id integer, out owner usance.principals, out scopes text[],
    out wait double precision
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_key usance.keys;
    rate double precision;
    left_over double precision;
begin
    select k.* into found_key from usance.keys k
        where k.hash = key_owner.hash and k.ended_at is null
            and (k.expires_at is null or k.expires_at > clock_timestamp());
    if not found then
        return;
    end if;
    select p.* into owner from usance.principals p
        where p.principal_id = found_key.principal_id and p.is_active;
    if not found then
        return;
    end if;
    key_id := found_key.key_id;
    scopes := found_key.scopes;
    wait := 0;
    if found_key.per_minute is not null then
        rate := found_key.per_minute / 60.0;
        insert into usance.buckets as b values (found_key.key_id, found_key.per_minute - 1,
            clock_timestamp())
        on conflict on constraint buckets_pkey do update set
            tokens = greatest(-1, least(found_key.per_minute,
                b.tokens + rate * extract(epoch from clock_timestamp() - b.at)) - 1),
            at = clock_timestamp()
        returning b.tokens into left_over;
        if left_over < 0 then
            update usance.buckets b set tokens = b.tokens + 1 where b.key_id = found_key.key_id;
            wait := -left_over / rate;
        end if;
    end if;
end
$$;

-- The principal of a session that is neither ended nor idle; being seen is noted once a minute.
create function usance.session_owner(
    hash bytea, idle interval, out session_id bigint, out owner usance.principals, out role text,
    out has_totp boolean
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_session usance.sessions;
begin
    select s.* into found_session from usance.sessions s
        where s.hash = session_owner.hash and s.ended_at is null
            and s.ends_at > clock_timestamp() and s.seen_at + idle > clock_timestamp();
    if not found then
        return;
    end if;
    select p.* into owner from usance.principals p
        where p.principal_id = found_session.principal_id and p.is_active;
    if not found then
        return;
    end if;
    select o.role into role from usance.operators o where o.principal_id = owner.principal_id;
    session_id := found_session.session_id;
    has_totp := found_session.has_totp;
    if found_session.seen_at < clock_timestamp() - interval '1 minute' then
        update usance.sessions s set seen_at = clock_timestamp()
            where s.session_id = found_session.session_id;
    end if;
end
$$;

create function usance.add_operator(
    principal_id integer, email text, role text, password text
) returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.principals p set human = add_operator.email
    where p.principal_id = add_operator.principal_id and p.human = '';
    insert into usance.operators (principal_id, email, role, password)
    values (add_operator.principal_id, add_operator.email, add_operator.role,
        add_operator.password)
$$;

create function usance.set_totp(id integer, secret bytea) returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.operators o set totp = secret where o.principal_id = id
$$;

-- Everything that sign-in compares with; an account that is locked says until when.
create function usance.operator_of(email text, out operator usance.operators)
language sql stable security definer set search_path = usance, pg_temp as $$
    select o from usance.operators o join usance.principals p using (principal_id)
    where o.email = operator_of.email and p.is_active
$$;

-- A failed sign-in: from the fifth on, the account rests for twice as long each time.
create function usance.note_failure(principal_id integer) returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.operators o set
        failures = o.failures + 1,
        locked_until = case when o.failures + 1 >= 5
            then clock_timestamp() + least(interval '1 hour',
                interval '15 seconds' * power(2, least(o.failures - 4, 20))) end
    where o.principal_id = note_failure.principal_id
$$;

create function usance.add_session(
    principal_id integer, hash bytea, totp_step bigint, address text, lasts interval,
    out session_id bigint, out ends_at timestamptz
)
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.operators o set failures = 0, locked_until = null,
        totp_step = greatest(o.totp_step, coalesce(add_session.totp_step, 0))
    where o.principal_id = add_session.principal_id
        and (add_session.totp_step is null or o.totp_step < add_session.totp_step);
    if not found then
        return;
    end if;
    update usance.counters c set last = c.last + 1 where c.kind = 'session'
        returning c.last into session_id;
    ends_at := clock_timestamp() + lasts;
    insert into usance.sessions (session_id, principal_id, hash, has_totp, address, ends_at)
    values (add_session.session_id, add_session.principal_id, add_session.hash,
        add_session.totp_step is not null, add_session.address, add_session.ends_at);
end
$$;

create function usance.end_session(id bigint, by_principal integer) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.sessions s set ended_at = clock_timestamp()
    where s.session_id = end_session.id and s.principal_id = by_principal and s.ended_at is null;
    return found;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'party_of(text, text)', 'has_keys()',
        'add_principal(text, text, smallint, bigint, text[], text)',
        'add_key(integer, bytea, text, text[], integer, timestamptz)',
        'key_owner(bytea)', 'session_owner(bytea, interval)',
        'add_operator(integer, text, text, text)', 'operator_of(text)', 'note_failure(integer)',
        'set_totp(integer, bytea)',
        'add_session(integer, bytea, bigint, text, interval)', 'end_session(bigint, integer)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;

-- The first answer again is the same text, with its fields in the same order.
alter table usance.idempotency alter column answer type json;
alter type usance.answer alter attribute answer set data type json;
