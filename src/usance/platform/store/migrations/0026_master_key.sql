-- The master key that personal data lies under, known by a fingerprint: another one is refused.
create table usance.master_key (
    is_it boolean primary key default true check (is_it),
    fingerprint bytea not null check (length(fingerprint) = 32)
);
alter table usance.master_key enable row level security;
alter table usance.master_key force row level security;
create policy written on usance.master_key to usance_writer using (true) with check (true);
grant select, insert on usance.master_key to usance_writer;

-- True of the key that is in use; the first that is told is.
create function usance.is_master_key(told bytea) returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    insert into usance.master_key (fingerprint) values (told) on conflict do nothing;
    return (select m.fingerprint = told from usance.master_key m);
end
$$;
alter function usance.is_master_key owner to usance_writer;
revoke all on function usance.is_master_key from public;
grant execute on function usance.is_master_key to usance_application;
