-- Users by the name that their channel gives them, and the counter that numbers them without gaps.

create table usance.client_refs (
    channel smallint not null,
    client_ref text not null check (length(client_ref) between 1 and 255),
    user_id bigint not null,
    primary key (channel, client_ref)
);
alter table usance.client_refs enable row level security;
alter table usance.client_refs force row level security;
create policy seen on usance.client_refs for select
    to usance_application, usance_batch_writer, usance_reader
    using (usance.sees_user(usance.principal(), user_id));
create policy written on usance.client_refs to usance_writer using (true) with check (true);
grant select on usance.client_refs to usance_application, usance_batch_writer, usance_reader;
grant select, insert on usance.client_refs to usance_writer;

-- The row of a user brings its name with it, so that no writer can forget it.
create function usance.note_client_ref() returns trigger
language plpgsql as $$
begin
    insert into usance.client_refs
    select channel, client_ref, user_id from added where client_ref is not null;
    return null;
exception when unique_violation then
    raise exception 'the client_ref is taken' using errcode = 'US010';
end
$$;
alter function usance.note_client_ref owner to usance_writer;
create trigger client_ref after insert on usance.users
    referencing new table as added
    for each statement execute function usance.note_client_ref();

-- The next users, counted in the transaction that registers them: one that fails leaves no gap.
create function usance.next_users(count integer) returns bigint
language sql security definer set search_path = usance, pg_temp as $$
    update usance.counters set last = last + count where kind = 'user'
    returning last - count + 1
$$;
alter function usance.next_users owner to usance_writer;
revoke all on function usance.next_users from public;
grant execute on function usance.next_users to usance_application, usance_batch_writer;
