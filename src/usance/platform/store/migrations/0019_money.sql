-- Money that moves: payment orders as folds over their events, files of banks and providers,
-- unallocated cash, and breaks.

-- The state of an order is a cache of its events.
alter table usance.orders drop constraint orders_state_check;
alter table usance.orders drop constraint orders_kind_check;
drop index usance.orders_sent;
update usance.orders set state =
    case state when 'sent' then 'accepted' when 'failed' then 'rejected' else state end;
alter table usance.orders
    add constraint orders_state_check check (state in ('created', 'sending', 'accepted', 'settled',
        'rejected', 'returned', 'expired', 'cancelled')),
    add constraint orders_kind_check check (kind in ('payout', 'debit', 'refund', 'party_payout',
        'own_transfer')),
    add constraint orders_amount_check check (amount_minor > 0),
    add column own_reference text,                          -- end to end, unique for ever
    add column party smallint not null default 0,           -- an institution or guarantor
    add column splits jsonb not null default '[]',          -- [loan, amount] of several loans
    add column expires_at timestamptz,
    add column next_at timestamptz;                         -- when the clock looks at it; null: never
update usance.orders set own_reference = 'order-' || order_id,
    splits = jsonb_build_array(jsonb_build_array(loan_id, amount_minor)),
    expires_at = made_at + interval '7 days',
    next_at = case state when 'accepted' then settles_on::timestamptz end;
alter table usance.orders
    alter column own_reference set not null,
    alter column expires_at set not null,
    add constraint orders_own_reference unique (own_reference);
create index orders_next on usance.orders (next_at, order_id) where next_at is not null;
create index orders_open on usance.orders (user_id) where state in ('created', 'sending', 'accepted');

create table usance.order_events (
    order_id bigint not null,
    no smallint not null check (no > 0),
    user_id bigint not null,
    kind text not null check (kind in ('taken_over', 'sent', 'sent_again', 'asked', 'expired',
        'cancelled', 'not_found', 'accepted', 'settled', 'rejected', 'returned')),
    at timestamptz not null,
    source text not null,                                   -- the document or call it comes from
    amount_minor bigint not null,
    provider_ref text not null,
    moved_on date,
    provider smallint not null,
    primary key (order_id, no)
);
insert into usance.order_events
select order_id, 1, user_id, 'sent', made_at, 'before events', 0, '', null, 0 from usance.orders
union all
select order_id, 2, user_id, state, coalesce(ended_at, made_at), 'before events',
    case state when 'settled' then amount_minor else 0 end, reference,
    case state when 'settled' then settles_on end, 0
from usance.orders;

-- Rows of a log are numbered 1, 2, 3 … under the lock of what they belong to: whoever was slower
-- decides again.
create function usance.check_next_no() returns trigger
language plpgsql as $$
declare
    last integer;
begin
    execute format('select from usance.%I where %I = ($1).%I for update', tg_argv[0], tg_argv[1],
        tg_argv[1]) using new;
    execute format('select coalesce(max(no), 0) from usance.%I where %I = ($1).%I', tg_table_name,
        tg_argv[1], tg_argv[1]) into last using new;
    if new.no <> last + 1 then
        raise exception 'somebody was quicker' using errcode = 'US010';
    end if;
    return new;
end
$$;
create trigger next_no before insert on usance.order_events
    for each row execute function usance.check_next_no('orders', 'order_id');
create trigger append_only before update or delete or truncate on usance.order_events
    for each statement execute function usance.refuse_change();

create table usance.unallocated (                           -- money received that no loan takes
    unallocated_id bigint primary key,
    user_id bigint not null,                                -- 0 where nobody is known
    provider smallint not null,
    reference text not null,
    received_on date not null,
    amount_minor bigint not null check (amount_minor > 0),
    used_minor bigint not null check (used_minor between 0 and amount_minor),
    currency smallint not null,
    party bytea not null,                                   -- blind index of the payer's name
    owner text not null,
    booked_at timestamptz not null,
    unique (provider, reference)
);
create index unallocated_open on usance.unallocated (unallocated_id) where used_minor < amount_minor;
create table usance.unallocated_uses (
    unallocated_id bigint not null,
    no smallint not null check (no > 0),
    user_id bigint not null,
    kind text not null check (kind in ('allocated', 'returned', 'reversed')),
    amount_minor bigint not null check (amount_minor > 0),
    principal_id integer not null,
    target_id bigint not null,                              -- payment or order
    at timestamptz not null,
    primary key (unallocated_id, no)
);
create trigger next_no before insert on usance.unallocated_uses
    for each row execute function usance.check_next_no('unallocated', 'unallocated_id');
create trigger append_only before update or delete or truncate on usance.unallocated_uses
    for each statement execute function usance.refuse_change();
create function usance.use_cash() returns trigger
language plpgsql as $$
begin
    update usance.unallocated set used_minor = used_minor + new.amount_minor
    where unallocated_id = new.unallocated_id;
    return null;
end
$$;
create trigger used after insert on usance.unallocated_uses
    for each row execute function usance.use_cash();

-- What a payment leaves over waits here, whatever command booked it.
create function usance.keep_rest() returns trigger
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    insert into usance.unallocated
    select payment_id, user_id, provider, reference, effective_on, unallocated_minor, 0, currency,
        '', 'operations', booked_at
    from added where unallocated_minor > 0;
    return null;
end
$$;
create trigger keep_rest after insert on usance.payments
    referencing new table as added for each statement execute function usance.keep_rest();
create function usance.take_back_rest() returns trigger
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    insert into usance.unallocated_uses
    select u.unallocated_id,
        1 + (select count(*) from usance.unallocated_uses o where o.unallocated_id = u.unallocated_id),
        u.user_id, 'reversed', u.amount_minor - u.used_minor, 0, u.unallocated_id, a.booked_at
    from added a join usance.unallocated u on u.unallocated_id = a.payment_id
    where u.used_minor < u.amount_minor;
    return null;
end
$$;
create trigger take_back_rest after insert on usance.payment_reversals
    referencing new table as added for each statement execute function usance.take_back_rest();
insert into usance.unallocated
select p.payment_id, p.user_id, p.provider, p.reference, p.effective_on, p.unallocated_minor, 0,
    p.currency, '', 'operations', p.booked_at
from usance.payments p
where p.unallocated_minor > 0 and not exists (
    select from usance.payment_reversals r where r.payment_id = p.payment_id);

create table usance.breaks (
    break_id bigint primary key,
    key text not null unique,                               -- the same difference is raised once
    provider smallint not null,
    leg text not null check (leg in ('order', 'provider', 'bank')),
    class text not null,
    reference text not null,
    amount_minor bigint not null,
    difference_minor bigint not null,
    arose_on date not null,
    owner text not null,
    command text not null,                                  -- proposed
    state text not null check (state in ('open', 'explained', 'cleared', 'resolved')),
    reason text not null,
    proposed_by integer not null,
    cleared_by integer not null,
    opened_at timestamptz not null,
    ended_at timestamptz
);
create index breaks_open on usance.breaks (break_id) where state in ('open', 'explained');

create table usance.money_files (                           -- every version that was taken
    file_id bigint primary key,
    provider smallint not null,
    source text not null check (source in ('bank', 'provider')),
    profile text not null,
    account text not null,
    identity text not null,
    name text not null,
    digest text not null,
    lines integer not null,
    currency text not null,
    opening_minor bigint,
    closing_minor bigint,
    closing_on date,
    replaces bigint not null,                               -- the version that it corrects, or 0
    in_force boolean not null,
    taken_at timestamptz not null
);
create unique index money_files_in_force on usance.money_files (provider, account, identity)
    where in_force;
create table usance.file_lines (
    file_id bigint not null,
    no integer not null,
    reference text not null,
    amount_minor bigint not null,
    currency text not null,
    booked_on date not null,
    value_on date,
    party bytea not null,                                   -- blind index of a name
    batch text not null,
    fee_minor bigint not null,
    loan_id bigint not null,
    bank_ref text not null,
    is_reversal boolean not null,
    primary key (file_id, no)
);
create index file_lines_day on usance.file_lines (booked_on);
create trigger append_only before update or delete or truncate on usance.file_lines
    for each statement execute function usance.refuse_change();

create table usance.bank_accounts (                         -- accounts of the group
    account text primary key,
    entity smallint not null,
    ledger_account text not null,
    provider smallint not null                              -- whose money arrives there, or 0
);
create table usance.virtual_accounts (                      -- money to this number is this user's
    number text primary key,
    user_id bigint not null,
    provider smallint not null,
    opened_at timestamptz not null,
    unique (user_id, provider)
);
create table usance.money_runs (                            -- parts of a day that were done once
    day date not null,
    name text not null,                                     -- debits/08, reconcile/psp_a
    at timestamptz not null,
    result jsonb not null,
    primary key (day, name)
);

do $$
declare
    name text;
    test text;
begin
    for name, test in
        select * from (values
            ('order_events', 'usance.sees_user(usance.principal(), user_id)'),
            ('unallocated', 'usance.sees_all(usance.principal())'),
            ('unallocated_uses', 'usance.sees_all(usance.principal())'),
            ('breaks', 'usance.sees_all(usance.principal())'),
            ('money_files', 'usance.sees_all(usance.principal()) or '
                '((usance.principal()).kind = ''provider'' '
                'and provider = (usance.principal()).party)'),
            ('file_lines', 'usance.sees_all(usance.principal())'),
            ('bank_accounts', 'usance.sees_all(usance.principal())'),
            ('virtual_accounts', 'usance.sees_user(usance.principal(), user_id)')
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

update usance.live_tables set
    changes = '{state,ended_at,reference,amount_minor,splits,provider,next_at,settles_on}'
where name = 'orders';
insert into usance.live_tables values
    ('order_events', 'order_id, no', '{}'),
    ('unallocated', 'unallocated_id', '{user_id,owner}'),
    ('unallocated_uses', 'unallocated_id, no', '{}'),
    ('breaks', 'key', '{state,reason,proposed_by,cleared_by,ended_at,owner}'),
    ('money_files', 'file_id', '{in_force}'),
    ('file_lines', 'file_id, no', '{}'),
    ('bank_accounts', 'account', '{entity,ledger_account,provider}'),
    ('virtual_accounts', 'number', '{}');
grant select on usance.money_runs to usance_application, usance_reader, usance_batch_writer;
grant insert on usance.money_runs to usance_application;
create trigger append_only before update or delete or truncate on usance.money_runs
    for each statement execute function usance.refuse_change();
alter function usance.keep_rest() owner to usance_writer;
alter function usance.take_back_rest() owner to usance_writer;
