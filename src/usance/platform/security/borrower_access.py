"""Borrowers come in: by a link of their channel that opens once, or by a code sent to their phone.

A code has six digits, holds for five minutes and five tries, and is bound to a phone and a purpose.
Nobody learns from an answer, or from its time, if a phone belongs to anybody.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from usance.platform.commands.command import Decided, Moment
from usance.platform.errors import NotFound, SignInFailed, UnknownPrincipal
from usance.platform.partners.messages import MessagePort, send_soon
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import load_user, read_id
from usance.platform.refusals import NoMessages, TooManyCodes
from usance.platform.security.keys import SESSION_PREFIX, hash_of
from usance.platform.security.phones import phone_index
from usance.platform.security.sessions import LASTS, OpenedSession
from usance.platform.security.subject_keys import key_of
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

ENTER, DRAW, ACCOUNT = "enter", "draw", "account"
"""Purposes of a code: to come in, to draw, to change where money goes."""
LINK_LASTS, CODE_LASTS, IDLE = timedelta(hours=24), timedelta(minutes=5), timedelta(minutes=30)
DIGITS = 6
LINK_PATH = "/my/enter"
SCOPE = frozenset({"borrower"})


@dataclass(frozen=True)
class MakeLink:
    """A channel leads its user to the borrower pages."""

    user: str


async def make_link(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: MakeLink
) -> Decided:
    """Make a link that opens once, within a day; it is told with the first answer alone."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    token = secrets.token_urlsafe(32)
    until = await transaction.fetchval(
        "select usance.add_borrower_link($1, $2, $3)", user.user_id, hash_of(token), LINK_LASTS
    )
    answer = {"user": command.user, "expires_at": moment_text(until)}
    return Decided(answer, command.user, user.user_id, once={"url": f"{LINK_PATH}?token={token}"})


async def open_link(connection: asyncpg.Connection, token: str, address: str = "") -> OpenedSession:
    """Open a session by a link that nobody used yet."""
    session = SESSION_PREFIX + secrets.token_urlsafe(32)
    opened = await connection.fetchrow(
        "select * from usance.open_borrower_link($1, $2, $3, $4)",
        hash_of(token), hash_of(session), address, LASTS,
    )  # fmt: skip
    if opened["session_id"] is None:
        raise SignInFailed("this link was used, or is over", fix="Ask your app for a new one")
    return OpenedSession(opened["session_id"], session, opened["ends_at"])


async def send_code(
    connection: asyncpg.Connection, vault: Vault, phone: str, purpose: str, message: Message, *,
    address: str = "",
) -> str:  # fmt: skip
    """Send a code to a phone; a sandbox sends none, and gives it back to be told.

    A lender that is live needs somebody who carries messages; phones that nobody has get none.
    """
    message.check()
    index = phone_index(vault, phone)
    code = await _new_code(connection, vault, index, purpose, address)
    if await connection.fetchval("select usance.is_known_phone($1)", index):
        message.carry(phone, code)
    return code if message.is_sandbox else ""


@dataclass(frozen=True)
class Message:
    """How a code comes to a phone: the words it stands in, and who carries them."""

    text: str
    """Words with `{code}` in them."""
    port: MessagePort | None = None
    is_sandbox: bool = False

    def check(self) -> None:
        """Refuse where nobody carries messages."""
        if self.port is None and not self.is_sandbox:
            raise NoMessages("nobody carries messages", where="phone",
                             fix="Come in by the link of your app")  # fmt: skip

    def carry(self, phone: str, code: str) -> None:
        """Hand a code over, where messages are carried."""
        if self.port is not None:
            send_soon(self.port, phone, self.text.format(code=code), datetime.now(UTC))


async def enter_code(
    connection: asyncpg.Connection, vault: Vault, phone: str, code: str, address: str = ""
) -> OpenedSession:
    """Open a session by the code that was sent last; whatever was wrong, the answer is the same."""
    index = phone_index(vault, phone)
    session = SESSION_PREFIX + secrets.token_urlsafe(32)
    opened = await connection.fetchrow(
        "select * from usance.open_by_code($1, $2, $3, $4, $5)",
        index, _code_hash(vault, index, ENTER, code.strip()), hash_of(session), address, LASTS,
    )  # fmt: skip
    if opened["session_id"] is None:
        raise SignInFailed("this is not the code, or it is over", fix="Ask for a new one")
    return OpenedSession(opened["session_id"], session, opened["ends_at"])


async def phone_of(connection: asyncpg.Connection, user_id: int) -> bytes | None:
    """The blind index of a user's phone, where one is known."""
    found: bytes | None = await connection.fetchval(
        "select phone from usance.user_persons where user_id = $1", user_id
    )
    return found


async def step_up_code(
    connection: asyncpg.Connection, vault: Vault, user_id: int, purpose: str, message: Message,
    address: str,
) -> str:  # fmt: skip
    """Send a code to the known phone of somebody who is in already, for one purpose."""
    message.check()
    row = await connection.fetchrow(
        "select phone, details, usance.subject_key(user_id, null) as wrapped "
        "from usance.user_persons where user_id = $1", user_id,
    )  # fmt: skip
    if row is None or row["wrapped"] is None or row["phone"] is None:
        raise NotFound("no phone is known", where="user", fix="Set the person first")
    code = await _new_code(connection, vault, row["phone"], purpose, address)
    known = json.loads(key_of(vault, user_id, row["wrapped"]).open("details", row["details"]))
    message.carry(known["phone"], code)
    return code if message.is_sandbox else ""


async def step_up(
    connection: asyncpg.Connection, vault: Vault, phone: bytes, purpose: str, code: str
) -> bool:
    """True once for the code that was sent for a purpose."""
    hashed = _code_hash(vault, phone, purpose, code.strip())
    found: bool = await connection.fetchval(
        "select usance.take_code($1, $2, $3)", phone, purpose, hashed
    )
    return found


async def owner_of_borrower_session(
    connection: asyncpg.Connection, token: str
) -> tuple[Principal, int]:
    """The borrower of a session that is still open, and the session's number."""
    row = await connection.fetchrow(
        "select (owner).*, session_id from usance.session_owner($1, $2)", hash_of(token), IDLE
    )
    if row["principal_id"] is None or row["kind"] != PrincipalKind.BORROWER:
        raise UnknownPrincipal("this session has ended", fix="Come in again")
    principal = Principal(row["principal_id"], row["name"], PrincipalKind.BORROWER, 0,
                          row["user_id"], SCOPE)  # fmt: skip
    return principal, row["session_id"]


async def _new_code(
    connection: asyncpg.Connection, vault: Vault, phone: bytes, purpose: str, address: str
) -> str:
    """A code that is noted for a phone, unless too many were asked for."""
    code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
    is_noted = await connection.fetchval(
        "select usance.add_code($1, $2, $3, $4, $5)",
        phone, purpose, _code_hash(vault, phone, purpose, code), address, CODE_LASTS,
    )  # fmt: skip
    if not is_noted:
        raise TooManyCodes("too many codes were asked for", where="phone", fix="Try in an hour")
    return code


def _code_hash(vault: Vault, phone: bytes, purpose: str, code: str) -> bytes:
    key = vault.key_for(f"codes to {purpose}")
    return hmac.digest(key, phone + code.encode(), sha256)
