"""The portfolio of an institution: its own loans by quarter, and its days of settlement.

Every query runs under the caller: row-level security leaves its own rows alone.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.dates import to_month
from usance.base.periods import quarter_label
from usance.platform.reads.loans.positions import loan_positions

if TYPE_CHECKING:
    import asyncpg

LOANS, DAYS, LATE = 5_000, 60, 30
"""Loans and days that are looked at; days past due from which a loan is late."""


async def own_sources(transaction: asyncpg.Connection, institution: int) -> list[int]:
    """Sources of an institution; named in a query, they spare the check of every other row."""
    rows = await transaction.fetch(
        "select distinct source from usance.sources where institution = $1 order by 1", institution
    )
    return [row["source"] for row in rows]


async def loans_of_sources(
    transaction: asyncpg.Connection, sources: list[int], after: int, limit: int
) -> list[int]:
    """Loans of some sources, by number."""
    rows = await transaction.fetch(
        "select loan_id from usance.loans where terms_no = 1 and source = any($1::smallint[]) "
        "and loan_id > $2 order by loan_id limit $3", sources, after, limit,
    )  # fmt: skip
    return [row["loan_id"] for row in rows]


async def vintages_of(
    transaction: asyncpg.Connection, sources: list[int], day: date
) -> list[dict[str, Any]]:
    """Lent, owed and late principal by quarter of origination, oldest first."""
    rows = await transaction.fetch(
        "select loan_id, disbursed_on, principal_minor from usance.loans where terms_no = 1 "
        "and source = any($1::smallint[]) order by loan_id desc limit $2", sources, LOANS,
    )  # fmt: skip
    held = await loan_positions(transaction, [row["loan_id"] for row in rows], day)
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        quarter = quarter_label(to_month(row["disbursed_on"]))
        own = found.setdefault(quarter, {"quarter": quarter, "loans": 0, "lent_minor": 0,
                                         "owed_minor": 0, "late_minor": 0})  # fmt: skip
        own["loans"] += 1
        own["lent_minor"] += row["principal_minor"]
        position = held.get(row["loan_id"])
        if position is not None:
            own["owed_minor"] += position.owed_minor
            own["late_minor"] += position.owed_minor if position.days_past_due > LATE else 0
    return [found[each] for each in sorted(found)]


async def days_of(
    transaction: asyncpg.Connection, sources: list[int], day: date
) -> list[dict[str, Any]]:
    """Amounts lent and paid on each of the last days, newest first."""
    rows = await transaction.fetch(
        "select effective_on, count(*) as facts, "
        "coalesce(sum(amount_minor) filter (where kind = $1), 0)::bigint as lent, "
        "coalesce(sum(amount_minor) filter (where kind = $2), 0)::bigint as paid "
        "from usance.facts where effective_on > $3 and kind in ($1, $2) and loan_id = any("
        "array(select loan_id from usance.loans where terms_no = 1 "
        "and source = any($4::smallint[]))) group by 1 order by 1 desc",
        int(FactKind.DISBURSED), int(FactKind.PAID), day - timedelta(days=DAYS), sources,
    )  # fmt: skip
    return [{"day": row["effective_on"].isoformat(), "lent_minor": row["lent"],
             "paid_minor": row["paid"], "facts": row["facts"]} for row in rows]  # fmt: skip
