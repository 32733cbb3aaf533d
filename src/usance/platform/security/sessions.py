"""Sessions of operators: opened by a password, opaque, hashed, ended by time or by their owner.

Tries to sign in are counted by the database (`begin_sign_in` in `store/migrations`): however many
workers ask, one limit holds.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from usance.platform.errors import InvalidField, SignInFailed, UnknownPrincipal
from usance.platform.lender import LIVE
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.security.keys import SESSION_PREFIX, hash_of, unless_taken
from usance.platform.security.passwords import check_password, hasher, is_password, unmatched_hash
from usance.platform.security.roles import Roles
from usance.platform.security.totp import TOTP_LENGTH, TOTP_LETTERS, step_of
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
IDLE, LASTS = timedelta(minutes=30), timedelta(hours=12)
"""A session ends after half an hour without a request, and after a working day in any case."""


@dataclass(frozen=True)
class OpenedSession:
    """A session just opened; its token is told once."""

    session_id: int
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class Operator:
    """An operator inside a session."""

    principal: Principal
    session_id: int
    role: str
    has_totp: bool


async def create_operator(
    connection: asyncpg.Connection, email: str, role: str, password: str, *, human: str = ""
) -> int:
    """A new operator; two accounts of one person name the same human."""
    Roles.load().check(role)
    check_password(password)
    email = email.strip().lower()
    if not _EMAIL.fullmatch(email):
        raise InvalidField("is no address of mail", where="email", fix="Give one like a@b.example")
    with unless_taken("email"):
        principal_id: int = await connection.fetchval(
            "select usance.add_principal($1, 'operator', 0::smallint, 0, $2, $3)",
            email, [], human or email,
        )  # fmt: skip
        await let_sign_in(connection, principal_id, email, role, password)
    return principal_id


async def let_sign_in(
    connection: asyncpg.Connection, principal_id: int, email: str, role: str, password: str
) -> None:
    """Give a principal an address and a password to sign in with."""
    hashed = await asyncio.to_thread(hasher().hash, password)
    await connection.execute(
        "select usance.add_operator($1, $2, $3, $4)", principal_id, email, role, hashed
    )


async def sign_in(
    connection: asyncpg.Connection, vault: Vault, email: str, password: str, *,
    totp: str | None = None, address: str = "", keep: bool = True,
) -> OpenedSession:  # fmt: skip
    """Open a session; whatever was wrong, the answer and its time are the same.

    One that is not kept opens nothing, and counts as a try like all others.
    """
    row = await connection.fetchrow(
        "select o.* from usance.operator_of($1) o", email.strip().lower()
    )
    number = -1 if row is None or row["principal_id"] is None else row["principal_id"]
    may_try = await connection.fetchval("select usance.begin_sign_in($1)", number)
    stored = row["password"] if may_try else unmatched_hash()
    is_correct = await asyncio.to_thread(is_password, stored, password) and may_try
    step = _totp_step(vault, row, totp) if is_correct else None
    if not is_correct or (row["totp"] is not None and step is None):
        raise _failed()
    if not keep:
        return OpenedSession(0, "", datetime.now(UTC) + LASTS)
    token = SESSION_PREFIX + secrets.token_urlsafe(32)
    opened = await connection.fetchrow(
        "select * from usance.add_session($1, $2, $3, $4, $5)",
        row["principal_id"], hash_of(token), step, address, LASTS,
    )  # fmt: skip
    if opened["session_id"] is None:  # the code was used before
        raise _failed()
    return OpenedSession(opened["session_id"], token, opened["ends_at"])


def _totp_step(vault: Vault, row: Any, code: str | None) -> int | None:
    if row["totp"] is None or code is None:
        return None
    secret = vault.open(0, f"totp/{row['principal_id']}", row["totp"]).decode()
    return step_of(secret, code)


async def set_totp(
    connection: asyncpg.Connection, vault: Vault, principal: Principal, secret: str, code: str
) -> None:
    """Ask an operator for one-time passwords from now on; the first one shows that it works."""
    is_fit = len(secret) == TOTP_LENGTH and set(secret) <= TOTP_LETTERS
    if not is_fit or step_of(secret, code) is None:
        raise InvalidField("is not the code of now", where="body.code",
                           fix="Give the secret as it was told, and the code that it shows now"
                           )  # fmt: skip
    number = principal.principal_id
    kept = vault.seal(0, f"totp/{number}", secret.encode())
    await connection.execute("select usance.set_totp($1, $2)", number, kept)


async def owner_of_session(connection: asyncpg.Connection, token: str) -> Operator:
    """The operator of a session that is still open."""
    row = await connection.fetchrow(
        "select (owner).*, session_id, role, has_totp, (select mode from usance.installation) mode "
        "from usance.session_owner($1, $2)",
        hash_of(token), IDLE,
    )  # fmt: skip
    if row["principal_id"] is None or row["role"] is None:  # a borrower's is none of an operator's
        raise UnknownPrincipal("this session has ended", fix="Sign in again: POST /v1/sessions")
    roles, role = Roles.load(), row["role"]
    needs_totp = row["mode"] == LIVE and not row["has_totp"]
    principal = Principal(
        row["principal_id"], row["name"], PrincipalKind.OPERATOR, 0, 0, roles.scopes(role),
        row["human"], roles.authority(role), roles.second_factor if needs_totp else frozenset(),
        roles.hidden(role),
    )  # fmt: skip
    return Operator(principal, row["session_id"], role, row["has_totp"])


async def end_session(
    connection: asyncpg.Connection, session_id: int, principal: Principal
) -> None:
    """End a session of one's own."""
    await connection.fetchval(
        "select usance.end_session($1, $2)", session_id, principal.principal_id
    )


def _failed() -> SignInFailed:
    return SignInFailed(
        "email, password or one-time password is wrong, or the account rests after too many tries",
        fix="Try again, later if you tried often; an administrator can set a new password",
    )
