-- Evenings and mornings of any number of cases in linear time, and drafts that were asked for.

create or replace function usance.serve_cases(
    day date, users bigint[], days bigint[], owed bigint[], principals bigint[], counts bigint[],
    stages smallint[], worth bigint[], segments text[], arms text[], automatic boolean[]
) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
#variable_conflict use_column
declare
    gone bigint[];
begin
    if not usance.sees_all(usance.principal()) then
        return;
    end if;
    -- `<> all (users)` would look through every user for each case.
    select array_agg(user_id) into gone from (
        select user_id from (
            select c.user_id from usance.cases c where c.closed_on is null
            union select p.user_id from usance.agency_placements p where p.recalled_on is null
        ) known except select unnest(serve_cases.users)) left_over;
    update usance.cases c set closed_on = serve_cases.day, days_past_due = 0, past_due_minor = 0,
        principal_minor = 0, loans = 0, locked_until = null, agency = 0, assigned = 0
        from unnest(gone) g (id) where c.user_id = g.id and c.closed_on is null;
    update usance.agency_placements p set recalled_on = serve_cases.day
        from unnest(gone) g (id) where p.user_id = g.id and p.recalled_on is null;
    insert into usance.cases
    select g.id, g.late, g.owed, g.stage, g.worth, serve_cases.day, null, 0, null, null, g.principal, g.count,
        g.segment, g.arm, g.automatic, 0, 0
    from unnest(users, days, owed, principals, counts, stages, worth, segments, arms, automatic)
        g (id, late, owed, principal, count, stage, worth, segment, arm, automatic)
    on conflict (user_id) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        principal_minor = excluded.principal_minor, loans = excluded.loans,
        stage = excluded.stage, priority_minor = excluded.priority_minor,
        segment = excluded.segment, arm = excluded.arm, is_automatic = excluded.is_automatic,
        opened_on = case when cases.closed_on is null then cases.opened_on
                    else excluded.opened_on end,
        next_at = case when cases.closed_on is null then cases.next_at end,
        closed_on = null;
    insert into usance.case_days
    select serve_cases.day, g.id, g.late, g.owed, g.principal, g.count, g.stage, g.segment, g.arm
    from unnest(users, days, owed, principals, counts, stages, segments, arms)
        g (id, late, owed, principal, count, stage, segment, arm)
    on conflict (user_id, day) do update set
        days_past_due = excluded.days_past_due, past_due_minor = excluded.past_due_minor,
        principal_minor = excluded.principal_minor, loans = excluded.loans,
        stage = excluded.stage, segment = excluded.segment, arm = excluded.arm;
end
$$;

create or replace function usance.assign_cases(users bigint[], agents bigint[]) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    gone bigint[];
begin
    if usance.sees_all(usance.principal()) then
        select array_agg(user_id) into gone from (
            select c.user_id from usance.cases c where c.closed_on is null and c.assigned <> 0
            except select unnest(users)) left_over;
        update usance.cases c set assigned = 0 from unnest(gone) g (id) where c.user_id = g.id;
        update usance.cases c set assigned = g.agent
        from unnest(users, agents) g (id, agent) where c.user_id = g.id and c.closed_on is null;
    end if;
end
$$;

-- A text that somebody asked for: what a model was told, in which nobody is named, and what it said.
-- Nothing here is ever sent.
create table usance.drafts (
    draft_id bigint primary key,
    user_id bigint not null,
    kind text not null check (kind in ('case', 'reply', 'application')),
    subject text not null,
    asked_by bigint not null,
    asked_at timestamptz not null,
    made_by text not null check (made_by in ('rules', 'model')),
    model text not null,                                    -- empty for one made by rules
    prompt text not null,                                   -- empty where no model was asked
    answer text not null,                                   -- of the model, as it came
    text text not null,
    refused text not null                                   -- why the model's answer was not taken
);
create index drafts_of_user on usance.drafts (user_id, asked_at);
alter table usance.drafts enable row level security;
alter table usance.drafts force row level security;
create policy written on usance.drafts to usance_writer using (true) with check (true);
create policy seen on usance.drafts for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal())));
grant select on usance.drafts to usance_application, usance_batch_writer, usance_reader;
grant select, insert, update on usance.drafts to usance_writer;
insert into usance.live_tables values ('drafts', 'draft_id', '{}');
