"""The frame of every page: who is signed in, in which language, which screens they have.

A page is a template of `pages/` filled with what reads give; it never computes a figure. Nothing
but the session's cookie is kept, so any worker can answer any request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from email.parser import BytesParser
from email.policy import HTTP
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import yaml
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from usance.pages.rendering import render
from usance.platform.commands.unit_of_work import Outcome
from usance.platform.console.addresses import address_of_id, only_own
from usance.platform.errors import Forbidden, UnknownPrincipal
from usance.platform.live import Platform
from usance.platform.security.roles import Roles
from usance.platform.security.sessions import Operator, owner_of_session

HOME, PORTAL, MINE, DESK = "/console", "/portal", "/my", "/desk"
"""First address of each surface: the lender's people, institutions, borrowers, agencies."""
COOKIE, LANGUAGE_COOKIE = "usance_session", "usance_language"
LANGUAGES = ("en", "zh")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Nothing but this host. The script asks it for fragments and for progress: `connect-src`."""
MAX_FORM, MAX_FILES = 1 << 16, 1 << 23
"""Bytes of a form; of one with files."""
_FIELD = re.compile(r"^(?:body|query)\.[\w.\[\]]*: ")
"""The field that a refusal names: on a page it stands beside it."""
FILE_OF = "file:"
"""Beginning of the names that files of a form are found under."""


class Screen(NamedTuple):
    """A screen of the console: its name in texts and roles, its address, its letter after `g`."""

    name: str
    letter: str

    @property
    def path(self) -> str:
        """The address of its first page."""
        return f"{HOME}/{self.name}"


SCREENS = (
    Screen("overview", "o"), Screen("applications", "a"), Screen("borrowers", "b"),
    Screen("loans", "l"), Screen("matching", "m"), Screen("funding", "f"), Screen("money", "y"),
    Screen("collections", "n"), Screen("risk", "r"), Screen("close", "e"),
    Screen("statements", "s"), Screen("control", "c"), Screen("developers", "d"),
)  # fmt: skip


@cache
def texts(language: str) -> Mapping[str, str]:
    """The texts of a language.

    >>> texts("en")["borrower"], texts("zh")["borrower"]
    ('Borrower', '借款人')
    """
    folder = files("usance.platform.console").joinpath("texts")
    found: Mapping[str, str] = yaml.safe_load(
        folder.joinpath(f"{language}.yaml").read_text("utf-8")
    )
    return found


@dataclass(frozen=True)
class Visit:
    """One request of a person who is signed in."""

    request: Request
    operator: Operator

    @property
    def platform(self) -> Platform:
        """The platform that the request came to."""
        platform: Platform = self.request.app.state.platform
        return platform

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts in the visitor's language."""
        return texts(language_of(self.request))

    async def do(
        self, command: str, body: Mapping[str, Any], *, key: str = "", dry_run: bool = False
    ) -> Outcome:
        """The outcome of a command of the visitor."""
        return await self.platform.do(
            self.operator.principal, command, body, key=key, dry_run=dry_run
        )

    def need(self, screen: str) -> None:
        """Refuse a screen that the visitor's role does not have."""
        if not Roles.load().shows(self.operator.role, screen):
            raise Forbidden(f"{self.operator.role} has no screen {screen}", where=screen,
                            fix="Ask an administrator")  # fmt: skip

    def may(self, command: str) -> bool:
        """True if the visitor's role has a command."""
        return command in Roles.load().commands(self.operator.role)

    @property
    def screens(self) -> frozenset[str]:
        """Names of the screens that the visitor's role has."""
        return frozenset(each.name for each in SCREENS
                         if Roles.load().shows(self.operator.role, each.name))  # fmt: skip

    def page(
        self, screen: str, template: str, title: str, status: int = 200, **values: Any
    ) -> Response:
        """A page of a screen."""
        own = self.screens
        return html(
            self.request, template, title, status, screen=screen, operator=self.operator,
            screens=[each for each in SCREENS if each.name in own], **values,
        )  # fmt: skip


def html(request: Request, template: str, title: str, status: int = 200, **values: Any) -> Response:
    """A template as an answer, under the strict policy."""
    language, address = language_of(request), request.url.path
    front = next((each for each in (PORTAL, MINE, DESK) if address.startswith(each)), HOME)
    did = request.query_params.get("did", "")
    own_screens = {each.name for each in values.get("screens", ())}
    own = {
        "did": texts(language).get(did, "") if did.startswith("task_") else "",
        "screen": "", "operator": None, "screens": (), "parts": (), "home": HOME, "title": title,
        "t": texts(language), "language": language, "address": address, "front": front,
        "zone": _zone(request), "currency": _currency(request),
        "address_of": lambda value: address_of_id(value, own_screens),
    }  # fmt: skip
    shown = {name: _FIELD.sub("", value) if name in ("error", "text", "wrong", "unlike")
             and isinstance(value, str) else value for name, value in values.items()}  # fmt: skip
    content = render(f"console/{template}.html.j2", **(own | shown))
    if values.get("operator"):
        content = only_own(content, own_screens)
    # Without a referrer for its own site, a browser says of its forms that they come from nowhere.
    headers = {"Content-Security-Policy": POLICY, "Vary": "Cookie",
               "Referrer-Policy": "same-origin"}  # fmt: skip
    return Response(content, status, headers, "text/html; charset=utf-8")


def _zone(request: Request) -> tzinfo:
    """The lender's time zone, as soon as anything of the lender was read."""
    lender = request.app.state.platform.services.last
    return lender.zone if lender is not None else UTC


def _currency(request: Request) -> str:
    """The lender's currency, as soon as anything of the lender was read."""
    lender = request.app.state.platform.services.last
    return str(lender.currency.name) if lender is not None else ""


def language_of(request: Request) -> str:
    """The language a visitor chose, else the first of the browser's that there is."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    for wanted in request.headers.get("accept-language", "").split(","):
        if (tag := wanted.strip()[:2].lower()) in LANGUAGES:
            return tag
    return LANGUAGES[0]


async def visit_of(request: Request) -> Visit | Response:
    """The visit of whoever is signed in; everybody else is led to the sign-in page."""
    token = request.cookies.get(COOKIE, "")
    if token:
        platform: Platform = request.app.state.platform
        pool = await platform.database.pool()
        async with pool.acquire() as connection:
            try:
                return Visit(request, await owner_of_session(connection, token))
            except UnknownPrincipal:
                pass  # an ended session is no session
    return redirect(f"{HOME}/sign-in")


def redirect(path: str) -> RedirectResponse:
    """An answer that leads to another page, after a form too."""
    return RedirectResponse(path, 303)


async def form(request: Request, most: int = MAX_FORM) -> dict[str, str]:
    """The fields of a form that one of our own pages sent, and its files' texts by their names."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if site not in ("same-origin", "none") or origin not in (None, own):
        raise Forbidden("a form of another site", where="Origin", fix="Send it from the console")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise Forbidden("the form is too large", where="body", fix="Send less")
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return fields_and_files(body, kind)
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def fields_and_files(body: bytes, kind: str) -> dict[str, str]:
    r"""The parts of a form with files: fields as they are, files as a JSON object of texts.

    >>> part = 'Content-Disposition: form-data; name="x"; filename="a.csv"\r\n\r\n1,2'
    >>> fields_and_files(f"--b\r\n{part}\r\n--b--".encode(), "multipart/form-data; boundary=b")
    {'file:x': '{"a.csv": "1,2"}'}
    """
    message = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + kind.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    found: dict[str, str] = {}
    chosen: dict[str, dict[str, str]] = {}
    for part in message.iter_parts():
        name, file = part.get_param("name", header="content-disposition"), part.get_filename()
        content = part.get_payload(decode=True)
        text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
        if not isinstance(name, str):
            continue
        if file is None:
            found[name] = text
        elif file:
            chosen.setdefault(FILE_OF + name, {})[file] = text
    packed = {name: json.dumps(each, ensure_ascii=False) for name, each in chosen.items()}
    return found | packed
