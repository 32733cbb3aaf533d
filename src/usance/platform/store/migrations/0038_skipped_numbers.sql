-- After a restore: numbers that the history which was lost may have given are not given again.
-- Providers, institutions and borrowers may know them: of records, drawdowns, batches and claims.
-- Users are numbered without gaps and stay so.
create function usance.skip_numbers() returns void
language sql security definer set search_path = usance, pg_temp as $$
    update usance.counters set last = last + 4096 where kind <> 'user';
    update usance.user_counters set records = records + 64, requests = requests + 8;
$$;
alter function usance.skip_numbers owner to usance_writer;
revoke all on function usance.skip_numbers from public;
