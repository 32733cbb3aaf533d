-- The one call that writes. Checks come first, then caches, rows, events, audit and answers.

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
    answers usance.answer[],
    owners usance.owner[]
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    first_id bigint := pg_current_xact_id()::text::bigint * 4096;
begin
    if cardinality(new_users) > 0 then
        insert into usance.users (
            user_id, registered_on, channel, region, kind, client_ref
        ) select
            user_id, registered_on, channel, region, kind, client_ref
        from unnest(new_users);
    end if;
    perform usance.check_owners(owners);
    perform from (
        select u.user_id from unnest(users_changed) u
        union select s.loan_id / 16384 from unnest(states_changed) s
        union select r.loan_id / 16384 from unnest(new_requests) r
        union select l.loan_id / 16384 from unnest(new_loans) l
        union select f.loan_id / 16384 from unnest(new_facts) f
        union select d.decision_id / 16384 from unnest(new_decisions) d
        union select p.loan_id / 16384 from unnest(new_payments) p
    ) touched where touched.user_id not in (select o.user_id from unnest(owners) o)
    limit 1;
    if found then
        raise exception 'a row belongs to no command of the batch' using errcode = 'US020';
    end if;
    perform usance.apply_changes(at, configuration, users_changed, states_changed, limits_changed);
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

alter function usance.check_owners owner to usance_writer;
alter function usance.apply_changes owner to usance_writer;
alter function usance.write owner to usance_writer;
revoke all on function usance.write from public;
grant execute on function usance.write to usance_application, usance_batch_writer;
