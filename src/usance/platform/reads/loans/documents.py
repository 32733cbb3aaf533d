"""Documents of a user as they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.ids import parse_id, print_id
from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg


async def agreements(transaction: asyncpg.Connection, user: str) -> list[dict[str, Any]]:
    """Agreements that a user accepted, by the hash of the document that was shown."""
    rows = await transaction.fetch(
        "select * from usance.agreements where user_id = $1 order by agreement_id",
        parse_id(user, "us"),
    )  # fmt: skip
    return [
        {"document": print_id("ag", row["agreement_id"]), "kind": "agreement",
         "quote": print_id("qu", row["quote_id"]), "document_sha256": row["document_sha256"],
         "accepted_at": moment_text(row["accepted_at"]),
         "path": f"/v1/agreements/{print_id('ag', row['agreement_id'])}/document"}
        for row in rows
    ]  # fmt: skip
