-- Halves of business days that were served: what falls due by rule was stated for every loan.
create table usance.business_days (
    day date not null,
    part text not null check (part in ('morning', 'evening')),
    served_at timestamptz not null,                         -- business clock
    loans integer not null,                                 -- that something fell due on
    set_aside integer not null,                             -- that could not be served, now jobs
    primary key (day, part)
);
grant select on usance.business_days to usance_application, usance_reader, usance_batch_writer;
grant insert on usance.business_days to usance_application;
create trigger append_only before update or delete or truncate on usance.business_days
    for each statement execute function usance.refuse_change();
