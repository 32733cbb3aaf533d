"""Periods of the live ledger: a close begins and ends, a period is locked or opened again.

A close begins by fixing the moment it knows of: from then on what becomes known is posted to the
month after. It ends when the journals that only a close can make are back in the ledger. Opening a
period again takes those out, and moves what had become known too late for it to where it belongs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.book import Book
from usance.base.dates import format_month, last_of_month
from usance.base.errors import UsanceError
from usance.books.close.closes import CloseRef, controls_of, previous_close
from usance.books.periods import ClosePeriod, parse_close_period
from usance.platform.commands.command import DONE, WAITING, Decided, Moment, act_as_platform
from usance.platform.commands.control.reopening import reopen
from usance.platform.commands.money.clearing import cleared_live
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import InvalidField
from usance.platform.jobs.queue import NewJob, enqueue, job_answer, job_by_key
from usance.platform.ledger.fact_postings import FACT_RULES
from usance.platform.principals import Principal
from usance.platform.reads.shapes import moment_text
from usance.platform.refusals import PeriodNotOpen, PeriodNotOver
from usance.platform.store.locks import Lock
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

PERIOD_STATES = ("open", "closing", "closed", "locked")
OPEN, CLOSING, CLOSED, LOCKED = range(4)
NEXT_STATES = {"closing": ("open",), "locked": ("closed",), "open": ("closed",)}
"""States that somebody moves a period to, each with those it is moved from; a close ends itself."""
CLOSE_JOB = "period.close"


@dataclass(frozen=True)
class RequestClose:
    """A close of a period, to be made by a job."""

    period: str


@dataclass(frozen=True)
class BeginClose:
    """A period begins to close: what it knows of is fixed."""

    period: str


@dataclass(frozen=True)
class FinishClose:
    """A close that a book holds comes back into the ledger."""

    period: str
    close: str
    book: str


@dataclass(frozen=True)
class MovePeriod:
    """A closed period is locked for good, or opened again with all after it."""

    period: str
    state: str
    reason: str = ""


def read_period(text: str) -> ClosePeriod:
    """A period that somebody asked for."""
    try:
        return parse_close_period(text)
    except UsanceError as error:
        raise InvalidField(error.what, where="body.period", fix=error.fix) from error


async def request_close(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: RequestClose
) -> Decided:
    """Enqueue the job of a close; the same close that still waits is the same job."""
    period = read_period(command.period)
    _refuse_unfinished(period, moment)
    await act_as_platform(transaction)
    made = await transaction.fetchval(
        "select count(*) from usance.closes where last = $1", period.last_month
    )
    key = f"{CLOSE_JOB}/{period.label}/{made + 1}"
    await enqueue(transaction, [NewJob(CLOSE_JOB, key, {"period": period.label}, priority=1)])
    job = await job_by_key(transaction, key)
    return Decided(job_answer(job), _subject(period), 0, WriteSet(), status=WAITING,
                   as_platform=True)  # fmt: skip


def _refuse_unfinished(period: ClosePeriod, moment: Moment) -> None:
    if moment.business_date <= period.last_day:
        raise PeriodNotOver(
            f"{period.label} ends on {period.last_day}, and it is {moment.business_date}",
            where="body.period", fix="Close it when its last day is over",
        )  # fmt: skip


async def begin_close(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: BeginClose
) -> Decided:
    """Fix the moment up to which a close knows facts; one that has begun keeps its own."""
    period = read_period(command.period)
    _refuse_unfinished(period, moment)
    await transaction.execute("select pg_advisory_xact_lock($1)", Lock.PERIODS)
    at: datetime = (await now(transaction, moment.services)).at  # nothing is under way any more
    rows = await transaction.fetch(
        "select * from usance.periods where period <= $1 order by period", period.last_month
    )
    states = {row["period"]: row["state"] for row in rows}
    own = [month for month in states if month >= period.months[0]]
    if own and all(states[month] == CLOSING for month in own):
        known = {row["period"]: row["closing_at"] for row in rows}[period.last_month]
        return Decided(_begun(period, known), _subject(period), 0, WriteSet(), is_new=False,
                       status=DONE, as_platform=True)  # fmt: skip
    await _check_order(transaction, period, states)
    changes = WriteSet(changes_configuration=True)
    for row in rows:
        if row["state"] == OPEN:
            changes.put("periods", period=row["period"], state=CLOSING,
                        known_at=row["known_at"] or at, closing_at=at)  # fmt: skip
    return Decided(_begun(period, at), _subject(period), 0, changes, status=DONE, as_platform=True)


def _begun(period: ClosePeriod, at: datetime) -> dict[str, Any]:
    return {"period": period.label, "state": "closing", "known_at": moment_text(at)}


def _subject(period: ClosePeriod) -> str:
    return f"period/{period.label}"


async def _check_order(
    transaction: asyncpg.Connection, period: ClosePeriod, states: dict[int, int]
) -> None:
    """Refuse a close of what is not open, and one that would leave a month out.

    The first close of a ledger takes all months before it along.
    """
    shut = [month for month in period.months if states.get(month, CLOSED) != OPEN]
    if shut:
        raise _not_open(shut[0], states.get(shut[0]), "It is closed from open")
    earlier = [month for month, state in states.items()
               if month < period.months[0] and state in (OPEN, CLOSING)]  # fmt: skip
    first = await transaction.fetchval("select min(first) from usance.closes")
    if earlier and (first is not None or CLOSING in (states[month] for month in earlier)):
        month = format_month(earlier[0])
        raise PeriodNotOpen(f"{month} is not closed yet", where="body.period",
                            fix=f"Close it before {period.label}")  # fmt: skip


def _not_open(month: int, state: int | None, fix: str) -> PeriodNotOpen:
    name = "not begun" if state is None else PERIOD_STATES[state]
    return PeriodNotOpen(f"{format_month(month)} is {name}", where="body.period", fix=fix)


async def finish_close(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: FinishClose
) -> Decided:
    """Take the journals of a close that live posting does not make, and close the months."""
    period, ref = read_period(command.period), CloseRef.parse(command.close)
    known = await transaction.fetchrow("select * from usance.closes where name = $1", ref.name)
    if known is not None:
        return Decided(close_answer(known), f"close/{ref.name}", 0, WriteSet(), is_new=False,
                       status=DONE, as_platform=True)  # fmt: skip
    rows = await transaction.fetch(
        "select * from usance.periods where period <= $1 and state = $2 order by period",
        period.last_month, CLOSING,
    )  # fmt: skip
    if period.last_month not in {row["period"] for row in rows}:
        raise _not_open(period.last_month, None, "Begin its close first")
    book = Book.open(Path(command.book))
    changes = WriteSet(changes_configuration=True)
    before = previous_close(book, ref)
    first = 0 if before is None else before.month + 1
    cleared = await cleared_live(transaction, first, ref.month)
    count = _bring_back(book, ref, cleared, changes)
    for row in rows:
        changes.put("periods", **{**dict(row), "state": CLOSED})
    controls = controls_of(book, ref)
    row = {
        "name": ref.name, "close_no": ref.close_no, "period": period.label,
        "first": period.months[0], "last": period.last_month,
        "known_at": rows[-1]["closing_at"], "closed_at": moment.at, "state": "effective",
        "loans": controls.get("loans", 0), "journals": count,
        "controls": controls["controls"],
    }  # fmt: skip
    changes.put("closes", **row)
    return Decided(close_answer(row), f"close/{ref.name}", 0, changes, as_platform=True)


def _bring_back(
    book: Book, ref: CloseRef, cleared: Mapping[tuple[int, ...], int], changes: WriteSet
) -> int:
    """Add the journals of a close to a write set, but for what is posted live.

    Amounts that follow from facts are posted with each; of clearing, the close adds what it comes
    to beyond the evenings.
    """
    postings = book.read("postings", folder=ref.folder).to_pylist()
    kept, left = list[dict[str, Any]](), dict(cleared)
    for row in postings:
        if row["rule"] in FACT_RULES:
            continue
        place = tuple(row[name] for name in _PLACE)
        amount = row["amount_minor"] - left.pop(place, 0)
        if amount:
            kept.append({**row, "amount_minor": amount})
    kept += _taken_back(left, postings, ref)
    numbers = {row["journal_id"] for row in kept}
    for row in book.read("journals", folder=ref.folder).to_pylist():
        if row["journal_id"] in numbers:
            changes.add("journals", **row)
    for row in kept:
        changes.add("postings", **row)
    return len(numbers)


_PLACE = ("rule", "entity", "basis", "tag", "account", "cell")


def _taken_back(
    left: Mapping[tuple[int, ...], int], postings: Sequence[Mapping[str, Any]], ref: CloseRef
) -> list[dict[str, Any]]:
    """Lines that take back clearing of which a close knows nothing, in its last journal."""
    if not left:
        return []
    last = max(postings, key=lambda row: (row["journal_id"], row["line"]))
    return [
        {**last, **dict(zip(_PLACE, place, strict=True)), "line": last["line"] + n, "loan_id": 0,
         "amount_minor": -amount, "effective_on": last_of_month(ref.month)}
        for n, (place, amount) in enumerate(sorted(left.items()), start=1)
    ]  # fmt: skip


def close_answer(row: Any) -> dict[str, Any]:
    """A close as answers show it."""
    controls = row["controls"]
    return {
        "close": row["name"], "period": row["period"], "state": row["state"],
        "known_at": moment_text(row["known_at"]), "closed_at": moment_text(row["closed_at"]),
        "loans": row["loans"], "journals": row["journals"],
        "controls": json.loads(controls) if isinstance(controls, str) else controls,
    }  # fmt: skip


async def move_period(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: MovePeriod
) -> Decided:
    """Lock a closed period, or open it again."""
    period = read_period(command.period)
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock($1)", Lock.PERIODS)
    rows = await transaction.fetch(
        "select * from usance.periods where period >= $1 order by period", period.months[0]
    )
    states = {row["period"]: row["state"] for row in rows}
    for month in period.months:
        if states.get(month) != CLOSED:
            raise _not_open(month, states.get(month), f"It becomes {command.state} from closed")
    if command.state == "locked":
        changes = WriteSet(changes_configuration=True)
        for row in rows:
            if row["period"] in period.months:
                changes.put("periods", **{**dict(row), "state": LOCKED})
        answer = {"period": period.label, "state": "locked"}
        return Decided(answer, _subject(period), 0, changes, status=DONE, as_platform=True)
    if command.state != "open":
        raise InvalidField("is no state to move to", where="body.state",
                           fix="Give locked or open; 'usance close' closes a period")  # fmt: skip
    locked = [month for month, state in states.items() if state == LOCKED]
    if locked:
        raise _not_open(locked[0], LOCKED, "Correct it in the open period")
    return await reopen(transaction, moment, period, rows)
