-- Tables of the data contract, as declared in usance.base.tables.
create table usance.users (
    user_id bigint not null,
    registered_on date not null,
    channel smallint not null,
    region smallint not null,
    kind smallint not null,
    client_ref text,
    primary key (user_id)
);

create table usance.decisions (
    decision_id bigint not null,
    booked_at timestamp with time zone not null,
    kind smallint not null,
    approved smallint not null,
    score smallint not null,
    pd_ppm integer not null,
    grade smallint not null,
    line_minor bigint not null,
    rate_ppm integer not null,
    flow_no smallint not null,
    model_no smallint not null,
    reason_1 smallint not null,
    reason_2 smallint not null,
    reason_3 smallint not null,
    reason_4 smallint not null,
    latency_us integer not null,
    primary key (decision_id)
);

create table usance.decision_inputs (
    decision_id bigint not null,
    inputs double precision[] not null,
    primary key (decision_id)
);

create table usance.lines (
    line_id bigint not null,
    effective_on date not null,
    booked_at timestamp with time zone not null,
    product smallint not null,
    limit_minor bigint not null,
    rate_ppm integer not null,
    state smallint not null,
    primary key (line_id, effective_on)
);

create table usance.sources (
    source smallint not null,
    version smallint not null,
    valid_from date not null,
    valid_to date not null,
    institution smallint not null,
    entity smallint not null,
    model smallint not null,
    coupon_ppm integer not null,
    fee_ppm integer not null,
    trigger_days smallint not null,
    guarantor smallint not null,
    co_share_ppm integer not null,
    settlement_lag smallint not null,
    primary key (source, version)
);

create table usance.limits (
    source smallint not null,
    version smallint not null,
    "limit" smallint not null,
    scope smallint not null,
    amount_minor bigint not null,
    share_ppm integer not null,
    primary key (source, version, "limit")
);

create table usance.requests (
    requested_at timestamp with time zone not null,
    loan_id bigint not null,
    decision_id bigint not null,
    product smallint not null,
    amount_minor bigint not null,
    months smallint not null,
    rate_ppm integer not null,
    grade smallint not null,
    region smallint not null,
    channel smallint not null,
    primary key (requested_at, loan_id)
);

create table usance.routing (
    loan_id bigint not null,
    attempt smallint not null,
    at timestamp with time zone not null,
    source smallint not null,
    outcome smallint not null,
    score_minor bigint not null,
    runner_up smallint not null,
    runner_up_minor bigint not null,
    binding_limit smallint not null,
    plan_no integer not null,
    primary key (loan_id, attempt)
);

create table usance.loans (
    loan_id bigint not null,
    terms_no smallint not null,
    effective_on date not null,
    line_id bigint not null,
    decision_id bigint not null,
    product smallint not null,
    convention smallint not null,
    model smallint not null,
    source smallint not null,
    currency smallint not null,
    disbursed_on date not null,
    first_due_on date not null,
    instalments smallint not null,
    principal_minor bigint not null,
    rate_ppm integer not null,
    coupon_ppm integer not null,
    guarantee_fee_minor bigint not null,
    eir_ppb bigint not null,
    grade smallint not null,
    user_loan_no smallint not null,
    channel smallint not null,
    region smallint not null,
    flat_fee_minor bigint not null default 0,
    upfront_fee_minor bigint not null default 0,
    change smallint not null default 0,
    primary key (loan_id, terms_no)
);

create table usance.shares (
    loan_id bigint not null,
    source smallint not null,
    principal_minor bigint not null,
    primary key (loan_id, source)
);

create table usance.facts (
    loan_id bigint not null,
    effective_on date not null,
    kind smallint not null,
    ref bigint not null,
    amount_minor bigint not null,
    arg bigint not null,
    booked_at timestamp with time zone not null,
    primary key (loan_id, effective_on, kind, ref)
);

create table usance.cells (
    cell smallint not null,
    model smallint not null,
    product smallint not null,
    source smallint not null,
    entity smallint not null,
    related smallint not null default 0,
    fund_cash smallint not null default 0,
    payout_cash smallint not null default 0,
    primary key (cell)
);

create table usance.group_facts (
    fact_id bigint not null,
    entity smallint not null,
    kind smallint not null,
    effective_on date not null,
    booked_at timestamp with time zone not null,
    currency smallint not null,
    amount_minor bigint not null,
    party smallint not null,
    quantity bigint not null,
    detail text not null,
    primary key (fact_id)
);

create table usance.journals (
    journal_id bigint not null,
    booked_at timestamp with time zone not null,
    close_no integer not null,
    kind smallint not null,
    actor text not null,
    text text not null,
    reverses bigint not null,
    hash text not null,
    previous_hash text not null,
    primary key (journal_id)
);

create table usance.postings (
    journal_id bigint not null,
    line smallint not null,
    entity smallint not null,
    basis smallint not null,
    tag smallint not null,
    account smallint not null,
    period smallint not null,
    effective_on date not null,
    rule smallint not null,
    cell smallint not null,
    loan_id bigint not null,
    amount_minor bigint not null,
    currency smallint not null default 0,
    fact_id bigint not null default 0,
    activity smallint not null default 0,
    primary key (journal_id, line)
);

-- Rows of these tables are only ever added. Each carries the transaction that wrote it, so that
-- whoever follows the table reads below the oldest transaction still running and skips nothing.
create function usance.refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'US001';
end
$$;

alter table usance.decisions add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.decisions
    for each statement execute function usance.refuse_change();
alter table usance.decision_inputs add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.decision_inputs
    for each statement execute function usance.refuse_change();
alter table usance.lines add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.lines
    for each statement execute function usance.refuse_change();
alter table usance.requests add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.requests
    for each statement execute function usance.refuse_change();
alter table usance.routing add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.routing
    for each statement execute function usance.refuse_change();
alter table usance.loans add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.loans
    for each statement execute function usance.refuse_change();
alter table usance.shares add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.shares
    for each statement execute function usance.refuse_change();
alter table usance.facts add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.facts
    for each statement execute function usance.refuse_change();
alter table usance.group_facts add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.group_facts
    for each statement execute function usance.refuse_change();
alter table usance.journals add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.journals
    for each statement execute function usance.refuse_change();
alter table usance.postings add column xid xid8 not null default pg_current_xact_id();
create trigger append_only before update or delete or truncate on usance.postings
    for each statement execute function usance.refuse_change();

-- A journal sums to zero for each entity, basis, tag and currency, whoever writes it.
create function usance.check_zero_sum() returns trigger
language plpgsql as $$
declare
    journal bigint;
begin
    select added.journal_id into journal
    from added
    group by added.journal_id, added.entity, added.basis, added.tag, added.currency
    having sum(added.amount_minor) <> 0
    limit 1;
    if found then
        raise exception 'journal % does not balance', journal using errcode = 'US002';
    end if;
    return null;
end
$$;
create trigger zero_sum after insert on usance.postings
    referencing new table as added
    for each statement execute function usance.check_zero_sum();

grant select on all tables in schema usance to usance_reader, usance_application, usance_batch_writer;
revoke select on usance.migrations from usance_batch_writer;
grant insert on all tables in schema usance to usance_loader;
revoke insert on usance.migrations from usance_loader;
