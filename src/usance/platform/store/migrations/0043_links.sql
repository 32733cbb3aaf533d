-- What users share, by blind index, each time that it was seen: the device that somebody applied
-- from, their phone, their bank card. Nobody reads it but by the function below.
create table usance.user_links (
    user_id bigint not null,
    attribute smallint not null check (attribute between 1 and 5),
    value bytea not null check (length(value) = 32),
    seen_at timestamptz not null,
    primary key (user_id, attribute, value, seen_at)
);
create index user_links_value on usance.user_links (attribute, value, seen_at);
alter table usance.user_links enable row level security;
alter table usance.user_links force row level security;
create policy written on usance.user_links to usance_writer using (true) with check (true);
grant select, insert, delete on usance.user_links to usance_writer;
insert into usance.live_tables values ('user_links', 'user_id, attribute, value, seen_at', '{}');

-- Whose key is destroyed shares nothing any more, also after a restore.
create function usance.forget_links() returns trigger
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    delete from usance.user_links l where l.user_id = old.subject;
    return null;
end
$$;
alter function usance.forget_links owner to usance_writer;
create trigger forget_links after delete on usance.subject_keys
    for each row execute function usance.forget_links();

-- Applications and users of a device, and the users linked with one by shared values: how many in
-- all, directly, and of these how many were ever more than 90 days late. A value links the first
-- 200 users that had it (a shop's telephone makes no ring); 1,000 linked users are as many as count.
create function usance.link_record(
    id bigint, device bytea, moment timestamptz, out applications integer,
    out device_users integer, out size integer, out degree integer, out bad integer
)
language plpgsql stable security definer set search_path = usance, pg_temp as $$
declare
    hub constant integer := 200;
    most constant integer := 1000;
    reached bigint[] := array[id];
    border bigint[] := array[id];
    direct bigint[];
begin
    if not usance.sees_user(usance.principal(), id) then
        return;
    end if;
    select count(*) filter (where l.seen_at > moment - interval '24 hours'),
        count(distinct l.user_id) filter (where l.user_id <> id)
        into applications, device_users
        from usance.user_links l
        where l.attribute = 1 and l.value = device
            and l.seen_at > moment - interval '30 days' and l.seen_at <= moment;
    loop
        select coalesce(array_agg(distinct m.user_id), '{}') into border from (
            select distinct l.attribute, l.value from usance.user_links l
            where l.user_id = any (border)
            union select 1, device where device is not null and direct is null
        ) o cross join lateral (
            select u.user_id from (
                select l.user_id from usance.user_links l
                where l.attribute = o.attribute and l.value = o.value
                group by l.user_id order by min(l.seen_at), l.user_id limit hub) u
        ) m where m.user_id <> all (reached);
        direct := coalesce(direct, border);
        reached := reached || border;
        exit when cardinality(border) = 0 or cardinality(reached) >= most;
    end loop;
    size := least(cardinality(reached), most);
    degree := cardinality(direct);
    select count(*) into bad from usance.user_counters c
        left join usance.cases k using (user_id)
        where c.user_id = any (direct) and greatest(c.worst_days, k.days_past_due) > 90;
end
$$;
alter function usance.link_record owner to usance_writer;
revoke all on function usance.link_record from public;
grant execute on function usance.link_record to usance_application, usance_batch_writer;
