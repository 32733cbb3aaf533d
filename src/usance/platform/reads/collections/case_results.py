"""Commission statements of agencies: what was paid while each had a case, and what it is owed."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.service.collections.agencies import AgencyPayment, PlacementBook

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment

PAID = (
    "select g.id as user_id, f.* from unnest($1::bigint[]) g (id) cross join lateral ("
    "select f.effective_on, f.amount_minor, f.loan_id, f.ref from usance.facts f "
    "where f.loan_id between g.id * 16384 and g.id * 16384 + 16383 "
    "and f.kind = 4 and f.effective_on between $2 and $3 offset 0) f "
    "where coalesce((select false from usance.facts r where r.loan_id = f.loan_id and r.kind = 12 "
    "and r.arg = f.ref limit 1), true)"
)
"""Payments of some users in a span of days that were not reversed. Facts are looked up user by user
by their index: a join would be planned as one scan of them all, since their rows are guarded."""


async def commission(
    transaction: asyncpg.Connection, moment: Moment, name: str, first: date, last: date
) -> dict[str, Any]:
    """Commission of an agency for a period: what was paid while it had the case, once each."""
    rows = await transaction.fetch(
        "select a.*, p.name from usance.agency_placements a "
        "join usance.principals p on p.principal_id = a.agency "
        "where a.user_id in (select b.user_id from usance.agency_placements b "
        "join usance.principals q on q.principal_id = b.agency where q.name = $1) "
        "order by a.user_id, a.placed_on, a.recalled_on nulls last", name,
    )  # fmt: skip
    contracts = [moment.lender.collections.contract(each)
                 for each in moment.lender.collections.agencies]  # fmt: skip
    book = PlacementBook(contracts)
    for row in rows:
        book.place_unchecked(row["name"], row["user_id"], row["placed_on"], row["owed_minor"],
                             row["target_ppm"], row["recalled_on"])  # fmt: skip
    users = sorted({row["user_id"] for row in rows})
    paid = [AgencyPayment(row["user_id"], f"{print_id('ln', row['loan_id'])}/{row['ref']}",
                          row["effective_on"], row["amount_minor"])
            for row in await transaction.fetch(PAID, users, first, last)]  # fmt: skip
    made = book.statement(name, first, last, paid)
    reported = await transaction.fetchval(
        "select coalesce(sum(r.amount_minor), 0)::bigint from usance.agency_reports r "
        "join usance.principals p on p.principal_id = r.agency "
        "where p.name = $1 and r.paid_on between $2 and $3", name, first, last,
    )  # fmt: skip
    return {
        "agency": name, "from": first.isoformat(), "to": last.isoformat(),
        "placements": made.placements, "owed_minor": made.owed_minor,
        "target_minor": made.target_minor, "collected_minor": made.collected_minor,
        "reported_minor": reported, "difference_minor": reported - made.collected_minor,
        "commission_minor": made.commission_minor,
        "payments": [
            {"user": print_id("us", each.user_id), "paid_on": each.paid_on.isoformat(),
             "amount_minor": each.amount_minor} for each in made.payments
        ],
    }  # fmt: skip
