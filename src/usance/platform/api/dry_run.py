"""Facts, schedules and postings that a dry run would have written, as an answer tells them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from usance.base.codes import FactKind
from usance.base.ids import print_id
from usance.base.tables import TABLES
from usance.platform.commands.unit_of_work import Outcome
from usance.platform.store.write_set import Row


def effects_of(*outcomes: Outcome) -> dict[str, Any]:
    """The part of what would be written that a caller can judge.

    The schedule has every instalment of each loan that would change, as it would be.
    """
    changes = [each.would for each in outcomes if each.would is not None]
    schedule = {(row["loan"], row["no"]): row for each in outcomes for row in each.schedule}
    return {
        "facts": [_fact(row) for each in changes for row in _named("facts", each.facts)],
        "schedule": list(schedule.values()),
        "postings": [
            _posting(row) for each in changes for row in _named("postings", each.postings)
        ],
    }


def _named(table: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    names = [column.name for column in TABLES[table].columns]
    return [dict(zip(names, row, strict=False)) for row in rows]


def _fact(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "loan": print_id("ln", row["loan_id"]), "kind": FactKind(row["kind"]).label,
        "effective_on": _text(row["effective_on"]), "amount_minor": row["amount_minor"],
        "ref": str(row["ref"]),
    }  # fmt: skip


def _posting(row: dict[str, Any]) -> dict[str, Any]:
    names = ("line", "entity", "basis", "account", "rule", "amount_minor")
    return {"effective_on": _text(row["effective_on"]), **{name: row[name] for name in names}}


def _text(value: date | datetime | None) -> str | None:
    return value.isoformat() if value is not None else None
