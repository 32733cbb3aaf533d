"""Servicing events of one loan in either form: also with changed terms or paused interest.

`due_facts` serves columns of loans in the kernel. A loan that only the exact form knows ages, is
charged fees, compensated and charged off by the same rules, read here off its instalments; on any
loan that both know the two agree. A day has two halves: in the *morning*, before payments, fees and
the claims of loans already in recovery; in the *evening*, after them, every other claim.

>>> from datetime import date
>>> from usance.loan import Terms
>>> terms = Terms(
...     principal_minor=9_000_00, rate_ppm=60_000, instalments=6,
...     disbursed_on=date(2023, 12, 31), first_due_on=date(2024, 1, 31),
... )  # fmt: skip
>>> drawn = [Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1)]
>>> heavy, rules = ClaimHolder(FundingModel.CAPITAL_HEAVY, 60), ServicingRules(3, 10_000, 180)
>>> for fact in loan_events(terms, drawn, heavy, rules, date(2024, 1, 31), date(2024, 4, 30)):
...     print(fact.effective_on, fact.kind.label, fact.amount_minor)
2024-02-04 fee_charged 1526
2024-03-04 fee_charged 1526
2024-04-01 compensated 911274
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

from usance.base.codes import FactKind, Fee, FundingModel, Status
from usance.base.dates import from_day, to_day
from usance.loan import replay
from usance.loan.facts import Fact, visible
from usance.loan.loan import Form, Loan
from usance.loan.terms import Terms
from usance.service.servicing_kernel import FIRST_REF, NEVER
from usance.service.servicing_rules import ServicingRules, late_fee

OCCURRENCE_SHIFT, KIND_SHIFT = 24, 16
"""A reference packs how often its event was made before, its kind and its instalment."""
CLAIMS = (FactKind.COMPENSATED, FactKind.BOUGHT_OUT, FactKind.CHARGED_OFF)
MADE_BY_RULE = (FactKind.FEE_CHARGED, *CLAIMS)
_PASSED = (FactKind.COMPENSATED, FactKind.BOUGHT_OUT)
_DAY = timedelta(days=1)


class DayPart(StrEnum):
    """Halves of a business day, around its payments."""

    MORNING = "morning"
    EVENING = "evening"
    WHOLE = "whole day"


class ClaimHolder(NamedTuple):
    """Holder of a claim: its funding model, and the days past due its source waits."""

    model: FundingModel
    trigger_days: int


def loan_events(
    terms: Terms | Sequence[Terms], facts: Iterable[Fact], holder: ClaimHolder,
    rules: ServicingRules, after: date, until: date, *, part: DayPart = DayPart.WHOLE,
    form: Form = "auto",
) -> list[Fact]:  # fmt: skip
    """Facts that fall due after one day and until another if no more is paid, in order.

    `facts` are what is known of the loan; references that they hold get the next occurrence.
    """
    known = list(facts)
    loan = replay(terms, known, until, form=form)
    there = {fact.kind for fact in visible(known, as_of=until)}
    taken = {fact.ref for fact in known}
    kept = [
        fact
        for fact in _events(loan, there, holder, rules, after, until)
        if in_part(fact.kind, part, in_recovery=FactKind.COMPENSATED in there)
    ]
    return [fact._replace(ref=next_ref(fact.ref, taken)) for fact in kept]


def in_part(kind: FactKind, part: DayPart, *, in_recovery: bool) -> bool:
    """True if an event is made in that half of a day."""
    if part is DayPart.WHOLE:
        return True
    morning = kind is FactKind.FEE_CHARGED or in_recovery
    return morning == (part is DayPart.MORNING)


def next_ref(ref: int, taken: Iterable[int]) -> int:
    """The reference of an event that may have been made before and reversed.

    >>> next_ref(FIRST_REF + 5, {FIRST_REF + 5}) - FIRST_REF == (1 << OCCURRENCE_SHIFT) + 5
    True
    """
    used = taken if isinstance(taken, (set, frozenset)) else set(taken)
    while ref in used:
        ref += 1 << OCCURRENCE_SHIFT
    return ref


def is_made_by_rule(fact: Fact) -> bool:
    """True of a fact that servicing made, by its kind and reference."""
    return fact.kind in MADE_BY_RULE and FIRST_REF <= fact.ref < 2 * FIRST_REF


def event_of(ref: int) -> int:
    """Kind and instalment that a reference is about, whatever its occurrence."""
    return (ref - FIRST_REF) & ((1 << OCCURRENCE_SHIFT) - 1)


def worst_days_past_due(
    terms: Terms | Sequence[Terms], facts: Iterable[Fact], first: date, last: date,
    *, form: Form = "auto",
) -> int:  # fmt: skip
    """The most days past due at the end of any day from one to another.

    Between facts a loan only ages, so the eves of facts and the last day tell.
    """
    known = list(facts)
    eves = {day for fact in known for day in (fact.effective_on - _DAY, fact.effective_on)}
    days = {last, *(day for day in eves if first <= day <= last)}
    return max(replay(terms, known, day, form=form).view().days_past_due for day in days)


def _events(
    loan: Loan, there: set[FactKind], holder: ClaimHolder, rules: ServicingRules, after: date,
    until: date,
) -> Iterator[Fact]:  # fmt: skip
    view = loan.view()
    is_closed = view.status is Status.CLOSED or FactKind.CHARGED_OFF in there
    if not view.disbursed or is_closed or not view.days_past_due:
        return
    late_since = to_day(until) - view.days_past_due
    off = late_since + rules.charge_off_days + 1
    has_passed = bool(there & {*_PASSED})
    claim = NEVER if has_passed else _claim_day(late_since, holder)
    span = range(to_day(after) + 1, to_day(until) + 1)
    if not has_passed:
        yield from _late_fees(loan, rules, span, min(claim, off))
    owed = view.principal_outstanding
    if claim in span and claim < off:
        if holder.model is FundingModel.CAPITAL_HEAVY:
            interest = sum(
                row.outstanding.interest for row in loan.rows() if to_day(row.due_on) < claim
            )
            yield _fact(FactKind.COMPENSATED, claim, owed + max(0, interest))
        else:
            yield _fact(FactKind.BOUGHT_OUT, claim, owed)
    if off in span:
        yield _fact(FactKind.CHARGED_OFF, off, owed)


def _claim_day(late_since: int, holder: ClaimHolder) -> int:
    passes = holder.model in (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)
    return late_since + holder.trigger_days + 1 if passes else NEVER


def _late_fees(loan: Loan, rules: ServicingRules, span: range, ends: int) -> Iterator[Fact]:
    for row in loan.rows():
        unpaid = sum(row.outstanding[:4])
        day, fee = late_fee(to_day(row.due_on), unpaid, rules)
        if unpaid > 0 and fee > 0 and day in span and day < ends:
            yield _fact(FactKind.FEE_CHARGED, day, fee, int(Fee.LATE_FEE), row.number)


def _fact(kind: FactKind, day: int, amount: int, arg: int = 0, number: int = 0) -> Fact:
    ref = FIRST_REF + (int(kind) << KIND_SHIFT) + number
    return Fact(kind, from_day(day), amount, ref, arg)
