-- Plans of the router: prices of every limit, made by a job and taken by every worker.
create table usance.router_plans (
    number integer primary key,
    mandates text not null,                                 -- hash of those it was made for
    made_at timestamptz not null,                           -- business clock
    reason text not null,
    day integer not null,                                   -- moment it was made for, in the zone
    second integer not null,
    seen bigint not null,                                   -- requests by then
    segments integer not null,                              -- rows of demand it was made from
    prices json                                             -- none while no demand was known
);
create index router_plans_of on usance.router_plans (mandates, number desc);
grant select on usance.router_plans to usance_application, usance_batch_writer, usance_reader;
grant insert on usance.router_plans to usance_application;
create trigger append_only before update or delete or truncate on usance.router_plans
    for each statement execute function usance.refuse_change();
