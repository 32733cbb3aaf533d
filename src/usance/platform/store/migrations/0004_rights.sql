-- Who reads and writes what. Nobody writes but the write call; it runs as `writer`, which cannot
-- log in, and checks that the principal of each command owns the user it is about.
do $$
begin
    if not exists (select from pg_roles where rolname = 'usance_writer') then
        create role usance_writer nologin noinherit;
    end if;
end
$$;
grant usance_writer to current_user;
grant usage, create on schema usance to usance_writer;

-- The principal of a transaction is set in it: `usance.principal` is its number.
create function usance.principal() returns usance.principals
language sql stable security definer set search_path = usance, pg_temp as $$
    select p from usance.principals p
    where p.principal_id = nullif(current_setting('usance.principal', true), '')::integer
        and p.is_active
$$;

create function usance.sees_all(who usance.principals) returns boolean
language sql immutable as $$
    select coalesce(who.kind in ('system', 'operator', 'service'), false)
$$;

-- A user is seen by its channel, by itself, and by those who see all.
create function usance.sees_user(who usance.principals, id bigint) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select case
        when usance.sees_all(who) then true
        when who.kind = 'borrower' then who.user_id = id
        when who.kind = 'channel' then exists (
            select from usance.users u where u.user_id = id and u.channel = who.party)
        else false
    end
$$;

-- A loan is seen by whoever sees its user, and by the institutions that fund it.
create function usance.sees_loan(who usance.principals, id bigint) returns boolean
language sql stable security definer set search_path = usance, pg_temp as $$
    select case
        when who.kind = 'institution' then exists (
            select from usance.loans l join usance.sources s using (source)
            where l.loan_id = id and s.institution = who.party)
        else usance.sees_user(who, id / 16384)
    end
$$;

do $$
declare
    name text;
    test text;
begin
    for name, test in
        select * from (values
            ('users', 'usance.sees_user(usance.principal(), user_id)'),
            ('user_counters', 'usance.sees_user(usance.principal(), user_id)'),
            ('decisions', 'usance.sees_user(usance.principal(), decision_id / 16384)'),
            ('decision_inputs', 'usance.sees_user(usance.principal(), decision_id / 16384)'),
            ('lines', 'usance.sees_user(usance.principal(), line_id / 16384)'),
            ('requests', 'usance.sees_user(usance.principal(), loan_id / 16384)'),
            ('routing', 'usance.sees_user(usance.principal(), loan_id / 16384)'),
            ('loans', 'usance.sees_loan(usance.principal(), loan_id)'),
            ('shares', 'usance.sees_loan(usance.principal(), loan_id)'),
            ('facts', 'usance.sees_loan(usance.principal(), loan_id)'),
            ('loan_states', 'usance.sees_loan(usance.principal(), loan_id)'),
            ('payments', 'usance.sees_loan(usance.principal(), loan_id)'),
            ('outbox', 'usance.sees_user(usance.principal(), user_id)'),
            ('idempotency', 'principal_id = (usance.principal()).principal_id'),
            ('audit', 'usance.sees_all(usance.principal())'),
            ('journals', 'usance.sees_all(usance.principal())'),
            ('postings', 'usance.sees_all(usance.principal())'),
            ('group_facts', 'usance.sees_all(usance.principal())')
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
    end loop;
end
$$;

grant select on all tables in schema usance
    to usance_application, usance_batch_writer, usance_reader, usance_writer;
revoke select on usance.principals, usance.idempotency from usance_reader;
grant insert on
    usance.users, usance.decisions, usance.decision_inputs, usance.lines, usance.requests,
    usance.routing, usance.loans, usance.shares, usance.facts, usance.journals, usance.postings,
    usance.group_facts, usance.payments, usance.outbox, usance.audit, usance.idempotency,
    usance.user_counters, usance.loan_states to usance_writer;
grant update on
    usance.user_counters, usance.loan_states, usance.limit_usage, usance.counters to usance_writer;

-- Commands of one principal name it in the transaction; a batch carries one for each command.
create type usance.owner as (principal_id integer, user_id bigint);

create function usance.check_owners(owners usance.owner[]) returns void
language plpgsql as $$
declare
    foreign_user bigint;
begin
    if session_user <> 'usance_batch_writer'
        and exists (
            select from unnest(owners) o
            where o.principal_id is distinct from (usance.principal()).principal_id)
    then
        raise exception 'the principal of a command is not that of its transaction'
            using errcode = 'US020';
    end if;
    select o.user_id into foreign_user
    from unnest(owners) o
    left join usance.principals p on p.principal_id = o.principal_id and p.is_active
    where not coalesce(usance.sees_user(p, o.user_id), false)
    limit 1;
    if found then
        raise exception 'user % belongs to somebody else', foreign_user using errcode = 'US020';
    end if;
end
$$;
