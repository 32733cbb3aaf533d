-- What is known about borrowers lies under their own keys: names that channels give them, inputs of
-- decisions. Keys lie under a root key, the root under the master key: a new master key wraps the
-- root again, and nothing else is touched.

alter table usance.master_key add column root bytea;            -- null: the master key is the root
grant update on usance.master_key to usance_writer;
drop function usance.is_master_key(bytea);

-- Is a master key the one in use, and the root key under it; the first that is told is.
create function usance.unlock(told bytea, fresh bytea, out is_it boolean, out root bytea)
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    insert into usance.master_key (fingerprint, root) values (told, fresh) on conflict do nothing;
    select m.fingerprint = told, m.root into is_it, root from usance.master_key m;
end
$$;

create function usance.rotate_master(former bytea, told bytea, wrapped bytea) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if (usance.principal()).principal_id is distinct from 0 then
        return false;
    end if;
    update usance.master_key set fingerprint = told, root = wrapped where fingerprint = former;
    return found;
end
$$;

-- Values under the key of a user: by kind, and numbered where a user has several.
create table usance.sealed (
    user_id bigint not null,
    kind text not null,
    number bigint not null,
    content bytea not null,
    primary key (user_id, kind, number)
);
alter table usance.sealed enable row level security;
alter table usance.sealed force row level security;
create policy seen on usance.sealed for select
    to usance_application, usance_batch_writer, usance_reader
    using ((select usance.sees_all(usance.principal()))
        or usance.sees_user((select usance.principal()), user_id));
create policy written on usance.sealed to usance_writer using (true) with check (true);
grant select on usance.sealed to usance_application, usance_batch_writer, usance_reader;
grant select, insert, update, delete on usance.sealed to usance_writer;
insert into usance.live_tables values
    ('sealed', 'user_id, kind, number', '{content}'), ('subject_keys', 'subject', '{}');

create policy seen_by_batches on usance.erasures for select to usance_batch_writer
    using (usance.sees_user(usance.principal(), user_id));
grant select on usance.erasures to usance_batch_writer;

-- The wrapped key of a user whom the caller sees, to look at; batches read it as the platform.
grant execute on function usance.subject_key(bigint, bytea) to usance_batch_writer, usance_reader;

-- A channel's name of a user is kept by its blind index; whoever registers it second is stopped.
create unique index client_refs_user on usance.client_refs (user_id);
insert into usance.live_tables values ('client_refs', 'user_id', '{}');

create or replace function usance.erase_user(id bigint, moment timestamptz) returns boolean
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
    delete from usance.sealed s where s.user_id = id;
    delete from usance.client_refs c where c.user_id = id;
    delete from usance.user_persons p where p.user_id = id returning p.person_id into person;
    delete from usance.persons p where p.person_id = person
        and not exists (select from usance.user_persons o where o.person_id = person);
    update usance.accounts a set details = '', masked = '' where a.user_id = id;
    return true;
end
$$;
create or replace function usance.replay_erasures(users bigint[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    delete from usance.subject_keys k where k.subject = any (users);
    delete from usance.sealed s where s.user_id = any (users);
    delete from usance.client_refs c where c.user_id = any (users);
    delete from usance.user_persons p where p.user_id = any (users);
    delete from usance.persons p
        where not exists (select from usance.user_persons o where o.person_id = p.person_id);
    update usance.accounts a set details = '', masked = '' where a.user_id = any (users);
end
$$;
grant delete on usance.client_refs to usance_writer;

-- Everything that lies under the key of one user, and the same under another key.
create function usance.next_subject(after bigint) returns bigint
language sql stable security definer set search_path = usance, pg_temp as $$
    select min(k.subject) from usance.subject_keys k
    where k.subject > after and (usance.principal()).principal_id = 0
$$;
create function usance.lock_subject(id bigint) returns bytea
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    found_key bytea;
begin
    if (usance.principal()).principal_id is distinct from 0 then
        return null;
    end if;
    perform from usance.user_counters c where c.user_id = id for update;
    select k.wrapped into found_key from usance.subject_keys k where k.subject = id for update;
    return found_key;
end
$$;
create function usance.reseal(
    id bigint, former bytea, wrapped bytea, person bytea, account_ids bigint[], accounts bytea[],
    kinds text[], numbers bigint[], contents bytea[]
) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if (usance.principal()).principal_id is distinct from 0 then
        return false;
    end if;
    update usance.subject_keys k set wrapped = reseal.wrapped
        where k.subject = id and k.wrapped = former;
    if not found then
        return false;
    end if;
    update usance.user_persons p set details = person where p.user_id = id;
    update usance.accounts a set details = g.details
        from unnest(account_ids, accounts) g (account_id, details)
        where a.account_id = g.account_id and a.user_id = id;
    update usance.sealed s set content = g.content
        from unnest(kinds, numbers, contents) g (kind, number, content)
        where s.user_id = id and s.kind = g.kind and s.number = g.number;
    return true;
end
$$;
grant update on usance.subject_keys to usance_writer;

do $$
declare
    name text;
begin
    foreach name in array array[
        'unlock(bytea, bytea)', 'rotate_master(bytea, bytea, bytea)', 'next_subject(bigint)', 'lock_subject(bigint)',
        'reseal(bigint, bytea, bytea, bytea, bigint[], bytea[], text[], bigint[], bytea[])'
    ] loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
        execute format('grant execute on function usance.%s to usance_application', name);
    end loop;
end
$$;
