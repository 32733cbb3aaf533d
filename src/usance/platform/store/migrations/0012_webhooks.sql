-- Webhooks: targets of events, and the deliveries of each event to each target.
-- A delivery waits for those before it of the same target and subject, and for no others.

create table usance.webhooks (
    webhook_id bigint primary key,
    principal_id integer not null references usance.principals,
    url text not null check (length(url) between 1 and 2000),
    names text[] not null,                                  -- of events; none means all
    secret bytea not null,                                  -- under the master key
    former_secret bytea,                                    -- still signs until it is dropped
    former_until timestamptz,
    through bigint not null,                                -- the last event that was looked at
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz
);
create table usance.deliveries (
    webhook_id bigint not null references usance.webhooks,
    event_id bigint not null,
    subject text not null,
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
    tries integer not null default 0,
    due_at timestamptz not null default clock_timestamp(),
    first_at timestamptz not null default clock_timestamp(),
    told_at timestamptz,
    status smallint,
    problem text not null default '',
    primary key (webhook_id, event_id)
);
create index deliveries_waiting on usance.deliveries (webhook_id, subject, event_id)
    where state = 'waiting';

do $$
declare
    name text;
begin
    foreach name in array array['webhooks', 'deliveries'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;

create policy seen on usance.webhooks for select to usance_application
    using (usance.sees_all(usance.principal())
        or principal_id = (usance.principal()).principal_id);
create policy seen on usance.deliveries for select to usance_application
    using (exists (select from usance.webhooks w where w.webhook_id = deliveries.webhook_id));
grant select on usance.webhooks, usance.deliveries to usance_application;

create function usance.add_webhook(
    id bigint, owner integer, url text, names text[], secret bytea
) returns void
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.webhooks (webhook_id, principal_id, url, names, secret, through)
    select id, owner, add_webhook.url, add_webhook.names, add_webhook.secret,
        coalesce(max(o.event_id), 0) from usance.outbox o
$$;

-- Take the secret of a webhook out of use in a while and another one into use now.
create function usance.rotate_webhook(id bigint, new_secret bytea, overlap interval)
returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.webhooks w set former_secret = w.secret,
        former_until = clock_timestamp() + overlap, secret = new_secret
    where w.webhook_id = id and w.ended_at is null
        and (usance.sees_all(usance.principal())
            or w.principal_id = (usance.principal()).principal_id);
    return found;
end
$$;

create function usance.end_webhook(id bigint) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.webhooks w set ended_at = clock_timestamp()
    where w.webhook_id = id and w.ended_at is null
        and (usance.sees_all(usance.principal())
            or w.principal_id = (usance.principal()).principal_id);
    return found;
end
$$;

-- Line up what has happened since for every target that may see it; gives the number of deliveries.
-- Only events of transactions that are over are looked at: none that commits late is skipped.
create function usance.line_up_deliveries() returns bigint
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
            and usance.sees_user(who, o.user_id)
        on conflict do nothing;
        get diagnostics more = row_count;
        added := added + more;
        update usance.webhooks w set through = below - 1 where w.webhook_id = target.webhook_id;
    end loop;
    return added;
end
$$;

-- Deliveries to try now: of each target and subject the first that waits; others come after it.
create function usance.take_deliveries(count integer, lease interval)
returns table (
    webhook_id bigint, event_id bigint, tries integer, first_at timestamptz, url text,
    secret bytea, former_secret bytea, name text, subject text, at timestamptz, data jsonb
)
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    return query
    with due as (
        select d.webhook_id, d.event_id from usance.deliveries d
        join usance.webhooks w on w.webhook_id = d.webhook_id and w.ended_at is null
        where d.state = 'waiting' and d.due_at <= clock_timestamp()
            and not exists (
                select from usance.deliveries b
                where b.webhook_id = d.webhook_id and b.subject = d.subject
                    and b.state = 'waiting' and b.event_id < d.event_id)
        order by d.event_id limit count for update of d skip locked
    ), taken as (
        update usance.deliveries d set tries = d.tries + 1, due_at = clock_timestamp() + lease
        from due where d.webhook_id = due.webhook_id and d.event_id = due.event_id
        returning d.*
    )
    select t.webhook_id, t.event_id, t.tries, t.first_at, w.url, w.secret,
        case when w.former_until > clock_timestamp() then w.former_secret end,
        o.name, o.subject, o.at, o.data
    from taken t
    join usance.webhooks w on w.webhook_id = t.webhook_id
    join usance.outbox o on o.event_id = t.event_id
    order by t.event_id;
end
$$;

create type usance.told as (
    webhook_id bigint, event_id bigint, state text, status smallint, problem text, wait interval
);
create function usance.note_deliveries(results usance.told[]) returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.deliveries d set state = r.state, status = r.status, problem = r.problem,
        told_at = clock_timestamp(), due_at = clock_timestamp() + r.wait
    from unnest(results) r
    where d.webhook_id = r.webhook_id and d.event_id = r.event_id
$$;

-- Deliver an event to a target again, whatever came of it before.
create function usance.resend_delivery(id bigint, event bigint) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.deliveries d set state = 'waiting', due_at = clock_timestamp(),
        first_at = clock_timestamp(), tries = 0
    from usance.webhooks w
    where d.webhook_id = id and d.event_id = event and w.webhook_id = id
        and (usance.sees_all(usance.principal())
            or w.principal_id = (usance.principal()).principal_id);
    return found;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'add_webhook(bigint, integer, text, text[], bytea)', 'rotate_webhook(bigint, bytea, interval)',
        'end_webhook(bigint)', 'line_up_deliveries()', 'take_deliveries(integer, interval)',
        'note_deliveries(usance.told[])', 'resend_delivery(bigint, bigint)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
