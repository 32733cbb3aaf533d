"""The guard of every route: who is it, may they, and can the request be read; in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from usance.platform.api.calls import Call, idempotency_key
from usance.platform.api.errors import RequestError
from usance.platform.api.pages import changed_cursor
from usance.platform.api.parameters import PATH_IDS, Parameter, check_id, is_text
from usance.platform.api.strict_json import parse
from usance.platform.commands.registry import COMMANDS
from usance.platform.commands.unit_of_work import REQUEST_ID
from usance.platform.errors import Forbidden, UnknownPrincipal
from usance.platform.live import Platform
from usance.platform.partners.signatures import request_content
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.security.keys import PREFIXES, SESSION_PREFIX
from usance.platform.security.permuted_ids import ids_of_party
from usance.platform.security.sessions import owner_of_session
from usance.platform.security.signing import is_fresh_signature

if TYPE_CHECKING:
    import asyncpg

MAX_BODY = 1 << 20
NOT_FOUND, PEOPLE = 404, "people"
BODY_SECONDS = 20.0
"""Time that a body may take to come in."""
NOBODY = Principal(-1, "nobody", PrincipalKind.BORROWER)
"""Whoever has not said who they are."""

Answering = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Access:
    """Who may use a route, and what it takes."""

    scopes: frozenset[str] = frozenset()
    operators: bool = True
    """True when an operator's session opens it too."""
    needs_session: bool = False
    is_public: bool = False
    is_personal: bool = False
    """True of words about people, which not every operator reads."""
    needs_key: bool = False
    has_body: bool = False
    max_body: int = MAX_BODY
    query: Mapping[str, Parameter] = field(default_factory=dict)
    command: str = ""
    """The command that the route does: whoever may not do it is refused before anything is read."""
    check: Callable[[Call], None] | None = None
    """Refuses a body that cannot be taken, whatever it is about."""


async def guarded(request: Request, access: Access, answering: Answering) -> Response:
    """The answer of a route to a request that passes."""
    REQUEST_ID.set(request.scope["state"]["request_id"])
    call = await _admitted(request, access)
    call.query = _query(request, access)
    if access.needs_key:
        call.dry_run = _is_dry_run(request)
        if not call.dry_run:
            call.key = idempotency_key(request.headers.get("idempotency-key"))
    if access.has_body or access.needs_key:
        body = await _body(request, access.max_body)
        call.body = {} if body is None else parse(body)
        if not access.has_body:
            _check_empty(call.body)
    call.path.update(request.path_params)
    _check_path(call, access)
    if call.ids is not None:
        call.path, call.query, call.body = call.ids.decode([call.path, call.query, call.body])
        if "after" in call.query:
            call.query["after"] = changed_cursor(call.query["after"], call.ids.decode)
    return await answering(call)


def _check_empty(body: Mapping[str, object]) -> None:
    """Refuse fields where none are read."""
    for name in body:
        raise RequestError("unknown_field", f"there is no field {name[:40]}",
                           param=f"body.{name[:40]}", fix="Send an empty object")  # fmt: skip


def _check_path(call: Call, access: Access) -> None:
    """Refuse ids that are none; before one that nobody has, whatever is wrong with the body."""
    for name, value in call.path.items():
        if name not in PATH_IDS:
            if not is_text(value):
                raise RequestError("not_found", "there is nothing here")
            continue
        try:
            check_id(value, PATH_IDS[name], f"path.{name}")
        except RequestError as error:
            if error.status == NOT_FOUND and access.check is not None:
                access.check(call)
            raise


async def _admitted(request: Request, access: Access) -> Call:
    """The call of a request whose caller is known and may use the route."""
    platform: Platform = request.app.state.platform
    state = request.scope["state"]
    address = request.client.host if request.client else ""
    call = Call(platform, state["request_id"], NOBODY, address)
    if access.is_public:
        return call
    token = _token(request, request.app.state.mode)
    pool = await platform.database.pool()
    if token.startswith(SESSION_PREFIX):
        async with pool.acquire() as connection:
            operator = await owner_of_session(connection, token)
        call.principal, call.session_id = operator.principal, operator.session_id
    else:
        call.principal, wait = await platform.key_lookups.owner(token)
        if wait:
            raise RequestError(
                "rate_limited", "this key has asked too often", retry_after=ceil(wait)
            )
        if "usance-signature" in request.headers:
            async with pool.acquire() as connection:
                await _check_signature(request, connection, call, access.max_body)
    state["principal_id"] = call.principal.principal_id
    try:
        _check_access(call, access)
    except (Forbidden, RequestError) as error:
        if access.command:
            code = f"platform.{error.api_code}" if isinstance(error, RequestError) else error.code
            await platform.note_refusal(call.principal, access.command, code)
        raise
    who = call.principal
    if who.kind in (PrincipalKind.INSTITUTION, PrincipalKind.AGENCY):
        # An agency has no party beside its principal.
        number = who.party or who.principal_id
        call.ids = ids_of_party(platform.services.keys, who.kind, number)
    return call


async def _check_signature(
    request: Request, connection: asyncpg.Connection, call: Call, limit: int
) -> None:
    """Refuse a signature that is none of the caller's, is old, or has been used."""
    header = request.headers["usance-signature"]
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    body = await _body(request, limit)
    content = request_content(request.method, target, body or b"")
    keys = call.platform.services.keys
    if not await is_fresh_signature(connection, keys, call.principal, header, content):
        raise RequestError("bad_signature", "the signature is wrong, old or used before",
                           param="header.Usance-Signature")  # fmt: skip


def _token(request: Request, mode: str) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        raise RequestError("unauthenticated", "nobody is named")
    token = token.strip()
    if token.startswith((SESSION_PREFIX, PREFIXES[mode])):
        return token
    if token.startswith(tuple(PREFIXES.values())):
        raise RequestError("wrong_mode", f"this is no key of a {mode} installation")
    raise UnknownPrincipal(
        "this key is unknown, expired or ended", fix="Ask an administrator for another"
    )


def _check_access(call: Call, access: Access) -> None:
    is_operator = call.principal.kind is PrincipalKind.OPERATOR
    if access.needs_session and not is_operator:
        raise RequestError("session_needed", "this takes a person, keys cannot do it")
    if is_operator and access.operators:
        if access.command:
            COMMANDS[access.command].admit(call.principal)
        elif access.is_personal and PEOPLE in call.principal.hidden:
            raise Forbidden(f"{call.principal.name} does not read words about people",
                            fix="Ask somebody whose role has it")  # fmt: skip
        elif access.scopes and access.scopes <= call.principal.hidden:
            raise Forbidden(
                f"{call.principal.name} does not read what is for {' or '.join(access.scopes)}",
                fix="Ask somebody whose role has it",
            )
        return
    if not access.scopes & call.principal.scopes:
        raise Forbidden(
            f"this takes the scope {' or '.join(sorted(access.scopes))}",
            fix="Use a key that has it, or ask an administrator for it",
        )


def _query(request: Request, access: Access) -> dict[str, object]:
    given: dict[str, object] = {}
    for name, text in request.query_params.multi_items():
        where = f"query.{name[:40]}"
        if name in given:
            raise RequestError("repeated_parameter", "is there twice", param=where)
        if name == "dry_run" and access.needs_key:
            continue
        if name not in access.query:
            raise RequestError("unknown_parameter", "is no parameter", param=where)
        given[name] = access.query[name].read(text, where)
    return given


def _is_dry_run(request: Request) -> bool:
    text = request.query_params.get("dry_run", "false")
    if text not in ("true", "false"):
        raise RequestError("invalid_field", "is neither true nor false", param="query.dry_run")
    return text == "true"


async def _body(request: Request, limit: int) -> bytes | None:
    """The body of a request, if it has one, in bounded memory and time; may be asked for again."""
    kept: bytes | None = request.scope["state"].get("body")
    if kept is not None:
        return kept
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        what = f"{kind[:40] or 'no content type'} is not taken here"
        raise RequestError("content_type", what, param="header.Content-Type")
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
                parts.append(part)
    except (TimeoutError, ClientDisconnect) as error:
        raise RequestError("body_incomplete", "the body did not come", param="body") from error
    body = b"".join(parts)
    request.scope["state"]["body"] = body
    return body


def _too_large(limit: int) -> RequestError:
    return RequestError("body_too_large", f"the body has more than {limit} bytes", param="body")
