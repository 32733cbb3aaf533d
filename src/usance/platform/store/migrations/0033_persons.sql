-- One person over all channels: what they asked for, borrowed and were late with elsewhere counts.
create function usance.person_record(
    id bigint, since timestamptz, out applications integer, out worst_days integer,
    out borrowed integer, out lines_minor bigint
)
language plpgsql stable security definer set search_path = usance, pg_temp as $$
declare
    own bigint;
    others bigint[];
begin
    if not usance.sees_user(usance.principal(), id) then
        return;
    end if;
    select p.person_id into own from usance.user_persons p where p.user_id = id;
    others := coalesce((select array_agg(o.user_id) from usance.user_persons o
        where o.person_id = own and o.user_id <> id), '{}');
    select count(*) into applications
        from unnest(array_append(others, id)) g (number) join usance.decisions d
        on d.decision_id between g.number * 16384 and g.number * 16384 + 16383
        where d.kind = 0 and d.booked_at > since;
    select coalesce(max(c.worst_days), 0), coalesce(sum(c.borrowed), 0)
        into worst_days, borrowed
        from usance.user_counters c where c.user_id = any (others);
    select coalesce(sum(l.limit_minor), 0) into lines_minor
        from unnest(others) g (number), lateral (
            select distinct on (product) n.limit_minor, n.state from usance.lines n
            where n.line_id between g.number * 16384 and g.number * 16384 + 16383
            order by product, line_id desc, effective_on desc) l
        where l.state <> 0;
end
$$;
alter function usance.person_record owner to usance_writer;
revoke all on function usance.person_record from public;
grant execute on function usance.person_record to usance_application, usance_batch_writer;
