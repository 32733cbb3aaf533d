-- Virtual accounts that money finds its borrower or loan by, and third-party guarantors: claims
-- with answers and disputes, deposits with a required level and calls, recoveries passed on.

alter table usance.parties drop constraint parties_kind_check;
alter table usance.parties add constraint parties_kind_check check (kind in
    ('channel', 'institution', 'provider', 'guarantor'));
alter table usance.settings drop constraint settings_kind_check;
alter table usance.settings add constraint settings_kind_check check (kind in
    ('lender', 'plan_rules', 'mandates', 'flow', 'model', 'parameter', 'strategy', 'agency', 'c_score'));
alter table usance.virtual_accounts drop constraint virtual_accounts_user_id_provider_key;
alter table usance.virtual_accounts
    add column loan_id bigint not null default 0,           -- 0: all loans of the user
    add column closed_at timestamptz;
create unique index virtual_accounts_open on usance.virtual_accounts (user_id, provider, loan_id)
    where closed_at is null;
update usance.live_tables set changes = '{closed_at}' where name = 'virtual_accounts';
alter table usance.file_lines add column account text not null default '';

alter table usance.claims drop constraint claims_state_check;
alter table usance.claims drop constraint claims_loan_id_fact_ref_key;
alter table usance.claims
    add constraint claims_once unique (loan_id, fact_ref, institution),
    add constraint claims_state_check check (state in ('paid', 'withdrawn', 'filed', 'declined',
        'disputed', 'closed')),
    add column answer_by date,                              -- of a third party
    add column deposit_minor bigint not null default 0,     -- paid out of our deposit with it
    add column own_minor bigint not null default 0,         -- paid by the guarantor itself
    add column passed_minor bigint not null default 0,      -- recoveries passed on to it
    add column reason text not null default '',
    add constraint claims_parts check (deposit_minor >= 0 and own_minor >= 0
        and deposit_minor + own_minor <= amount_minor and passed_minor <= own_minor);
update usance.live_tables set
    changes = '{state,settlement_id,answer_by,deposit_minor,own_minor,passed_minor,reason}'
where name = 'claims';
create index claims_guarantor on usance.claims (guarantor) where guarantor > 0;
create table usance.claim_events (
    claim_id bigint not null,
    no smallint not null check (no > 0),
    kind text not null check (kind in ('filed', 'paid', 'declined', 'disputed', 'closed',
        'withdrawn', 'passed_on')),
    effective_on date not null,
    deposit_minor bigint not null,
    own_minor bigint not null,
    reason text not null,
    principal_id integer not null,
    at timestamptz not null,
    primary key (claim_id, no)
);
create trigger next_no before insert on usance.claim_events
    for each row execute function usance.check_next_no('claims', 'claim_id');

create table usance.deposit_balances (                    -- a cache of its movements
    guarantor smallint primary key,
    balance_minor bigint not null check (balance_minor >= 0)
);
create table usance.deposit_moves (
    guarantor smallint not null,
    no integer not null check (no > 0),
    kind text not null check (kind in ('placed', 'returned', 'claim', 'claim_undone')),
    amount_minor bigint not null check (amount_minor <> 0), -- below zero: leaves the deposit
    effective_on date not null,
    reference text not null,
    fact_id bigint not null,                                -- of the group, for the close
    principal_id integer not null,
    at timestamptz not null,
    primary key (guarantor, no),
    unique (guarantor, reference)
);
create trigger next_no before insert on usance.deposit_moves
    for each row execute function usance.check_next_no('deposit_balances', 'guarantor');
create function usance.move_deposit() returns trigger
language plpgsql as $$
begin
    update usance.deposit_balances set balance_minor = balance_minor + new.amount_minor
    where guarantor = new.guarantor;
    return null;
end
$$;
create trigger moved after insert on usance.deposit_moves
    for each row execute function usance.move_deposit();
create table usance.deposit_calls (                         -- the guarantor asks for more
    guarantor smallint not null,
    day date not null,
    guaranteed_minor bigint not null,
    required_minor bigint not null,
    balance_minor bigint not null,
    amount_minor bigint not null check (amount_minor > 0),
    due_on date not null,
    state text not null check (state in ('open', 'met')),
    ended_on date,
    primary key (guarantor, day)
);
create unique index deposit_calls_open on usance.deposit_calls (guarantor) where state = 'open';

do $$
declare
    name text;
begin
    foreach name in array array['claim_events', 'deposit_moves'] loop
        execute format('create trigger append_only before update or delete or truncate'
            ' on usance.%I for each statement execute function usance.refuse_change()', name);
    end loop;
    foreach name in array array['claim_events', 'deposit_balances', 'deposit_moves',
            'deposit_calls'] loop
        execute format('alter table usance.%I enable row level security', name);
        execute format('alter table usance.%I force row level security', name);
        execute format(
            'create policy seen on usance.%I for select to usance_application, usance_reader,'
            ' usance_batch_writer using ((select usance.sees_all(usance.principal())))', name);
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
insert into usance.live_tables values
    ('claim_events', 'claim_id, no', '{}'),
    ('deposit_balances', 'guarantor', '{}'),
    ('deposit_moves', 'guarantor, no', '{}'),
    ('deposit_calls', 'guarantor, day', '{state,ended_on}');
