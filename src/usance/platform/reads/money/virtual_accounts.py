"""Virtual accounts as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg


def account_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a virtual account."""
    return {
        "number": row["number"], "user": print_id("us", row["user_id"]),
        "loan": print_id("ln", row["loan_id"]) if row["loan_id"] else None,
        "provider": lender.party_name("provider", row["provider"]),
        "opened_at": moment_text(row["opened_at"]),
        "closed_at": moment_text(row["closed_at"]) if row["closed_at"] else None,
        "state": "closed" if row["closed_at"] else "open",
    }  # fmt: skip


async def accounts_of_user(
    transaction: asyncpg.Connection, lender: Lender, user_id: int
) -> list[dict[str, Any]]:
    """Virtual accounts of a user that the principal sees, the oldest first."""
    rows = await transaction.fetch(
        "select * from usance.virtual_accounts where user_id = $1 order by opened_at, number",
        user_id,
    )
    return [account_answer(lender, row) for row in rows]


async def account_rows(
    transaction: asyncpg.Connection, lender: Lender, state: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Virtual accounts by number, last first, open or closed."""
    rows = await transaction.fetch(
        "select * from usance.virtual_accounts where ($1 = '' or number < $1) and ($2 = '' "
        "or (closed_at is null) = ($2 = 'open')) order by number desc limit $3",
        before, state, limit,
    )  # fmt: skip
    return [account_answer(lender, row) for row in rows]
