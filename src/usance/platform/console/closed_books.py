"""Figures of closed books: the pages that `usance pages BOOK` writes, inside the console's frame.

A close leaves its pages in the home of the platform. They are shown as they were written, in the
visitor's language; a link to a loan leads to the loan as it is now, so that one drills from net
income to a loan and its facts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup
from starlette.responses import FileResponse, Response

from usance.pages.numbers import words
from usance.pages.site.language import translated
from usance.pages.site.write import MARK
from usance.platform.console.addresses import HISTORY, screen_of
from usance.platform.console.frame import HOME, Visit, language_of
from usance.platform.console.risk import live_parts
from usance.platform.errors import NotFound

FOLDERS = ("closed_pages", "pages")
"""Pages of the latest close of live data, and those of a history that was loaded."""
FIRST = {"statements": "statements.html", "risk": "risk.html", "close": "close.html"}
"""First page of a screen's closed part."""
CLOSES, RISK = ("close", "book"), ("risk", "metrics")
STATEMENTS = ("statements", "ifrs", "accounts", "release")
_MAIN = re.compile(r"<main><h1>(.*?)</h1>(.*)</main>", re.DOTALL)
_RELEASE = re.compile(
    r"<header><h1>(.*?)</h1>(.*?)</header>\s*(<nav.*?</nav>)?.*?<main>(.*)</main>", re.DOTALL
)
"""A release is a page of its own, made to be printed: its title, opening, contents and text."""
_LINK = re.compile(r'href="([^"#:]*)(#[^"]*)?"')
_LOAN = re.compile(r"loans/(ln_\w+)\.html")
_SOURCE = re.compile(r"(?:\bsource |资金来源)(\d{1,4})\b")
"""A source as books know it, by its number: the lender knows its name."""
_ONWARD = re.compile(r"<h2>From here</h2>.*", re.DOTALL)


def folders_of(visit: Visit) -> list[Path]:
    """Folders of closed books' pages, the latest first."""
    home = visit.platform.home
    return [home / name for name in FOLDERS if (home / name / MARK).exists()] if home else []


def part(
    visit: Visit, path: str, names: Mapping[int, str] | None = None
) -> tuple[str, Markup] | None:
    """Title and content of a page of the closed book; its sources by name where they have one."""
    folders, before = folders_of(visit), ""
    if path.startswith(HISTORY):
        folders, before, path = folders[1:], HISTORY, path.removeprefix(HISTORY)
    if not folders or path not in (folders[0] / MARK).read_text("utf-8").splitlines():
        return None
    text = (folders[0] / path).read_text("utf-8")
    if found := _MAIN.search(text):
        heading, body = found[1], _ONWARD.sub("", found[2])
    elif found := _RELEASE.search(text):
        heading = found[1]
        body = f'<div class="release">{found[2]}{found[3] or ""}{found[4]}</div>'
    else:
        return None
    language = language_of(visit.request)
    title, content = (translated(each, language) for each in (f"<h1>{heading}</h1>", body))
    content = _LINK.sub(lambda link: _led(path, link, before), content)
    content = _SOURCE.sub(lambda found: (names or {}).get(int(found[1]), found[0]), content)
    return Markup(title).striptags(), Markup(content)  # noqa: S704 -- our own file


async def names_of_sources(visit: Visit) -> dict[int, str]:
    """Names of the lender's sources by number."""
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        named = {number: lender.source_name(number) for number in lender.sources}
    return {number: words(name) for number, name in named.items() if name}


def _file(visit: Visit, path: str) -> Path | None:
    """A file that was written beside the pages."""
    folders = folders_of(visit)
    if path.startswith(HISTORY):
        folders, path = folders[1:], path.removeprefix(HISTORY)
    if not folders or path not in (folders[0] / MARK).read_text("utf-8").splitlines():
        return None
    return folders[0] / path


def _led(path: str, link: re.Match[str], before: str) -> str:
    """A link of a page, leading to the same page inside the console."""
    to = posixpath.normpath(posixpath.join(posixpath.dirname(path), link[1])) if link[1] else path
    loan = _LOAN.fullmatch(to)
    if loan:
        return f'href="{HOME}/loans/{loan[1]}"'
    return f'href="{HOME}/books/{before}{to}{link[2] or ""}"'


async def show(visit: Visit) -> Response:
    """One page of the closed book."""
    path = visit.request.path_params["path"]
    screen = screen_of(path.removeprefix(HISTORY))
    if screen:
        visit.need(screen)
    if path.endswith(".csv") and screen and (file := _file(visit, path)) is not None:
        return FileResponse(file, media_type="text/csv", filename=file.name)
    found = part(visit, path, await names_of_sources(visit)) if screen else None
    if found is None:
        raise NotFound("there is no such page", where=path, fix="Close a period first")
    title, content = found
    pages = {"statements": STATEMENTS, "close": CLOSES, "risk": RISK}.get(screen, ())
    return visit.page(screen, "closed", title, content=content, pages=pages, page=path,
                      more=_more(visit, screen))  # fmt: skip


async def statements(visit: Visit) -> Response:
    """Statements of the closed periods."""
    return await _first(visit, "statements", "statements.html", STATEMENTS)


async def risk(visit: Visit) -> Response:
    """Vintages, rolls, lateness by segment and early indicators; drift and models beside them."""
    return await _first(visit, "risk", "risk.html", RISK)


async def _first(visit: Visit, screen: str, path: str, pages: tuple[str, ...]) -> Response:
    found = part(visit, path, await names_of_sources(visit))
    if found is None:
        return visit.page(screen, "message", visit.texts[screen], text=visit.texts["no_close"])
    return visit.page(screen, "closed", visit.texts[screen], content=found[1], pages=pages,
                      page=path, more=_more(visit, screen))  # fmt: skip


def _more(visit: Visit, screen: str) -> list[tuple[str, str]]:
    """Live parts of the screen that stand beside the closed ones."""
    past = [(visit.texts["history"], f"{HOME}/books/{HISTORY}{FIRST[screen]}")] if (
        screen in FIRST and len(folders_of(visit)) > 1) else []  # fmt: skip
    own = {"close": [(visit.texts["periods"], f"{HOME}/close")], "risk": live_parts(visit)}
    return [*own.get(screen, ()), *past]
