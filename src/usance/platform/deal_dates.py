"""Payment dates of deals as jobs: enqueued in the evening of their day, paid by a worker."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from usance.platform.commands.control.deals import PayDeal
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.principals import SYSTEM
from usance.platform.records.deal_record import load_deal

if TYPE_CHECKING:
    from usance.platform.live import Platform

DEAL_JOB = "deal.pay"


async def enqueue_deals(platform: Platform, day: date) -> None:
    """Enqueue the date of every deal that has come; one that waits already is the same job."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        due = await transaction.fetch(
            "select deal, next_on from usance.deals where next_on <= $1 order by deal", day
        )
        jobs = [NewJob(DEAL_JOB, f"{DEAL_JOB}/{row['deal']}/{row['next_on']}",
                       {"deal": row["deal"]}) for row in due]  # fmt: skip
        await enqueue(transaction, jobs)


async def pay_dates(platform: Platform, name: str) -> list[int]:
    """Pay every date of a deal that has come; the periods that were paid."""
    paid: list[int] = []
    while True:
        async with platform.reading(SYSTEM) as read:
            record = await load_deal(read.transaction, name)
            next_on, today = record.row["next_on"], read.moment.business_date
        if next_on is None or next_on > today:
            return paid
        period = record.state.period + 1
        await platform.do(SYSTEM, PayDeal(name, period))
        paid.append(period)
