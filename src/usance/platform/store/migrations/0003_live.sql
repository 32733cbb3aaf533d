-- Tables of the live system beside those of the data contract, and the guard of periods.

create table usance.installation (
    one boolean primary key default true check (one),
    mode smallint not null check (mode in (0, 1)),          -- 0 sandbox, 1 live
    currency smallint not null,
    time_zone text not null,
    business_date date not null,
    clock timestamptz not null,                             -- business clock of a sandbox
    configuration bigint not null default 0                 -- raised by every change of configuration
);

create table usance.counters (                              -- ids of what no user owns
    kind text primary key,
    last bigint not null check (last >= 0)
);
insert into usance.counters values ('user', 0);

create table usance.principals (
    principal_id integer primary key,
    name text not null unique,
    kind text not null check (kind in
        ('system', 'operator', 'service', 'channel', 'institution', 'provider', 'agency', 'borrower')),
    party smallint not null default 0,                      -- channel, institution or provider
    user_id bigint not null default 0,                      -- of a borrower
    scopes text[] not null default '{}',
    is_active boolean not null default true
);
insert into usance.principals (principal_id, name, kind) values (0, 'system', 'system');

create table usance.user_counters (                         -- caches of one user, checked by version
    user_id bigint primary key,
    version integer not null default 0,
    decisions smallint not null default 0,
    lines smallint not null default 0,
    requests smallint not null default 0,
    journals integer not null default 0,
    borrowed smallint not null default 0,
    worst_days smallint not null default 0,
    held_minor bigint not null default 0 check (held_minor >= 0)   -- drawdowns pending or approved
);

create table usance.loan_states (                           -- caches of one loan
    loan_id bigint primary key,
    version integer not null default 0,
    is_open boolean not null,
    form smallint not null,                                 -- 0 kernel, 1 exact
    model smallint not null,
    source smallint not null,
    cell smallint not null,
    trigger_days smallint not null,
    through date not null,
    terms bytea not null,
    state bytea not null,
    posted bytea not null                                   -- fact amounts that the ledger holds
);
create index loan_states_open on usance.loan_states (loan_id) where is_open;

create table usance.limit_usage (
    name text primary key,                                  -- source/kind/dimension/period
    ceiling_minor bigint not null check (ceiling_minor >= 0),
    held_minor bigint not null default 0 check (held_minor >= 0),
    taken_minor bigint not null default 0 check (taken_minor >= 0),
    freed_minor bigint not null default 0
);

create table usance.payments (                              -- money received, once for ever
    payment_id bigint primary key,                          -- user_id × 16384 + n, 0 users unallocated
    provider smallint not null,
    reference text not null,
    loan_id bigint not null,
    amount_minor bigint not null check (amount_minor > 0),
    currency smallint not null,
    effective_on date not null,
    booked_at timestamptz not null,
    ref bigint not null,                                    -- of the fact
    unallocated_minor bigint not null default 0 check (unallocated_minor >= 0),
    content bytea not null,                                 -- SHA-256 of what was told
    unique (provider, reference)
);

create table usance.idempotency (
    principal_id integer not null,
    command text not null,
    key text not null check (length(key) between 1 and 255),
    body bytea not null,                                    -- SHA-256 of the command
    answer jsonb not null,
    booked_at timestamptz not null,
    primary key (principal_id, command, key)
);

create table usance.outbox (
    event_id bigint primary key,                            -- transaction × 4096 + n
    name text not null,
    subject text not null,
    user_id bigint not null,
    at timestamptz not null,
    data jsonb not null,
    xid xid8 not null default pg_current_xact_id()
);

create table usance.audit (
    entry_id bigint primary key,                            -- transaction × 4096 + n
    at timestamptz not null,
    principal_id integer not null,
    command text not null,
    subject text not null,
    outcome text not null,
    content bytea not null,                                 -- SHA-256 of the command
    xid xid8 not null default pg_current_xact_id()
);

create table usance.periods (
    period smallint primary key,                            -- month
    state smallint not null check (state in (0, 1, 2, 3)),  -- open, closing, closed, locked
    known_at timestamptz
);


create trigger append_only before update or delete or truncate on usance.outbox
    for each statement execute function usance.refuse_change();
create trigger append_only before update or delete or truncate on usance.audit
    for each statement execute function usance.refuse_change();

-- Postings go into open periods alone.
create function usance.check_period() returns trigger
language plpgsql as $$
declare
    refused smallint;
begin
    select added.period into refused
    from (select distinct period from added) added
    left join usance.periods p on p.period = added.period and p.state = 0
    where p.period is null
    limit 1;
    if found then
        raise exception 'period % is not open', refused using errcode = 'US003';
    end if;
    return null;
end
$$;
create trigger open_period after insert on usance.postings
    referencing new table as added
    for each statement execute function usance.check_period();
