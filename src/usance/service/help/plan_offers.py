"""Offers of help: what a plan would change, computed by replaying the loan with it and without.

An offer is facts and, for new terms, their next version; nothing else computes what is owed. A plan
never lowers days past due by itself: a loan under new terms keeps them until three instalments of
the new plan are paid (re-ageing: until it is settled), as the loan's own fold says.

>>> from usance.loan import Terms
>>> terms = Terms(
...     principal_minor=9_000_00, rate_ppm=180_000, instalments=6,
...     disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15),
... )  # fmt: skip
>>> facts = [
...     Fact(FactKind.DISBURSED, date(2024, 1, 15), 9_000_00, ref=1),
...     Fact(FactKind.PAID, date(2024, 2, 15), 1_579_73, ref=2),
... ]
>>> loan = HelpedLoan((terms,), tuple(facts))
>>> offer = offer_plan(
...     loan, date(2024, 4, 1), PlanRequest(PlanKind.LONGER_TERM, months=6), role="team_lead"
... )
>>> offer.before.instalments_left, offer.after.instalments_left, offer.after.days_past_due
(5, 11, 17)
>>> offer.before.next_due_minor > offer.after.next_due_minor, offer.added_cost_minor > 0
(True, True)
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

from usance.base.codes import Component, FactKind
from usance.base.dates import add_months, to_day
from usance.base.errors import UsanceError, raise_all
from usance.loan import Fact, InstalmentState, LoanView, Terms, replay
from usance.loan.terms import Change
from usance.service.errors import PlanRefused
from usance.service.help.plan_rules import PlanKind, PlanRules, shipped_rules

_PPM = 1_000_000
_WAIVED_FIRST = (Component.PENALTY, Component.SERVICE_FEE, Component.GUARANTEE_FEE,
                 Component.INTEREST, Component.PRINCIPAL)  # fmt: skip


class HelpedLoan(NamedTuple):
    """A loan as it is: every version of its terms and every fact."""

    terms: tuple[Terms, ...]
    facts: tuple[Fact, ...]
    plans_before: int = 0
    """Plans it was given already."""

    @property
    def next_ref(self) -> int:
        """A reference that no fact has."""
        return max(fact.ref for fact in self.facts) + 1


class PlanRequest(NamedTuple):
    """A plan that is asked for; each kind reads the one number that it counts by."""

    kind: PlanKind
    months: int = 0
    rate_ppm: int = 0
    pause_days: int = 0
    discount_ppm: int = 0


class Position(NamedTuple):
    """A loan as its borrower sees it: what is left to pay, until when, at which cost."""

    instalments_left: int
    to_pay_minor: int
    cost_minor: int
    """Of what is left to pay, all that is not principal."""
    next_due_on: date | None
    next_due_minor: int
    last_due_on: date | None
    past_due_minor: int
    days_past_due: int


class PlanOffer(NamedTuple):
    """A plan with its effect; `facts` and `terms` are booked when the borrower accepts."""

    request: PlanRequest
    on: date
    terms: tuple[Terms, ...]
    facts: tuple[Fact, ...]
    before: Position
    after: Position
    pay_minor: int = 0
    """Amount that settles the loan, of a settlement."""

    @property
    def added_cost_minor(self) -> int:
        """Cost of the plan to the borrower; below zero it saves."""
        return self.after.cost_minor - self.before.cost_minor


def offer_plan(
    loan: HelpedLoan, on: date, request: PlanRequest, *, role: str, rules: PlanRules | None = None
) -> PlanOffer:
    """The offer of a plan, or every reason for which it may not be made."""
    known = rules or shipped_rules()
    state = replay(loan.terms, loan.facts, on)
    view, rows = state.view(), state.rows()
    raise_all(list(refusals(loan, view, request, role, known)), where="plan")
    before = _position(view, rows)
    terms, facts, pay = _changes(loan, on, request, view, rows)
    after = replay((*loan.terms, *terms), (*loan.facts, *facts), on)
    return PlanOffer(request, on, terms, facts, before, _position(after.view(), after.rows()), pay)


def refusals(
    loan: HelpedLoan, view: LoanView, request: PlanRequest, role: str, rules: PlanRules
) -> list[UsanceError]:
    """Every reason against a plan: eligibility, the most there is, and the role's authority."""
    rule, kind = rules.of(request.kind), request.kind
    found: list[UsanceError] = []

    def refuse(what: str, fix: str) -> None:
        found.append(PlanRefused(what, where=kind.value, fix=fix))

    if view.principal_outstanding == 0:
        refuse("the loan is closed", "Offer plans for open loans")
        return found
    if not rule.days_past_due_from <= view.days_past_due <= rule.days_past_due_to:
        what = f"the loan is {view.days_past_due} days past due"
        refuse(what, f"Offer it from {rule.days_past_due_from} to {rule.days_past_due_to} days")
    if view.instalments_paid < rule.instalments_paid_from:
        what = f"{view.instalments_paid} instalments were paid"
        refuse(what, f"Offer it after {rule.instalments_paid_from}")
    if loan.plans_before > rule.plans_before_to:
        what = f"the loan had {loan.plans_before} plans before"
        refuse(what, f"Offer it after at most {rule.plans_before_to}")
    if kind is PlanKind.LOWER_RATE and not 0 <= request.rate_ppm < loan.terms[-1].rate_ppm:
        rate = loan.terms[-1].rate_ppm
        refuse(f"a rate of {request.rate_ppm} is not lower than {rate}", f"Ask for 0 to {rate - 1}")
        return found
    asked, own = _asked(loan, request), rules.most_for(kind, role)
    if not 0 < asked <= rule.most:
        refuse(f"{asked} is asked for", f"Ask for 1 to {rule.most}")
    elif asked > own:
        refuse(f"{asked} is asked for, and {role} may grant {own}", "Ask somebody with authority")
    return found


def _asked(loan: HelpedLoan, request: PlanRequest) -> int:
    """How much of a plan is asked for, as its rule counts."""
    match request.kind:
        case PlanKind.DEFERRAL | PlanKind.LONGER_TERM:
            return request.months
        case PlanKind.LOWER_RATE:
            rate = loan.terms[-1].rate_ppm
            return (rate - request.rate_ppm) * _PPM // rate if rate else 0
        case PlanKind.INTEREST_PAUSE:
            return request.pause_days
        case PlanKind.SETTLEMENT:
            return request.discount_ppm
        case PlanKind.RE_AGEING:
            return 1


def _changes(
    loan: HelpedLoan, on: date, request: PlanRequest, view: LoanView, rows: list[InstalmentState]
) -> tuple[tuple[Terms, ...], tuple[Fact, ...], int]:
    """New terms, facts, and the amount that settles."""
    ref = loan.next_ref
    if request.kind is PlanKind.INTEREST_PAUSE:
        last = to_day(on + timedelta(days=request.pause_days - 1))
        return (), (Fact(FactKind.INTEREST_PAUSED, on, 0, ref, last),), 0
    if request.kind is PlanKind.SETTLEMENT:
        facts = _settled(loan, on, view.settlement * request.discount_ppm // _PPM)
        return (), facts, facts[-1].amount_minor
    last_terms = loan.terms[-1]
    left = [row for row in rows if sum(row.outstanding)]
    ahead = [row.due_on for row in left if row.due_on > on]
    first = ahead[0] if ahead else add_months(on, 1)
    count, rate, change = len(left), last_terms.rate_ppm, Change.HARDSHIP
    match request.kind:
        case PlanKind.DEFERRAL:
            first = add_months(first, request.months)
        case PlanKind.LONGER_TERM:
            count += request.months
        case PlanKind.LOWER_RATE:
            rate = request.rate_ppm
        case _:
            change = Change.RE_AGED
    terms = last_terms.changed(
        principal_minor=view.principal_outstanding, rate_ppm=rate,
        coupon_ppm=min(last_terms.coupon_ppm, rate), instalments=count, disbursed_on=on,
        first_due_on=first, flat_fee_minor=0, guarantee_fee_minor=0, upfront_fee_minor=0,
        terms_no=last_terms.terms_no + 1, change=change,
    )  # fmt: skip
    return (terms,), (Fact(FactKind.TERMS_CHANGED, on, 0, ref, terms.terms_no),), 0


def _settled(loan: HelpedLoan, on: date, discount_minor: int) -> tuple[Fact, ...]:
    """Waivers of the discount, penalties first, and the payment that then settles the loan.

    Waivers are effective the evening before: a payment comes before a waiver of its own day, and
    would go to instalments that are not due yet instead of settling what is owed.
    """
    evening = on - timedelta(days=1)
    facts: list[Fact] = []

    def add(kind: FactKind, day: date, amount_minor: int, arg: int = 0) -> None:
        facts.append(Fact(kind, day, amount_minor, loan.next_ref + len(facts), arg))

    owed = replay(loan.terms, loan.facts, evening).view()
    parts = owed.past_due._replace(
        principal=owed.principal_outstanding, interest=owed.accrued_interest
    )
    left = discount_minor
    for component in _WAIVED_FIRST:
        if waived := min(left, parts[component]):
            add(FactKind.WAIVED, evening, waived, int(component))
            left -= waived
    pay = replay(loan.terms, (*loan.facts, *facts), on).view().settlement
    add(FactKind.PAID, on, pay)
    return tuple(facts)


def _position(view: LoanView, rows: list[InstalmentState]) -> Position:
    if view.principal_outstanding == 0:
        return Position(0, view.past_due.total, view.past_due.total, None, 0, None,
                        view.past_due.total, view.days_past_due)  # fmt: skip
    left = [row for row in rows if sum(row.outstanding)]
    # A penalty stands outside the schedule; it is paid with the next instalment.
    to_pay = sum(sum(row.outstanding[:4]) for row in left) + view.past_due.penalty
    ahead = [row for row in left if row.due_on > view.as_of]
    return Position(
        len(left), to_pay, to_pay - view.principal_outstanding,
        ahead[0].due_on if ahead else None, sum(ahead[0].outstanding) if ahead else 0,
        left[-1].due_on if left else None, view.past_due.total, view.days_past_due,
    )  # fmt: skip
