"""Retention by command: each rule's rows that are too old are deleted, and what was done is kept.

Days are dated parameters of the country pack. Loans, facts, journals, decisions and the audit are
never deleted: they are the books, and say nothing about a person once their key is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.principals import Principal

if TYPE_CHECKING:
    import asyncpg

RULES = ("answers", "request_log", "codes", "sessions", "deliveries", "inputs", "free_text",
         "person")  # fmt: skip
"""Rules in the order in which they are applied; the parameter of each is `retention.RULE`."""
BY_WALL_CLOCK = frozenset({"request_log", "codes", "sessions", "deliveries"})
"""Rules of rows that carry the time of the wall clock."""


@dataclass(frozen=True)
class ApplyRetention:
    """The rules of retention as they are on a day."""

    day: date


async def apply_retention(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ApplyRetention
) -> Decided:
    """Delete what each rule no longer allows, once a day."""
    day, lender = command.day, moment.lender
    done = {
        row["rule"]: row for row in await transaction.fetch(
            "select rule, deleted, kept from usance.retention_runs where day = $1", day
        )
    }  # fmt: skip
    told = []
    for rule in RULES:
        days = lender.parameters.at(f"retention.{rule}", day).integer
        row = done.get(rule)
        if row is None:
            before = datetime.combine(day, time(), lender.zone).astimezone(UTC)
            if rule in BY_WALL_CLOCK:
                before = datetime.now(UTC)
            row = await transaction.fetchrow(
                "select * from usance.retain($1, $2, $3, $4)", day, rule, days,
                before - timedelta(days=days),
            )  # fmt: skip
        told.append({"rule": rule, "days": days, "deleted": row["deleted"], "kept": row["kept"]})
    answer = {"day": day.isoformat(), "rules": told}
    return Decided(answer, f"retention/{day}", is_new=len(done) < len(RULES), status=DONE)
