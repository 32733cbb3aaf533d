"""Rules of retention with their numbers in force, and what each run has deleted and kept."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from usance.platform.commands.people.retention import RULES
from usance.platform.lender import Lender
from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg


async def rules(transaction: asyncpg.Connection, lender: Lender, day: date) -> list[dict[str, Any]]:
    """Each rule with its days, their source, and its last run."""
    rows = await transaction.fetch(
        "select distinct on (rule) * from usance.retention_runs order by rule, run_id desc"
    )
    last = {row["rule"]: run_answer(row) for row in rows}
    found = []
    for rule in sorted(RULES):
        value = lender.parameters.at(f"retention.{rule}", day)
        found.append({"rule": rule, "days": value.integer, "source": value.source,
                      "valid_from": value.valid_from.isoformat(),
                      "last": last.get(rule)})  # fmt: skip
    return found


async def runs(transaction: asyncpg.Connection, after: int, limit: int) -> list[dict[str, Any]]:
    """Runs in their order."""
    rows = await transaction.fetch(
        "select * from usance.retention_runs where run_id > $1 order by run_id limit $2",
        after, limit,
    )  # fmt: skip
    return [run_answer(row) for row in rows]


def run_answer(row: Any) -> dict[str, Any]:
    """The shape of a run of one rule."""
    return {
        "run": row["run_id"], "day": row["day"].isoformat(), "rule": row["rule"],
        "days": row["days"], "before": moment_text(row["before"]), "deleted": row["deleted"],
        "kept": row["kept"], "at": moment_text(row["at"]),
    }  # fmt: skip
