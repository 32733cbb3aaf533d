"""Big exports: a list of the console as a file, made by a job for whoever asked, kept for a week.

The job asks the list's own page function for piece after piece, with the same filters and as the
same principal; the file is sealed for that principal alone. Its form, CSV or XLSX, is that of
`console.lists`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from usance.base.ids import print_id
from usance.platform.console.developers import job_rows
from usance.platform.console.frame import HOME, LANGUAGE_COOKIE, Visit, form, language_of, redirect
from usance.platform.console.lists import FORMATS, MAX_TEXT, ListPage, cells, table_file
from usance.platform.errors import Forbidden, InvalidField, NotFound
from usance.platform.jobs import queue
from usance.platform.jobs.kinds import EXPORT_JOB
from usance.platform.jobs.queue import Job, JobState, NewJob, enqueue
from usance.platform.jobs.worker import Work
from usance.platform.principals import principal_named
from usance.platform.records.user_record import read_id
from usance.platform.security.sessions import Operator

if TYPE_CHECKING:
    from usance.platform.live import Platform

FOLDER, COLUMN = "exports", "export"
HERE = f"{HOME}/exports"
SHOWN, KEPT_SECONDS = 20, 7 * 86_400
MAX_SHEET_ROWS = 1_048_575
"""Rows of a sheet of XLSX below its heading."""
ACTIONS = {"cancel": queue.cancel, "retry": queue.retry}


async def show(visit: Visit) -> Response:
    """Own exports with their progress, and the files that are ready."""
    async with visit.platform.reading(visit.operator.principal) as read:
        jobs = await queue.jobs_of(read.transaction, EXPORT_JOB, _mine(visit), SHOWN)
    rows = job_rows(jobs)
    for row, job in zip(rows, jobs, strict=True):
        row["name"] = f"{job.payload['path']} {job.payload['query']}"
        row["file"] = f"{HERE}/{row['id']}" if job.state == JobState.DONE else ""
    return visit.page("overview", "exports", visit.texts["exports"], jobs=rows, may_act=True,
                      actions=HERE)  # fmt: skip


async def ask(visit: Visit) -> Response:
    """Ask for a list as a file; once for the form's key."""
    given = await form(visit.request)
    path, query = given.get("path", ""), dict(parse_qsl(given.get("query", "")[1:2_000]))
    _page_of(path, visit)
    if query.get("format") not in FORMATS or not given.get("key"):
        raise InvalidField("is no format", where="query", fix="Use the button")
    payload = {
        "path": path, "query": "?" + urlencode(query), "role": visit.operator.role,
        "name": visit.operator.principal.name, "language": language_of(visit.request),
        **_mine(visit),
    }  # fmt: skip
    key = f"{EXPORT_JOB}/{visit.operator.principal.principal_id}/{given['key'][:MAX_TEXT]}"
    async with visit.platform.database.transaction(visit.operator.principal.principal_id) as write:
        await enqueue(write, [NewJob(EXPORT_JOB, key, payload)])
    return redirect(HERE)


async def file(visit: Visit) -> Response:
    """A file that is ready, for whoever asked for it."""
    job = await _job(visit)
    place = file_of_job(visit.platform.need_home(), job.job_id)
    if job.state != JobState.DONE or not place.exists():
        raise NotFound("there is no such file", where=place.name, fix="Ask for it again")
    kind, name = job.result["format"], job.payload["path"].strip("/").replace("/", "-")
    vault, number = visit.platform.services.keys, visit.operator.principal.principal_id
    content = await asyncio.to_thread(
        lambda: vault.open(number, f"{COLUMN}/{job.job_id}", place.read_bytes())
    )
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, 200, headers, FORMATS[kind])


async def act(visit: Visit) -> Response:
    """Cancel an own export, or put it back into the queue."""
    await form(visit.request)
    does = ACTIONS.get(visit.request.path_params["action"])
    if does is None:
        raise NotFound("there is no such action", where="action", fix="Use the buttons")
    job = await _job(visit)
    async with visit.platform.database.transaction(visit.operator.principal.principal_id) as write:
        await does(write, job.job_id)
    return redirect(HERE)


def _mine(visit: Visit) -> dict[str, int]:
    return {"principal": visit.operator.principal.principal_id}


async def _job(visit: Visit) -> Job:
    """The export of an address, if it is the visitor's own."""
    number = read_id(visit.request.path_params["job"], "jb", "job")
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await queue.job_by_id(read.transaction, number)
    if found.kind != EXPORT_JOB or found.payload["principal"] != _mine(visit)["principal"]:
        raise NotFound("there is no such export", where=print_id("jb", number), fix="Ask for one")
    return found


def file_of_job(home: Path, job_id: int) -> Path:
    """The sealed file of an export."""
    return home / FOLDER / print_id("jb", job_id)


async def export_list(platform: Platform, work: Work) -> Mapping[str, Any]:
    """The job: a list, piece after piece, into a sealed file; files of last week are removed."""
    given, home = work.job.payload, platform.need_home()
    visit = await _visit(platform, given)
    kind = dict(parse_qsl(given["query"][1:]))["format"]
    table: list[Sequence[str | int]] = []
    async for piece in pieces(visit, given["path"], given["query"]):
        if not table:
            table.append(piece.names)
        table.extend(cells(piece.names, piece.shown))
        if kind == "xlsx" and len(table) > MAX_SHEET_ROWS:
            raise InvalidField("has more rows than a sheet", where="format", fix="Take CSV")
        await work.report(len(table) - 1, 0)
    place = file_of_job(home, work.job.job_id)
    vault, number = platform.services.keys, given["principal"]

    def write() -> None:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        _clear(place.parent)
        sealed = vault.seal(number, f"{COLUMN}/{work.job.job_id}", table_file(table, kind))
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(sealed)

    await asyncio.to_thread(write)
    await work.report(len(table) - 1, len(table) - 1)
    return {"rows": len(table) - 1, "format": kind}


async def pieces(visit: Visit, path: str, query: str) -> AsyncIterator[ListPage]:
    """A list of the console from its first row to its last, as many rows at once as a file has."""
    answer, asked = _page_of(path, visit), dict(parse_qsl(query[1:])) | {"sort": "", "before": ""}
    while True:
        found = await answer(_asking(visit, path, asked))
        if not isinstance(found, ListPage):
            raise NotFound("is no list", where=path, fix="Use the link of a list")
        yield found
        if not found.has_more:
            return
        asked["before"] = str(found.shown[-1][found.key])


def _page_of(path: str, visit: Visit) -> Any:
    """The function of a page that the visitor may see."""
    from usance.platform.console.routes import PAGES

    screen, answer = PAGES.get(("GET", path), ("", None))
    if answer is None or "{" in path:
        raise NotFound("there is no such list", where="path", fix="Use the link of a list")
    visit.need(screen)
    return answer


async def _visit(platform: Platform, given: Mapping[str, Any]) -> Visit:
    """The visit of whoever asked, if they still may sign in."""
    pool = await platform.database.pool()
    async with pool.acquire() as connection:
        principal = await principal_named(connection, given["name"])
    if principal.principal_id != given["principal"]:
        raise Forbidden("is somebody else now", where="principal", fix="Ask for it again")
    state = SimpleNamespace(state=SimpleNamespace(platform=platform))
    cookie = f"{LANGUAGE_COOKIE}={given['language']}".encode()
    scope = {"type": "http", "app": state, "headers": [(b"cookie", cookie)], "path": HERE,
             "query_string": b"", "method": "GET", "path_params": {}}  # fmt: skip
    return Visit(Request(scope), Operator(principal, 0, given["role"], has_totp=False))


def _asking(visit: Visit, path: str, asked: Mapping[str, str]) -> Visit:
    """The same visitor at another address."""
    scope = {**visit.request.scope, "method": "GET", "path": f"{HOME}{path}", "path_params": {},
             "query_string": urlencode(asked).encode()}  # fmt: skip
    return Visit(Request(scope), visit.operator)


def _clear(folder: Path) -> None:
    """Remove files that are older than a week."""
    for each in folder.iterdir():
        if each.stat().st_mtime < time.time() - KEPT_SECONDS:
            each.unlink(missing_ok=True)
