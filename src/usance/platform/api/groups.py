"""Groups of routes. A route says who may use it, what it takes and what it answers.

A route of a command takes the fields of the command as its body, without those that its address
has already; a route of a read hands ids and parameters to a function.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call
from usance.platform.api.errors import TYPES
from usance.platform.api.guard import MAX_BODY, Access, Answering, guarded
from usance.platform.api.parameters import PATH_IDS, Parameter, id_schema
from usance.platform.api.shapes import ErrorAnswer, Object
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.errors import UnknownField
from usance.platform.reads.reading import Reading

Read = Callable[[Reading, Call], Awaitable[Any]]
Answers = Mapping[int, type[BaseModel]]
READ_ERRORS = (400, 401, 403, 404, 429, 500, 503)
WRITE_ERRORS = (400, 401, 403, 404, 409, 422, 429, 500, 503)
_PATH_NAME = re.compile(r"{(\w+)}")
_KEY_AND_DRY_RUN = [
    {"name": "Idempotency-Key", "in": "header", "required": False, "example": "order-1001",
     "description": "Needed unless dry_run is true: the request is done once for its key.",
     "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}},
    {"name": "dry_run", "in": "query", "required": False,
     "description": "Give the answer, and change nothing.",
     "schema": {"type": "boolean", "default": False}},
]  # fmt: skip


class Group:
    """One group of the contract: its routes share a tag and, unless they say so, their scopes."""

    def __init__(self, tag: str, *scopes: str) -> None:
        self.router = APIRouter(tags=[tag])
        self.scopes = scopes

    def command(
        self, path: str, command: str, answers: Answers, *, scopes: Iterable[str] | None = None,
        method: str = "POST", needs_session: bool = False, max_body: int = MAX_BODY,
    ) -> None:  # fmt: skip
        """A route that does a command; a POST is done once for its key."""
        spec = COMMANDS[command]
        names = _PATH_NAME.findall(path)
        wanted = frozenset(spec.scopes if scopes is None else scopes)

        def check(call: Call) -> None:
            for name in names:
                if name in call.body:
                    fix = "Leave it out: the address says it"
                    raise UnknownField(f"there is no field {name}", where=f"body.{name}", fix=fix)
            read_command(spec.command, {**call.body, **call.path})

        async def answering(call: Call) -> Response:
            if not call.body.keys().isdisjoint(names):
                check(call)
            return await call.do(command, {**call.body, **call.path})

        access = Access(
            wanted, needs_session=needs_session, needs_key=method == "POST", has_body=True,
            max_body=max_body, command=command, check=check,
        )  # fmt: skip

        body = schema_of(spec.command, without=names)
        summary = (spec.command.__doc__ or command).strip().splitlines()[0]
        self.add(method, path, answering, access, answers, summary, body)

    def read(
        self, path: str, answer: type[BaseModel], function: Read, *,
        query: Mapping[str, Parameter] | None = None, scopes: Iterable[str] | None = None,
        is_personal: bool = False,
    ) -> None:  # fmt: skip
        """A route that reads as its caller."""
        wanted = frozenset(self.scopes if scopes is None else scopes)

        async def answering(call: Call) -> Response:
            async with call.platform.reading(call.principal) as reading:
                return call.respond(await function(reading, call))

        summary = (function.__doc__ or "").strip().splitlines()[0]
        access = Access(wanted, query=query or {}, is_personal=is_personal)
        self.add("GET", path, answering, access, {200: answer}, summary)

    def add(
        self, method: str, path: str, answering: Answering, access: Access, answers: Answers,
        summary: str, body: dict[str, Any] | None = None, kind: type[Response] = JSONResponse,
        files: Iterable[str] = (), also: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """A route with all that is said about it: the kind of a page, the media types of a file.

        `also` are media types that the answer may have beside JSON.
        """

        async def endpoint(request: Request) -> Response:
            return await guarded(request, access, answering)

        told: dict[int | str, dict[str, Any]] = {
            status: {"model": model, "description": _ANSWERS[status]}
            for status, model in answers.items()
        }
        if access.needs_key:  # a dry run of whatever is made or waits
            told.setdefault(200, {"model": Object, "description": _ANSWERS[200]})
        if kind is not JSONResponse:
            told = {status: {"description": _ANSWERS[status]} for status in answers}
        if files:
            told[200] = {"description": "The file.", "content": _binary(files)}
        if also:
            told[200]["content"] = _binary(also)
        errors = READ_ERRORS if method == "GET" else WRITE_ERRORS
        if "known_at" in access.query:  # a moment that is not known yet
            errors = (*errors, 422)
        failed = {"model": ErrorAnswer} if kind is JSONResponse else _FAILED
        told |= {each: {**failed, "description": TYPES[each]} for each in errors}
        self.router.add_api_route(
            path, endpoint, methods=[method], status_code=min(answers), response_model=None,
            responses=told, summary=summary, response_class=kind,
            openapi_extra=_extra(path, access, body),
            operation_id=f"{method.lower()}{re.sub(r'[^a-z0-9]+', '_', path.lower())}".rstrip("_"),
        )  # fmt: skip


def _binary(kinds: Iterable[str]) -> dict[str, Any]:
    """Files of these media types as contents of an answer."""
    return {each: {"schema": {"type": "string", "format": "binary"}} for each in kinds}


_FAILED = {
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}
}
"""The content of a failure where the route itself answers with a page."""
_ANSWERS = {200: "Done, or known before.", 201: "Made.", 202: "Waiting."}


def _extra(path: str, access: Access, body: dict[str, Any] | None) -> dict[str, Any]:
    """Parts of a route's description that its function does not say."""
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True,
         "schema": id_schema(PATH_IDS[name]) if name in PATH_IDS else {"type": "string"}}
        for name in _PATH_NAME.findall(path)
    ]  # fmt: skip
    parameters += [
        {"name": name, "in": "query", "required": False, "description": each.description,
         "schema": each.schema}
        for name, each in access.query.items()
    ]  # fmt: skip
    if access.needs_key:
        parameters += _KEY_AND_DRY_RUN
    extra: dict[str, Any] = {"parameters": parameters, "x-scopes": sorted(access.scopes)}
    if not access.is_public:
        extra["security"] = [{"bearer": []}]
    if body is not None:
        content = {"application/json": {"schema": body}}
        extra["requestBody"] = {"required": bool(body.get("required")), "content": content}
    return extra
