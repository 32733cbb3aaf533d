"""Caches made again from what they were made of, and compared: each night, with a report.

States of loans follow from facts; the use of limits from placements and their offers; counters of
users from rows they count. Nothing is corrected here: a difference is a fault that is looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usance.base.ids import print_id
from usance.books.chart import load_chart
from usance.platform.commands.money.clearing import CLEARED, CLEARING_RULES
from usance.platform.commands.unit_of_work import now
from usance.platform.ledger.fact_postings import FACT_RULES
from usance.platform.ledger.recompute import differing_states
from usance.platform.principals import SYSTEM
from usance.platform.records.worst_days import WorstDays

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

MAX_NAMED = 1_000
"""Differences of one kind that are named; more are counted by whoever looks into it."""


@dataclass
class CacheReport:
    """A comparison: how many rows were looked at, and those that are not what they should be."""

    compared: int = 0
    differences: list[str] = field(default_factory=list)


async def compare_caches(platform: Platform) -> CacheReport:
    """Make every cache again and compare it, all as of one moment."""
    report = CacheReport()
    who = SYSTEM.principal_id
    async with platform.database.transaction(who, one_moment=True) as transaction:
        lender = (await now(transaction, platform.services)).lender
        report.compared = await transaction.fetchval(
            "select (select count(*) from usance.loan_states) + (select count(*) from "
            "usance.user_counters) + (select count(*) from usance.limit_usage)"
        )
        worst = WorstDays()
        async for each in differing_states(transaction, lender, worst=worst):
            report.differences.append(
                f"loan_states {print_id('ln', each.loan_id)}: {', '.join(each.fields)}"
            )
            if len(report.differences) >= MAX_NAMED:
                break
        else:
            report.differences += await _differing_worst_days(transaction, worst)
        report.differences += await _differing_counters(transaction)
        report.differences += await _differing_limits(transaction)
        report.differences += await _differing_clearing(transaction)
    return report


async def _differing_counters(transaction: asyncpg.Connection) -> list[str]:
    """Users whose counters are below what was numbered, or count other loans than there are."""
    rows = await transaction.fetch(_COUNTERS, MAX_NAMED)
    return [f"user_counters {print_id('us', row['user_id'])}: {row['what']}" for row in rows]


async def _differing_worst_days(
    transaction: asyncpg.Connection, worst: Mapping[int, int]
) -> list[str]:
    """Users whose most days past due are not those that they have paid at."""
    rows = await transaction.fetch(
        "select user_id, worst_days from usance.user_counters where worst_days <> 0"
    )
    kept = {row["user_id"]: row["worst_days"] for row in rows}
    wrong = sorted(user for user in kept.keys() | worst.keys()
                   if kept.get(user, 0) != worst.get(user, 0))  # fmt: skip
    return [f"user_counters {print_id('us', user)}: worst_days {kept.get(user, 0)}, receipts have "
            f"{worst.get(user, 0)}" for user in wrong[:MAX_NAMED]]  # fmt: skip


async def _differing_limits(transaction: asyncpg.Connection) -> list[str]:
    """Limits whose held and taken amounts are not those of the placements that use them."""
    rows = await transaction.fetch(_LIMITS, MAX_NAMED)
    return [
        f"limit_usage {row['name']}: held {row['held_minor']} and taken {row['taken_minor']}, "
        f"placements have {row['held']} and {row['taken']}"
        for row in rows
    ]


async def _differing_clearing(transaction: asyncpg.Connection) -> list[str]:
    """Cells whose cash with providers is not what was received, or posted as arrived."""
    chart = load_chart()
    rows = await transaction.fetch(
        _CLEARING, [chart[name].number for name in CLEARED], sorted(FACT_RULES),
        sorted(CLEARING_RULES), MAX_NAMED,
    )  # fmt: skip
    return [
        f"clearing_days cell {row['cell']}, account {row['account']}: {row['amount_minor']} "
        f"received and {row['cleared_minor']} cleared, postings have {row['received']} "
        f"and {row['posted']}"
        for row in rows
    ]


_COUNTERS = """
with numbered as (
    select user_id, 'decisions' as what, max(decision_id % 16384) as last
    from (select decision_id, decision_id / 16384 as user_id from usance.decisions) d group by 1
    union all
    select user_id, 'lines', max(line_id % 16384)
    from (select line_id, line_id / 16384 as user_id from usance.lines) l group by 1
    union all
    select user_id, 'requests', max(loan_id % 16384)
    from (select loan_id, loan_id / 16384 as user_id from usance.requests) r group by 1
    union all
    select user_id, 'borrowed', count(distinct loan_id)
    from (select loan_id, loan_id / 16384 as user_id from usance.loans) b group by 1
    union all
    select user_id, 'held', 0 from usance.user_counters where held_minor <> 0
)
select c.user_id, n.what from usance.user_counters c join numbered n using (user_id)
where case n.what when 'decisions' then c.decisions <> n.last when 'lines' then c.lines <> n.last
    when 'requests' then c.requests < n.last when 'held' then true else c.borrowed <> n.last end
order by 1, 2 limit $1
"""
_LIMITS = """
with used as (
    select l ->> 0 as name,
        sum(case when p.state = 'pending' then (l ->> 1)::bigint else 0 end) as held,
        sum(case when p.state = 'pending' then 0 else (l ->> 1)::bigint end) as taken
    from usance.placements p
    left join usance.offers o on o.loan_id = p.loan_id and o.state = 'open'
    cross join jsonb_array_elements(p.candidates) c cross join jsonb_array_elements(c -> 'limits') l
    where (p.state in ('approved', 'active') and (c ->> 'source')::integer = p.source)
        or (p.state = 'pending' and (c ->> 'source')::integer = o.source)
    group by 1
)
select name, coalesce(u.held_minor, 0) as held_minor, coalesce(u.taken_minor, 0) as taken_minor,
    coalesce(used.held, 0)::bigint as held, coalesce(used.taken, 0)::bigint as taken
from usance.limit_usage u full join used using (name)
where (coalesce(u.held_minor, 0), coalesce(u.taken_minor, 0))
    <> (coalesce(used.held, 0), coalesce(used.taken, 0))
order by 1 limit $1
"""
_CLEARING = """
with kept as (
    select cell, account, sum(amount_minor) as amount_minor, sum(cleared_minor) as cleared_minor
    from usance.clearing_days group by 1, 2
), posted as (
    select p.cell, p.account,
        sum(p.amount_minor) filter (where p.rule = any($2) and p.xid::text::bigint
            < (select through_xid from usance.clearing_mark)) as received,
        -sum(p.amount_minor) filter (where p.rule = any($3) and j.close_no = 0) as cleared
    from usance.postings p join usance.journals j using (journal_id)
    where p.account = any($1) group by 1, 2
)
select cell, account, coalesce(k.amount_minor, 0)::bigint as amount_minor,
    coalesce(k.cleared_minor, 0)::bigint as cleared_minor,
    coalesce(p.received, 0)::bigint as received, coalesce(p.cleared, 0)::bigint as posted
from kept k full join posted p using (cell, account)
where (coalesce(k.amount_minor, 0), coalesce(k.cleared_minor, 0))
    <> (coalesce(p.received, 0), coalesce(p.cleared, 0))
order by 1, 2 limit $4
"""
