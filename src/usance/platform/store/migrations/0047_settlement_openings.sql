-- Where a lender was loaded with its history: what was settled elsewhere before.

create table usance.settlement_openings (
    institution smallint primary key,
    day date not null,                                      -- settled through, as known then
    through_xid bigint not null                             -- facts below it came along
);
alter table usance.settlement_openings enable row level security;
alter table usance.settlement_openings force row level security;
create policy seen on usance.settlement_openings for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal())));
create policy written on usance.settlement_openings to usance_writer
    using (true) with check (true);
grant select on usance.settlement_openings
    to usance_application, usance_batch_writer, usance_reader;
grant select, insert on usance.settlement_openings to usance_writer;
create trigger append_only before update or delete or truncate on usance.settlement_openings
    for each statement execute function usance.refuse_change();
