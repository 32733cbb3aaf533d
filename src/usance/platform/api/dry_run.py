"""Facts, schedules and postings that a dry run would have written, as an answer tells them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from usance.base.codes import FactKind
from usance.base.ids import print_id
from usance.base.tables import TABLES
from usance.platform.store.write_set import Row, WriteSet


def effects_of(*changes: WriteSet) -> dict[str, Any]:
    """The part of write sets that a caller can judge."""
    return {
        "facts": [_fact(row) for each in changes for row in _named("facts", each.facts)],
        "schedule": [_terms(row) for each in changes for row in _named("loans", each.loans)],
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


def _terms(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "loan": print_id("ln", row["loan_id"]), "disbursed_on": _text(row["disbursed_on"]),
        "first_due_on": _text(row["first_due_on"]), "instalments": row["instalments"],
        "principal_minor": row["principal_minor"], "rate_ppm": row["rate_ppm"],
    }  # fmt: skip


def _posting(row: dict[str, Any]) -> dict[str, Any]:
    names = ("line", "entity", "basis", "account", "rule", "amount_minor")
    return {"effective_on": _text(row["effective_on"]), **{name: row[name] for name in names}}


def _text(value: date | datetime | None) -> str | None:
    return value.isoformat() if value is not None else None
