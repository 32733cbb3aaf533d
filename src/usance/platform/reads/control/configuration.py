"""Configuration in force as it is answered: parameters, flows and models by version."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from usance.platform.lender import Lender

if TYPE_CHECKING:
    import asyncpg


def parameters(lender: Lender, day: date) -> list[dict[str, Any]]:
    """Every dated parameter with the value that holds on a day, or none yet."""
    rows = []
    for name, each in sorted(lender.parameters.by_name.items()):
        held = [entry for entry in each.entries if entry.valid_from <= day]
        last = held[-1] if held else None
        rows.append({
            "name": name, "unit": each.unit, "description": each.description,
            "value": str(last.value) if last else None,
            "valid_from": last.valid_from.isoformat() if last else None,
            "source": last.source if last else None,
        })  # fmt: skip
    return rows


async def settings(transaction: asyncpg.Connection, kind: str) -> list[dict[str, Any]]:
    """Versions of one kind of setting, without their files."""
    rows = await transaction.fetch(
        "select name, version, valid_from from usance.settings where kind = $1 "
        "order by name, version", kind,
    )  # fmt: skip
    return [
        {"name": row["name"], "version": row["version"],
         "valid_from": row["valid_from"].isoformat()}
        for row in rows
    ]  # fmt: skip
