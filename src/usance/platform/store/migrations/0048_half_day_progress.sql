-- How far the half day is that is being served, or was last: one row.

create table usance.half_day_progress (
    is_it boolean primary key default true check (is_it),
    day date not null,
    part text not null check (part in ('morning', 'evening')),
    checked bigint not null,                              -- open loans so far
    served bigint not null,                                 -- of them, what something fell due on
    before bigint not null,                                 -- open loans of the half day before
    told_at timestamptz not null                            -- wall clock
);
grant select on usance.half_day_progress
    to usance_application, usance_reader, usance_batch_writer;
grant insert, update on usance.half_day_progress to usance_application;
