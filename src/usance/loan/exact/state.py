"""State of an exact replay: every instalment's due and covered amounts, and the cash.

Coverage is kept per instalment and component; cash and waivers are summed beside it, so that
their sum is all that is covered. The methods know how money covers and uncovers rows and what
settles the loan; which fact does what is in `history`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from usance.base.calendars import Calendar
from usance.loan.convention import SettlementInterest
from usance.loan.exact.charge import Pause, accrued
from usance.loan.exact.dates import ROUND
from usance.loan.exact.rows import (
    GUARANTEE_FEE,
    INTEREST,
    PRINCIPAL,
    SERVICE_FEE,
    Row,
)
from usance.loan.terms import Terms

PENALTY = 4
PRINCIPAL_FIRST = (PRINCIPAL, INTEREST, GUARANTEE_FEE, SERVICE_FEE)
BACKWARDS = (SERVICE_FEE, GUARANTEE_FEE, PRINCIPAL, INTEREST)


class State:
    """A loan after some of its facts; amounts by component in the order of `Component`."""

    __slots__ = (
        "ages_until_settled",
        "calendars",
        "carried",
        "cash",
        "charged_off",
        "compensated",
        "disbursed",
        "interest_carried",
        "is_charged_off",
        "late_day",
        "overpaid",
        "past_due_since",
        "pauses",
        "penalty",
        "plan_no",
        "principal_first",
        "recovered",
        "round",
        "rows",
        "settled",
        "terms",
        "to_disburse",
        "versions",
        "waived",
        "watched",
    )  # fmt: skip

    def __init__(
        self, terms: Terms, versions: Mapping[int, Terms], calendars: Mapping[str, Calendar]
    ) -> None:
        self.terms = terms
        self.versions = versions
        self.calendars = calendars
        self.round = ROUND[terms.convention.rounding]
        first = terms.principal_minor - sum(amount for _, amount in terms.tranches)
        self.to_disburse: list[tuple[date, int]] = [(terms.disbursed_on, first), *terms.tranches]
        self.rows: list[Row] = []
        self.plan_no = 0
        self.carried: Sequence[int] = (0, 0, 0, 0)  # fell due with this plan's first instalment
        self.interest_carried = 0  # earned under earlier plans and not covered when they ended
        self.pauses: list[Pause] = []
        self.cash = [0, 0, 0, 0, 0]
        self.waived = [0, 0, 0, 0, 0]
        self.penalty = 0
        self.overpaid = 0
        self.disbursed = self.compensated = self.charged_off = self.recovered = 0
        self.settled = self.principal_first = self.is_charged_off = False
        self.past_due_since: int | None = None
        self.ages_until_settled = False
        self.watched = 0  # instalments of this plan to be paid until days past due begin afresh
        self.late_day = 0

    def covered(self, component: int) -> int:
        """All that cash and waivers cover of a scheduled component."""
        return self.cash[component] + self.waived[component]

    def earned(self, day: int, *, full_period: bool = False) -> int:
        """Interest of the periods that have ended, and of the running one by its days."""
        total = self.interest_carried
        for row in self.rows:
            if row.end <= day:
                total += row.own[INTEREST]
            elif row.start < day:
                interest = row.own[INTEREST]
                if not full_period:
                    interest = accrued(self.terms, interest, row.spans, day, self.pauses)
                total += interest
            else:
                break
        return total

    def payoff_by_component(self, day: int) -> list[int]:
        """The amounts still needed to settle the loan, by component, without penalties."""
        if self.settled:
            return [0, 0, 0, 0]
        full = self.terms.convention.settlement_interest is SettlementInterest.FULL_PERIOD
        guarantee = service = 0
        for row in self.rows:
            if row.end > day:
                break
            guarantee += row.due[GUARANTEE_FEE]
            service += row.due[SERVICE_FEE]
        return [
            self.disbursed - self.covered(PRINCIPAL),
            max(0, self.earned(day, full_period=full) - self.covered(INTEREST)),
            max(0, guarantee - self.covered(GUARANTEE_FEE)),
            max(0, service - self.covered(SERVICE_FEE)),
        ]

    def settlement(self, day: int) -> int:
        """The amount that settles the loan on a day."""
        return sum(self.payoff_by_component(day)) + self.penalty

    def is_paid_off(self, day: int) -> bool:
        """True if the settlement of a day is 0; principal and penalties often decide alone."""
        if self.penalty or self.covered(PRINCIPAL) < self.disbursed:
            return False
        return not self.settlement(day)

    def cover_row(self, row: Row, component: int, money: int) -> int:
        """Cover one component of one row with cash; what is left of the money."""
        room = row.due[component] - row.covered[component]
        if room <= 0:
            return money
        take = min(room, money)
        row.covered[component] += take
        self.cash[component] += take
        return money - take

    def apply_oldest_first(self, component: int, amount: int, kind: list[int]) -> None:
        """Cover a component oldest instalment first; `kind` is the total (`cash`, `waived`)."""
        kind[component] += amount
        for row in self.rows:
            if not amount:
                return
            take = min(amount, row.due[component] - row.covered[component])
            row.covered[component] += take
            amount -= take
        assert not amount, "more was applied than is uncovered"

    def pay_penalty(self, money: int) -> int:
        """Pay penalties; what is left of the money."""
        take = min(self.penalty, money)
        self.penalty -= take
        self.cash[PENALTY] += take
        return money - take

    def pay_up_to(self, limits: Sequence[int], money: int) -> int:
        """Pay principal first, each component up to its limit, then penalties; what is left."""
        for component in PRINCIPAL_FIRST:
            take = min(limits[component], money)
            if take:
                self.apply_oldest_first(component, take, self.cash)
                money -= take
        return self.pay_penalty(money)

    def uncover_youngest_first(self, amount: int) -> None:
        """Uncover what cash covered, youngest instalment first, then owe penalties again."""
        for row in reversed(self.rows):
            for component in BACKWARDS:
                take = min(amount, row.covered[component], self.cash[component])
                row.covered[component] -= take
                self.cash[component] -= take
                amount -= take
            if not amount:
                return
        self.cash[PENALTY] -= amount
        self.penalty += amount

    def uncovered(self, component: int) -> int:
        """Scheduled and not covered, due or not."""
        return sum(row.due[component] - row.covered[component] for row in self.rows)

    def oldest_unpaid(self, day: int) -> int | None:
        """The due date of the oldest instalment fallen due and not wholly covered."""
        return next((row.end for row in self.rows if row.end <= day and not row.is_paid), None)

    def plan_rows(self) -> list[Row]:
        """The rows of the plan in force, without those an earlier plan left behind."""
        return [row for row in self.rows if row.plan_no == self.plan_no]

    def replace_rows(self, old: Sequence[Row], new: Sequence[Row]) -> None:
        """Put a new plan's rows in the place of old ones, with what covered them."""
        for row in new:
            row.plan_no = self.plan_no
        gone = {id(row) for row in old}
        self.rows = [*(row for row in self.rows if id(row) not in gone), *new]
        refit(old, new)


def refit(old: Sequence[Row], new: Sequence[Row]) -> None:
    """Let what covered the old rows cover the new ones, oldest first.

    What was paid in advance is not given back: where a component has become smaller than what
    covers it, the first new row is due as much as is covered.
    """
    for component in range(4):
        left = sum(row.covered[component] for row in old)
        for row in new:
            row.covered[component] = min(left, row.due[component])
            left -= row.covered[component]
        if left:
            new[0].covered[component] += left
            new[0].due[component] = new[0].covered[component]
