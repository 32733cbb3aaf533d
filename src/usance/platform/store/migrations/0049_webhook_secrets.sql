-- The secret of a partner's webhook is theirs alone: nobody else gives it another and is told it.
create or replace function usance.rotate_webhook(id bigint, new_secret bytea, overlap interval)
returns boolean
language plpgsql security definer set search_path = usance, pg_temp as $$
begin
    update usance.webhooks w set former_secret = w.secret,
        former_until = clock_timestamp() + overlap, secret = new_secret
    where w.webhook_id = id and w.ended_at is null
        and (w.principal_id = (usance.principal()).principal_id
            or usance.sees_all(usance.principal()) and exists (
                select from usance.principals p
                where p.principal_id = w.principal_id and usance.sees_all(p)));
    return found;
end
$$;
