"""The making of the demo: a twin run, its pages and its load, each done once and kept."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

from usance.base.book import Book
from usance.base.dates import first_of_month
from usance.base.errors import Problems, TableError
from usance.pages.site.write import write_site
from usance.platform.closing.month_end import LAKE
from usance.platform.closing.month_end import PAGES as LIVE_PAGES
from usance.platform.demo.lender import lender_of
from usance.platform.demo.world import reach
from usance.platform.security.roles import Roles
from usance.platform.security.sandbox_access import FILE as SANDBOX_FILE
from usance.platform.security.sandbox_access import OPERATORS, write_private
from usance.platform.security.sessions import create_operator
from usance.platform.terminal.homes import installed
from usance.platform.terminal.twin_load import load_home
from usance.twin.errors import LostManifest, OtherRun
from usance.twin.run.runner import run_scenario
from usance.twin.site.last_plan import last_plan
from usance.world.scenario.file import read_scenario

SCENARIO = "calm"
BOOK, PAGES, PEOPLE, READY = "book", "pages", "people.json", "demo.json"
"""Parts of a demo's home beside the database: the closed book, its pages, operators, the mark."""
DESKS, CASES_A_DAY = ("collector", "collections_lead"), 40
"""Roles that work cases, and how many each of their people works on a day."""
Say = Callable[[str], None]


def make(home: Path, scale: Fraction, say: Say) -> dict[str, Any]:
    """Make what is not there yet; gives the figures of the run."""
    wanted = {"scenario": SCENARIO, "scale": str(scale)}
    mark = home / READY
    known: dict[str, Any] = json.loads(mark.read_text()) if mark.exists() else {}
    if known and {name: known.get(name) for name in wanted} == wanted:
        return known
    _clear(home, book=bool(known))
    home.mkdir(parents=True, exist_ok=True)
    figures = _run(home / BOOK, scale, say)
    book = Book.open(home / BOOK)
    with _timed("pages of the closed book", say):
        write_site(book, home / PAGES, last_plan=last_plan)
    economy = read_scenario(SCENARIO)
    with _timed("load into PostgreSQL", say):
        document = lender_of(book, SCENARIO, first_of_month(economy.last_month))
        asyncio.run(load_home(book, home, document, keeps_closes=True))
    asyncio.run(_let_people_in(home))
    asyncio.run(_staff_desks(home))
    made = {**wanted, **figures}
    mark.write_text(json.dumps(made))
    return made


def _clear(home: Path, *, book: bool) -> None:
    """Remove what was half made, and the book of another size; a run that was begun goes on."""
    for name in (PAGES, "postgres", LAKE, LIVE_PAGES, *([BOOK] if book else ())):
        shutil.rmtree(home / name, ignore_errors=True)
    for name in (PEOPLE, READY, "sandbox.json", "master.key"):
        (home / name).unlink(missing_ok=True)


def _run(folder: Path, scale: Fraction, say: Say) -> dict[str, Any]:
    economy = read_scenario(SCENARIO)

    def again() -> Any:
        return run_scenario(
            economy, folder, scale=scale, first=economy.first_month, last=economy.last_month,
            progress=Progress(say), clock=perf_counter,
        )  # fmt: skip

    try:
        made = again()
    except (OtherRun, LostManifest, TableError, Problems):
        shutil.rmtree(folder)  # the demo's own: of another version, or damaged
        made = again()
    told = made.figures["figures"]
    return {"loans": told["loans"], "facts": told["facts"]}


async def _let_people_in(home: Path) -> None:
    """An operator for each role that a sandbox has none of; passwords are in one private file."""
    people = []
    async with installed(home) as platform, platform.database.transaction(0) as transaction:
        for role in sorted(set(Roles.load().by_name) - set(OPERATORS.values())):
            email, password = f"{role}@demo.example", secrets.token_urlsafe(9)
            await create_operator(transaction, email, role, password)
            people.append({"role": role, "email": email, "password": password})
    write_private(home / PEOPLE, people)


async def _staff_desks(home: Path) -> None:
    """Debtors who can be reached, people who work their cases, and the cases given to them."""
    async with installed(home) as platform:
        await reach(platform)
        operations = await platform.principal("operations")
        for role in DESKS:
            body = {"name": f"{role}@demo.example", "slots": CASES_A_DAY,
                    "languages": ["zh", "en"]}  # fmt: skip
            await platform.do(operations, "collector.put", body)
        await platform.do(operations, "cases.allocate", {})


class Progress:
    """A line for each eighth of the run: how far it is, and the time left."""

    def __init__(self, say: Say) -> None:
        self.start, self.shown, self.say = perf_counter(), -1, say

    def __call__(self, what: str, done: int, whole: int) -> None:
        """Say how far the run is, where that is news."""
        if not whole or done * 8 // whole == self.shown or what == "done":
            return
        self.shown = done * 8 // whole
        left = (perf_counter() - self.start) * (whole - done) / done if done else 0
        self.say(f"simulating: {done / whole:.0%}" + (f", {left:.0f} s left" if done else ""))


class _timed:  # noqa: N801 -- reads as a statement
    """A step that says how long it took."""

    def __init__(self, what: str, say: Say) -> None:
        self.what, self.say = what, say

    def __enter__(self) -> None:
        self.begun = perf_counter()

    def __exit__(self, *failed: object) -> None:
        if failed[0] is None:
            self.say(f"{self.what}: {perf_counter() - self.begun:.0f} s")


def people_of(home: Path) -> list[dict[str, str]]:
    """Every operator of a demo with role, address and password."""
    own = json.loads((home / SANDBOX_FILE).read_text())["operators"]
    first = [{"role": role, **each} for role, each in zip(OPERATORS.values(), own, strict=True)]
    return first + list(json.loads((home / PEOPLE).read_text()))
