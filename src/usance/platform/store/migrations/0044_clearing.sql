-- Cash on its way from payment providers: what was received on a day by cell and account, and what
-- of it has been posted as arrived. A cache of postings, from which each evening posts what is due.
create table usance.clearing_days (
    cell smallint not null,
    entity smallint not null,
    account smallint not null,
    day date not null,
    amount_minor bigint not null,                           -- received
    cleared_minor bigint not null,                          -- of it, posted as arrived
    primary key (cell, entity, account, day)
);
create index clearing_days_open on usance.clearing_days (day) where amount_minor <> cleared_minor;
create table usance.clearing_mark (
    is_it boolean primary key default true check (is_it),
    through_xid bigint not null                             -- postings below it were taken in
);
do $$
declare
    name text;
begin
    foreach name in array array['clearing_days', 'clearing_mark'] loop
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
    ('clearing_days', 'cell, entity, account, day', '{amount_minor,cleared_minor}'),
    ('clearing_mark', 'is_it', '{through_xid}');
