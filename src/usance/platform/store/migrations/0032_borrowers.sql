-- Borrowers come in: by a channel's link that opens once, or by a code that was sent to their phone.
-- Whoever is in acts as a principal of their own that sees one user. Times are of the wall clock.

alter table usance.user_persons add column phone bytea check (length(phone) = 32);  -- blind index
create index user_persons_phone on usance.user_persons (phone) where phone is not null;
update usance.live_tables set changes = '{person_id,level,details,phone}'
    where name = 'user_persons';
create unique index principals_borrower on usance.principals (user_id) where kind = 'borrower';

create table usance.borrower_links (
    hash bytea primary key check (length(hash) = 32),
    user_id bigint not null,
    made_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz
);
create table usance.one_time_codes (                        -- also for phones that nobody has
    code_id bigint generated always as identity primary key,
    phone bytea not null check (length(phone) = 32),
    purpose text not null check (purpose in ('enter', 'draw', 'account')),
    hash bytea not null check (length(hash) = 32),
    address text not null,
    tries smallint not null default 0,
    made_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz
);
create index one_time_codes_phone on usance.one_time_codes (phone, made_at);
create index one_time_codes_address on usance.one_time_codes (address, made_at);

do $$
declare
    name text;
begin
    foreach name in array array['borrower_links', 'one_time_codes'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;

create function usance.add_borrower_link(id bigint, hash bytea, lasts interval) returns timestamptz
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    until timestamptz := clock_timestamp() + lasts;
begin
    if not usance.sees_user(usance.principal(), id) then
        return null;
    end if;
    insert into usance.borrower_links (hash, user_id, expires_at)
        values (add_borrower_link.hash, id, until);
    return until;
end
$$;

-- A session of a borrower; the principal is made the first time that they come in.
create function usance.borrower_session(
    id bigint, hash bytea, address text, lasts interval,
    out session_id bigint, out ends_at timestamptz
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    owner integer;
begin
    if exists (select from usance.erasures e where e.user_id = id) then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('usance.borrowers', id));
    select p.principal_id into owner from usance.principals p
        where p.kind = 'borrower' and p.user_id = id;
    if not found then
        owner := usance.add_principal('borrower/' || id, 'borrower', 0::smallint, id,
            '{borrower}', '');
    end if;
    update usance.counters c set last = c.last + 1 where c.kind = 'session'
        returning c.last into session_id;
    ends_at := clock_timestamp() + lasts;
    insert into usance.sessions (session_id, principal_id, hash, has_totp, address, ends_at)
    values (borrower_session.session_id, owner, borrower_session.hash, false,
        borrower_session.address, borrower_session.ends_at);
end
$$;

create function usance.open_borrower_link(
    link bytea, hash bytea, address text, lasts interval,
    out session_id bigint, out ends_at timestamptz
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    id bigint;
begin
    update usance.borrower_links l set used_at = clock_timestamp()
        where l.hash = link and l.used_at is null and l.expires_at > clock_timestamp()
        returning l.user_id into id;
    if found then
        select s.session_id, s.ends_at into session_id, ends_at
        from usance.borrower_session(id, open_borrower_link.hash, open_borrower_link.address,
            lasts) s;
    end if;
end
$$;

-- Note a code that is sent; false when a phone or an address asked too often.
create function usance.add_code(
    phone bytea, purpose text, hash bytea, address text, lasts interval
) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('usance.one_time_codes', 0));
    if (select count(*) from usance.one_time_codes c where c.phone = add_code.phone
            and c.made_at > clock_timestamp() - interval '1 hour') >= 5
        or (select count(*) from usance.one_time_codes c where c.address = add_code.address
            and c.made_at > clock_timestamp() - interval '1 hour') >= 60
    then
        return false;
    end if;
    insert into usance.one_time_codes (phone, purpose, hash, address, expires_at)
    values (add_code.phone, add_code.purpose, add_code.hash, add_code.address,
        clock_timestamp() + lasts);
    return true;
end
$$;

-- True once for the code that was sent last to a phone for a purpose; five tries, then none.
create function usance.take_code(phone bytea, purpose text, hash bytea) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    sent usance.one_time_codes;
begin
    select c.* into sent from usance.one_time_codes c
        where c.phone = take_code.phone and c.purpose = take_code.purpose
        order by c.code_id desc limit 1 for update;
    if not found or sent.used_at is not null or sent.tries >= 5
        or sent.expires_at <= clock_timestamp() then
        return false;
    end if;
    update usance.one_time_codes c set
        tries = c.tries + 1,
        used_at = case when c.hash = take_code.hash then clock_timestamp() end
    where c.code_id = sent.code_id;
    return sent.hash = take_code.hash;
end
$$;

create function usance.open_by_code(
    phone bytea, code bytea, hash bytea, address text, lasts interval,
    out session_id bigint, out ends_at timestamptz
)
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    id bigint;
begin
    if not usance.take_code(open_by_code.phone, 'enter', code) then
        return;
    end if;
    select p.user_id into id from usance.user_persons p
        where p.phone = open_by_code.phone order by p.user_id desc limit 1;
    if found then
        select s.session_id, s.ends_at into session_id, ends_at
        from usance.borrower_session(id, open_by_code.hash, open_by_code.address, lasts) s;
    end if;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'add_borrower_link(bigint, bytea, interval)',
        'open_borrower_link(bytea, bytea, text, interval)',
        'add_code(bytea, text, bytea, text, interval)', 'take_code(bytea, text, bytea)',
        'open_by_code(bytea, bytea, bytea, text, interval)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
alter function usance.borrower_session(bigint, bytea, text, interval) owner to usance_writer;
revoke all on function usance.borrower_session(bigint, bytea, text, interval) from public;
