"""The settlement of a day: each institution whose calendar has it, by a command of its own."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.platform.commands.settlements import CloseSettlement
from usance.platform.commands.unit_of_work import now
from usance.platform.partners.dispatch import mark_run
from usance.platform.partners.file_evidence import reconcile_providers
from usance.platform.principals import SYSTEM
from usance.platform.settling import InstitutionTerms, institution_of

if TYPE_CHECKING:
    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform

_NEWS = (
    "select distinct f.loan_id, l.source from usance.facts f join usance.loans l "
    "on l.loan_id = f.loan_id and l.terms_no = 1 where f.xid::text::bigint >= $1 order by 1"
)
_SHARED = "select distinct loan_id, source from usance.shares where loan_id = any($1)"
_NOW = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


async def end_evening(platform: Platform, day: date) -> None:
    """Reconcile and settle a day whose evening was served."""
    await reconcile_providers(platform, day)
    await settle_day(platform, day)


async def settle_day(platform: Platform, day: date) -> list[dict[str, Any]]:
    """Close the batches of a day; the answers of those that were made."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        marks = {row["institution"]: row for row in
                 await transaction.fetch("select * from usance.settlement_marks")}  # fmt: skip
        cut_offs = _cut_offs(moment, day)
        due = {who: last for who, last in cut_offs.items()
               if who not in marks or marks[who]["day"] < last}  # fmt: skip
        if not due:
            return []
        through = await transaction.fetchval(_NOW)
        since = min((marks[who]["through_xid"] if who in marks else 0) for who in due)
        news: dict[int, set[int]] = defaultdict(set)
        rows = await transaction.fetch(_NEWS, since)
        rows += await transaction.fetch(_SHARED, [row["loan_id"] for row in rows])
        for row in rows:
            news[institution_of(moment.lender, row["source"])].add(row["loan_id"])
    made = []
    for who, last in sorted(due.items()):
        command = CloseSettlement(who, last, tuple(sorted(news[who])), through)
        answer = (await platform.do(SYSTEM, command)).answer
        made += [dict(answer["settlement"])] if answer["settlement"] else []
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        told = {"batches": len(made), "total_minor": sum(each["total_minor"] for each in made)}
        await mark_run(transaction, day, "settle", moment.at, told)
    return made


def _cut_offs(moment: Moment, day: date) -> dict[int, date]:
    """Cut-offs of a day by institution, of those that are settled on it."""
    found = {}
    for (kind, _), number in moment.lender.parties.items():
        if kind == "institution":
            last = InstitutionTerms.of(moment.lender, number).cut_off(day)
            if last is not None:
                found[number] = last
    return found
