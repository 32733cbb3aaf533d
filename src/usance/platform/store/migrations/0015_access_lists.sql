-- Keys, operators and sessions as they are listed: never a hash, never a password.

create function usance.listed_keys() returns table (
    key_id integer, name text, kind text, hint text, scopes text[], per_minute integer,
    created_at timestamptz, expires_at timestamptz, ended_at timestamptz
)
language sql stable security definer set search_path = usance, pg_temp as $$
    select k.key_id, p.name, p.kind, k.hint, k.scopes, k.per_minute, k.created_at, k.expires_at,
        k.ended_at
    from usance.keys k join usance.principals p using (principal_id)
    where usance.sees_all(usance.principal())
        or k.principal_id = (usance.principal()).principal_id
$$;

create function usance.listed_operators() returns table (
    email text, role text, human text, has_totp boolean, is_active boolean
)
language sql stable security definer set search_path = usance, pg_temp as $$
    select o.email, o.role, p.human, o.totp is not null, p.is_active
    from usance.operators o join usance.principals p using (principal_id)
    where usance.sees_all(usance.principal())
$$;

create function usance.listed_sessions() returns table (
    session_id bigint, address text, started_at timestamptz, seen_at timestamptz,
    ends_at timestamptz
)
language sql stable security definer set search_path = usance, pg_temp as $$
    select s.session_id, s.address, s.started_at, s.seen_at, s.ends_at
    from usance.sessions s
    where s.principal_id = (usance.principal()).principal_id and s.ended_at is null
        and s.ends_at > clock_timestamp()
$$;

-- Let a key end after a while; nothing is found for one that is over, or of somebody else.
create function usance.expire_key(
    id integer, after interval, out principal_id integer, out scopes text[],
    out per_minute integer
)
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.keys k set expires_at = least(k.expires_at, clock_timestamp() + after),
        ended_at = case when after = interval '0' then clock_timestamp() end
    where k.key_id = id and k.ended_at is null
        and (k.expires_at is null or k.expires_at > clock_timestamp())
        and (usance.sees_all(usance.principal())
            or k.principal_id = (usance.principal()).principal_id)
    returning k.principal_id, k.scopes, k.per_minute into principal_id, scopes, per_minute;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'listed_keys()', 'listed_operators()', 'listed_sessions()', 'expire_key(integer, interval)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;

-- A new party changes the configuration; whoever keeps it in memory reads it again.
create or replace function usance.party_of(kind text, name text) returns smallint
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
    end if;
    return number;
end
$$;
create function usance.raise_configuration() returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.installation set configuration = configuration + 1
$$;
alter function usance.raise_configuration() owner to usance_writer;
revoke all on function usance.raise_configuration() from public;
grant execute on function usance.raise_configuration() to usance_application;
