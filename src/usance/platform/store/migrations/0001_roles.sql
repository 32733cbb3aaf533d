-- Roles of the platform. The owner runs migrations and nothing else; the others own nothing.
--   loader        bulk load and restore: bypasses row-level security, reached only by SET ROLE
--   application   commands and reads under the principal of their caller
--   batch_writer  micro-batches: each row is checked against the principal that it came with
--   reader        reports and exports
do $$
begin
    if not exists (select from pg_roles where rolname = 'usance_loader') then
        create role usance_loader nologin bypassrls;
    end if;
    if not exists (select from pg_roles where rolname = 'usance_application') then
        create role usance_application login noinherit;
    end if;
    if not exists (select from pg_roles where rolname = 'usance_batch_writer') then
        create role usance_batch_writer login noinherit;
    end if;
    if not exists (select from pg_roles where rolname = 'usance_reader') then
        create role usance_reader login noinherit;
    end if;
end
$$;

grant usance_loader to current_user;
revoke all on schema public from public;
grant usage on schema usance to usance_loader, usance_application, usance_batch_writer, usance_reader;
revoke all on usance.migrations from public;
grant select on usance.migrations to usance_application, usance_reader;

create function usance.set_password(role text, password text) returns void
language plpgsql as $$
begin
    if role not in ('usance_application', 'usance_batch_writer', 'usance_reader') then
        raise exception 'no role of the platform: %', role;
    end if;
    execute format('alter role %I password %L', role, password);
end
$$;
revoke all on function usance.set_password from public;
