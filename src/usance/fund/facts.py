"""Facts of a deal for the books: what each class lent, earned, got back and lost.

A class is a deal of its own to the books, named `PLAN1/A`. Kinds are words; the books number them
by the same words. The interest the books accrue, less what is paid, is what the class is due.

>>> from usance.fund.deal_terms import DealTerms
>>> from usance.fund.projection import project
>>> from usance.fund.sample import sample_deal
>>> run = project(sample_deal())
>>> made = deal_facts(sample_deal(), DealTerms(entity=4), run.distributions[:1])
>>> for each in made[2:7]:
...     print(each.effective_on, each.kind, each.amount_minor, each.detail.get("deal", ""))
2024-01-01 funding_raised 800000000 PLAN1/S
2024-02-15 funding_interest_paid 31561644 PLAN1/A
2024-02-15 funding_repaid 861229527 PLAN1/A
2024-02-15 funding_interest_paid 6657534 PLAN1/B
2024-02-15 residual_distributed 105335617
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from usance.base.money import Money
from usance.base.rates import Rate
from usance.base.stated_fact import StatedFact
from usance.fund.deal import Deal, NoteClass
from usance.fund.deal_terms import DealTerms
from usance.fund.payment_date import Distribution
from usance.fund.state import DealState

RAISED, REPAID, INTEREST = "funding_raised", "funding_repaid", "funding_interest_paid"
SCHEDULE = "funding_schedule"
MAX_DUES = 120
"""Days of a schedule; what is later comes on the last of them."""
RESIDUAL, WRITTEN_DOWN = "residual_distributed", "funding_written_down"
BOUGHT_OUT, COST, COST_PAID = "trust_buy_out", "cost_incurred", "cost_paid"
RELEASED = "deposit_returned"
"""Cash of a deal is restricted until it is paid out: fees are paid from what is released."""
INVESTORS = "trust_investors"
SERVICING = "servicing"
"""The servicer's own fee stays in the group; only fees to others are costs."""


def deal_facts(
    deal: Deal, terms: DealTerms, distributions: Sequence[Distribution],
    ended: DealState | None = None, bought_out: Sequence[tuple[date, int]] = (), buyer: int = 1,
) -> list[StatedFact]:  # fmt: skip
    """Every fact of a deal up to its last date, in order of day.

    `ended` is the state after the last date of a deal that is over: what its classes lack is
    written down. `bought_out` is what the platform, entity `buyer`, paid for loans past due. A
    class that the group retains raises nothing, and all it gets is a distribution.
    """
    sold = [each for each in deal.classes if each.name not in terms.retained]
    rows = [*_raised(deal, sold)]
    for row in distributions:
        rows += _paid(deal, row, sold)
    if ended is not None:
        rows += _lost(deal, ended, sold)
    rows += [(day, BOUGHT_OUT, amount, {"buyer": buyer}) for day, amount in bought_out]
    return [
        StatedFact(
            kind, terms.entity, day, terms.currency, amount, party=terms.party, detail=detail
        )
        for day, kind, amount, detail in sorted(rows, key=lambda row: row[0])
        if amount
    ]


_Row = tuple[date, str, int, dict[str, Any]]


def _raised(deal: Deal, sold: Sequence[NoteClass]) -> Iterator[_Row]:
    for each in sold:
        detail = {
            "deal": class_deal(deal, each.name), "lender": INVESTORS,
            "rate": str(Rate(each.rate_ppm)), "day_count": deal.day_count.value,
        }  # fmt: skip
        yield deal.closing_on, RAISED, each.balance_minor, detail


def _paid(deal: Deal, row: Distribution, sold: Sequence[NoteClass]) -> Iterator[_Row]:
    for each in deal.classes:
        paid, name = row.classes[each.name], {"deal": class_deal(deal, each.name)}
        if each not in sold:
            whole = paid.interest_minor + paid.principal_minor + paid.residual_minor
            yield row.paid_on, RESIDUAL, whole, {}
            continue
        yield row.paid_on, INTEREST, paid.interest_minor, name
        yield row.paid_on, REPAID, paid.principal_minor, name
        yield row.paid_on, RESIDUAL, paid.residual_minor, {}
    outside = sum(minor for name, minor in row.fees.items() if name != SERVICING)
    yield row.paid_on, COST, outside, {"function": "servicing_cost"}
    yield row.paid_on, RELEASED, outside, {"as": "restricted_cash"}
    yield row.paid_on, COST_PAID, outside, {}


def _lost(deal: Deal, state: DealState, sold: Sequence[NoteClass]) -> Iterator[_Row]:
    for each in sold:
        name = class_deal(deal, each.name)
        for what, key in (("principal", "balance"), ("interest", "due")):
            lost = state.names[f"{each.name}.{key}"]
            yield state.paid_on, WRITTEN_DOWN, lost, {"deal": name, "as": what}


def class_deal(deal: Deal, name: str) -> str:
    """The name of a class as the books know it."""
    return f"{deal.name}/{name}"


def schedule_facts(
    deal: Deal, terms: DealTerms, day: date, to_come: Sequence[Distribution]
) -> list[StatedFact]:
    """The principal that each class of others is projected to be repaid, by day.

    A close splits what it owes by them: what comes more than a year later is non-current.

    >>> from usance.fund.projection import project
    >>> from usance.fund.sample import sample_deal
    >>> run = project(sample_deal())
    >>> first, *_ = schedule_facts(run.deal, DealTerms(), run.deal.closing_on, run.distributions)
    >>> first.kind, first.detail["deal"], first.detail["amounts"][:2]
    ('funding_schedule', 'PLAN1/A', ['8612295.27', '9059740.57'])
    """
    found = []
    for each in deal.classes:
        paid = [(row.paid_on, row.classes[each.name].principal_minor) for row in to_come]
        due = [(on, minor) for on, minor in paid if minor]
        if each.name in terms.retained or not due:
            continue
        if len(due) > MAX_DUES:  # all of these are more than a year away
            last = due[MAX_DUES - 1][0]
            due = [*due[: MAX_DUES - 1], (last, sum(minor for _, minor in due[MAX_DUES - 1 :]))]
        detail = {
            "deal": class_deal(deal, each.name), "days": [on.isoformat() for on, _ in due],
            "amounts": [Money(minor, terms.currency).number for _, minor in due],
        }  # fmt: skip
        found.append(StatedFact(SCHEDULE, terms.entity, day, terms.currency,
                                party=terms.party, detail=detail))  # fmt: skip
    return found
