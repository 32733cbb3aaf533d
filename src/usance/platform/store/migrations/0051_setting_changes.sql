-- Settings before and after each change, beside the audit entry of the same transaction: documents
-- in force, roles, keys' rights, parties, and who works cases. Nothing here is about a borrower.

create table usance.setting_changes (
    change_id bigint generated always as identity primary key,
    name text not null,
    before jsonb,                                           -- null: it was not there
    after jsonb,
    xid xid8 not null default pg_current_xact_id()
);
create index setting_changes_xid on usance.setting_changes ((xid::text::bigint));
create trigger append_only before update or delete or truncate on usance.setting_changes
    for each statement execute function usance.refuse_change();
alter table usance.setting_changes enable row level security;
alter table usance.setting_changes force row level security;
create policy written on usance.setting_changes to usance_writer using (true) with check (true);
create policy seen on usance.setting_changes for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal())));
grant select on usance.setting_changes
    to usance_application, usance_batch_writer, usance_reader, usance_writer;
grant insert on usance.setting_changes to usance_writer;

-- A document that came in force, and the one that held on its first day before.
create function usance.note_document() returns trigger
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    former jsonb;
begin
    if new.kind = 'lender' then
        return null;
    end if;
    select usance.document_told(s) into former from usance.settings s
    where s.kind = new.kind and s.name = new.name and s.version < new.version
        and s.valid_from <= new.valid_from
    order by s.valid_from desc, s.version desc limit 1;
    insert into usance.setting_changes (name, before, after)
    values (new.kind || '/' || new.name, former, usance.document_told(new));
    return null;
end
$$;

-- A setting as it is told: files of a score by their hashes, everything else as it is.
create function usance.document_told(setting usance.settings) returns jsonb
language sql stable as $$
    select jsonb_build_object(
        'version', setting.version, 'valid_from', setting.valid_from,
        'document', case when setting.kind <> 'c_score' then setting.document
            else jsonb_build_object('files', (
                select jsonb_object_agg(f.key, encode(sha256(convert_to(f.value, 'UTF8')), 'hex'))
                from jsonb_each_text(setting.document -> 'files') f)) end)
$$;

-- A row of which some columns are told: its kind, its key, and the columns are arguments.
create function usance.note_row() returns trigger
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    old_row jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
    new_row jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
    former jsonb;
    later jsonb;
    owner text;
begin
    select jsonb_object_agg(c, old_row -> c), jsonb_object_agg(c, new_row -> c)
        into former, later from unnest(tg_argv[2:]) c;
    former := case when old_row is not null then former end;
    later := case when new_row is not null then later end;
    if former is distinct from later then
        select p.name into owner from usance.principals p
        where p.principal_id = (coalesce(new_row, old_row) ->> 'principal_id')::bigint;
        insert into usance.setting_changes (name, before, after) values (
            tg_argv[0] || '/' || (coalesce(new_row, old_row) ->> tg_argv[1]),
            former || jsonb_build_object('principal', owner),
            later || jsonb_build_object('principal', owner));
    end if;
    return null;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array['note_document()', 'note_row()', 'document_told(usance.settings)']
    loop
        execute format('alter function usance.%s owner to usance_writer', name);
        execute format('revoke all on function usance.%s from public', name);
    end loop;
end
$$;

create trigger noted after insert on usance.settings
    for each row execute function usance.note_document();
create trigger noted after insert or update of role on usance.operators
    for each row execute function usance.note_row('operator', 'principal_id', 'role');
create trigger noted after insert or update on usance.keys
    for each row execute function usance.note_row(
        'key', 'key_id', 'scopes', 'per_minute', 'expires_at', 'ended_at');
create trigger noted after insert or update of kind, party, scopes, is_active on usance.principals
    for each row when (new.kind <> 'borrower')
    execute function usance.note_row(
        'principal', 'principal_id', 'kind', 'party', 'scopes', 'is_active');
create trigger noted after insert or update on usance.collectors
    for each row execute function usance.note_row(
        'collector', 'principal_id', 'desk', 'slots', 'stages', 'languages', 'skill_ppm');

-- Entries of the audit with who did it and the names of the settings that it changed.
create view usance.told_audit with (security_invoker = true) as
    select a.*, p.name, array(
        select c.name from usance.setting_changes c
        where c.xid::text::bigint = a.xid::text::bigint order by c.change_id) as changed
    from usance.audit a join usance.principals p using (principal_id);
grant select on usance.told_audit to usance_application, usance_batch_writer;

-- They are sealed like the audit.
alter table usance.seals drop constraint seals_stream_check;
alter table usance.seals add constraint seals_stream_check check (stream in
    ('facts', 'journals', 'postings', 'audit', 'setting_changes'));
create or replace function usance.stream_hash(
    stream text, first_xid bigint, last_xid bigint, out rows bigint, out hash bytea
)
language plpgsql stable as $$
declare
    key text := case stream
        when 'facts' then 'loan_id, effective_on, kind, ref'
        when 'journals' then 'journal_id'
        when 'postings' then 'journal_id, line'
        when 'audit' then 'entry_id'
        when 'setting_changes' then 'change_id'
    end;
begin
    execute format(
        'select count(*), sha256(coalesce(string_agg(sha256(convert_to(t::text, ''UTF8'')), '''''
        ' order by %s), ''''))'
        ' from usance.%I t where t.xid::text::bigint between $1 and $2', key, stream)
    into rows, hash using first_xid, last_xid;
end
$$;
