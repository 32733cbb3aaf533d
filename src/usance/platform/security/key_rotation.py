"""New keys for users: everything that is kept about them, sealed again under another key."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from usance.platform.security.subject_keys import SubjectKey, key_of
from usance.platform.vault import KEY_BYTES, Vault

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.store.database import Database


async def rotate_subject_keys(database: Database, vault: Vault) -> int:
    """Give every user another key, one transaction each; the number of users.

    Users who change meanwhile are done again; a run that is cut short is simply started again.
    """
    last, done = 0, 0
    while True:
        async with database.transaction(0) as transaction:
            number = await transaction.fetchval("select usance.next_subject($1)", last)
            if number is None:
                return done
            if await _reseal(transaction, vault, number):
                last, done = number, done + 1


async def _reseal(transaction: asyncpg.Connection, vault: Vault, user_id: int) -> bool:
    """Seal a user's values under another key; false if somebody was quicker."""
    wrapped = await transaction.fetchval("select usance.lock_subject($1)", user_id)
    if wrapped is None:  # erased since
        return True
    former = key_of(vault, user_id, wrapped)
    new = SubjectKey(user_id, secrets.token_bytes(KEY_BYTES))

    def again(column: str, kept: bytes) -> bytes:
        return new.seal(column, former.open(column, kept)) if kept else kept

    person = await transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", user_id
    )
    accounts = await transaction.fetch(
        "select account_id, details from usance.accounts where user_id = $1", user_id
    )
    sealed = await transaction.fetch(
        "select kind, number, content from usance.sealed where user_id = $1", user_id
    )
    done: Any = await transaction.fetchval(
        "select usance.reseal($1, $2, $3, $4, $5, $6, $7, $8, $9)", user_id, wrapped,
        vault.seal(user_id, "key", new.key), again("details", person) if person else None,
        [row["account_id"] for row in accounts],
        [again("account", row["details"]) for row in accounts],
        [row["kind"] for row in sealed], [row["number"] for row in sealed],
        [again(f"{row['kind']}/{row['number']}", row["content"]) for row in sealed],
    )  # fmt: skip
    return bool(done)
