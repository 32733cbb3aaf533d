"""The demo's treasury: at the end of a month it states what no partner tells a lender.

Overheads are those of the month before. A fund that lent more than it collected raises the rest
from its investors on the terms it had last; without that a close rightly fails on its cash.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency, FactKind, FundingModel
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.principals import SYSTEM

if TYPE_CHECKING:
    from usance.platform.live import Platform

OVERHEADS = (GroupFactKind.COST_INCURRED, GroupFactKind.COST_PAID, GroupFactKind.COST_DRIVER)
_LENT = (
    "select s.entity, sum(l.principal_minor)::bigint as amount from usance.loans l join lateral "
    "(select entity from usance.sources s where s.source = l.source limit 1) s on true "
    "where l.terms_no = 1 and l.model = $1 and l.disbursed_on >= $2 and l.disbursed_on <= $3 "
    "group by 1"
)
_COLLECTED = (
    "select s.entity, sum(f.amount_minor)::bigint as amount from usance.facts f "
    "join usance.loans l on l.loan_id = f.loan_id and l.terms_no = 1 join lateral "
    "(select entity from usance.sources s where s.source = l.source limit 1) s on true "
    "where f.kind = $4 and l.model = $1 and f.effective_on >= $2 and f.effective_on <= $3 "
    "group by 1"
)


def is_month_end(day: date) -> bool:
    """True on the last day of a month."""
    return (day + timedelta(days=1)).month != day.month


async def end_month(platform: Platform, day: date) -> int:
    """State the facts of the group of the month that ends on a day; their number."""
    first = day.replace(day=1)
    async with platform.reading(SYSTEM) as read:
        past = await read.transaction.fetch(
            "select entity, kind, amount_minor, currency, party, quantity, detail "
            "from usance.group_facts where kind = any($1::smallint[]) and effective_on >= $2 "
            "and effective_on < $3 order by fact_id",
            [int(each) for each in OVERHEADS], (first - timedelta(days=1)).replace(day=1), first,
        )  # fmt: skip
        span = int(FundingModel.ON_BALANCE_SHEET), first, day
        lent = {row["entity"]: row["amount"] for row in await read.transaction.fetch(_LENT, *span)}
        for row in await read.transaction.fetch(_COLLECTED, *span, int(FactKind.PAID)):
            lent[row["entity"]] = lent.get(row["entity"], 0) - row["amount"]
        terms = await read.transaction.fetch(
            "select distinct on (entity) entity, currency, detail from usance.group_facts "
            "where kind = $1 order by entity, fact_id", int(GroupFactKind.FUNDING_RAISED),
        )  # fmt: skip
    stated = [
        _fact(row, row["kind"], row["amount_minor"], json.loads(row["detail"])) for row in past
    ]
    stated += [
        _fact(row, GroupFactKind.FUNDING_RAISED, lent[row["entity"]],
              {**json.loads(row["detail"]), "deal": f"investors {first:%Y-%m}"})
        for row in terms if lent.get(row["entity"], 0) > 0
    ]  # fmt: skip
    for number, body in enumerate(stated):
        body["effective_on"] = day.isoformat()
        await platform.do(SYSTEM, "group_fact.state", body, key=f"treasury/{day}/{number}")
    return len(stated)


def _fact(row: Any, kind: int, amount_minor: int, detail: dict[str, Any]) -> dict[str, Any]:
    """The body of a fact like one that was stated before."""
    optional = {name: row[name] for name in ("party", "quantity") if row.get(name)}
    return {"entity": row["entity"], "kind": int(kind), "amount_minor": amount_minor,
            "currency": Currency(row["currency"]).name, "detail": detail, **optional}  # fmt: skip
