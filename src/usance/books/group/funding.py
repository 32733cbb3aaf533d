"""Borrowings: the principal of a deal on any day, and its interest to date.

Interest runs on principal from the value date of each drawing and repayment, which is the day of
the fact unless it says otherwise. It is cumulative and rounded once. What a deal's last schedule
repays more than a year after a close is non-current there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise

from usance.base.dates import add_months, last_of_month, to_month
from usance.base.daycount import year_fraction
from usance.base.money import MILLION, half_up
from usance.books.group.entities import Entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import Amount
from usance.books.group.readers import WrittenDown


@dataclass(frozen=True, slots=True)
class Deal:
    """A loan taken by an entity, or the investors of a trust: its terms and its changes."""

    raised: GroupFact
    changes: tuple[tuple[date, int], ...]
    """Value dates with the change of principal."""

    @property
    def first(self) -> date:
        """The day from which it runs."""
        return min(on for on, _ in self.changes)

    def owed(self, day: date) -> int:
        """The principal at the end of a day."""
        return sum(minor for on, minor in self.changes if on <= day)

    def interest(self, day: date) -> int:
        """The interest to date."""
        days = sorted({on for on, _ in self.changes if on < day})
        rule, cost = self.raised.detail["day_count"], Fraction(0)
        for start, end in pairwise([*days, day]):
            cost += self.owed(start) * year_fraction(start, end, rule)
        cost *= Fraction(self.raised.detail["rate"], MILLION)
        return half_up(cost.numerator, cost.denominator)


def deals(facts: Iterable[GroupFact]) -> dict[str, Deal]:
    """Every deal by its name."""
    raised: dict[str, GroupFact] = {}
    changes: dict[str, list[tuple[date, int]]] = {}
    for each in facts:
        sign = _SIGNS.get(each.kind)
        if sign is None or each.detail.get("as") is WrittenDown.INTEREST:
            continue
        name = each.detail["deal"]
        first = each.kind is GroupFactKind.FUNDING_RAISED
        if first and (name not in raised or each.fact_id < raised[name].fact_id):
            raised[name] = each
        on = each.detail.get("value_on") or each.effective_on
        changes.setdefault(name, []).append((on, sign * each.amount_minor))
    return {name: Deal(each, tuple(sorted(changes[name]))) for name, each in raised.items()}


_SIGNS = {
    GroupFactKind.FUNDING_RAISED: 1,
    GroupFactKind.FUNDING_REPAID: -1,
    GroupFactKind.FUNDING_WRITTEN_DOWN: -1,
}


def cash_of(raised: GroupFact) -> str:
    """The cash account of a deal: the cash of a trust is restricted."""
    by_lender = "cash" if raised.detail["lender"] == "short_term_loans" else "restricted_cash"
    return str(raised.detail["cash"] or by_lender)


def funding_amounts(facts: Iterable[GroupFact], entities: Entities, day: date) -> Iterator[Amount]:
    """Raised, repaid, interest accrued and paid."""
    given = list(facts)
    known = deals(given)
    for each in given:
        if each.kind in (*_SIGNS, GroupFactKind.FUNDING_INTEREST_PAID):
            raised = known[each.detail["deal"]].raised
            accounts = {"lender": raised.detail["lender"], "cash": cash_of(raised)}
            yield Amount(each.kind.label, each, each.amount_minor, each.effective_on, accounts)
    for name, plan in _schedules(given, day).items():
        lender = known[name].raised.detail["lender"]
        if lender == CURRENT:
            later = min(known[name].owed(day), _after_a_year(plan, day))
            yield Amount("funding_non_current", plan, later, day, {"lender": lender})
    for deal in known.values():
        foreign = deal.raised.currency is not entities[deal.raised.entity].currency
        for end, minor in accruals(deal.first, deal.interest, day, foreign=foreign):
            yield Amount("funding_interest", deal.raised, minor, end)


CURRENT = "trust_investors"
MONTHS_CURRENT = 12


def _schedules(facts: Iterable[GroupFact], day: date) -> dict[str, GroupFact]:
    """By deal, the last schedule stated by a day."""
    plans = (each for each in facts if each.kind is GroupFactKind.FUNDING_SCHEDULE)
    stated = (each for each in plans if each.effective_on <= day)
    ordered = sorted(stated, key=lambda each: (each.effective_on, each.fact_id))
    return {each.detail["deal"]: each for each in ordered}


def _after_a_year(schedule: GroupFact, day: date) -> int:
    """Principal that falls due more than a year after a day, by a schedule."""
    limit = add_months(day, MONTHS_CURRENT)
    detail = schedule.detail
    return sum(minor for due, minor in zip(detail["days"], detail["amounts"], strict=True)
               if due > limit)  # fmt: skip


def accruals(
    first: date, so_far: Callable[[date], int], day: date, *, foreign: bool
) -> Iterator[tuple[date, int]]:
    """An accrual to date; in a foreign currency by month, since each has its own rate."""
    if not foreign:
        yield day, so_far(day)
        return
    before = 0
    for month in range(to_month(first), to_month(day) + 1):
        end = min(last_of_month(month), day)
        due = so_far(end)
        yield end, due - before
        before = due
