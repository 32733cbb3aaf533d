"""Users as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import USER_KINDS, not_found
from usance.platform.security.phones import phone_index
from usance.platform.security.sealed_values import client_ref_of, ref_index
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg


TOLD, DOCUMENT = 0, 1
"""Levels of identity: a name and number that were told, and a document that is valid."""
_USER = (
    "select u.*, p.level, s.content as sealed_ref, usance.subject_key(u.user_id, null) as wrapped "
    "from usance.users u left join usance.user_persons p using (user_id) "
    "left join usance.sealed s on s.user_id = u.user_id and s.kind = 'client_ref' and s.number = 0 "
    "where u.user_id = any($1) order by u.user_id"
)


def user_answer(
    lender: Lender, row: Mapping[str, Any], level: int | None = None, *, client_ref: str | None
) -> dict[str, Any]:
    """The shape of a user."""
    channel = lender.party_name("channel", row["channel"]) or str(row["channel"])
    return {
        "user": print_id("us", row["user_id"]), "client_ref": client_ref,
        "channel": channel, "region": row["region"], "kind": USER_KINDS[row["kind"]],
        "registered_on": row["registered_on"].isoformat(),
        "person": None if level is None else {"verified": is_verified(level), "level": level},
    }  # fmt: skip


def is_verified(level: int) -> bool:
    """True of a person whom the identity port knows."""
    return level > TOLD


async def user(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, user_id: int
) -> dict[str, Any]:
    """One user."""
    found = await users_of(transaction, lender, vault, [user_id])
    if not found:
        raise not_found("us", user_id)
    return found[0]


async def users_named(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, client_ref: str
) -> list[dict[str, Any]]:
    """The users of a channel's name: one at most for a channel, perhaps more for operators."""
    channels = {party for (kind, _), party in lender.parties.items() if kind == "channel"}
    indexes = [ref_index(vault, each, client_ref) for each in sorted(channels)]
    rows = await transaction.fetch(
        "select user_id from usance.client_refs where client_ref = any($1)", [*indexes, client_ref]
    )
    return await users_of(transaction, lender, vault, [row["user_id"] for row in rows])


async def users_of_phone(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, phone: str, limit: int
) -> list[dict[str, Any]]:
    """Users with a phone, by its blind index; the number itself is read nowhere."""
    rows = await transaction.fetch(
        "select user_id from usance.user_persons where phone = $1 order by 1 limit $2",
        phone_index(vault, phone), limit,
    )  # fmt: skip
    return await users_of(transaction, lender, vault, [row["user_id"] for row in rows])


async def users_of(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, ids: list[int]
) -> list[dict[str, Any]]:
    """Users by their ids, in this order."""
    rows = await transaction.fetch(_USER, ids)
    return [user_answer(lender, row, row["level"], client_ref=client_ref_of(vault, row))
            for row in rows]  # fmt: skip


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
