"""Keys of parties and service accounts: random, shown once, known to the database by hash alone.

>>> key = new_key("sandbox")
>>> key.startswith("usk_test_"), len(key), len(hash_of(key))
(True, 52, 32)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from usance.base.errors import unknown
from usance.platform.errors import UnknownPrincipal
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.refusals import NameTaken
from usance.platform.store.database import Database, connection_failures

if TYPE_CHECKING:
    import asyncpg

PREFIXES = {"sandbox": "usk_test_", "live": "usk_live_"}
"""The beginning of a key by the mode of its installation."""
SESSION_PREFIX = "uss_"
SCOPES = {
    "channel": ("channel",),
    "institution": ("institution",),
    "provider": ("provider",),
    "agency": ("agency",),
    "service": ("operations", "finance", "control"),
}
"""Scopes that keys of each kind of party may have."""


def new_key(mode: str) -> str:
    """A key of 256 random bits."""
    return PREFIXES[mode] + secrets.token_urlsafe(32)


def hash_of(token: str) -> bytes:
    """The hash that stands for a key or a session; nothing slower is needed for random bits."""
    return sha256(token.encode()).digest()


async def create_key(
    connection: asyncpg.Connection, mode: str, principal_id: int, scopes: Iterable[str], *,
    per_minute: int | None = None, expires_at: datetime | None = None,
) -> tuple[int, str]:  # fmt: skip
    """A new key of a principal, with its number."""
    key = new_key(mode)
    key_id = await connection.fetchval(
        "select usance.add_key($1, $2, $3, $4, $5, $6)",
        principal_id, hash_of(key), key[-4:], sorted(set(scopes)), per_minute, expires_at,
    )  # fmt: skip
    return key_id, key


async def principal_of_party(
    connection: asyncpg.Connection, kind: str, party: str, scopes: Iterable[str], human: str = ""
) -> int:
    """The principal that a party's keys act as, made with the first of them."""
    wanted = sorted(set(scopes))
    _check(kind, wanted)
    number = 0
    if kind not in ("service", "agency"):
        number = await connection.fetchval("select usance.party_of($1, $2)", kind, party)
    found: int | None = await connection.fetchval(
        "select principal_id from usance.principals "
        "where kind = $1 and party = $2 and (party > 0 or name = $3) order by 1 limit 1",
        kind, number, party,
    )  # fmt: skip
    if found is None:
        with unless_taken("party"):
            found = await connection.fetchval(
                "select usance.add_principal($1, $2, $3, 0, $4, $5)",
                f"{kind}/{party}" if number else party, kind, number, wanted, human,
            )  # fmt: skip
    return int(found)


@contextmanager
def unless_taken(where: str) -> Iterator[None]:
    """Refuse a name or address that the database has already."""
    from asyncpg import UniqueViolationError

    try:
        yield
    except UniqueViolationError as error:
        raise NameTaken("somebody has it already", where=where,
                        fix="Give another, or go on with who is there") from error  # fmt: skip


def _check(kind: str, scopes: list[str]) -> None:
    if kind not in SCOPES:
        raise unknown("kind of party", kind, SCOPES)
    for scope in scopes:
        if scope not in SCOPES[kind]:
            raise unknown(f"scope of a {kind}", scope, SCOPES[kind])


async def owner_of_key(connection: asyncpg.Connection, key: str) -> tuple[Principal, float]:
    """The principal of a key, and the seconds that it has to wait when it has asked too often."""
    return _owner(await connection.fetchrow(_OWNERS, [hash_of(key)]))


def _owner(row: Any) -> tuple[Principal, float]:
    if row["principal_id"] is None:
        raise UnknownPrincipal(
            "this key is unknown, expired or ended", fix="Ask an administrator for another"
        )
    principal = Principal(
        row["principal_id"], row["name"], PrincipalKind(row["kind"]), row["party"], row["user_id"],
        frozenset(row["key_scopes"]), row["human"],
    )  # fmt: skip
    return principal, row["wait"]


@dataclass
class KeyLookups:
    """Keys of requests that came together, looked up together: one question for all of them."""

    database: Database
    waiting: list[tuple[bytes, asyncio.Future[Any]]] = field(default_factory=list)
    loop: asyncio.Task[None] | None = None

    async def owner(self, key: str) -> tuple[Principal, float]:
        """The same as `owner_of_key`, asked with all who wait."""
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.waiting.append((hash_of(key), found))
        if self.loop is None or self.loop.done():
            self.loop = asyncio.create_task(self._run())
        return _owner(await found)

    async def _run(self) -> None:
        while self.waiting:
            # In one order everywhere: tokens of keys are taken from rows that two workers share.
            asked, self.waiting = sorted(self.waiting, key=itemgetter(0)), []
            try:
                pool = await self.database.pool()
                rows: list[Any] = await pool.fetch(_OWNERS, [key for key, _ in asked])
            except connection_failures() as error:
                rows = [error] * len(asked)
            for (_, found), row in zip(asked, rows, strict=True):
                if found.done():  # whoever asked has gone
                    continue
                if isinstance(row, Exception):
                    found.set_exception(row)
                else:
                    found.set_result(row)


_OWNERS = (
    "select (o.owner).*, o.scopes as key_scopes, o.wait "
    "from unnest($1::bytea[]) with ordinality g (hash, n) "
    "cross join lateral usance.key_owner(g.hash) o order by g.n"
)
