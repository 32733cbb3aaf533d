-- Tables of the live system beside those of the data contract, and the one call that writes.

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

create table usance.seals (
    no bigint primary key,
    first_xid xid8 not null,
    last_xid xid8 not null,
    rows bigint not null,
    hash bytea not null,
    previous bytea not null,
    sealed_at timestamptz not null default now()
);

create trigger append_only before update or delete or truncate on usance.outbox
    for each statement execute function usance.refuse_change();
create trigger append_only before update or delete or truncate on usance.audit
    for each statement execute function usance.refuse_change();
create trigger append_only before update or delete or truncate on usance.seals
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

-- Changes of caches, each with the version that the decision rested on.
create type usance.user_change as (
    user_id bigint, expected integer, decisions smallint, lines smallint, requests smallint,
    journals integer, borrowed smallint, worst_days smallint, held_minor bigint
);
create type usance.state_change as (
    loan_id bigint, expected integer, is_open boolean, form smallint, model smallint,
    source smallint, cell smallint, trigger_days smallint, through date, terms bytea,
    state bytea, posted bytea
);
create type usance.limit_change as (
    name text, held_minor bigint, taken_minor bigint, freed_minor bigint
);
create type usance.event as (name text, subject text, user_id bigint, data jsonb);
create type usance.entry as (
    principal_id integer, command text, subject text, outcome text, content bytea
);
create type usance.answer as (
    principal_id integer, command text, key text, body bytea, answer jsonb
);

-- Users first, by id; then limits, by name: every writer locks in this order, so none waits in a
-- circle. Whoever decided on something that has moved since is refused with US010 and decides again.
create function usance.apply_changes(
    at timestamptz,
    configuration bigint,
    users usance.user_change[],
    states usance.state_change[],
    limits usance.limit_change[]
) returns void
language plpgsql as $$
declare
    moved bigint;
    full_limit text;
begin
    if configuration <> (select i.configuration from usance.installation i) then
        raise exception 'the configuration has changed' using errcode = 'US010';
    end if;

    perform from usance.user_counters c
        where c.user_id in (select u.user_id from unnest(users) u where u.expected >= 0)
        order by c.user_id for update;
    update usance.user_counters c set
        version = c.version + 1, decisions = u.decisions, lines = u.lines, requests = u.requests,
        journals = u.journals, borrowed = u.borrowed, worst_days = u.worst_days,
        held_minor = u.held_minor
    from unnest(users) u
    where c.user_id = u.user_id and c.version = u.expected;
    get diagnostics moved = row_count;
    if moved <> (select count(*) from unnest(users) u where u.expected >= 0) then
        raise exception 'a user has changed' using errcode = 'US010';
    end if;
    insert into usance.user_counters
        (user_id, decisions, lines, requests, journals, borrowed, worst_days, held_minor)
    select u.user_id, u.decisions, u.lines, u.requests, u.journals, u.borrowed, u.worst_days,
        u.held_minor
    from unnest(users) u where u.expected < 0;

    update usance.loan_states l set
        version = l.version + 1, is_open = s.is_open, form = s.form, through = s.through,
        terms = s.terms, state = s.state, posted = s.posted
    from unnest(states) s
    where l.loan_id = s.loan_id and l.version = s.expected;
    get diagnostics moved = row_count;
    if moved <> (select count(*) from unnest(states) s where s.expected >= 0) then
        raise exception 'a loan has changed' using errcode = 'US010';
    end if;
    insert into usance.loan_states
        (loan_id, is_open, form, model, source, cell, trigger_days, through, terms, state, posted)
    select s.loan_id, s.is_open, s.form, s.model, s.source, s.cell, s.trigger_days, s.through,
        s.terms, s.state, s.posted
    from unnest(states) s where s.expected < 0;

    perform from usance.limit_usage g
        where g.name in (select c.name from unnest(limits) c)
        order by g.name for update;
    select g.name into full_limit
    from usance.limit_usage g
    join (
        select c.name, sum(c.held_minor + c.taken_minor) as used,
            sum(c.freed_minor) as freed
        from unnest(limits) c group by c.name
    ) wanted using (name)
    where wanted.used > 0
        and g.held_minor + g.taken_minor - g.freed_minor + wanted.used - wanted.freed
            > g.ceiling_minor
    order by g.name limit 1;
    if found then
        raise exception 'no headroom in %', full_limit using errcode = 'US011';
    end if;
    update usance.limit_usage g set
        held_minor = g.held_minor + c.held, taken_minor = g.taken_minor + c.taken,
        freed_minor = g.freed_minor + c.freed
    from (
        select name, sum(held_minor) as held, sum(taken_minor) as taken, sum(freed_minor) as freed
        from unnest(limits) group by name
    ) c
    where g.name = c.name;
    get diagnostics moved = row_count;
    if moved <> (select count(distinct name) from unnest(limits)) then
        raise exception 'a limit is not there' using errcode = 'US012';
    end if;
end
$$;

-- The one call that writes: checks, caches, rows, events, audit and answers of one or more commands.
create function usance.write(
    at timestamptz,
    configuration bigint,
    users_changed usance.user_change[],
    states_changed usance.state_change[],
    limits_changed usance.limit_change[],
    new_users usance.users[],
    new_decisions usance.decisions[],
    new_decision_inputs usance.decision_inputs[],
    new_lines usance.lines[],
    new_requests usance.requests[],
    new_routing usance.routing[],
    new_loans usance.loans[],
    new_shares usance.shares[],
    new_facts usance.facts[],
    new_journals usance.journals[],
    new_postings usance.postings[],
    new_group_facts usance.group_facts[],
    new_payments usance.payments[],
    events usance.event[],
    entries usance.entry[],
    answers usance.answer[]
) returns void
language plpgsql as $$
declare
    first_id bigint := pg_current_xact_id()::text::bigint * 4096;
begin
    perform usance.apply_changes(at, configuration, users_changed, states_changed, limits_changed);
    if cardinality(new_users) > 0 then
        insert into usance.users (
            user_id, registered_on, channel, region, kind, client_ref
        ) select
            user_id, registered_on, channel, region, kind, client_ref
        from unnest(new_users);
    end if;
    if cardinality(new_decisions) > 0 then
        insert into usance.decisions (
            decision_id, booked_at, kind, approved, score, pd_ppm, grade, line_minor,
            rate_ppm, flow_no, model_no, reason_1, reason_2, reason_3, reason_4, latency_us
        ) select
            decision_id, booked_at, kind, approved, score, pd_ppm, grade, line_minor,
            rate_ppm, flow_no, model_no, reason_1, reason_2, reason_3, reason_4, latency_us
        from unnest(new_decisions);
    end if;
    if cardinality(new_decision_inputs) > 0 then
        insert into usance.decision_inputs (
            decision_id, inputs
        ) select
            decision_id, inputs
        from unnest(new_decision_inputs);
    end if;
    if cardinality(new_lines) > 0 then
        insert into usance.lines (
            line_id, effective_on, booked_at, product, limit_minor, rate_ppm, state
        ) select
            line_id, effective_on, booked_at, product, limit_minor, rate_ppm, state
        from unnest(new_lines);
    end if;
    if cardinality(new_requests) > 0 then
        insert into usance.requests (
            requested_at, loan_id, decision_id, product, amount_minor, months, rate_ppm,
            grade, region, channel
        ) select
            requested_at, loan_id, decision_id, product, amount_minor, months, rate_ppm,
            grade, region, channel
        from unnest(new_requests);
    end if;
    if cardinality(new_routing) > 0 then
        insert into usance.routing (
            loan_id, attempt, at, source, outcome, score_minor, runner_up, runner_up_minor,
            binding_limit, plan_no
        ) select
            loan_id, attempt, at, source, outcome, score_minor, runner_up, runner_up_minor,
            binding_limit, plan_no
        from unnest(new_routing);
    end if;
    if cardinality(new_loans) > 0 then
        insert into usance.loans (
            loan_id, terms_no, effective_on, line_id, decision_id, product, convention,
            model, source, currency, disbursed_on, first_due_on, instalments,
            principal_minor, rate_ppm, coupon_ppm, guarantee_fee_minor, eir_ppb, grade,
            user_loan_no, channel, region, flat_fee_minor, upfront_fee_minor, change
        ) select
            loan_id, terms_no, effective_on, line_id, decision_id, product, convention,
            model, source, currency, disbursed_on, first_due_on, instalments,
            principal_minor, rate_ppm, coupon_ppm, guarantee_fee_minor, eir_ppb, grade,
            user_loan_no, channel, region, flat_fee_minor, upfront_fee_minor, change
        from unnest(new_loans);
    end if;
    if cardinality(new_shares) > 0 then
        insert into usance.shares (
            loan_id, source, principal_minor
        ) select
            loan_id, source, principal_minor
        from unnest(new_shares);
    end if;
    if cardinality(new_facts) > 0 then
        insert into usance.facts (
            loan_id, effective_on, kind, ref, amount_minor, arg, booked_at
        ) select
            loan_id, effective_on, kind, ref, amount_minor, arg, booked_at
        from unnest(new_facts);
    end if;
    if cardinality(new_journals) > 0 then
        insert into usance.journals (
            journal_id, booked_at, close_no, kind, actor, text, reverses, hash,
            previous_hash
        ) select
            journal_id, booked_at, close_no, kind, actor, text, reverses, hash,
            previous_hash
        from unnest(new_journals);
    end if;
    if cardinality(new_postings) > 0 then
        insert into usance.postings (
            journal_id, line, entity, basis, tag, account, period, effective_on, rule, cell,
            loan_id, amount_minor, currency, fact_id, activity
        ) select
            journal_id, line, entity, basis, tag, account, period, effective_on, rule, cell,
            loan_id, amount_minor, currency, fact_id, activity
        from unnest(new_postings);
    end if;
    if cardinality(new_group_facts) > 0 then
        insert into usance.group_facts (
            fact_id, entity, kind, effective_on, booked_at, currency, amount_minor, party,
            quantity, detail
        ) select
            fact_id, entity, kind, effective_on, booked_at, currency, amount_minor, party,
            quantity, detail
        from unnest(new_group_facts);
    end if;
    insert into usance.payments select * from unnest(new_payments);
    insert into usance.outbox (event_id, name, subject, user_id, at, data)
    select first_id + e.n, e.name, e.subject, e.user_id, write.at, e.data
    from unnest(events) with ordinality e (name, subject, user_id, data, n);
    insert into usance.audit (entry_id, at, principal_id, command, subject, outcome, content)
    select first_id + e.n, write.at, e.principal_id, e.command, e.subject, e.outcome, e.content
    from unnest(entries) with ordinality e (principal_id, command, subject, outcome, content, n);
    insert into usance.idempotency
    select a.principal_id, a.command, a.key, a.body, a.answer, write.at
    from unnest(answers) a;
end
$$;
