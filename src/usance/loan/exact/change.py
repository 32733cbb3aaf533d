"""Changes of a running loan in the exact form: new terms, and interest that pauses."""

from __future__ import annotations

from usance.loan.errors import FactError, UnknownTerms
from usance.loan.exact.charge import Pause, unpaused_interest
from usance.loan.exact.dates import ROUND, periods
from usance.loan.exact.plan import plan, refuse_impossible_fees
from usance.loan.exact.rows import (
    GUARANTEE_FEE,
    INTEREST,
    PRINCIPAL,
    SERVICE_FEE,
    PlanInputs,
    Row,
    deferred_charges,
    fall_due,
)
from usance.loan.exact.state import State, refit
from usance.loan.exact.view import keeps_ageing, watch_instalments
from usance.loan.facts import Fact
from usance.loan.terms import Change, Terms


def change_terms(state: State, fact: Fact, day: int) -> None:
    """Plan the principal not yet covered anew, by the terms the fact names."""
    terms = _terms_of(state, fact)
    _keep_ageing(state, terms, day)
    carried = _carried_forward(state, day)
    outstanding = state.uncovered(PRINCIPAL)
    kept = _closed_rows(state.rows, day)
    number = max((row.number for row in kept), default=0)
    new = plan(
        PlanInputs(
            terms=terms,
            periods=[
                each._replace(number=each.number + number)
                for each in periods(terms, fact.effective_on, state.calendars)
            ],
            principal=outstanding,
            flat_fee=terms.flat_fee_minor,
            guarantee_fee=terms.guarantee_fee_minor,
            grace_principal=terms.grace_principal,
            grace_interest=terms.grace_interest,
            deferred=carried,
            pauses=state.pauses,
        )
    )
    refuse_impossible_fees(new, terms)
    state.plan_no += 1
    for row in new:
        row.plan_no = state.plan_no
    state.rows = [*kept, *new]
    state.terms, state.round = terms, ROUND[terms.convention.rounding]
    state.carried, state.interest_carried = carried, carried[INTEREST]
    state.to_disburse = [each for each in terms.tranches if each[0].toordinal() > day]


def _terms_of(state: State, fact: Fact) -> Terms:
    terms = state.versions.get(fact.arg)
    where = f"ref {fact.ref}"
    if terms is None:
        raise UnknownTerms(f"{fact.name} names terms {fact.arg}, which were not given",
                           where=where, fix="Give all versions of the terms to replay")  # fmt: skip
    if state.settled:
        raise FactError(f"{fact.name} finds the loan settled", where=where,
                        fix="Leave it out, or correct the facts before it")  # fmt: skip
    if terms.first_due_on <= fact.effective_on:
        raise FactError(
            f"{fact.name} has its first instalment due on {terms.first_due_on}, not after it",
            where=where, fix="Give the new terms a first due date after the change",
        )  # fmt: skip
    return terms


def _keep_ageing(state: State, terms: Terms, day: int) -> None:
    """Remember since when the loan is past due, so that the change does not hide it."""
    if not keeps_ageing(state):
        oldest = state.oldest_unpaid(day)
        state.past_due_since = oldest if oldest is not None and oldest < day else None
        state.ages_until_settled = False
    state.ages_until_settled |= terms.change is Change.RE_AGED
    state.watched = watch_instalments(day)


def _carried_forward(state: State, day: int) -> list[int]:
    """Arrears of interest and fees that fall due with the first instalment of the new plan."""
    due = [row for row in state.rows if row.end <= day]
    fees = {
        c: sum(row.due[c] - row.covered[c] for row in due) for c in (GUARANTEE_FEE, SERVICE_FEE)
    }
    interest = max(0, state.earned(day) - state.covered(INTEREST))
    return [0, interest, fees[GUARANTEE_FEE], fees[SERVICE_FEE]]


def _closed_rows(rows: list[Row], day: int) -> list[Row]:
    """The old plan as it was kept: what was covered of it, and no more."""
    kept = [row for row in rows if row.end <= day or any(row.covered)]
    for row in kept:
        row.due, row.own = row.covered.copy(), row.covered.copy()
        row.end = min(row.end, day)
    return kept


def pause_interest(state: State, fact: Fact, day: int, last: int) -> None:
    """Let the days from `day` to `last`, both included, bear no interest."""
    if last < day:
        raise FactError(f"{fact.name} ends before it begins", where=f"ref {fact.ref}",
                        fix="Give its last day, as days since 1970-01-01, in arg")  # fmt: skip
    state.pauses = _merged([*state.pauses, (day, last)])
    rows = state.plan_rows()
    coming = [row for row in rows if row.end > day]
    if state.settled or not coming:
        return
    past = [row for row in rows if row.end <= day and row.number]
    for row in coming:
        row.own[INTEREST] = unpaused_interest(
            row.whole_interest, row.start, row.end, state.pauses, state.round
        )
    fall_due(
        coming,
        max(0, state.terms.grace_interest - len(past)),
        deferred_charges(past, state.carried),
    )
    refit(coming, coming)


def _merged(pauses: list[Pause]) -> list[Pause]:
    """Pauses in order, those that touch or overlap as one.

    >>> _merged([(5, 9), (1, 4), (8, 12), (20, 21)])
    [(1, 12), (20, 21)]
    """
    result: list[Pause] = []
    for first, last in sorted(pauses):
        if result and first <= result[-1][1] + 1:
            result[-1] = result[-1][0], max(last, result[-1][1])
        else:
            result.append((first, last))
    return result
