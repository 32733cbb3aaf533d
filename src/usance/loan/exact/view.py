"""Results of an exact replay: the view of a day and the rows of the schedule."""

from __future__ import annotations

from datetime import date
from functools import cache

from usance.base.codes import Status
from usance.loan.exact.rows import INTEREST, PRINCIPAL, Row
from usance.loan.exact.state import State
from usance.loan.views import ComponentAmounts, InstalmentState, LoanView


@cache
def watch_instalments(day: int) -> int:
    """Instalments of a plan made on a day that are paid until days past due are counted afresh."""
    from usance.base.parameters import Parameters

    on = date.fromordinal(day)
    return Parameters.load().at("servicing.watch_instalments", on).integer


class ExactLoan:
    """A loan as it stands on a day; `state` keeps every instalment's due and covered."""

    form: str = "exact"

    def __init__(self, state: State, as_of: date) -> None:
        self.state = state
        self.as_of = as_of

    def view(self) -> LoanView:
        """Balances and arrears of the loan on its day."""
        state, day = self.state, self.as_of.toordinal()
        due, past_due = _due(state, day)
        coming = _next_open(state, day)
        covered_interest = state.covered(INTEREST)
        earned = covered_interest if state.settled else state.earned(day)
        return LoanView(
            as_of=self.as_of,
            status=_status(state),
            days_past_due=_days_past_due(state, day),
            instalments_paid=_instalments_paid(state),
            principal_outstanding=state.disbursed - state.covered(PRINCIPAL),
            due=ComponentAmounts(*due),
            past_due=ComponentAmounts(*past_due),
            paid=ComponentAmounts(*state.cash),
            waived=ComponentAmounts(*state.waived),
            interest_earned=earned,
            accrued_interest=max(0, earned - covered_interest),
            settlement=state.settlement(day),
            overpaid=state.overpaid,
            disbursed=state.disbursed,
            compensated=state.compensated,
            charged_off=state.charged_off,
            recovered=state.recovered,
            next_due_on=date.fromordinal(coming.end) if coming else None,
            next_due=sum(coming.due) - sum(coming.covered) if coming else 0,
        )

    def rows(self) -> list[InstalmentState]:
        """Every instalment's due, paid (or waived) and outstanding; none before disbursement."""
        return [_row_state(row, settled=self.state.settled) for row in self.state.rows]


def _due(state: State, day: int) -> tuple[list[int], list[int]]:
    if state.settled:
        return [state.covered(component) for component in range(4)], [0, 0, 0, 0, state.penalty]
    due, past_due = [0, 0, 0, 0], [0, 0, 0, 0, state.penalty]
    for row in state.rows:
        if row.end > day:
            break
        for component in range(4):
            due[component] += row.due[component]
            past_due[component] += row.due[component] - row.covered[component]
    return due, past_due


def _status(state: State) -> Status:
    if state.settled and not state.penalty:
        return Status.CLOSED
    return Status.CHARGED_OFF if state.is_charged_off else Status.ACTIVE


def _days_past_due(state: State, day: int) -> int:
    if state.settled:
        return 0
    oldest = state.oldest_unpaid(day)
    if keeps_ageing(state):
        oldest = state.past_due_since
    return 0 if oldest is None else day - oldest


def keeps_ageing(state: State) -> bool:
    """True if days past due run on from before a change of terms."""
    if state.past_due_since is None or state.settled:
        return False
    return state.ages_until_settled or _paid_in_a_row(state.plan_rows()) < state.watched


def _instalments_paid(state: State) -> int:
    if state.settled:
        return sum(1 for row in state.rows if row.number)
    return _paid_in_a_row(state.rows)


def _paid_in_a_row(rows: list[Row]) -> int:
    paid = 0
    for row in rows:
        if not row.is_paid:
            break
        paid += row.number > 0
    return paid


def _next_open(state: State, day: int) -> Row | None:
    if state.settled:
        return None
    return next((row for row in state.rows if row.end > day and not row.is_paid), None)


def _row_state(row: Row, *, settled: bool) -> InstalmentState:
    due = row.covered if settled else row.due
    open_parts = (owed - paid for owed, paid in zip(due, row.covered, strict=True))
    return InstalmentState(
        row.number,
        date.fromordinal(row.end),
        ComponentAmounts(*due),
        ComponentAmounts(*row.covered),
        ComponentAmounts(*open_parts),
    )
