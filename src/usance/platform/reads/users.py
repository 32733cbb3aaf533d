"""Users as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import moment_text
from usance.platform.user_record import USER_KINDS, not_found

if TYPE_CHECKING:
    import asyncpg


def user_answer(lender: Lender, row: Mapping[str, Any], level: int | None = None) -> dict[str, Any]:
    """The shape of a user."""
    channel = lender.party_name("channel", row["channel"]) or str(row["channel"])
    return {
        "user": print_id("us", row["user_id"]), "client_ref": row["client_ref"],
        "channel": channel, "region": row["region"], "kind": USER_KINDS[row["kind"]],
        "registered_on": row["registered_on"].isoformat(),
        "person": None if level is None else {"verified": True, "level": level},
    }  # fmt: skip


async def user(transaction: asyncpg.Connection, lender: Lender, user_id: int) -> dict[str, Any]:
    """One user."""
    row = await transaction.fetchrow(
        "select u.*, p.level from usance.users u left join usance.user_persons p using (user_id) "
        "where u.user_id = $1", user_id,
    )  # fmt: skip
    if row is None:
        raise not_found("us", user_id)
    return user_answer(lender, row, row["level"])


async def users_named(
    transaction: asyncpg.Connection, lender: Lender, client_ref: str
) -> list[dict[str, Any]]:
    """The users of a channel's name: one at most for a channel, perhaps more for operators."""
    rows = await transaction.fetch(
        "select u.*, p.level from usance.client_refs c join usance.users u using (user_id) "
        "left join usance.user_persons p using (user_id) where c.client_ref = $1 order by 1",
        client_ref,
    )  # fmt: skip
    return [user_answer(lender, row, row["level"]) for row in rows]


async def consents(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Consents of a user, in the order they were given."""
    rows = await transaction.fetch(
        "select * from usance.consents where user_id = $1 order by consent_id", user_id
    )
    return [
        {"consent": print_id("co", row["consent_id"]), "user": print_id("us", user_id),
         "purpose": row["purpose"], "text_version": row["text_version"],
         "granted": row["granted"], "given_at": moment_text(row["given_at"])}
        for row in rows
    ]  # fmt: skip
