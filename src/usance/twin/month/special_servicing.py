"""A month of one loan with incidents, from its facts: what is paid, what falls due, what is agreed.

A day has its order: in the morning fees and the claims of loans in recovery, then payments, then
what was taken back, let go or agreed, in the evening the other claims. Notices of a loan that
people look at come on their day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from usance.base.codes import Component, FactKind, FundingModel, Status
from usance.base.dates import from_day, to_day
from usance.base.draws import draw
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.loan.facts import Fact
from usance.loan.loan import Loan, replay
from usance.loan.stored_rows import changed_row, terms_of_row
from usance.loan.terms import Terms
from usance.service.help.plan_offers import HelpedLoan, PlanRequest, offer_plan
from usance.service.help.plan_rules import PlanKind
from usance.service.loan_servicing import (
    ClaimHolder,
    DayPart,
    is_made_by_rule,
    loan_events,
    worst_days_past_due,
)
from usance.service.servicing_rules import ServicingRules
from usance.world import behaviour_kernel as how
from usance.world.incidents import Incident, asked_on, days_later, lowered_ppm, plan_asked
from usance.world.scenario.scenario import Scenario
from usance.world.streams import Stream

NEVER = 2**31 - 1
RECOVERY = (FactKind.COMPENSATED, FactKind.CHARGED_OFF)
AGREED = (FactKind.TERMS_CHANGED, FactKind.INTEREST_PAUSED)
ROLE = "operations"
INCIDENT_REF = 128
"""In references of a month: above those of its payments."""


@dataclass(frozen=True)
class ServedMonth:
    """One month for every loan: the scenario, its behaviour and the rules."""

    scenario: Scenario
    inputs: how.BehaviourInputs
    rules: ServicingRules

    @property
    def span(self) -> how.MonthSpan:
        """The month and its days."""
        return self.inputs.span


@dataclass
class SpecialLoan:
    """One loan with its facts, and what a month adds to them."""

    rows: list[dict[str, Any]]
    facts: list[Fact]
    holder: ClaimHolder
    hazard: int
    """Of the month, as a table of hazards has it."""
    incident: Incident = Incident.NONE
    added: list[tuple[Fact, int]] = field(default_factory=list)
    """Facts of the month, each with the day it was booked."""
    new_rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def loan_id(self) -> int:
        """Its number."""
        return int(self.rows[0]["loan_id"])

    @property
    def terms(self) -> list[Terms]:
        """Every version of its terms."""
        return [terms_of_row(row) for row in [*self.rows, *self.new_rows]]

    def at(self, day: int, more: Sequence[Fact] = ()) -> Loan:
        """The loan at the end of a day."""
        return replay(self.terms, [*self.facts, *more], from_day(day))

    def oldest_due(self, day: int) -> int:
        """Due day of the oldest instalment that is not paid at the end of a day."""
        now = self.at(day)
        if not now.view().principal_outstanding:
            return NEVER
        opens = (row.due_on for row in now.rows() if sum(row.outstanding[:4]) > 0)
        found = next(opens, None)
        return NEVER if found is None else to_day(found)

    def add(self, fact: Fact, booked: int) -> None:
        """Take a fact in."""
        self.facts.append(fact)
        self.added.append((fact, booked))

    def in_recovery(self, day: int) -> bool:
        """True if the claim has passed on or was written off."""
        return any(each.kind in RECOVERY and each.effective_on <= from_day(day)
                   for each in self.facts)  # fmt: skip

    def worst(self, first: int, last: int) -> int:
        """Most days past due at the end of any of some days."""
        return worst_days_past_due(self.terms, self.facts, from_day(first), from_day(last))


def holder_of(model: int, trigger_days: int) -> ClaimHolder:
    """Who holds a loan's claim, and how long its source waits."""
    return ClaimHolder(FundingModel(model), trigger_days)


class _Agenda:
    """Actions of days to come, in the order they were entered for each."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.days: dict[int, list[Callable[[int], None]]] = {}

    def enter(self, day: int, action: Callable[[int], None]) -> None:
        if day <= self.last:
            self.days.setdefault(day, []).append(action)

    def next_day(self) -> tuple[int, list[Callable[[int], None]]]:
        day = min(self.days)
        return day, self.days.pop(day)


def serve(loan: SpecialLoan, month: ServedMonth) -> None:
    """Serve one loan through a month."""
    _Service(loan, month).run()


class _Service:
    """The month of one loan."""

    def __init__(self, loan: SpecialLoan, month: ServedMonth) -> None:
        self.loan, self.month = loan, month
        self.agenda = _Agenda(month.span.last)
        self.is_told = False
        """True once the month's incident has its day."""

    def run(self) -> None:
        span, loan = self.month.span, self.loan
        for day, meaning, nth in self._intended():
            self.agenda.enter(day, partial(self._pay, meaning, nth))
        if loan.incident is Incident.ASKS_FOR_HELP:
            on = asked_on(self.month.scenario.seed, loan.loan_id, span.month, span.first, span.last)
            self.agenda.enter(on, self._agree)
        through = span.first - 1
        while self.agenda.days:
            day, actions = self.agenda.next_day()
            self._events(through, day - 1, DayPart.WHOLE)
            self._events(day - 1, day, DayPart.MORNING)
            for action in actions:
                action(day)
            self._events(day - 1, day, DayPart.EVENING)
            through = day
        self._events(through, span.last, DayPart.WHOLE)

    def _events(self, after: int, until: int, part: DayPart) -> None:
        if until <= after:
            return
        loan = self.loan
        for fact in loan_events(loan.terms, loan.facts, loan.holder, self.month.rules,
                                from_day(after), from_day(until), part=part):  # fmt: skip
            loan.add(fact, to_day(fact.effective_on))

    def _intended(self) -> list[tuple[int, int, int]]:
        """Day, meaning and place of each payment that the borrower means to make."""
        loan, span = self.loan, self.month.span
        now = loan.at(span.first - 1)
        rows = now.rows() if now.view().principal_outstanding else []
        opens = [n for n, row in enumerate(rows) if sum(row.outstanding[:4]) > 0]
        own = [n for n, row in enumerate(rows) if span.first <= to_day(row.due_on) <= span.last]
        oldest, nth = (opens or [0])[0], (own or [0])[-1]
        early, count = self.month.inputs.params.early_ppm, len(rows)
        kinds = {fact.kind for fact in loan.facts}
        status = how.DueStatus(
            how.at_due(loan.hazard, oldest, count, early),
            to_day(rows[oldest].due_on) if opens else NEVER,
            how.at_due(loan.hazard, nth, count, early),
            to_day(rows[nth].due_on) if own else -1,
            bool(kinds.intersection(RECOVERY)), FactKind.CHARGED_OFF in kinds,
        )  # fmt: skip
        seed, out = self.month.scenario.seed, np.zeros((how.MAX_PAYMENTS, 2), np.int64)
        drawn = np.uint64(draw(seed, Stream.PAYMENT, loan.loan_id, span.month * 256))
        found = how.decide(drawn, loan.loan_id, status, self.month.inputs, out)
        return [(int(out[n, 0]), int(out[n, 1]), n) for n in range(found)]

    def _pay(self, meaning: int, nth: int, day: int) -> None:
        loan, span, seed = self.loan, self.month.span, self.month.scenario.seed
        amount = self._amount(day, meaning)
        if amount <= 0:
            return
        low = draw(seed, Stream.NOTICE, loan.loan_id, span.month * 256 + nth) & 0x7FF
        provider = 1 + low % max(self.month.scenario.providers.providers, 1)
        kind = FactKind.RECOVERED if loan.in_recovery(day) else FactKind.PAID
        paid = Fact(kind, from_day(day), amount, span.month * 256 + nth, provider)
        loan.add(paid, day)
        if kind is FactKind.PAID and not self.is_told:
            self._followed(paid, day)

    def _followed(self, paid: Fact, day: int) -> None:
        """Enter what follows a payment, if this is the month and the payment for it."""
        loan, given = self.loan, self.month.scenario.incidents
        is_closed = loan.at(day).view().status is Status.CLOSED
        if loan.incident is Incident.CHARGED_BACK:
            action = partial(self._charge_back, paid)
        elif loan.incident is Incident.COMPLAINT_UPHELD and is_closed:
            action = partial(self._let_go, day)
        else:
            return
        lag = days_later(self.month.scenario.seed, given, loan.incident, loan.loan_id,
                         self.month.span.month)  # fmt: skip
        self.is_told = True
        self.agenda.enter(day + lag, action)

    def _amount(self, day: int, meaning: int) -> int:
        """Amount of an intended payment on a day; 0 if there is nothing to pay."""
        now = self.loan.at(day)
        seen = now.view()
        if meaning == how.PAYS_DUE:
            return seen.past_due.total if sum(seen.past_due[:4]) else 0
        if meaning == how.SETTLES:
            return seen.settlement
        if meaning == how.PAYS_ONE:
            if not seen.principal_outstanding:
                return 0
            opens = (sum(row.outstanding[:4]) for row in now.rows())
            return next((amount for amount in opens if amount > 0), 0)
        share = self.month.scenario.behaviour.recovered_share_ppm
        return (2 * seen.settlement * share + PPM) // (2 * PPM)

    def _ref(self, nth: int = 0) -> int:
        return self.month.span.month * 256 + INCIDENT_REF + nth

    def _charge_back(self, paid: Fact, day: int) -> None:
        """The payer's bank takes a payment back, unless the claim has passed on meanwhile."""
        if self.loan.in_recovery(day):
            return
        back = Fact(FactKind.CHARGED_BACK, from_day(day), paid.amount_minor, self._ref(), paid.arg)
        self.loan.add(back, day)

    def _let_go(self, settled: int, day: int) -> None:
        """Interest of the last days of a settled loan is waived, and goes back to the borrower."""
        loan, eve = self.loan, settled - 1
        if any(is_made_by_rule(each) and each.effective_on >= from_day(eve)
               for each in loan.facts):  # fmt: skip
            return  # a fee of these days would have to be looked at again
        interest = loan.at(eve).view().accrued_interest
        if interest <= 0:
            return
        waived = Fact(FactKind.WAIVED, from_day(eve), interest, self._ref(),
                      int(Component.INTEREST))  # fmt: skip
        excess = loan.at(day, [waived]).view().overpaid
        if excess > 0:
            loan.add(waived, day)
            provider = next(each.arg for each in reversed(loan.facts)
                            if each.kind is FactKind.PAID)  # fmt: skip
            refunded = Fact(FactKind.REFUNDED, from_day(day), excess, self._ref(1), provider)
            loan.add(refunded, day)

    def _agree(self, day: int) -> None:
        """A plan is asked for, offered and accepted, if the rules have it for this loan."""
        loan, month = self.loan, self.month
        offer = offered_plan(loan, month, from_day(day))
        if offer is None:
            return
        terms, facts = offer
        for each in terms:
            loan.new_rows.append(changed_row([*loan.rows, *loan.new_rows][-1], each, from_day(day)))
        for fact in facts:
            loan.add(fact._replace(ref=self._ref()), day)


def offered_plan(
    loan: SpecialLoan, month: ServedMonth, on: date
) -> tuple[tuple[Terms, ...], tuple[Fact, ...]] | None:
    """New terms and facts of the plan that a borrower asks for; none if it is not offered."""
    if loan.in_recovery(to_day(on)):
        return None
    plan = plan_request(loan.terms[-1].rate_ppm, loan.loan_id, month)
    before = sum(each.kind in AGREED for each in loan.facts)
    try:
        offer = offer_plan(HelpedLoan(tuple(loan.terms), tuple(loan.facts), before), on, plan,
                           role=ROLE)  # fmt: skip
    except UsanceError:
        return None
    return offer.terms, offer.facts


def plan_request(rate_ppm: int, loan_id: int, month: ServedMonth) -> PlanRequest:
    """The plan that a borrower asks for in a month."""
    given, scenario = month.scenario.incidents, month.scenario
    kind = PlanKind(plan_asked(scenario.seed, given, loan_id, month.span.month))
    return PlanRequest(kind, months=given.months, rate_ppm=lowered_ppm(given, rate_ppm),
                       pause_days=given.pause_days)  # fmt: skip
