-- Help for borrowers: requests with their deadline, and plans with what came of them.

alter table usance.plan_offers
    add column granted_as text not null default 'collector', -- the role whose authority it rests on
    add column pay_minor bigint not null default 0,          -- what settles the loan, of a settlement
    add column answered_on date,
    add column facts jsonb not null default '[]';            -- references of what was booked
update usance.live_tables set changes = '{state,after,pay_minor,answered_on,facts}'
where name = 'plan_offers';

create table usance.hardship_requests (
    request_id bigint primary key,
    user_id bigint not null,
    loan_id bigint not null,                                 -- 0: all loans
    reason text not null,
    text text not null,
    received_on date not null,
    answer_by date not null,
    plan_id bigint not null,                                 -- offered in answer to it, or 0
    state text not null check (state in ('open', 'offered', 'declined')),
    answer text not null,
    answered_on date
);
create index hardship_requests_of_user on usance.hardship_requests (user_id);
alter table usance.hardship_requests enable row level security;
alter table usance.hardship_requests force row level security;
create policy seen on usance.hardship_requests for select
    to usance_application, usance_reader, usance_batch_writer
    using ((select usance.sees_all(usance.principal()))
        or usance.sees_user((select usance.principal()), user_id));
create policy written on usance.hardship_requests to usance_writer using (true) with check (true);
grant select on usance.hardship_requests to usance_application, usance_batch_writer, usance_reader;
grant select, insert, update on usance.hardship_requests to usance_writer;
insert into usance.live_tables values
    ('hardship_requests', 'request_id', '{plan_id,state,answer,answered_on}');
