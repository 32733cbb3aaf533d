-- Rows by their transaction, for exports: blocks of rows follow the order of transactions, so a
-- summary of each block finds them at next to no cost of a write.
create index decisions_xid on usance.decisions using brin ((xid::text::bigint));
create index decision_inputs_xid on usance.decision_inputs using brin ((xid::text::bigint));
create index lines_xid on usance.lines using brin ((xid::text::bigint));
create index requests_xid on usance.requests using brin ((xid::text::bigint));
create index routing_xid on usance.routing using brin ((xid::text::bigint));
create index loans_xid on usance.loans using brin ((xid::text::bigint));
create index shares_xid on usance.shares using brin ((xid::text::bigint));
create index group_facts_xid on usance.group_facts using brin ((xid::text::bigint));
