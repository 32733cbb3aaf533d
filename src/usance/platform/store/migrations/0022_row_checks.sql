-- To ask who sees a row costs a call with queries of its own: plans find the rows first, by index.
alter function usance.sees_user(usance.principals, bigint) cost 10000;
alter function usance.sees_loan(usance.principals, bigint) cost 10000;
