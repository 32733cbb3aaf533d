"""A key for each person: made with the first thing kept about them, destroyed by their erasure."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usance.platform.errors import NotFound
from usance.platform.vault import KEY_BYTES, Vault

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class SubjectKey:
    """The key of one person; what it seals opens for the same person and column alone.

    >>> key = SubjectKey(7, bytes(32))
    >>> key.open("details", key.seal("details", b"Ada"))
    b'Ada'
    """

    subject: int
    key: bytes = field(repr=False)

    def seal(self, column: str, plain: bytes) -> bytes:
        """Encrypt a value."""
        return Vault(self.key).seal(self.subject, column, plain)

    def open(self, column: str, kept: bytes) -> bytes:
        """The value that was sealed."""
        return Vault(self.key).open(self.subject, column, kept)


async def subject_key(
    transaction: asyncpg.Connection, vault: Vault, subject: int, *, make: bool = True
) -> SubjectKey:
    """The key of a person, made if there is none; nobody has one after their erasure."""
    fresh = vault.seal(subject, "key", secrets.token_bytes(KEY_BYTES)) if make else None
    wrapped = await transaction.fetchval("select usance.subject_key($1, $2)", subject, fresh)
    if wrapped is None:
        raise NotFound("nothing is known about them", where="user", fix="They may be erased")
    return key_of(vault, subject, wrapped)


def key_of(vault: Vault, subject: int, wrapped: bytes) -> SubjectKey:
    """A key as the database keeps it, opened."""
    return SubjectKey(subject, vault.open(subject, "key", wrapped))
