"""Month end on live data: cut-off, day, export, close, control, metrics and release, in this order.

Every step can be done again: what a killed close left behind is taken up where it stopped, with the
moment it had fixed. The book is the lake's, and the functions are those of any other book.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from usance.base.book import Book
from usance.base.dates import format_month, parse_moment
from usance.base.errors import raise_all
from usance.base.periods import MetricPeriod
from usance.books.close.checklist import close
from usance.books.close.closes import CloseRef, effective_closes, known_at_of, lock, reopen
from usance.books.errors import PeriodError
from usance.books.periods import ClosePeriod, parse_close_period
from usance.disclose.profile import DEFAULT, load_profile
from usance.disclose.release.filer import read_filer
from usance.disclose.release.publication import publish, release_of
from usance.disclose.release.release import Release
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure
from usance.measure.publication import publish_metrics
from usance.pages.reports.release import RELEASE_WRITERS
from usance.pages.site.write import write_site
from usance.platform.closing.control import ledger_differences
from usance.platform.closing.tape import write_tape
from usance.platform.commands.control.periods import LOCKED, BeginClose, FinishClose
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import LakeBehind
from usance.platform.lake.export import compact, export
from usance.platform.principals import SYSTEM
from usance.platform.reads.shapes import moment_text
from usance.platform.refusals import ClockBackwards
from usance.platform.store.locks import Lock

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment
    from usance.platform.lender import Lender
    from usance.platform.live import Platform

ACTOR = "usance"
LAKE, RELEASES, PAGES = "lake", "releases", "closed_pages"
"""Folders of a home: the book that follows the database, what was published, and its pages."""
MAX_WAIT_SECONDS, WAIT_SECONDS = 60.0, 0.05
"""A transaction that is older than a close ends in milliseconds, or something is wrong with it."""
CUT_OFF = timedelta(minutes=1)
"""A sandbox's clock goes so far over midnight: each command of the evening takes a microsecond."""
CLOSE_STEPS = 9
RELEASE_FORMATS = ("csv", "html")
Progress = Callable[[str], Awaitable[None]]


async def silent(_step: str) -> None:
    """Say nothing."""


@dataclass
class MonthEnd:
    """A close of live data: what it made, and the seconds of each step."""

    close: str = ""
    known_at: str = ""
    exported: int = 0
    loans: int = 0
    controls: int = 0
    journals: int = 0
    metrics: int = 0
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class LiveClose:
    """One period of a lender, on its way from open to published."""

    platform: Platform
    home: Path
    period: ClosePeriod
    clock: Callable[[], float]
    progress: Progress = silent
    publishes: bool = True
    """False to close alone, without metrics and release."""
    made: MonthEnd = field(default_factory=MonthEnd)

    @property
    def lake(self) -> Path:
        """The book folder that follows the database."""
        return self.home / LAKE

    async def run(self) -> MonthEnd:
        """Everything, or the error of the step that stands against it."""
        closing = (
            ("business days", self._serve_days), ("cut-off", self._begin),
            ("export", self._export), ("close", self._close), ("control", self._control),
            ("ledger", self._finish),
        )  # fmt: skip
        publishing = (
            ("metrics", self._measure), ("release", self._release), ("pages", self._write_pages)
        )  # fmt: skip
        assert len(closing) + len(publishing) == CLOSE_STEPS, "progress is told of as many"
        async with lake_turn(self.platform):
            steps = () if await self._is_closed() else closing
            for name, step in (*steps, *(publishing if self.publishes else ())):
                await self.progress(name)
                begun = self.clock()
                await step()
                self.made.seconds[name] = self.clock() - begun
        return self.made

    async def _is_closed(self) -> bool:
        """True of a period whose close ended before it was published, or is published again."""
        async with self.platform.database.transaction(SYSTEM.principal_id) as transaction:
            row = await transaction.fetchrow(
                "select name, known_at, loans, journals from usance.closes "
                "where period = $1 and state = 'effective'", self.period.label,
            )  # fmt: skip
        if row is not None:
            self.made.close, self.made.loans, self.made.journals = row["name"], row[2], row[3]
            self.made.known_at = moment_text(row["known_at"])
        return row is not None

    async def _serve_days(self) -> None:
        """Serve what is left of the period's days; only a sandbox's clock moves for it."""
        async with self.platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, self.platform.services)
        over = over_at(moment, self.period.last_day)
        if moment.lender.is_sandbox and moment.at < over:
            await advance(self.platform, over)

    async def _begin(self) -> None:
        outcome = await self.platform.do(SYSTEM, BeginClose(self.period.label))
        self.made.known_at = outcome.answer["known_at"]

    async def _export(self) -> None:
        async with self.platform.database.loader() as connection:
            await older_transactions_ended(connection)
            done = await export(connection, self.lake)
            await follow_periods(connection, self.lake, self.period, self._known_at)
        await asyncio.to_thread(compact, self.lake, self.period.months[0])
        self.made.exported = sum(done.rows.values())

    @property
    def _known_at(self) -> datetime:
        return parse_moment(self.made.known_at)

    async def _close(self) -> None:
        """Close the book, unless a close that was killed afterwards has done so."""
        async with self.platform.database.transaction(SYSTEM.principal_id) as transaction:
            lender = (await now(transaction, self.platform.services)).lender
        book = Book.open(self.lake)
        ref = closed_as(book, self.period)
        if ref is None:
            ref = await asyncio.to_thread(self._close_book, book, lender)
        self.made.close = ref.name

    def _close_book(self, book: Book, lender: Lender) -> CloseRef:
        with TemporaryDirectory() as folder:
            made = close(
                book, self.period, policies=written_policies(lender, Path(folder)),
                known_at=self._known_at, actor=ACTOR, clock=self.clock,
                parameters=lender.parameters,
            )  # fmt: skip
        write_tape(Book.open(self.lake), self.period.months, self._known_at)
        self.made.loans, self.made.controls = made.loans, len(made.controls)
        self.made.notes += made.notes
        return made.ref

    async def _control(self) -> None:
        async with self.platform.database.loader() as connection:
            found = await ledger_differences(
                connection, Book.open(self.lake), CloseRef.parse(self.made.close)
            )
        raise_all(found, where=f"close {self.made.close}")

    async def _finish(self) -> None:
        command = FinishClose(self.period.label, self.made.close, str(self.lake))
        outcome = await self.platform.do(SYSTEM, command)
        self.made.journals = outcome.answer["journals"]

    async def _measure(self) -> None:
        self.made.metrics = await asyncio.to_thread(publish_period_metrics, self.lake, self.period)

    async def _write_pages(self) -> None:
        """Write the closed book's pages, which the console shows."""
        await asyncio.to_thread(write_site, Book.open(self.lake), self.home / PAGES)

    async def _release(self) -> None:
        folder = self.home / RELEASES / self.made.close
        try:
            files = await asyncio.to_thread(publish_release, self.lake, self.period, folder)
        except PeriodError as error:  # books that begin within a period have no flows of it
            self.made.notes.append(f"no release: {error.what}")
            return
        self.made.files = [str(path.relative_to(self.home)) for path in files]


@asynccontextmanager
async def lake_turn(platform: Platform) -> AsyncIterator[None]:
    """A turn at the lake: whoever exports to it or closes it waits for the one before."""
    async with platform.database.loader() as connection:
        await connection.execute("select pg_advisory_lock($1)", Lock.LAKE)
        yield


def over_at(moment: Moment, day: date) -> datetime:
    """The moment at which a day is over and its evening has been served."""
    midnight = datetime.combine(day + timedelta(days=1), time(), moment.lender.zone)
    return midnight.astimezone(UTC) + CUT_OFF


async def advance(platform: Platform, to: datetime) -> None:
    """Move a sandbox's clock however far, with everything that falls due on the way."""
    from usance.platform.commands.control.clock import MAX_DAYS, AdvanceClock

    while True:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            at = (await now(transaction, platform.services)).at
        if at >= to:
            return
        with suppress(ClockBackwards):  # somebody else has just moved it further
            await platform.do(SYSTEM, AdvanceClock(min(to, at + timedelta(days=MAX_DAYS))))


async def older_transactions_ended(connection: asyncpg.Connection) -> None:
    """Wait until every transaction that began before now is over, so that an export has it all."""
    last = await connection.fetchval("select pg_current_xact_id()::text::bigint")
    loop = asyncio.get_running_loop()
    until = loop.time() + MAX_WAIT_SECONDS
    while True:
        oldest = await connection.fetchval(
            "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
        )
        if oldest > last:
            return
        if loop.time() > until:
            raise LakeBehind(
                f"transaction {oldest} has been running since before the cut-off",
                where="the database",
                fix="See pg_stat_activity for who holds it open, end it, and close again",
            )
        await asyncio.sleep(WAIT_SECONDS)


async def follow_periods(
    connection: asyncpg.Connection, folder: Path, period: ClosePeriod, known_at: datetime
) -> None:
    """Open in the book what was opened again in the ledger, and lock what is locked there."""
    book = Book.open(folder)
    ref = closed_as(book, period)
    if ref is not None and known_at_of(book, ref) != known_at:
        reopen(book, period, await _people(connection, period))
    rows = await connection.fetch("select period from usance.periods where state = $1", LOCKED)
    book = Book.open(folder)
    states = book.manifest.periods
    for row in rows:
        month = format_month(row["period"])
        if month in states and states[month].state == "closed":
            lock(book, parse_close_period(month))


async def _people(connection: asyncpg.Connection, period: ClosePeriod) -> list[str]:
    """People who agreed to open a period again."""
    rows = await connection.fetch(
        "select p.name from usance.principals p where p.principal_id = any((select a.given "
        "from usance.approvals a where a.command = 'period.move' and a.state = 'approved' "
        "and a.payload ->> 'state' = 'open' and a.payload ->> 'period' <= $1 "
        "order by a.proposed_at desc limit 1)::integer[])", period.label,
    )  # fmt: skip
    return [row["name"] for row in rows]


def closed_as(book: Book, period: ClosePeriod) -> CloseRef | None:
    """The close that a period has in a book now."""
    found = [each for each in effective_closes(book) if each.month == period.last_month]
    return found[0] if found else None


def written_policies(lender: Lender, folder: Path) -> Path | None:
    """The lender's own policies as the files a close reads; none if it has stated none."""
    texts = lender.document.get("policies") or {}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder if texts else None


def publish_period_metrics(folder: Path, period: ClosePeriod) -> int:
    """Measure a closed period and keep the results in its book; their number."""
    inputs, span = Inputs.of_book(Book.open(folder)), MetricPeriod.of(period.label)
    results = measure(inputs, as_of=period.last_day, period=span)
    publish_metrics(results, folder, period.last_day)
    return len(results)


def publish_release(folder: Path, period: ClosePeriod, out: Path) -> list[Path]:
    """Publish a closed period as a table and a page."""
    release = release_of_lake(Book.open(folder), period)
    return list(publish(release, out, RELEASE_FORMATS, writers=RELEASE_WRITERS).values())


def release_of_lake(book: Book, period: ClosePeriod) -> Release:
    """The release of a closed period, in the currency of the book alone."""
    filer = replace(read_filer(None), translated=False)
    return release_of(book, period, load_profile(DEFAULT), filer)


def as_answer(made: MonthEnd) -> dict[str, Any]:
    """A finished close as a job's result."""
    return {
        "close": made.close, "known_at": made.known_at, "exported": made.exported,
        "loans": made.loans, "controls": made.controls, "journals": made.journals,
        "metrics": made.metrics, "files": made.files, "notes": made.notes,
        "seconds": {name: round(spent, 3) for name, spent in made.seconds.items()},
    }  # fmt: skip
