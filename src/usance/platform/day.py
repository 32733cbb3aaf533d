"""The business day: its morning and its evening, each served once, loan by loan.

In the morning, before payments, late fees and the claims of loans already in recovery fall due; in
the evening every other claim. One loan that cannot be served is set aside as a job, with its error,
and never stops the others.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

from usance.base.ids import print_id
from usance.platform.commands.cases import ServeCases
from usance.platform.commands.command import Moment
from usance.platform.commands.servicing import ServeLoan, is_late
from usance.platform.deal_dates import enqueue_deals
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.loan_record import LoanRecord, load_loans
from usance.platform.principals import SYSTEM
from usance.service.events_of_loan import DayPart

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

LOG = logging.getLogger("usance.day")
LOANS_A_PIECE = 2_000
SERVE_JOB = "loan.serve"
_PARTS = (DayPart.MORNING, DayPart.EVENING)
_LAST_MOMENT = time(23, 59, 59, 999_999)


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


async def serve_half(platform: Platform, half: HalfDay) -> int:
    """Serve every open loan that is past due, then mark the half day as served.

    The number of loans that could not be served and were set aside.
    """
    served = aside = 0
    arrears: list[tuple[int, int, int, int]] = []
    async for loan_id, loan in _open_loans(platform, half.day):
        command = ServeLoan(print_id("ln", loan_id), half.day, str(half.part))
        try:
            if isinstance(loan, Exception):
                raise loan
            if is_late(loan, half.day):
                arrears.append(arrears_of(loan, half.day))
                outcome = await platform.do(SYSTEM, command)
                served += outcome.is_new
        except Exception as error:
            LOG.warning("%s is set aside", command.loan, exc_info=True)
            aside += 1
            await _set_aside(platform, command, error)
    if half.part is DayPart.EVENING:
        await platform.do(SYSTEM, ServeCases(half.day, tuple(arrears)))
        await enqueue_deals(platform, half.day)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await transaction.execute(
            "insert into usance.business_days "
            "select $1, $2, clock, $3, $4 from usance.installation",
            half.day, str(half.part), served, aside,
        )  # fmt: skip
    return aside


def arrears_of(loan: LoanRecord, day: date) -> tuple[int, int, int, int]:
    """Arrears of a loan: id, days past due, past due and principal of a loan."""
    view = loan.at(day).view()
    return loan.loan_id, view.days_past_due, view.past_due.total, view.principal_outstanding


async def _open_loans(
    platform: Platform, day: date
) -> AsyncIterator[tuple[int, LoanRecord | Exception]]:
    """Open loans that had a due date before a day, piece by piece in the order of their ids."""
    last = 0
    while True:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            rows = await transaction.fetch(
                "select s.loan_id from usance.loan_states s join usance.loans l using (loan_id) "
                "where s.is_open and l.terms_no = 1 and l.first_due_on < $1 and s.loan_id > $2 "
                "order by s.loan_id limit $3", day, last, LOANS_A_PIECE,
            )  # fmt: skip
        if not rows:
            return
        last = rows[-1]["loan_id"]
        for each in await _read(platform, [row["loan_id"] for row in rows]):
            yield each


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
