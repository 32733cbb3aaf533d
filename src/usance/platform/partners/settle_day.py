"""The settlement of a day: each institution whose calendar has it, by a command of its own."""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.errors import InputError
from usance.platform.commands.money.clearing import PostClearing
from usance.platform.commands.settlement.claims import PassOnRecoveries
from usance.platform.commands.settlement.deposits import WatchDeposit
from usance.platform.commands.settlement.settlements import CloseSettlement
from usance.platform.commands.unit_of_work import now
from usance.platform.partners.dispatch import mark_run
from usance.platform.partners.fetch_files import fetch_files
from usance.platform.partners.file_evidence import reconcile_providers
from usance.platform.principals import SYSTEM
from usance.platform.settlement.guarantors import guaranteed_minor, guarantors_of
from usance.platform.settlement.owed_amounts import InstitutionTerms, institution_of

if TYPE_CHECKING:
    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.day")
_NEWS = (
    "select f.loan_id, l.source, min(least(f.effective_on, t.effective_on)) as since "
    "from usance.facts f join usance.loans l on l.loan_id = f.loan_id and l.terms_no = 1 "
    "left join usance.facts t on f.kind = $2 and t.loan_id = f.loan_id and t.ref = f.arg "
    "where f.xid::text::bigint >= $1 or f.effective_on > $3 group by 1, 2 order by 1"
)
"""Loans with facts that are new or lay beyond the cut-off, and the first day that these touch.

A reversal touches the day of its target.
"""
_SHARED = "select distinct loan_id, source from usance.shares where loan_id = any($1)"
_NOW = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


async def end_evening(platform: Platform, day: date) -> None:
    """Fetch files, reconcile, clear and settle a day whose evening was served."""
    await fetch_files(platform, day)
    await reconcile_providers(platform, day)
    await platform.do(SYSTEM, PostClearing(day))
    await settle_day(platform, day)
    await watch_guarantors(platform, day)


async def watch_guarantors(platform: Platform, day: date) -> None:
    """Look at the deposit of each guarantor, and pass on its part of what was recovered."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        known = guarantors_of(moment.lender)
        guaranteed = await guaranteed_minor(transaction, moment.lender, day) if known else {}
    for each in known:
        await platform.do(SYSTEM, WatchDeposit(each, day, guaranteed.get(each, 0)))
        await platform.do(SYSTEM, PassOnRecoveries(each, day))


async def settle_day(platform: Platform, day: date) -> list[dict[str, Any]]:
    """Close the batches of a day; the answers of those that were made."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        marks = {row["institution"]: row for row in
                 await transaction.fetch("select * from usance.settlement_marks")}  # fmt: skip
        cut_offs, waiting = _cut_offs(moment, day)
        due = {who: last for who, last in cut_offs.items()
               if who not in marks or marks[who]["day"] < last}  # fmt: skip
        if not due:
            if waiting:
                await mark_run(transaction, day, "settle", moment.at, {"waiting": waiting})
            return []
        through = await transaction.fetchval(_NOW)
        since = min((marks[who]["through_xid"] if who in marks else 0) for who in due)
        news: dict[int, set[int]] = defaultdict(set)
        beyond = min((marks[who]["day"] for who in due if who in marks), default=day)
        rows = await transaction.fetch(_NEWS, since, int(FactKind.REVERSED), beyond)
        first = {row["loan_id"]: row["since"] for row in rows}
        rows += await transaction.fetch(_SHARED, [row["loan_id"] for row in rows])
        for row in rows:
            news[institution_of(moment.lender, row["source"])].add(row["loan_id"])
    made = []
    for who, last in sorted(due.items()):
        loans = tuple(sorted(news[who]))
        command = CloseSettlement(who, last, loans, through, tuple(first[each] for each in loans))
        answer = (await platform.do(SYSTEM, command)).answer
        made += [dict(answer["settlement"])] if answer["settlement"] else []
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        told = {"batches": len(made), "total_minor": sum(each["total_minor"] for each in made)}
        told |= {"waiting": waiting} if waiting else {}
        await mark_run(transaction, day, "settle", moment.at, told)
    return made


def _cut_offs(moment: Moment, day: date) -> tuple[dict[int, date], dict[str, str]]:
    """Cut-offs of a day by institution, of those that are settled on it; and those that wait.

    One whose calendar does not know the day is settled on the first day after that it knows again.
    """
    found: dict[int, date] = {}
    waiting: dict[str, str] = {}
    for (kind, name), number in moment.lender.parties.items():
        if kind == "institution":
            try:
                last = InstitutionTerms.of(moment.lender, number).cut_off(day)
            except InputError as error:
                LOG.error("%s is not settled: %s", name, error)
                waiting[name] = str(error)
                continue
            if last is not None:
                found[number] = last
    return found, waiting
