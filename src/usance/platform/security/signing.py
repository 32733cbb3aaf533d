"""Signed requests: secrets of providers and institutions, and signatures that count once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.partners.signatures import MAX_AGE, is_signed, new_secret
from usance.platform.principals import Principal
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

OVERLAP = timedelta(hours=24)
"""Time that the former secret is good for beside the new one."""


@dataclass(frozen=True)
class RotateSecret:
    """The caller signs its requests with another secret; the former one is good for a day."""


async def rotate_secret(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, _command: RotateSecret
) -> Decided:
    """Make a secret; it is told once."""
    secret = new_secret()
    kept = moment.vault.seal(0, f"signing/{principal.principal_id}", secret.encode())
    await transaction.execute("select usance.set_signing_secret($1, $2)", kept, OVERLAP)
    answer = {"principal": principal.name, "former_secret_hours": OVERLAP // timedelta(hours=1)}
    return Decided(answer, f"principal/{principal.principal_id}", status=DONE,
                   once={"secret": secret})  # fmt: skip


async def is_fresh_signature(
    connection: asyncpg.Connection, vault: Vault, principal: Principal, header: str, content: bytes
) -> bool:
    """True for a signature by one of the caller's secrets, within five minutes, seen once."""
    number = principal.principal_id
    rows = await connection.fetch("select usance.signing_secrets_of($1) as secret", number)
    secrets = [vault.open(0, f"signing/{number}", row["secret"]).decode() for row in rows]
    if not is_signed(header, content, secrets, time.time()):
        return False
    mark = sha256(f"{number}/{header}".encode()).digest()
    kept = timedelta(seconds=2 * MAX_AGE)
    return bool(await connection.fetchval("select usance.use_signature($1, $2)", mark, kept))
