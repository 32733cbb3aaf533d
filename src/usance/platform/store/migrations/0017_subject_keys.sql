-- A key for each person, wrapped by the master key: without it what is kept about them is noise.
-- Erasing somebody destroys their key and their blind index, and says so for ever.

create table usance.subject_keys (
    subject bigint primary key,                             -- user_id
    wrapped bytea not null
);
create table usance.erasures (
    user_id bigint primary key,
    at timestamptz not null,
    principal_id integer not null
);
create trigger append_only before update or delete or truncate on usance.erasures
    for each statement execute function usance.refuse_change();

do $$
declare
    name text;
begin
    foreach name in array array['subject_keys', 'erasures'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format('grant select, insert on usance.%I to usance_writer', name);
    end loop;
end
$$;
create policy seen on usance.erasures for select to usance_application, usance_reader
    using (usance.sees_user(usance.principal(), user_id));
grant select on usance.erasures to usance_application, usance_reader;
grant update, delete on usance.subject_keys, usance.user_persons, usance.accounts, usance.persons
    to usance_writer;

-- The wrapped key of a user that the caller sees; the one given is taken if there is none yet.
create function usance.subject_key(id bigint, fresh bytea) returns bytea
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_key bytea;
begin
    if not usance.sees_user(usance.principal(), id)
        or exists (select from usance.erasures e where e.user_id = id) then
        return null;
    end if;
    if fresh is not null then
        insert into usance.subject_keys values (id, fresh) on conflict do nothing;
    end if;
    select k.wrapped into found_key from usance.subject_keys k where k.subject = id;
    return found_key;
end
$$;

-- Destroy what opens a user's data; loans and facts stay, of nobody in particular.
create function usance.erase_user(id bigint, moment timestamptz) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    person bigint;
begin
    if not usance.sees_user(usance.principal(), id) then
        return false;
    end if;
    insert into usance.erasures values (id, moment, (usance.principal()).principal_id)
        on conflict do nothing;
    if not found then
        return false;
    end if;
    delete from usance.subject_keys k where k.subject = id;
    delete from usance.user_persons p where p.user_id = id returning p.person_id into person;
    delete from usance.persons p where p.person_id = person
        and not exists (select from usance.user_persons o where o.person_id = person);
    update usance.accounts a set details = '', masked = '' where a.user_id = id;
    return true;
end
$$;

-- After a restore: erase again whom the log names and the backup still knew.
create function usance.replay_erasures(users bigint[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    delete from usance.subject_keys k where k.subject = any (users);
    delete from usance.user_persons p where p.user_id = any (users);
    delete from usance.persons p
        where not exists (select from usance.user_persons o where o.person_id = p.person_id);
    update usance.accounts a set details = '', masked = '' where a.user_id = any (users);
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'subject_key(bigint, bytea)', 'erase_user(bigint, timestamptz)'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
alter function usance.replay_erasures(bigint[]) owner to usance_writer;
revoke all on function usance.replay_erasures(bigint[]) from public;
