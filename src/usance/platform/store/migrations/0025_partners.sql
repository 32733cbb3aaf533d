-- Partners: events that institutions see, secrets that sign requests, files of providers.

-- The number of a printed id: five bits for each of its eleven letters.
create function usance.id_number(printed text) returns bigint
language sql immutable strict as $$
    select sum((position(substr(printed, n + 3, 1) in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1)::bigint
        << (5 * (11 - n)))::bigint
    from generate_series(1, 11) n
$$;

-- An event is seen by whoever sees its user; an institution sees those of its offers and loans.
create function usance.sees_event(
    who usance.principals, name text, subject text, user_id bigint
) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select case
        when who.kind <> 'institution' then usance.sees_user(who, user_id)
        when subject like 'of\_%' then exists (
            select from usance.offers o
            where o.offer_id = usance.id_number(subject) and o.institution = who.party)
        when name like 'loan.%' and subject like 'ln\_%' then
            usance.sees_loan(who, usance.id_number(subject))
        else false
    end
$$;
alter function usance.sees_event owner to usance_writer;
drop policy seen on usance.outbox;
create policy seen on usance.outbox for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal()))
        or usance.sees_event((select usance.principal()), name, subject, user_id));

create or replace function usance.line_up_deliveries() returns bigint
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    target usance.webhooks;
    who usance.principals;
    below bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 4096;
    added bigint := 0;
    more bigint;
begin
    for target in
        select * from usance.webhooks w where w.ended_at is null and w.through < below - 1
        order by w.webhook_id for update skip locked
    loop
        select p.* into who from usance.principals p where p.principal_id = target.principal_id;
        insert into usance.deliveries (webhook_id, event_id, subject)
        select target.webhook_id, o.event_id, o.subject
        from usance.outbox o
        where o.event_id > target.through and o.event_id < below
            and (cardinality(target.names) = 0 or o.name = any (target.names))
            and usance.sees_event(who, o.name, o.subject, o.user_id)
        on conflict do nothing;
        get diagnostics more = row_count;
        added := added + more;
        update usance.webhooks w set through = below - 1 where w.webhook_id = target.webhook_id;
    end loop;
    return added;
end
$$;

-- The party that a webhook belongs to: institutions and agencies are told ids of their own.
create function usance.webhook_owner(id bigint, out kind text, out party smallint)
language sql stable security definer set search_path = usance, pg_temp as $$
    select p.kind, p.party from usance.webhooks w join usance.principals p using (principal_id)
    where w.webhook_id = id
$$;

-- Secrets that providers and institutions sign their requests with, under the master key.
create table usance.signing_secrets (
    principal_id integer primary key references usance.principals,
    secret bytea not null,
    former_secret bytea,                                    -- still good until it is dropped
    former_until timestamptz,
    set_at timestamptz not null default clock_timestamp()
);
create unlogged table usance.used_signatures (              -- none counts twice
    mark bytea primary key,
    at timestamptz not null default clock_timestamp()
);
create index used_signatures_at on usance.used_signatures (at);

-- Files of providers as they came, until they are read.
create table usance.provider_files (
    provider smallint not null,
    sha256 text not null check (length(sha256) = 64),
    name text not null,
    content bytea not null,
    taken_at timestamptz not null default clock_timestamp(),
    primary key (provider, sha256)
);

do $$
declare
    name text;
begin
    foreach name in array array['signing_secrets', 'used_signatures', 'provider_files'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;
grant delete on usance.used_signatures to usance_writer;

-- Whoever asks signs with another secret from now on; the former one is good for a while.
create function usance.set_signing_secret(new_secret bytea, overlap interval) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.signing_secrets as s (principal_id, secret)
    values ((usance.principal()).principal_id, new_secret)
    on conflict (principal_id) do update set former_secret = s.secret,
        former_until = clock_timestamp() + overlap, secret = new_secret, set_at = clock_timestamp()
$$;

create function usance.signing_secrets_of(id integer) returns setof bytea
language sql stable security definer set search_path = usance, pg_temp as $$
    select s.secret from usance.signing_secrets s where s.principal_id = id
    union all
    select s.former_secret from usance.signing_secrets s
    where s.principal_id = id and s.former_until > clock_timestamp()
$$;

-- True the first time that a signature is seen.
create function usance.use_signature(new_mark bytea, age interval) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    delete from usance.used_signatures u where u.at < clock_timestamp() - age;
    insert into usance.used_signatures (mark) values (new_mark) on conflict do nothing;
    return found;
end
$$;

create function usance.keep_provider_file(
    of_provider smallint, digest text, called text, bytes bytea
) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.provider_files (provider, sha256, name, content)
    values (of_provider, digest, called, bytes) on conflict do nothing
$$;

create function usance.provider_file(of_provider smallint, digest text) returns bytea
language sql stable security definer set search_path = usance, pg_temp as $$
    select f.content from usance.provider_files f
    where f.provider = of_provider and f.sha256 = digest
        and (usance.principal()).principal_id = 0
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'webhook_owner(bigint)', 'set_signing_secret(bytea, interval)',
        'signing_secrets_of(integer)', 'use_signature(bytea, interval)',
        'keep_provider_file(smallint, text, text, bytea)', 'provider_file(smallint, text)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
