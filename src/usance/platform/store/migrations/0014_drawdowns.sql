-- Applications with their line and review; limits that are shares of a whole.

create table usance.applications (
    decision_id bigint primary key,
    user_id bigint not null,
    product smallint not null,
    line_id bigint not null,
    review_id bigint not null
);
alter table usance.applications enable row level security;
alter table usance.applications force row level security;
create policy seen on usance.applications for select
    to usance_application, usance_reader, usance_batch_writer
    using (usance.sees_user(usance.principal(), user_id));
create policy written on usance.applications to usance_writer using (true) with check (true);
grant select on usance.applications to usance_application, usance_batch_writer, usance_reader;
grant select, insert, update on usance.applications to usance_writer;
insert into usance.live_tables values ('applications', 'decision_id', '{line_id,review_id}');

-- A share or average has a numerator of its own and the denominator of its source: it is kept while
-- numerator <= ceiling (ppm) x denominator. A lower bound has a numerator below zero.
alter table usance.limit_usage
    drop constraint limit_usage_ceiling_minor_check,
    drop constraint limit_usage_held_minor_check,
    drop constraint limit_usage_taken_minor_check,
    add column whole text not null default '',
    add column ramp_minor bigint not null default 0;
alter type usance.limit_change add attribute whole text, add attribute ramp_minor bigint;

-- The first limit, by name, that a batch would break: a ceiling without headroom, or a share that
-- would be above its bound and is made worse.
create function usance.broken_limit(changes usance.limit_change[]) returns text
language sql stable as $$
    with wanted as (
        select c.name, sum(c.held_minor + c.taken_minor) as used, sum(c.freed_minor) as freed
        from unnest(changes) c group by c.name
    )
    select g.name
    from wanted w
    join usance.limit_usage g using (name)
    left join usance.limit_usage d on d.name = g.whole
    left join wanted dw on dw.name = g.whole
    where case
        when g.whole = '' then w.used > 0
            and g.held_minor + g.taken_minor - g.freed_minor + w.used - w.freed > g.ceiling_minor
        else w.used::numeric > g.ceiling_minor::numeric * coalesce(dw.used, 0)
            and d.held_minor + d.taken_minor + coalesce(dw.used, 0) > g.ramp_minor
            and g.held_minor::numeric + g.taken_minor + w.used
                > g.ceiling_minor::numeric
                    * (d.held_minor + d.taken_minor + coalesce(dw.used, 0))
    end
    order by g.name limit 1
$$;
alter function usance.broken_limit owner to usance_writer;

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
    insert into usance.limit_usage (name, ceiling_minor, whole, ramp_minor)
    select c.name, max(c.ceiling_minor), max(c.whole), max(c.ramp_minor)
    from unnest(limits) c where c.ceiling_minor is not null
    group by c.name order by c.name
    on conflict (name) do update set
        ceiling_minor = excluded.ceiling_minor, ramp_minor = excluded.ramp_minor
    where (limit_usage.ceiling_minor, limit_usage.ramp_minor)
        is distinct from (excluded.ceiling_minor, excluded.ramp_minor);
    perform from usance.limit_usage g
        where g.name in (select c.name from unnest(limits) c)
        order by g.name for update;
    full_limit := usance.broken_limit(limits);
    if full_limit is not null then
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

-- Rows of `routing` have a column of the same name as the moment that is written at.
do $$
begin
    execute replace(pg_get_functiondef('usance.write_rows'::regproc),
        'AS $function$', E'AS $function$\n#variable_conflict use_column');
end
$$;
