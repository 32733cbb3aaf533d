"""The exact form of a loan: every convention and every fact, in plain whole numbers.

It follows the contract in `docs/explanation/replay.md`, instalment by instalment, and is the
oracle of the kernel.

>>> from datetime import date
>>> from usance.loan.convention import CONVENTIONS
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=CONVENTIONS["equal_principal_monthly"],
... )
>>> facts = [Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1)]
>>> facts += [
...     Fact(FactKind.PAID, row.due_on, row.total, ref=10 + row.number)
...     for row in schedule(terms)[:4]
... ]
>>> view = replay(terms, facts, date(2024, 5, 15)).view()
>>> view.principal_outstanding, view.accrued_interest, view.settlement
(300000, 2177, 302177)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime

from usance.base.calendars import Calendar
from usance.base.codes import Component, FactKind
from usance.base.dates import EPOCH
from usance.loan.convention import Rounding
from usance.loan.errors import (
    DisbursementError,
    FactAmountError,
    FactError,
    NotDisbursed,
)
from usance.loan.exact.allocation import allocate
from usance.loan.exact.change import change_terms, pause_interest
from usance.loan.exact.dates import CALENDARS, ROUND
from usance.loan.exact.plan import first_rows, replanned, schedule
from usance.loan.exact.rows import PRINCIPAL, Row
from usance.loan.exact.state import PENALTY, State
from usance.loan.exact.view import ExactLoan
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.terms import LateBase, LateRule, Terms

__all__ = ["ExactLoan", "replay", "schedule"]


def replay(
    terms: Terms | Sequence[Terms],
    facts: Iterable[Fact],
    as_of: date,
    known_at: datetime = END_OF_TIME,
    *,
    calendars: Mapping[str, Calendar] = CALENDARS,
) -> ExactLoan:
    """The loan on a day as known at a moment; several terms are the versions changes name."""
    versions = [terms] if isinstance(terms, Terms) else sorted(terms, key=lambda t: t.terms_no)
    state = State(versions[0], {each.terms_no: each for each in versions}, calendars)
    for fact in visible(facts, as_of=as_of, known_at=known_at):
        apply_fact(state, fact)
    charge_late(state, as_of.toordinal())
    return ExactLoan(state, as_of)


def apply_fact(state: State, fact: Fact) -> None:
    """Let one fact happen; facts come in canonical order."""
    if not state.disbursed and fact.kind != FactKind.DISBURSED:
        raise NotDisbursed(f"{fact.name} comes before the disbursement", where=_where(fact),
                           fix="Book the disbursement first, or correct the day")  # fmt: skip
    day = fact.effective_on.toordinal()
    charge_late(state, day)
    _FACT_RULES[fact.kind](state, fact, day)
    state.settled = state.settled or state.is_paid_off(day)


def _disbursed(state: State, fact: Fact, day: int) -> None:
    expected = state.to_disburse.pop(0) if state.to_disburse else None
    if expected != (fact.effective_on, fact.amount_minor):
        promise = f"{expected[1]} on {expected[0]}" if expected else "no further disbursement"
        raise DisbursementError(
            f"{fact.name} of {fact.amount_minor} differs from the terms, which have {promise}",
            where=_where(fact), fix="Disburse what the terms say, or change the terms",
        )  # fmt: skip
    if state.settled:
        raise DisbursementError(f"{fact.name} finds the loan settled", where=_where(fact),
                                fix="Make it a loan of its own")  # fmt: skip
    if not state.disbursed:
        state.rows = first_rows(state.terms, state.calendars)
    else:
        coming = [row for row in state.rows if row.end > day]
        new = replanned(state.plan_rows(), state.terms, day, fact.amount_minor,
                        pauses=state.pauses, carried=state.carried)  # fmt: skip
        state.replace_rows(coming, new)
    state.disbursed += fact.amount_minor


def _fee_charged(state: State, fact: Fact, day: int) -> None:
    del day
    state.penalty += fact.amount_minor


def _paid(state: State, fact: Fact, day: int) -> None:
    money = fact.amount_minor
    if state.principal_first or money >= state.settlement(day):
        _pay_principal_first(state, money, day)
    elif state.settled:
        state.overpaid += state.pay_penalty(money)
    else:
        state.overpaid += allocate(state, money, day)


def _recovered(state: State, fact: Fact, day: int) -> None:
    state.recovered += fact.amount_minor
    _pay_principal_first(state, fact.amount_minor, day)


def _pay_principal_first(state: State, money: int, day: int) -> None:
    state.overpaid += state.pay_up_to(state.payoff_by_component(day), money)


def _refunded(state: State, fact: Fact, day: int) -> None:
    del day
    _refuse_more(fact, state.overpaid, "over-payment")
    state.overpaid -= fact.amount_minor


def _charged_back(state: State, fact: Fact, day: int) -> None:
    del day
    _refuse_more(fact, state.overpaid + sum(state.cash), "what was paid and not refunded")
    from_overpaid = min(state.overpaid, fact.amount_minor)
    state.overpaid -= from_overpaid
    if fact.amount_minor > from_overpaid:
        state.settled = False
        state.uncover_youngest_first(fact.amount_minor - from_overpaid)


def _waived(state: State, fact: Fact, day: int) -> None:
    del day
    if not 0 <= fact.arg <= PENALTY:
        raise FactError(f"{fact.name} waives component {fact.arg}", where=_where(fact),
                        fix="Give the number of a component, 0 to 4, in arg")  # fmt: skip
    name = f"the {Component(fact.arg).label} scheduled and not covered"
    if fact.arg == PENALTY:
        _refuse_more(fact, state.penalty, name)
        state.penalty -= fact.amount_minor
        state.waived[PENALTY] += fact.amount_minor
    else:
        _refuse_more(fact, 0 if state.settled else state.uncovered(fact.arg), name)
        state.apply_oldest_first(fact.arg, fact.amount_minor, state.waived)


def _compensated(state: State, fact: Fact, day: int) -> None:
    del day
    state.compensated += fact.amount_minor
    state.principal_first = True


def _bought_out(state: State, fact: Fact, day: int) -> None:
    """Only who is owed changes."""
    del state, fact, day


def _charged_off(state: State, fact: Fact, day: int) -> None:
    del day
    state.charged_off += fact.amount_minor
    state.principal_first = state.is_charged_off = True


def _terms_changed(state: State, fact: Fact, day: int) -> None:
    change_terms(state, fact, day)


def _interest_paused(state: State, fact: Fact, day: int) -> None:
    pause_interest(state, fact, day, fact.arg + EPOCH)


_FACT_RULES: Mapping[FactKind, Callable[[State, Fact, int], None]] = {
    FactKind.DISBURSED: _disbursed,
    FactKind.TERMS_CHANGED: _terms_changed,
    FactKind.INTEREST_PAUSED: _interest_paused,
    FactKind.FEE_CHARGED: _fee_charged,
    FactKind.PAID: _paid,
    FactKind.REFUNDED: _refunded,
    FactKind.CHARGED_BACK: _charged_back,
    FactKind.WAIVED: _waived,
    FactKind.COMPENSATED: _compensated,
    FactKind.BOUGHT_OUT: _bought_out,
    FactKind.CHARGED_OFF: _charged_off,
    FactKind.RECOVERED: _recovered,
}


def _refuse_more(fact: Fact, limit: int, what: str) -> None:
    if fact.amount_minor > limit:
        raise FactAmountError(
            f"{fact.name} of {fact.amount_minor} is more than {what}, {limit}",
            where=_where(fact), fix=f"Give at most {limit}, or correct the facts before it",
        )  # fmt: skip


def _where(fact: Fact) -> str:
    return f"ref {fact.ref}"


_YEAR_PPM = 365 * 1_000_000


def charge_late(state: State, day: int) -> None:
    """Charge what has become due under the late rule by the beginning of `day`.

    Between two facts the overdue part of an instalment does not change, so late interest is
    summed as minor units × days and rounded once per instalment.
    """
    rule, since = state.terms.late, state.late_day
    state.late_day = day
    if rule is None or not rule.cap_ppm or state.settled:
        return
    for row in state.rows:
        if row.end >= day:
            break
        if row.is_paid:
            continue
        row.late_weight += _overdue(row, rule) * (day - max(row.end, since))
        if day - row.end > rule.grace_days:
            more = late_cost(row, rule, state.terms.convention.rounding) - row.late_charged
            if more > 0:
                row.late_charged += more
                state.penalty += more


def late_cost(row: Row, rule: LateRule, rounding: Rounding) -> int:
    """All that an overdue instalment has cost so far, at most the cap."""
    rnd = ROUND[rounding]
    cost = rule.fee_minor + rnd(row.late_weight * rule.rate_ppm, _YEAR_PPM)
    return min(cost, rnd(sum(row.due) * rule.cap_ppm, 1_000_000))


def _overdue(row: Row, rule: LateRule) -> int:
    if rule.base is LateBase.PRINCIPAL:
        return row.due[PRINCIPAL] - row.covered[PRINCIPAL]
    return sum(row.due) - sum(row.covered)
