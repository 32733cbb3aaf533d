"""Results of collections: what each arm, desk and agency brought, and what an agency is owed."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.service.collections.agencies import AgencyPayment, PlacementBook
from usance.service.collections.experiment import Uplift, uplift
from usance.service.collections.strategy_file import CHAMPION

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment

WINDOW = 30
"""Days after which the outcome of a case is known."""
PAID = (
    "select f.loan_id / 16384 as user_id, f.effective_on, f.amount_minor, f.loan_id, f.ref "
    "from usance.facts f where f.loan_id / 16384 = any($1::bigint[]) and f.kind = 4 "
    "and f.effective_on between $2 and $3 and not exists (select from usance.facts r "
    "where r.loan_id = f.loan_id and r.kind = 12 and r.arg = f.ref)"
)
_OPENED = (
    "select o.user_id, o.opened, d.past_due_minor, d.arm, d.segment from ("
    "select e.user_id, min(e.day) as opened from usance.case_days e "
    "where not exists (select from usance.case_days b where b.user_id = e.user_id "
    "and b.day = e.day - 1) and e.day between $1 and $2 group by e.user_id) o "
    "join usance.case_days d on d.user_id = o.user_id and d.day = o.opened order by 1"
)
"""Each case that was opened in a span of days, as it was on its first evening."""


async def results(
    transaction: asyncpg.Connection, moment: Moment, first: date, last: date
) -> dict[str, Any]:
    """Cases opened in a span by arm: paid within 30 days, contacts, promises, cost and uplift."""
    known = min(last, moment.business_date - timedelta(days=WINDOW))
    rows = await transaction.fetch(_OPENED, first, last)
    users = [row["user_id"] for row in rows]
    paid = await transaction.fetch(PAID, users, first, last + timedelta(days=WINDOW))
    tried = await transaction.fetch(
        "select user_id, channel, reached, local_day from usance.contact_attempts "
        "where user_id = any($1::bigint[]) and local_day between $2 and $3",
        users, first, last + timedelta(days=WINDOW),
    )  # fmt: skip
    costs = _costs(moment)
    arms: dict[str, dict[str, Any]] = {}
    outcomes: dict[str, list[float]] = {}
    brought, contacts, spent = _by_case(rows, paid, tried, costs)
    for row in rows:
        own = arms.setdefault(row["arm"], {"arm": row["arm"], "cases": 0, "past_due_minor": 0,
                                           "collected_minor": 0, "contacts": 0,
                                           "cost_minor": 0, "known_cases": 0})  # fmt: skip
        collected = min(brought[row["user_id"]], row["past_due_minor"])
        own["cases"] += 1
        own["past_due_minor"] += row["past_due_minor"]
        own["collected_minor"] += collected
        own["contacts"] += contacts[row["user_id"]]
        own["cost_minor"] += spent[row["user_id"]]
        if row["opened"] <= known:
            own["known_cases"] += 1
            outcomes.setdefault(row["arm"], []).append(collected / max(row["past_due_minor"], 1))
    return {
        "from": first.isoformat(), "to": last.isoformat(),
        "is_complete": known == last, "strategy": moment.lender.collections.strategy.name,
        "arms": [_with_rates(each) for each in arms.values()],
        "uplift": _uplifts(outcomes),
    }  # fmt: skip


def _costs(moment: Moment) -> dict[str, int]:
    """Cost of a contact by channel, as the strategy in force has it."""
    strategy = moment.lender.collections.strategy
    return {action.channel.value: action.cost_minor
            for arm in strategy.arms for action in arm.actions.values()}  # fmt: skip


def _by_case(rows: Any, paid: Any, tried: Any, costs: dict[str, int]) -> Any:
    """Amounts paid within the window, contacts and their cost, by borrower."""
    opened = {row["user_id"]: row["opened"] for row in rows}
    brought, contacts = dict.fromkeys(opened, 0), dict.fromkeys(opened, 0)
    spent = dict.fromkeys(opened, 0)
    for row in paid:
        since = (row["effective_on"] - opened[row["user_id"]]).days
        brought[row["user_id"]] += row["amount_minor"] if 0 <= since <= WINDOW else 0
    for row in tried:
        if 0 <= (row["local_day"] - opened[row["user_id"]]).days <= WINDOW:
            contacts[row["user_id"]] += 1
            spent[row["user_id"]] += costs.get(row["channel"], 0)
    return brought, contacts, spent


def _with_rates(own: dict[str, Any]) -> dict[str, Any]:
    owed, collected = own["past_due_minor"], own["collected_minor"]
    own["collection_30_ppm"] = collected * 1_000_000 // owed if owed else None
    own["contacts_per_case_ppm"] = own["contacts"] * 1_000_000 // own["cases"]
    own["cost_per_recovered_ppm"] = (
        own["cost_minor"] * 1_000_000 // collected if collected else None
    )
    return own


def _uplifts(outcomes: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Each challenger against the champion, as far as there are enough cases."""
    champion = outcomes.get(CHAMPION, [])
    found: list[dict[str, Any]] = []
    for name, own in outcomes.items():
        if name == CHAMPION:
            continue
        try:
            told: Uplift = uplift(np.array(champion), np.array(own))
        except UsanceError as error:
            found.append({"arm": name, "waits": str(error)})
        else:
            found.append({"arm": name, **told._asdict(), "is_better": told.is_better,
                          "is_worse": told.is_worse})  # fmt: skip
    return found


async def commission(
    transaction: asyncpg.Connection, moment: Moment, name: str, first: date, last: date
) -> dict[str, Any]:
    """Commission of an agency for a period: what was paid while it had the case, once each."""
    rows = await transaction.fetch(
        "select a.*, p.name from usance.agency_placements a "
        "join usance.principals p on p.principal_id = a.agency "
        "where a.user_id in (select b.user_id from usance.agency_placements b "
        "join usance.principals q on q.principal_id = b.agency where q.name = $1) "
        "order by a.user_id, a.placed_on", name,
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
