-- Life of borrowers and their drawdowns, configuration as data, and approvals.
--
-- Rows of these tables change by the write call alone, under the version of their user or, where no
-- user owns them, under the configuration's.

-- The sandbox clock stands still between commands; each command is a microsecond after the last.
create sequence usance.ticks minvalue 0 start 0;
grant usage, update, select on sequence usance.ticks to usance_application, usance_batch_writer;

create table usance.parties (                               -- channels, institutions and providers
    kind text not null check (kind in ('channel', 'institution', 'provider')),
    party smallint not null,
    name text not null,
    globally_numbered boolean not null default false,       -- a provider whose digits are its facts'
    primary key (kind, party),
    unique (kind, name)
);

create table usance.settings (                              -- configuration: documents in force
    kind text not null check (kind in ('lender', 'mandates', 'flow', 'model', 'parameter')),
    name text not null,
    version integer not null,
    valid_from date not null,
    document jsonb not null,
    primary key (kind, name, version)
);

create table usance.persons (                               -- one human, whatever channels know them
    person_id bigint primary key,
    identity bytea not null unique                          -- blind index of the national id
);
create table usance.user_persons (
    user_id bigint primary key,
    person_id bigint not null,
    channel smallint not null,
    level smallint not null,
    details bytea not null                                  -- name, id, phone and mail, encrypted
);
create index user_persons_person on usance.user_persons (person_id);

create table usance.accounts (
    account_id bigint primary key,
    user_id bigint not null,
    details bytea not null,
    masked text not null,
    is_verified boolean not null,
    usable_from timestamptz not null,
    debit boolean not null,
    added_at timestamptz not null
);
create table usance.consents (
    consent_id bigint primary key,
    user_id bigint not null,
    purpose text not null,
    text_version text not null,
    granted boolean not null,
    given_at timestamptz not null
);
create table usance.quotes (
    quote_id bigint primary key,
    user_id bigint not null,
    product smallint not null,
    amount_minor bigint not null,
    months smallint not null,
    terms jsonb not null,                                   -- borrower-side terms, as quoted
    answer jsonb not null,
    valid_until timestamptz not null
);
create table usance.agreements (
    agreement_id bigint primary key,
    user_id bigint not null,
    quote_id bigint not null,
    document_sha256 text not null,
    template_version text not null,
    shown_at timestamptz not null,
    accepted_at timestamptz not null,
    method text not null,
    code_reference text not null,
    address text not null,
    agreed_at timestamptz not null
);
create table usance.placements (                            -- a drawdown on its way to a loan
    loan_id bigint primary key,
    user_id bigint not null,
    state text not null check (state in ('pending', 'approved', 'active', 'declined', 'no_source',
        'withdrawn', 'payout_failed', 'rescinded')),
    product smallint not null,
    amount_minor bigint not null,
    currency smallint not null,
    months smallint not null,
    decision_id bigint not null,
    line_id bigint not null,
    quote_id bigint not null default 0,
    agreement_id bigint not null default 0,
    account_id bigint not null default 0,
    source smallint not null default 0,
    attempt smallint not null default 0,
    candidates jsonb not null,                              -- ranked, with the limits each would use
    terms jsonb not null,
    reasons smallint[] not null default '{}',
    requested_at timestamptz not null,
    disbursed_on date
);
create table usance.offers (
    offer_id bigint primary key,
    user_id bigint not null,
    loan_id bigint not null,
    attempt smallint not null,
    source smallint not null,
    institution smallint not null,
    product smallint not null,
    amount_minor bigint not null,
    currency smallint not null,
    months smallint not null,
    state text not null check (state in ('open', 'approved', 'declined', 'timed_out', 'released')),
    made_at timestamptz not null,
    answer_by timestamptz not null,
    answered_at timestamptz,
    approved boolean,
    reason text not null default '',
    report jsonb not null
);
create index offers_open on usance.offers (answer_by) where state = 'open';
create table usance.orders (
    order_id bigint primary key,
    user_id bigint not null,
    loan_id bigint not null,
    kind text not null check (kind in ('payout', 'refund')),
    provider smallint not null,
    amount_minor bigint not null,
    currency smallint not null,
    account_id bigint not null,
    state text not null check (state in ('sent', 'settled', 'failed')),
    made_at timestamptz not null,
    settles_on date not null,
    ended_at timestamptz,
    reference text not null default ''
);
create index orders_sent on usance.orders (settles_on) where state = 'sent';

alter table usance.payments add column user_id bigint not null default 0;
alter table usance.payments add column allocation jsonb not null default '[]';
alter table usance.payments add column facts jsonb not null default '[]';
create table usance.payment_reversals (
    payment_id bigint primary key,
    user_id bigint not null,
    effective_on date not null,
    booked_at timestamptz not null,
    reason text not null
);
create table usance.approvals (
    approval_id bigint primary key,
    command text not null,
    payload jsonb not null,
    payload_sha256 text not null,
    subject text not null,
    state text not null check (state in ('pending', 'approved', 'rejected', 'expired')),
    needed smallint not null,
    given integer[] not null,                               -- principals who agreed, proposer first
    proposed_at timestamptz not null,
    expires_at timestamptz not null,
    answer jsonb
);
create table usance.router_checkpoints (
    no bigint primary key,
    at timestamptz not null,
    state bytea not null
);

alter table usance.user_counters add column records integer not null default 0;
alter type usance.user_change add attribute records integer;
alter type usance.limit_change add attribute ceiling_minor bigint;

-- Who reads: rows of a user as the user's; offers as their institution's; the rest by what they are.
do $$
declare
    name text;
    test text;
begin
    for name, test in
        select * from (values
            ('user_persons', 'usance.sees_user(usance.principal(), user_id)'),
            ('accounts', 'usance.sees_user(usance.principal(), user_id)'),
            ('consents', 'usance.sees_user(usance.principal(), user_id)'),
            ('quotes', 'usance.sees_user(usance.principal(), user_id)'),
            ('agreements', 'usance.sees_user(usance.principal(), user_id)'),
            ('placements', 'usance.sees_user(usance.principal(), user_id)'),
            ('orders', 'usance.sees_user(usance.principal(), user_id)'),
            ('payment_reversals', 'usance.sees_user(usance.principal(), user_id)'),
            ('offers', 'usance.sees_all(usance.principal()) or '
                '((usance.principal()).kind = ''institution'' '
                'and institution = (usance.principal()).party)'),
            ('persons', 'usance.sees_all(usance.principal())'),
            ('approvals', 'usance.sees_all(usance.principal()) or '
                'given[1] = (usance.principal()).principal_id'),
            ('router_checkpoints', 'usance.sees_all(usance.principal())')
        ) as each (name, test)
    loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using (%s)', name, test);
        execute format(
            'create policy written on usance.%I to usance_writer using (true) with check (true)',
            name);
        execute format(
            'grant select on usance.%I to usance_application, usance_batch_writer, usance_reader',
            name);
        execute format('grant select, insert, update on usance.%I to usance_writer', name);
    end loop;
end
$$;
-- A payment is seen with its user, and by the provider that brought it.
drop policy seen on usance.payments;
create policy seen on usance.payments for select
    to usance_application, usance_reader, usance_batch_writer
    using (usance.sees_user(usance.principal(), user_id)
        or ((usance.principal()).kind = 'provider' and provider = (usance.principal()).party));
grant select on usance.parties, usance.settings
    to usance_application, usance_batch_writer, usance_reader, usance_writer;
grant insert, update on usance.settings to usance_writer;
grant insert on usance.sources, usance.limits, usance.cells, usance.limit_usage, usance.periods,
    usance.counters, usance.principals to usance_writer;
grant update on usance.installation, usance.periods to usance_writer;

-- Rows of the tables above, by name; what they rest on is checked before by version.
create type usance.live_row as (name text, user_id bigint, data jsonb);
create table usance.live_tables (name text primary key, key text not null, changes text[] not null);
insert into usance.live_tables values
    ('persons', 'person_id', '{}'),
    ('user_persons', 'user_id', '{person_id,level,details}'),
    ('accounts', 'account_id', '{is_verified,usable_from,debit}'),
    ('consents', 'consent_id', '{}'),
    ('quotes', 'quote_id', '{}'),
    ('agreements', 'agreement_id', '{}'),
    ('placements', 'loan_id',
        '{state,source,attempt,terms,reasons,disbursed_on,candidates}'),
    ('offers', 'offer_id', '{state,answered_at,approved,reason}'),
    ('orders', 'order_id', '{state,ended_at,reference}'),
    ('payment_reversals', 'payment_id', '{}'),
    ('approvals', 'approval_id', '{state,given,answer}'),
    ('settings', 'kind, name, version', '{document}'),
    ('sources', 'source, version', '{}'),
    ('limits', 'source, version, "limit"', '{}'),
    ('cells', 'cell', '{}'),
    ('periods', 'period', '{state,known_at}'),
    ('router_checkpoints', 'no', '{}');
grant select on usance.live_tables to usance_writer;

create function usance.put_rows(given usance.live_row[]) returns void
language plpgsql as $$
declare
    each usance.live_tables;
    setting text;
begin
    for each in
        select t.* from usance.live_tables t
        where t.name in (select g.name from unnest(given) g) order by t.name
    loop
        select string_agg(format('%1$I = excluded.%1$I', c), ', ') into setting
        from unnest(each.changes) c;
        execute format(
            'insert into usance.%1$I select p.* from unnest($1) g, '
            'jsonb_populate_record(null::usance.%1$I, g.data) p where g.name = %1$L '
            'on conflict (%2$s) do %3$s', each.name, each.key,
            case when setting is null then 'nothing' else 'update set ' || setting end)
        using given;
    end loop;
    if exists (select from unnest(given) g
               where g.name not in (select t.name from usance.live_tables t)) then
        raise exception 'a row of no live table' using errcode = 'US012';
    end if;
end
$$;
alter function usance.put_rows owner to usance_writer;

create or replace function usance.apply_changes(
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
        held_minor = u.held_minor, records = u.records
    from unnest(users) u
    where c.user_id = u.user_id and c.version = u.expected;
    get diagnostics moved = row_count;
    if moved <> (select count(*) from unnest(users) u where u.expected >= 0) then
        raise exception 'a user has changed' using errcode = 'US010';
    end if;
    insert into usance.user_counters
        (user_id, decisions, lines, requests, journals, borrowed, worst_days, held_minor, records)
    select u.user_id, u.decisions, u.lines, u.requests, u.journals, u.borrowed, u.worst_days,
        u.held_minor, u.records
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

    -- A ceiling travels with the use of its limit: a new mandate changes it, the use stays.
    insert into usance.limit_usage (name, ceiling_minor)
    select c.name, max(c.ceiling_minor) from unnest(limits) c where c.ceiling_minor >= 0
    group by c.name order by c.name
    on conflict (name) do update set ceiling_minor = excluded.ceiling_minor;
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
        raise exception '%', full_limit using errcode = 'US011';
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

-- The one call that writes: rows and caches as before, then the rows of live tables.
-- The body names its own arguments by the function's name, so it is made again under the new one.
do $$
begin
    execute replace(replace(pg_get_functiondef('usance.write'::regproc),
        'FUNCTION usance.write(', 'FUNCTION usance.write_rows('), 'write.at', 'write_rows.at');
end
$$;
drop function usance.write;
alter function usance.write_rows owner to usance_writer;
revoke all on function usance.write_rows from public;
create function usance.write(
    at timestamptz, configuration bigint, users_changed usance.user_change[],
    states_changed usance.state_change[], limits_changed usance.limit_change[],
    new_users usance.users[], new_decisions usance.decisions[],
    new_decision_inputs usance.decision_inputs[], new_lines usance.lines[],
    new_requests usance.requests[], new_routing usance.routing[], new_loans usance.loans[],
    new_shares usance.shares[], new_facts usance.facts[], new_journals usance.journals[],
    new_postings usance.postings[], new_group_facts usance.group_facts[],
    new_payments usance.payments[], events usance.event[], entries usance.entry[],
    answers usance.answer[], owners usance.owner[], live_rows usance.live_row[],
    changes_configuration boolean
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    if changes_configuration then
        update usance.installation i set configuration = i.configuration + 1
        where i.configuration = write.configuration;
        if not found then
            raise exception 'the configuration has changed' using errcode = 'US010';
        end if;
    end if;
    perform usance.write_rows(at, write.configuration + changes_configuration::integer,
        users_changed, states_changed, limits_changed, new_users, new_decisions,
        new_decision_inputs, new_lines, new_requests, new_routing, new_loans, new_shares,
        new_facts, new_journals, new_postings, new_group_facts, new_payments, events, entries,
        answers, owners);
    if exists (select from unnest(live_rows) r where r.user_id <> 0
               and r.user_id not in (select o.user_id from unnest(owners) o)) then
        raise exception 'a row belongs to no command of the batch' using errcode = 'US020';
    end if;
    perform usance.put_rows(live_rows);
end
$$;
alter function usance.write owner to usance_writer;
revoke all on function usance.write from public;
grant execute on function usance.write to usance_application, usance_batch_writer;

-- The next ids of a kind that no user owns, counted in the transaction that uses them.
create function usance.next_ids(kind text, count integer) returns bigint
language sql security definer set search_path = usance, pg_temp as $$
    insert into usance.counters values (kind, count)
    on conflict (kind) do update set last = counters.last + count
    returning last - count + 1
$$;
alter function usance.next_ids owner to usance_writer;
revoke all on function usance.next_ids from public;
grant execute on function usance.next_ids to usance_application, usance_batch_writer;

-- The business clock of a sandbox moves by command; it opens the periods that it reaches.
create function usance.set_clock(moment timestamptz, day date) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.installation set clock = moment, business_date = day
    where mode = 0 and clock <= moment;
    if not found then
        raise exception 'the clock moves forwards, and in a sandbox alone' using errcode = 'US030';
    end if;
    perform setval('usance.ticks', 0, false);
    insert into usance.periods (period, state)
    values (((extract(year from day) - 1970) * 12 + extract(month from day) - 1)::smallint, 0)
    on conflict do nothing;
end
$$;
grant update on sequence usance.ticks to usance_writer;
alter function usance.set_clock owner to usance_writer;
revoke all on function usance.set_clock from public;
grant execute on function usance.set_clock to usance_application;

-- The person of a blind index, and their users in one channel: whoever registers may ask that much.
create function usance.person_of(
    index bytea, channel smallint, out person_id bigint, out users bigint[]
)
language sql stable security definer set search_path = usance, pg_temp as $$
    select p.person_id, array(
        select u.user_id from usance.user_persons u
        where u.person_id = p.person_id and u.channel = person_of.channel)
    from usance.persons p where p.identity = index
$$;
alter function usance.person_of owner to usance_writer;
revoke all on function usance.person_of from public;
grant execute on function usance.person_of to usance_application, usance_batch_writer;
