"""Commands about who may come in, and the one that shows what is kept masked."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from usance.base.errors import CodeError
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.errors import InvalidField, NotFound
from usance.platform.principals import Principal
from usance.platform.records.user_record import load_user, read_id
from usance.platform.security.keys import create_key, principal_of_party
from usance.platform.security.sealed_values import REVEAL, put_text
from usance.platform.security.sessions import create_operator
from usance.platform.security.subject_keys import subject_key
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

OVERLAP = timedelta(hours=24)
"""Time that a rotated key goes on beside its successor."""
MAX_PER_MINUTE, MAX_DAYS = 1_000_000, 3_660
PERSON_FIELDS = ("name", "national_id", "phone", "email")


@dataclass(frozen=True)
class CreateKey:
    """A party or a service account gets a key."""

    kind: str
    party: str
    scopes: tuple[str, ...]
    per_minute: int | None = None
    days: int | None = None


@dataclass(frozen=True)
class RotateKey:
    """A key gets a successor; it goes on beside it for a day."""

    key_id: str


@dataclass(frozen=True)
class EndKey:
    """A key opens nothing any more."""

    key_id: str


@dataclass(frozen=True)
class InvitePerson:
    """An operator with a role and a first password, which is told once."""

    email: str
    role: str
    human: str = ""


@dataclass(frozen=True)
class Reveal:
    """An operator looks at what is kept masked, and says why."""

    user: str
    field: str
    reason: str


async def create(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: CreateKey
) -> Decided:
    """Make a key; it is told once."""
    if not 1 <= len(command.party) <= 100:
        raise InvalidField("has no fit length", where="body.party", fix="Give 1 to 100 letters")
    if not command.scopes:
        raise InvalidField("is empty", where="body.scopes", fix="Give what the key may do")
    for name, given, most in (("per_minute", command.per_minute, MAX_PER_MINUTE),
                              ("days", command.days, MAX_DAYS)):  # fmt: skip
        if given is not None and not 1 <= given <= most:
            raise InvalidField("is no limit of a key", where=f"body.{name}",
                               fix=f"Give 1 to {most}, or leave it out")  # fmt: skip
    scopes = [str(each) for each in command.scopes]
    try:
        owner = await principal_of_party(
            transaction, command.kind, command.party, scopes, principal.human
        )
    except CodeError as error:
        raise InvalidField(error.what, where="body.scopes", fix=error.fix) from error
    expires = datetime.now(UTC) + timedelta(days=command.days) if command.days else None
    mode = "sandbox" if moment.lender.is_sandbox else "live"
    number, key = await create_key(
        transaction, mode, owner, scopes, per_minute=command.per_minute, expires_at=expires
    )
    answer = {"id": number, "kind": command.kind, "party": command.party, "scopes": scopes,
              "hint": key[-4:]}  # fmt: skip
    changes = WriteSet(changes_configuration=True)
    return Decided(answer, f"key/{number}", 0, changes, once={"key": key})


async def rotate(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: RotateKey
) -> Decided:
    """Give a key a successor with the same scopes and limits."""
    row = await transaction.fetchrow(
        "select * from usance.expire_key($1, $2)", _number(command.key_id), OVERLAP
    )
    if row["principal_id"] is None:
        raise _no_key()
    mode = "sandbox" if moment.lender.is_sandbox else "live"
    number, key = await create_key(
        transaction, mode, row["principal_id"], row["scopes"], per_minute=row["per_minute"]
    )
    answer = {"id": number, "replaces": int(command.key_id), "hint": key[-4:],
              "former_key_hours": OVERLAP // timedelta(hours=1)}  # fmt: skip
    return Decided(answer, f"key/{number}", once={"key": key})


async def end(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: EndKey
) -> Decided:
    """End a key at once."""
    number = _number(command.key_id)
    row = await transaction.fetchrow("select * from usance.expire_key($1, $2)", number, timedelta())
    if row["principal_id"] is None:
        raise _no_key()
    return Decided({"id": number, "state": "ended"}, f"key/{number}", status=DONE)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _no_key()
    return int(text)


def _no_key() -> NotFound:
    return NotFound("is not there", where="key", fix="Give the id of a key that is in use")


async def invite(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: InvitePerson
) -> Decided:
    """Make an operator; the first password is told once."""
    password = secrets.token_urlsafe(18)
    try:
        await create_operator(
            transaction, command.email, command.role, password, human=command.human
        )
    except CodeError as error:
        raise InvalidField(error.what, where="body.role", fix=error.fix) from error
    answer = {"email": command.email.strip().lower(), "role": command.role}
    return Decided(answer, f"operator/{answer['email']}", once={"password": password})


async def reveal(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Reveal
) -> Decided:
    """Show one field of a person; that it was shown, and why, is in the audit."""
    if command.field not in PERSON_FIELDS:
        raise InvalidField("is no field that can be shown", where="body.field",
                           fix=f"Give {', '.join(PERSON_FIELDS)}")  # fmt: skip
    if not command.reason.strip():
        raise InvalidField("is empty", where="body.reason", fix="Say why it has to be seen")
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    kept = await transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", user.user_id
    )
    if kept is None:
        raise NotFound("nobody is known", where="body.user", fix="Set the person first")
    key = await subject_key(transaction, moment.vault, user.user_id, make=False)
    details = json.loads(key.open("details", kept))
    answer = {"user": command.user, "field": command.field}
    changes = WriteSet()
    put_text(key, REVEAL, user.next("records"), f"{command.field}: {command.reason}", changes)
    changes.user_changes.append(user.change())
    return Decided(answer, command.user, user.user_id, changes, status=DONE,
                   once={"value": details[command.field]})  # fmt: skip
