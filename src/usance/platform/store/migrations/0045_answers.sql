-- The answer of a command is what its event tells: it is kept once. What was sealed is found by the
-- blocks that it was written to, which costs a row of facts, journals and audit nothing.

-- Answers are told again letter by letter, so events keep the order of their fields.
alter table usance.outbox alter column data type json using data::json;
alter type usance.event alter attribute data type json;
do $$
declare
    own record;
begin
    for own in
        select p.oid, pg_get_functiondef(p.oid) as text
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = 'usance' and p.prosrc like '%o.at, o.data%'
    loop
        execute replace(own.text, 'o.at, o.data', 'o.at, o.data::jsonb');
    end loop;
end
$$;

alter table usance.idempotency add column event_id bigint not null default 0;
alter type usance.answer add attribute event integer;
do $$
declare
    before text := pg_get_functiondef('usance.write_rows'::regproc);
    after text := replace(replace(before, 'insert into usance.idempotency',
            'insert into usance.idempotency'
            ' (principal_id, command, key, body, answer, booked_at, event_id)'),
        'a.answer, write_rows.at', 'a.answer, write_rows.at,'
        ' case when a.event > 0 then first_id + a.event else 0 end');
begin
    if after not like '%write_rows.at, case when a.event%' then
        raise exception 'the write call is not the one that this migration changes';
    end if;
    execute after;
end
$$;

-- The answer that an event carries, for whoever gave the key; batches look up those of all.
create function usance.told_answer(who integer, command text, key text) returns json
language sql stable security definer set search_path = usance, pg_temp as $$
    select o.data
    from usance.idempotency i join usance.outbox o on o.event_id = i.event_id
    where i.principal_id = who and i.command = told_answer.command and i.key = told_answer.key
        and (session_user = 'usance_batch_writer'
            or who = (usance.principal()).principal_id)
$$;
alter function usance.told_answer owner to usance_writer;
revoke all on function usance.told_answer from public;
grant execute on function usance.told_answer to usance_application, usance_batch_writer;

drop index usance.facts_xid;
drop index usance.journals_xid;
drop index usance.postings_xid;
drop index usance.audit_xid;
create index facts_xid on usance.facts using brin ((xid::text::bigint))
    with (pages_per_range = 32, autosummarize = on);
create index journals_xid on usance.journals using brin ((xid::text::bigint))
    with (pages_per_range = 32, autosummarize = on);
create index postings_xid on usance.postings using brin ((xid::text::bigint))
    with (pages_per_range = 32, autosummarize = on);
create index audit_xid on usance.audit using brin ((xid::text::bigint))
    with (pages_per_range = 32, autosummarize = on);

-- Blocks that were filled since they were last summarized: without it a look at every seal would read
-- all of them for each.
create function usance.summarize(stream text) returns void
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    perform brin_summarize_new_values(case stream
        when 'facts' then 'usance.facts_xid' when 'journals' then 'usance.journals_xid'
        when 'postings' then 'usance.postings_xid' when 'audit' then 'usance.audit_xid'
    end::regclass);
end
$$;
revoke all on function usance.summarize from public;
grant execute on function usance.summarize to usance_application, usance_reader;
