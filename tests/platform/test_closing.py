"""A close on live data: every fact in one period's journals, whatever comes when."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_business_day import DUE, advance, pay
from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.books.close.closes import CloseRef, effective_closes
from usance.books.periods import parse_close_period
from usance.platform.closing.control import ledger_differences
from usance.platform.closing.month_end import LiveClose, MonthEnd
from usance.platform.commands.control.periods import BeginClose
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.errors import LedgerDiffers
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.worker import run_jobs
from usance.platform.ledger import fact_postings
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.refusals import PeriodNotOpen, PeriodNotOver


def ticks() -> float:
    return next(_TICKS)


_TICKS: Iterator[float] = iter(float(n) for n in range(10**9))


def close_month(sandbox: Sandbox, home: Path, label: str, *, publishes: bool = False) -> MonthEnd:
    period = parse_close_period(label)
    return sandbox.within(
        lambda platform: LiveClose(platform, home, period, ticks, publishes=publishes).run()
    )


def loans(sandbox: Sandbox, count: int = 2) -> list[str]:
    names = (f"borrower {n}" for n in range(count))
    users = [borrower(sandbox, name, region=1 + n) for n, name in enumerate(names)]
    return [str(drawn(sandbox, user).answer["loan"]) for user in users]


def states(sandbox: Sandbox) -> dict[int, int]:
    rows = sandbox.sql("finance", "select json_object_agg(period, state) from usance.periods")
    return {int(month): state for month, state in json.loads(rows).items()}


def balances(sandbox: Sandbox, last: int) -> Counter[tuple[int, ...]]:
    """The ledger of the database by entity, basis and account, up to a month."""

    async def read(platform: Platform) -> list[Any]:
        async with platform.database.transaction(0) as transaction:
            return list(await transaction.fetch(
                "select entity, basis, tag, account, currency, sum(amount_minor)::bigint as s "
                "from usance.postings where period <= $1 group by 1, 2, 3, 4, 5", last,
            ))  # fmt: skip

    return Counter({tuple(row)[:5]: row["s"] for row in sandbox.within(read) if row["s"]})


def book_balances(book: Book, last: int) -> Counter[tuple[int, ...]]:
    """The ledger of a book, likewise."""
    found: Counter[tuple[int, ...]] = Counter()
    for close in effective_closes(book):
        if close.month <= last:
            for row in book.read("postings", folder=close.folder).to_pylist():
                names = ("entity", "basis", "tag", "account", "currency")
                found[tuple(row[name] for name in names)] += row["amount_minor"]
    return Counter({key: amount for key, amount in found.items() if amount})


def test_a_month_is_closed_and_its_journals_come_back(sandbox: Sandbox, tmp_path: Path) -> None:
    first, _ = loans(sandbox)
    advance(sandbox, "2024-08-02")
    pay(sandbox, first, DUE, "2024-08-01")
    july = close_month(sandbox, tmp_path, "2024-07", publishes=True)
    assert (july.close, july.loans) == ("2024-07.1", 2)
    assert july.journals > 10
    assert july.metrics > 10
    assert [Path(path).suffix for path in july.files] == [".csv", ".html"]
    assert states(sandbox)[654] == 2
    august = close_month(sandbox, tmp_path, "2024-08")  # its days are served on the way
    assert august.close == "2024-08.1"
    book = Book.open(tmp_path / "lake")
    for month in (654, 655):
        assert balances(sandbox, month) == book_balances(book, month)
    told = sandbox.read("operations", "events", 0, 1_000)
    assert [each["name"] for each in told].count("close.finished") == 2


def test_what_is_known_too_late_is_posted_to_the_month_after(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    first, second = loans(sandbox)
    advance(sandbox, "2024-08-20")
    advance(sandbox, "2024-09-03")
    close_month(sandbox, tmp_path, "2024-08")
    pay(sandbox, first, DUE, "2024-08-01", "late")
    pay(sandbox, second, DUE, "2024-09-02", "own")
    made = close_month(sandbox, tmp_path, "2024-09")
    assert made.close == "2024-09.1"
    book = Book.open(tmp_path / "lake")
    assert balances(sandbox, 656) == book_balances(book, 656)
    assert balances(sandbox, 655) == book_balances(book, 655)


def test_a_close_while_payments_come_in(sandbox: Sandbox, tmp_path: Path) -> None:
    """Payments go on from before the cut-off until July is closed; each is in one month's journals.

    A payment from before the cut-off is in July's, every later one, also of a day in July, in
    August's.
    """
    first, second = loans(sandbox)
    advance(sandbox, "2024-08-05")

    async def race(platform: Platform) -> int:
        number, is_over = 0, asyncio.Event()

        async def book(lane: int) -> None:
            nonlocal number
            while not is_over.is_set():
                number += 1
                day = date(2024, 7, 20 + number % 12)
                command = BookPayment(100 + number, "CNY", day, f"r{number}", (first, second)[lane],
                                      None, "psp_a")  # fmt: skip
                await platform.do(SYSTEM, command)
                await asyncio.sleep(0.1)

        async def close() -> MonthEnd:
            await asyncio.sleep(0.3)
            period = parse_close_period("2024-07")
            try:
                return await LiveClose(platform, tmp_path, period, ticks, publishes=False).run()
            finally:
                is_over.set()

        made, *_ = await asyncio.gather(close(), book(0), book(1))
        assert made.close == "2024-07.1"
        return number

    booked = sandbox.within(race)
    close_month(sandbox, tmp_path, "2024-08")
    book = Book.open(tmp_path / "lake")
    for month in (654, 655):
        assert balances(sandbox, month) == book_balances(book, month)
    paid = Counter(row["period"] for row in sandbox.within(_payment_journals))
    assert sum(paid.values()) == booked
    assert set(paid) == {654, 655}


async def _payment_journals(platform: Platform) -> list[Any]:
    """The months of each payment's journal; one that were in two would be there twice."""
    async with platform.database.transaction(0) as transaction:
        return list(await transaction.fetch(
            "select distinct journal_id, period from usance.postings "
            "join usance.journals using (journal_id) where actor = 'payment.book'"
        ))  # fmt: skip


def test_without_the_cut_off_the_control_finds_it(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: a fact posted to another month than the one that knew of it is named."""
    first, _ = loans(sandbox)
    advance(sandbox, "2024-08-05")
    monkeypatch.setattr(fact_postings.Books, "period_for", lambda books, _m: books.open_periods[-1])
    pay(sandbox, first, DUE, "2024-07-20")
    with pytest.raises(UsanceError) as found:
        close_month(sandbox, tmp_path, "2024-07")
    errors = getattr(found.value, "errors", [found.value])
    assert all(isinstance(each, LedgerDiffers) for each in errors)
    assert any("rule" in each.what and "live postings" in each.what for each in errors)
    assert states(sandbox)[654] == 1  # closing: nothing came back


def reopen(sandbox: Sandbox, period: str) -> Any:
    """Two people open a period again."""
    body = {"period": period, "state": "open"}
    asked = sandbox.do("controller", "period.move", body).answer["approval"]
    return sandbox.do("administrator", "approval.approve", {"approval": asked}).answer["answer"]


def test_a_period_opened_again_admits_what_came_late(sandbox: Sandbox, tmp_path: Path) -> None:
    first, second = loans(sandbox)
    advance(sandbox, "2024-08-20")
    advance(sandbox, "2024-09-03")
    close_month(sandbox, tmp_path, "2024-07")
    close_month(sandbox, tmp_path, "2024-08")
    pay(sandbox, first, DUE, "2024-07-20", "late")
    moved = reopen(sandbox, "2024-07")
    assert (moved["reopened"], moved["moved"]) == (["2024-07.1", "2024-08.1"], 1)
    pay(sandbox, second, DUE, "2024-07-21", "admitted")
    again = [close_month(sandbox, tmp_path, f"2024-{month}").close for month in ("07", "08", "09")]
    assert again == ["2024-07.2", "2024-08.2", "2024-09.1"]
    book = Book.open(tmp_path / "lake")
    for month in (654, 655, 656):
        assert balances(sandbox, month) == book_balances(book, month)


def test_a_killed_close_is_taken_up_where_it_stopped(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loans(sandbox)
    advance(sandbox, "2024-08-02")
    for step in ("_export", "_control", "_finish", "_measure"):
        with monkeypatch.context() as killing:

            async def killed(_close: LiveClose) -> None:
                raise RuntimeError("killed")

            killing.setattr(LiveClose, step, killed)
            with pytest.raises(RuntimeError):
                close_month(sandbox, tmp_path, "2024-07", publishes=True)
    assert states(sandbox)[654] == 2
    assert close_month(sandbox, tmp_path, "2024-07", publishes=True).files
    assert [each.name for each in effective_closes(Book.open(tmp_path / "lake"))] == ["2024-07.1"]
    assert balances(sandbox, 654) == book_balances(Book.open(tmp_path / "lake"), 654)


def test_a_change_of_the_ledger_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    loans(sandbox)
    advance(sandbox, "2024-08-02")
    close_month(sandbox, tmp_path, "2024-07")

    async def change(connection: asyncpg.Connection) -> None:
        await connection.execute("alter table usance.postings disable trigger all")
        await connection.execute("alter table usance.postings no force row level security")
        await connection.execute(
            "update usance.postings set amount_minor = amount_minor + sign(amount_minor) "
            "where loan_id > 0"
        )

    with_owner(sandbox.server, sandbox.name, change)

    async def control(platform: Platform) -> list[UsanceError]:
        async with platform.database.loader() as connection:
            book = Book.open(tmp_path / "lake")
            return await ledger_differences(connection, book, CloseRef.parse("2024-07.1"))

    assert len(sandbox.within(control)) >= 2


def test_what_is_not_over_or_not_open_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    loans(sandbox)
    with pytest.raises(PeriodNotOver, match="ends on 2024-07-31"):
        sandbox.do("finance", "close.request", {"period": "2024-07"})
    advance(sandbox, "2024-08-02")
    close_month(sandbox, tmp_path, "2024-07")
    with pytest.raises(PeriodNotOpen, match="2024-07 is closed"):
        sandbox.within(lambda platform: platform.do(SYSTEM, BeginClose("2024-07")))
    advance(sandbox, "2024-10-01")
    with pytest.raises(PeriodNotOpen, match="2024-08 is not closed yet"):
        sandbox.within(lambda platform: platform.do(SYSTEM, BeginClose("2024-09")))


def test_a_locked_period_stays_locked(sandbox: Sandbox, tmp_path: Path) -> None:
    loans(sandbox)
    advance(sandbox, "2024-08-02")
    close_month(sandbox, tmp_path, "2024-07")
    asked = sandbox.do("controller", "period.move", {"period": "2024-07", "state": "locked"})
    sandbox.do("administrator", "approval.approve", {"approval": asked.answer["approval"]})
    with pytest.raises(PeriodNotOpen, match="2024-07 is locked"):
        sandbox.do("controller", "period.move", {"period": "2024-07", "state": "open"})


def test_a_close_is_asked_for_and_made_by_a_job(sandbox: Sandbox, tmp_path: Path) -> None:
    loans(sandbox)
    advance(sandbox, "2024-08-02")
    asked = sandbox.do("finance", "close.request", {"period": "2024-07"}).answer
    assert sandbox.do("finance", "close.request", {"period": "2024-07"}).answer == asked

    async def work(platform: Platform) -> int:
        platform.home = tmp_path
        return await run_jobs(platform.database, kinds_of(platform), until_empty=True)

    assert sandbox.within(work) == 1
    closed = sandbox.sql("finance", "select name from usance.closes")
    assert closed == "2024-07.1"
