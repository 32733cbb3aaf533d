-- An institution sees the loans that it funds together with another.
create or replace function usance.sees_loan(who usance.principals, id bigint) returns boolean
language sql stable security definer cost 10000 set search_path = usance, pg_temp as $$
    select case
        when who.kind = 'institution' then exists (
            select from usance.loans l join usance.sources s using (source)
            where l.loan_id = id and s.institution = who.party)
            or exists (
            select from usance.shares h join usance.sources s using (source)
            where h.loan_id = id and s.institution = who.party)
        else usance.sees_user(who, id / 16384)
    end
$$;
