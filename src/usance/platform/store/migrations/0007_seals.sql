-- Seals: a hash chain over what was appended, made some seconds later by a job.
--
-- A stream is a table whose rows are only ever added. A seal covers its rows of some transactions,
-- all of which were over when it was made: below the oldest one still running nothing can be added.
create table usance.seals (
    stream text not null check (stream in ('facts', 'journals', 'postings', 'audit')),
    no bigint not null,
    first_xid bigint not null,
    last_xid bigint not null,
    rows bigint not null,
    hash bytea not null,
    previous bytea not null,
    sealed_at timestamptz not null,
    primary key (stream, no)
);
create trigger append_only before update or delete or truncate on usance.seals
    for each statement execute function usance.refuse_change();

create index facts_xid on usance.facts ((xid::text::bigint));
create index journals_xid on usance.journals ((xid::text::bigint));
create index postings_xid on usance.postings ((xid::text::bigint));
create index audit_xid on usance.audit ((xid::text::bigint));

-- The rows of a stream in some transactions: how many, and the hash of their text in key order.
create function usance.stream_hash(
    stream text, first_xid bigint, last_xid bigint, out rows bigint, out hash bytea
)
language plpgsql stable as $$
declare
    key text := case stream
        when 'facts' then 'loan_id, effective_on, kind, ref'
        when 'journals' then 'journal_id'
        when 'postings' then 'journal_id, line'
        when 'audit' then 'entry_id'
    end;
begin
    execute format(
        'select count(*), sha256(coalesce(string_agg(sha256(convert_to(t::text, ''UTF8'')), '''''
        ' order by %s), ''''))'
        ' from usance.%I t where t.xid::text::bigint between $1 and $2', key, stream)
    into rows, hash using first_xid, last_xid;
end
$$;

-- The link of a chain: the seal before, what is covered, and the hash of the rows.
create function usance.seal_hash(
    previous bytea, stream text, no bigint, first_xid bigint, last_xid bigint, rows bigint,
    content bytea
) returns bytea
language sql immutable as $$
    select sha256(previous || convert_to(
        concat_ws('/', stream, no, first_xid, last_xid, rows), 'UTF8') || content)
$$;

-- Seal what has been added to a stream since its last seal; nothing to seal gives nothing.
create function usance.seal(stream text, at timestamptz) returns bigint
language plpgsql security definer set search_path = usance, pg_temp as $$
declare
    before usance.seals;
    below bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    start bigint;
    found_rows bigint;
    content bytea;
begin
    perform pg_advisory_xact_lock(hashtextextended('usance.seal/' || stream, 0));
    select * into before from usance.seals s
        where s.stream = seal.stream order by s.no desc limit 1;
    start := coalesce(before.last_xid, 0) + 1;
    select rows, hash into found_rows, content
        from usance.stream_hash(seal.stream, start, below - 1);
    if found_rows = 0 then
        return null;
    end if;
    insert into usance.seals values (
        seal.stream, coalesce(before.no, 0) + 1, start, below - 1, found_rows,
        usance.seal_hash(coalesce(before.hash, ''), seal.stream, coalesce(before.no, 0) + 1,
            start, below - 1, found_rows, content),
        coalesce(before.hash, ''), at);
    return coalesce(before.no, 0) + 1;
end
$$;
alter function usance.seal owner to usance_writer;
grant insert on usance.seals to usance_writer;
grant select on usance.seals to usance_application, usance_reader, usance_writer;
grant create on schema usance to usance_writer;
revoke all on function usance.seal from public;
grant execute on function usance.seal to usance_application;

-- The seals of a stream that do not hold: a row was changed, added, or lost, or the chain was cut.
create function usance.broken_seals(stream text) returns table (no bigint, problem text)
language sql stable security definer set search_path = usance, pg_temp as $$
    select s.no,
        case
            when s.no <> s.nth then 'a seal before it is missing'
            when s.previous <> s.hash_before then 'the seal before it is another'
            when s.first_xid <> s.last_before + 1 then 'transactions before it are not covered'
            else 'its rows have changed'
        end
    from (
        select seals.*, content.rows as rows_now, content.hash as content,
            row_number() over w as nth,
            coalesce(lag(seals.hash) over w, '') as hash_before,
            coalesce(lag(seals.last_xid) over w, 0) as last_before
        from usance.seals seals
        cross join lateral usance.stream_hash(seals.stream, seals.first_xid, seals.last_xid) content
        where seals.stream = broken_seals.stream
        window w as (order by seals.no)
    ) s
    where s.no <> s.nth or s.previous <> s.hash_before or s.first_xid <> s.last_before + 1
        or s.rows <> s.rows_now
        or s.hash <> usance.seal_hash(
            s.previous, s.stream, s.no, s.first_xid, s.last_xid, s.rows, s.content)
    order by s.no
$$;
alter function usance.broken_seals owner to usance_writer;
revoke all on function usance.broken_seals from public;
grant execute on function usance.broken_seals to usance_application, usance_reader;
