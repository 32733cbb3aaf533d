-- Restores: each begins an epoch. Until it is released no job is taken and nothing is delivered, so
-- that what happened after the moment it was restored to is asked about first.
create table usance.restores (
    epoch integer primary key check (epoch > 0),
    target timestamptz,                                     -- none: as far as the log went
    restored_at timestamptz not null,
    released_at timestamptz,
    first_transaction bigint not null                       -- of the epoch; events are numbered by it
);
grant select on usance.restores to usance_application, usance_batch_writer, usance_reader;
create function usance.is_paused() returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select exists (select from usance.restores where released_at is null)
$$;
