"""The business day: its morning and its evening, each served once.

In the morning, before payments, late fees and the claims of loans already in recovery fall due; in
the evening every other claim. Open loans are looked at as columns; a command serves each that has
something fall due on the day. One that cannot be served is set aside as a job, with its error, and
never stops the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from usance.base.codes import Component, Status
from usance.base.dates import to_day
from usance.base.ids import print_id
from usance.loan.batch import Views, instalment_columns, view_columns
from usance.platform.commands.collections.cases import ServeCases
from usance.platform.commands.command import Moment
from usance.platform.commands.loans.bulk_servicing import ServeLoans
from usance.platform.commands.loans.servicing import ServeLoan, is_late
from usance.platform.commands.unit_of_work import now
from usance.platform.deal_dates import enqueue_deals
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.principals import SYSTEM
from usance.platform.records.loan_columns import FoldColumns, fold_columns
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.service.loan_servicing import DayPart
from usance.service.servicing_rules import ServicingRules

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

LOG = logging.getLogger("usance.day")
LOANS_AT_ONCE, SERVED_AT_ONCE, FOLDED_AT_ONCE = 2_000, 1_024, 512
"""Loans that are replayed one by one and read together; those that wait for their batches; those of
one command on folds, whose borrowers are locked for a tenth of a second."""
SERVE_JOB = "loan.serve"
_PARTS = (DayPart.MORNING, DayPart.EVENING)
_LAST_MOMENT = time(23, 59, 59, 999_999, fold=1)
"""The later of two where clocks are set back at midnight."""


Ending = Callable[["Platform", date], Awaitable[None]]
"""The end of an evening, once its loans and cases were served."""


class HalfDay(NamedTuple):
    """The morning or the evening of a business day."""

    day: date
    part: DayPart

    def at(self, moment: Moment) -> datetime:
        """The moment at which it is served: the first or the last of its day."""
        clock = time() if self.part is DayPart.MORNING else _LAST_MOMENT
        return datetime.combine(self.day, clock, moment.lender.zone).astimezone(UTC)

    def next(self) -> HalfDay:
        """The half that follows."""
        if self.part is DayPart.MORNING:
            return HalfDay(self.day, DayPart.EVENING)
        return HalfDay(self.day + timedelta(days=1), DayPart.MORNING)


async def next_half(transaction: asyncpg.Connection, moment: Moment) -> HalfDay:
    """The half day to be served next; a new lender begins with its first evening."""
    row = await transaction.fetchrow(
        "select day, part from usance.business_days order by day desc, part limit 1"
    )
    if row is None:
        return HalfDay(moment.business_date, DayPart.EVENING)
    return HalfDay(row["day"], DayPart(row["part"])).next()


async def serve_half(platform: Platform, half: HalfDay, ending: Ending | None = None) -> int:
    """Serve every open loan that something may fall due on, then mark the half day as served.

    What ends an evening is done before the mark, so that a machine which dies in between does it
    again. The number of loans that could not be served and were set aside.
    """
    served = aside = checked = 0
    arrears: list[tuple[int, int, int, int]] = []
    await _tell(platform, half, checked, served)
    async for piece in _pieces(platform, half):
        arrears += piece.arrears
        done, left = await _serve_folded(platform, half, piece.folded)
        served += done
        due = sorted([*piece.due, *left])
        for start in range(0, len(due), SERVED_AT_ONCE):
            ended = await asyncio.gather(*(
                _serve(platform, half, loan_id, piece.unread.get(loan_id))
                for loan_id in due[start : start + SERVED_AT_ONCE]
            ))  # fmt: skip
            served += sum(each is True for each in ended)
            aside += sum(each is None for each in ended)
        checked += piece.size
        await _tell(platform, half, checked, served)
    if half.part is DayPart.EVENING:
        await platform.do(SYSTEM, ServeCases(half.day, tuple(arrears)))
        await enqueue_deals(platform, half.day)
        if ending is not None:
            await ending(platform, half.day)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await transaction.execute(
            "insert into usance.business_days values ($1, $2, $3, $4, $5)", half.day,
            str(half.part), (await now(transaction, platform.services)).at, served, aside,
        )  # fmt: skip
    return aside


async def _tell(platform: Platform, half: HalfDay, checked: int, served: int) -> None:
    """Keep how far a half day is, for whoever waits for it."""
    if checked:
        LOG.info("%s of %s: %d loans, %d of them served", half.part, half.day, checked, served)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await transaction.execute(_PROGRESS, half.day, str(half.part), checked, served)


_PROGRESS = (
    "insert into usance.half_day_progress as p (day, part, checked, served, before, told_at) "
    "values ($1, $2, $3, $4, 0, clock_timestamp()) on conflict (is_it) do update set "
    "before = case when (p.day, p.part) = (excluded.day, excluded.part) then p.before "
    "else p.checked end, day = excluded.day, part = excluded.part, "
    "checked = excluded.checked, served = excluded.served, told_at = excluded.told_at"
)


async def _serve_folded(
    platform: Platform, half: HalfDay, loans: list[int]
) -> tuple[int, list[int]]:
    """Serve loans by their folds, some hundreds at once; how many, and those that are left.

    Two commands wait for each other's turn at the processor and at the database. One that fails
    leaves its loans to be served one by one, so that a bad one fails alone.
    """
    served, left = 0, list[int]()
    for start in range(0, len(loans), 2 * FOLDED_AT_ONCE):
        pair = (start, start + FOLDED_AT_ONCE)
        parts = [tuple(loans[at : at + FOLDED_AT_ONCE]) for at in pair if at < len(loans)]
        ended = await asyncio.gather(*(
            platform.do(SYSTEM, ServeLoans(part, half.day, str(half.part))) for part in parts
        ), return_exceptions=True)  # fmt: skip
        for part, outcome in zip(parts, ended, strict=True):
            if isinstance(outcome, Exception):
                LOG.warning("%d loans are served one by one", len(part), exc_info=outcome)
                left += part
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                served += outcome.answer["served"]
                left += outcome.answer["left"]
    return served, left


async def _serve(
    platform: Platform, half: HalfDay, loan_id: int, unread: Exception | None
) -> bool | None:
    """Serve a loan, in a batch with others: True if something fell due; none if it is set aside."""
    command = ServeLoan(print_id("ln", loan_id), half.day, str(half.part))
    try:
        if unread is not None:
            raise unread
        return (await platform.do(SYSTEM, command)).is_new
    except Exception as error:
        LOG.warning("%s is set aside", command.loan, exc_info=True)
        await _set_aside(platform, command, error)
        return None


@dataclass
class Piece:
    """Open loans of a piece: those in arrears, and those that something may fall due on."""

    size: int = 0
    arrears: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Id, days past due, past due and principal of each."""
    folded: list[int] = field(default_factory=list)
    """Of those that something may fall due on, the loans whose folds tell."""
    due: list[int] = field(default_factory=list)
    """The others, which are looked at one by one."""
    unread: dict[int, Exception] = field(default_factory=dict)
    """Loans that could not be read, with the reason; they are among those due."""


async def _pieces(platform: Platform, half: HalfDay) -> AsyncIterator[Piece]:
    """Open loans, piece by piece in the order of their ids: by columns where they have a fold."""
    day = half.day
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        parameters = (await now(transaction, platform.services)).lender.parameters
        rules = ServicingRules.at(day, parameters)
        async for folds in fold_columns(transaction, open_only=True, with_posted=False):
            piece = Piece(len(folds.rows) + len(folds.others))
            is_later = folds.through > to_day(day)  # facts of a later day: served as of then
            _arrears(folds.only(~is_later), half, rules, piece)
            others = [*folds.others, *folds.loan_ids[is_later].tolist()]
            for start in range(0, len(others), LOANS_AT_ONCE):
                for loan_id, loan in await _read(platform, others[start : start + LOANS_AT_ONCE]):
                    if isinstance(loan, Exception):
                        piece.unread[loan_id] = loan
                        piece.due.append(loan_id)
                    elif is_late(loan, day):
                        piece.arrears.append(arrears_of(loan, day))
                        piece.due.append(loan_id)
            piece.due.sort()
            yield piece


def _arrears(folds: FoldColumns, half: HalfDay, rules: ServicingRules, piece: Piece) -> None:
    """Add the loans past due, and of them those on whose days of fees and claims this one is.

    Fees are of the morning.
    """
    today = to_day(half.day)
    if len(folds.rows):
        folds = folds.only(folds.rows["terms"]["first_due_on"] < today)
    if not len(folds.rows):
        return
    booked = folds.booked()
    view = view_columns(booked.states, today)
    late = (view.column("days_past_due") > 0) & (view.column("status") == int(Status.ACTIVE))
    if not late.any():
        return
    folds, values = folds.only(late), Views(view.values[late])
    past_due = np.sum([values.column(name) for name in _PAST_DUE], axis=0)
    columns = (folds.loan_ids, values.column("days_past_due"), past_due,
               values.column("principal_outstanding"))  # fmt: skip
    piece.arrears += zip(*(column.tolist() for column in columns), strict=True)
    late_since = today - values.column("days_past_due")
    triggers = folds.rows["trigger_days"].astype(np.int64)
    is_due = (late_since + triggers + 1 == today) | (
        late_since + rules.charge_off_days + 1 == today
    )
    if half.part is DayPart.MORNING:
        fees = instalment_columns(folds.booked().states)
        unpaid = (fees.due - fees.covered).sum(axis=1) > 0
        has_fee = np.repeat(np.arange(len(is_due)), np.diff(fees.offsets))[
            unpaid & (fees.due_on + rules.grace_days + 1 == today)
        ]
        is_due[has_fee] = True
    piece.folded += folds.loan_ids[is_due].tolist()


_PAST_DUE = tuple(f"past_due_{each.name.lower()}" for each in Component)


def arrears_of(loan: LoanRecord, day: date) -> tuple[int, int, int, int]:
    """Id, days past due, past due and principal of a loan."""
    view = loan.at(day).view()
    return loan.loan_id, view.days_past_due, view.past_due.total, view.principal_outstanding


async def _read(platform: Platform, ids: list[int]) -> list[tuple[int, LoanRecord | Exception]]:
    """The loans of a piece; one that cannot be read is found by halves and comes as its error."""
    try:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            return [(loan.loan_id, loan) for loan in await load_loans(transaction, ids)]
    except Exception as error:
        if len(ids) == 1:
            LOG.warning("loan %d cannot be read", ids[0], exc_info=True)
            return [(ids[0], error)]
        half = len(ids) // 2
        return [*await _read(platform, ids[:half]), *await _read(platform, ids[half:])]


async def _set_aside(platform: Platform, command: ServeLoan, error: Exception) -> None:
    key = f"{SERVE_JOB}/{command.loan}/{command.day}/{command.part}"
    payload = {"loan": command.loan, "day": command.day.isoformat(), "part": command.part,
               "error": f"{type(error).__name__}: {error}"}  # fmt: skip
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await enqueue(transaction, [NewJob(SERVE_JOB, key, payload)])
