"""Condition of a platform, for those who watch it: queue, seals, lake, days and caches."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from usance.base.book import Book
from usance.platform.business_calendars import calendar_ends
from usance.platform.jobs.queue import JobState
from usance.platform.lake.export import mark_of
from usance.platform.scheduler import DAY_JOB
from usance.platform.store.backup import last_backup

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.lender import Lender

LAKE = "lake"


class Gauge(NamedTuple):
    """A figure as it is now, for each value of one label or of none."""

    name: str
    meaning: str
    values: dict[str, float]
    label: str = ""


async def condition(
    transaction: asyncpg.Connection, home: Path | None, lender: Lender
) -> list[Gauge]:
    """Every figure of the database's own, and of the lake in a home."""
    jobs = await transaction.fetch("select state, count(*) as n from usance.jobs group by state")
    row = await transaction.fetchrow(_CONDITION, DAY_JOB)
    assert row is not None, "a query without a table gives a row"
    horizon = row["horizon"]
    by_state = dict.fromkeys(map(str, JobState), 0.0) | {each["state"]: each["n"] for each in jobs}
    found = [
        Gauge("usance_jobs", "Jobs by state.", by_state, "state"),
        Gauge("usance_job_wait_seconds", "Age of the oldest job that is due.",
              {"": float(row["waited"])}),
        Gauge("usance_seal_lag_transactions", "Transactions since the last seal.",
              {"": horizon - 1 - row["sealed"] if row["sealed"] else horizon}),
        Gauge("usance_business_date_lag_days", "Days that the business date is behind the clock.",
              {"": row["days"]}),
        Gauge("usance_periods", "Periods by state.",
              {str(name): n for name, n in json.loads(row["periods"]).items()}, "state"),
    ]  # fmt: skip
    ends = {each.calendar: (each.last_day - row["business_date"]).days
            for each in calendar_ends(lender, row["business_date"])}  # fmt: skip
    if ends:
        found.append(Gauge("usance_calendar_days", "Days left of a calendar that ends soon.",
                           ends, "calendar"))  # fmt: skip
    if row["half"] is not None:
        found.append(Gauge("usance_half_day_loans", "Loans of the half day that is served now, or "
                           "was last: checked, served, and checked the time before.",
                           {name: float(n) for name, n in json.loads(row["half"]).items()},
                           "what"))  # fmt: skip
    if row["day"] is not None:
        result = json.loads(row["day"])
        found += [
            Gauge("usance_cache_differences", "Caches that were not what they are made of.",
                  {"": result.get("differing", 0)}),
            Gauge("usance_caches_compared", "Caches that the last day's end compared.",
                  {"": result.get("compared", 0)}),
        ]  # fmt: skip
    return [*found, *_lake(home, horizon), *_backup(home, row["backup_lag"])]


def _lake(home: Path | None, horizon: int) -> list[Gauge]:
    """How far the lake is behind; nothing where there is none."""
    manifest = home / LAKE / "manifest.json" if home else None
    if manifest is None or not manifest.exists():
        return []
    age = datetime.now(UTC).timestamp() - manifest.stat().st_mtime
    mark = mark_of(Book.open(manifest.parent))
    return [
        Gauge("usance_export_lag_transactions", "Transactions since the last export.",
              {"": horizon - mark.transaction}),
        Gauge("usance_export_age_seconds", "Time since the lake was written.", {"": age}),
    ]  # fmt: skip


def _backup(home: Path | None, lag: int | None) -> list[Gauge]:
    """The age of the last base backup, and how far the received log is behind; where there are."""
    last = last_backup(home) if home else None
    found = []
    if last is not None:
        age = (datetime.now(UTC) - last.taken_at).total_seconds()
        found.append(Gauge("usance_backup_age_seconds", "Time since the last base backup.",
                           {"": age}))  # fmt: skip
    if lag is not None:
        found.append(Gauge("usance_backup_log_lag_bytes",
                           "Log that is kept for its receiver, which has not got it.",
                           {"": float(lag)}))  # fmt: skip
    return found


_CONDITION = """
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon,
    (select coalesce(extract(epoch from clock_timestamp() - min(not_before)), 0)
     from usance.jobs where state = 'waiting' and not_before <= clock_timestamp()) as waited,
    (select max(last_xid) from usance.seals) as sealed,
    (select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
     from pg_replication_slots where slot_name = 'usance_backup') as backup_lag,
    (select case mode when 0 then (clock at time zone time_zone)::date - business_date
        else (clock_timestamp() at time zone time_zone)::date - business_date end
     from usance.installation) as days,
    (select business_date from usance.installation) as business_date,
    (select coalesce(json_object_agg(name, n), '{}') from (
        select case state when 0 then 'open' when 1 then 'closing' when 2 then 'closed'
            else 'locked' end as name, count(*) as n from usance.periods group by 1) p) as periods,
    (select json_build_object('checked', checked, 'served', served, 'before', before)
     from usance.half_day_progress) as half,
    (select result from usance.jobs where kind = $1 and state = 'done'
     order by job_id desc limit 1) as day
"""
