"""Routes of operators' sessions: sign-in, who is signed in, sign-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call, json_response
from usance.platform.api.control_shapes import Session
from usance.platform.api.dry_run import effects_of
from usance.platform.api.errors import RequestError
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import page
from usance.platform.api.parameters import PAGED
from usance.platform.api.shapes import Object, Page
from usance.platform.commands.fields import read_command
from usance.platform.reads.reading import Reading
from usance.platform.security.access_reads import sessions
from usance.platform.security.sessions import end_session, set_totp, sign_in
from usance.platform.security.totp import address_of, new_totp

group = Group("Sessions")


@dataclass(frozen=True)
class SignIn:
    """An operator signs in."""

    email: str
    password: str
    totp: str | None = None


async def open_session(call: Call) -> Response:
    """Open a session; it cannot be opened twice by one key, since its token is told once."""
    given = read_command(SignIn, call.body)
    pool = await call.platform.database.pool()
    async with pool.acquire() as connection:
        opened = await sign_in(
            connection, call.platform.services.keys, given.email, given.password, totp=given.totp,
            address=call.address, keep=not call.dry_run,
        )  # fmt: skip
    expires = opened.expires_at.isoformat(timespec="seconds").replace("+00:00", "Z")
    if call.dry_run:
        return json_response({"token": None, "expires_at": expires, "would": effects_of()})
    return json_response({"token": opened.token, "expires_at": expires}, 201)


@dataclass(frozen=True)
class ConfirmTotp:
    """An operator shows that an authenticator has the secret."""

    secret: str
    code: str


async def propose_totp(call: Call) -> Response:
    """A secret for an authenticator; nothing is kept until a code confirms it."""
    secret = new_totp()
    return call.respond({"secret": secret, "address": address_of(secret, call.principal.name)})


async def confirm_totp(call: Call) -> Response:
    """Ask for one-time passwords from now on."""
    given = read_command(ConfirmTotp, call.body)
    pool = await call.platform.database.pool()
    async with pool.acquire() as connection:
        keys = call.platform.services.keys
        await set_totp(connection, keys, call.principal, given.secret, given.code)
    return call.respond({"totp": True})


async def own_sessions(read: Reading, call: Call) -> Any:
    """Open sessions of the operator."""
    return page(await sessions(read.transaction), call.query, "session")


async def end_one(call: Call) -> Response:
    """End a session of one's own."""
    number = call.path["session"]
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise RequestError("not_found", "there is nothing here")
    async with call.platform.reading(call.principal) as read:
        found = {each["session"] for each in await sessions(read.transaction)}
    if int(number) not in found:
        raise RequestError("not_found", "there is nothing here")
    pool = await call.platform.database.pool()
    async with pool.acquire() as connection:
        await end_session(connection, int(number), call.principal)
    return call.respond({"session": int(number), "ended": True})


async def close_session(call: Call) -> Response:
    """End the session that is used."""
    pool = await call.platform.database.pool()
    async with pool.acquire() as connection:
        await end_session(connection, call.session_id, call.principal)
    return json_response({"ended": True})


group.add(
    "POST", "/sessions", open_session, Access(is_public=True, needs_key=True, has_body=True),
    {201: Session}, "Open a session.", schema_of(SignIn),
)  # fmt: skip
group.add(
    "POST", "/sessions/totp", propose_totp, Access(needs_session=True, needs_key=True),
    {200: Object}, "A secret for an authenticator; nothing is kept until a code confirms it.",
)  # fmt: skip
group.add(
    "PUT", "/sessions/totp", confirm_totp, Access(needs_session=True, has_body=True),
    {200: Object}, "Ask for one-time passwords from now on.", schema_of(ConfirmTotp),
)  # fmt: skip
group.add(
    "DELETE", "/sessions", close_session, Access(needs_session=True), {200: Object},
    "End the session that is used.",
)  # fmt: skip
group.read("/sessions", Page[Object], own_sessions, query=PAGED, scopes=())
group.add(
    "DELETE", "/sessions/{session}", end_one, Access(needs_session=True), {200: Object},
    "End a session of one's own.",
)  # fmt: skip
