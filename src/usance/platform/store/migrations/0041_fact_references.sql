-- References of providers for facts that are no payments: refunds, charge-backs, recoveries.

create table usance.fact_references (
    loan_id bigint not null,
    ref bigint not null,                                    -- of the fact
    user_id bigint not null,
    reference text not null,                                -- as the provider told it
    primary key (loan_id, ref)
);
alter table usance.fact_references enable row level security;
alter table usance.fact_references force row level security;
create policy written on usance.fact_references to usance_writer using (true) with check (true);
create policy seen on usance.fact_references for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal()))
        or usance.sees_user((select usance.principal()), user_id));
grant select, insert on usance.fact_references to usance_writer;
grant select on usance.fact_references
    to usance_application, usance_batch_writer, usance_reader;
create trigger append_only before update or delete or truncate on usance.fact_references
    for each statement execute function usance.refuse_change();
insert into usance.live_tables values ('fact_references', 'loan_id, ref', '{}');
