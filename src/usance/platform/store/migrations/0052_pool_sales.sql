-- Sales of charged-off loans, and the loans of each as its tape has them.
create table usance.pool_sales (
    sale_id bigint primary key,
    buyer text not null,
    sold_on date not null,
    loans integer not null,
    owed_minor bigint not null,
    price_minor bigint not null check (price_minor >= 0),
    principal_id integer not null,
    at timestamptz not null
);
create table usance.sold_loans (
    loan_id bigint primary key,                             -- a loan is sold once
    sale_id bigint not null,
    user_id bigint not null,
    principal_minor bigint not null,
    owed_minor bigint not null,
    price_minor bigint not null
);
create index sold_loans_of_sale on usance.sold_loans (sale_id, user_id);
do $$
declare
    name text;
begin
    foreach name in array array['pool_sales', 'sold_loans'] loop
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
    ('pool_sales', 'sale_id', '{}'),
    ('sold_loans', 'loan_id', '{}');
alter table usance.unallocated_uses drop constraint unallocated_uses_kind_check;
alter table usance.unallocated_uses add constraint unallocated_uses_kind_check
    check (kind in ('allocated', 'returned', 'reversed', 'passed_on'));
