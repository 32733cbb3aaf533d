-- The queue of jobs: taken with SKIP LOCKED under a lease, so that what a dead worker left behind is
-- taken again; leases, retries and times are of the wall clock.
create table usance.jobs (
    job_id bigint primary key,
    kind text not null,
    version smallint not null,                              -- of the kind's payload
    key text not null unique,                               -- the same work is enqueued once
    payload jsonb not null,
    priority smallint not null default 0,
    state text not null default 'waiting'
        check (state in ('waiting', 'running', 'done', 'failed', 'cancelled')),
    attempts smallint not null default 0,
    not_before timestamptz not null,
    lease_until timestamptz,
    worker text not null default '',
    is_cancel_asked boolean not null default false,
    done_count bigint not null default 0,
    whole_count bigint not null default 0,
    error text not null default '',
    result jsonb not null default '{}',
    made_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz
);
create index jobs_waiting on usance.jobs (priority desc, job_id) where state in ('waiting', 'running');
insert into usance.counters values ('job', 0);

create function usance.next_jobs(count integer) returns bigint
language sql security definer set search_path = usance, pg_temp as $$
    update usance.counters set last = last + count where kind = 'job' returning last - count + 1
$$;
alter function usance.next_jobs owner to usance_writer;
revoke all on function usance.next_jobs from public;
grant execute on function usance.next_jobs to usance_application;
grant select, insert, update on usance.jobs to usance_application;
grant select on usance.jobs to usance_reader;
