"""The steps of a case: events of its loan, and checks of its schedule between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from usance.conform.schedules.cells import Difference, first_difference
from usance.loan.convention import PeriodUnit
from usance.migration.account import Account
from usance.migration.bounds import minor
from usance.migration.facts import (
    GOODWILL_CREDIT,
    INTEREST_REFUND,
    MERCHANT_REFUND,
    PAYOUT_REFUND,
    REPAYMENT,
    MigratedFact,
    MigratedFactKind,
    ReAgeing,
)
from usance.migration.history import replay, settlement
from usance.migration.terms import MigratedTerms, ReAgeInterest

Step = Mapping[str, Any]
CHECK = "check_schedule"
PAYMENTS = {
    "repayment": REPAYMENT,
    "merchant_issued_refund": MERCHANT_REFUND,
    "payout_refund": PAYOUT_REFUND,
    "goodwill_credit": GOODWILL_CREDIT,
    "interest_refund": INTEREST_REFUND,
    "interest_payment_waiver": "interest_payment_waiver",
    "charge_adjustment": "charge_adjustment",
}
AGEING_INTEREST = {
    "DEFAULT": ReAgeInterest.DEFAULT,
    "EQUAL_AMORTIZATION_PAYABLE_INTEREST": ReAgeInterest.PAYABLE,
    "EQUAL_AMORTIZATION_FULL_INTEREST": ReAgeInterest.FULL,
}
_TRANSACTIONS = (
    MigratedFactKind.DISBURSED,
    MigratedFactKind.PAID,
    MigratedFactKind.CHARGED_BACK,
    MigratedFactKind.REFUNDED,
    MigratedFactKind.CHARGED_OFF,
)
_PENALTY_WORDS = ("NSF", "LATE", "PENALTY", "OVERDUE")


class UnsupportedStep(Exception):
    """A step that asks for what no option here can do; the message says what."""


class CaseRun:
    """A case being played: today, the facts so far, and the day the loan was last touched."""

    def __init__(
        self, terms: MigratedTerms, planned: int, *, lists_disbursements: bool = False
    ) -> None:
        self.terms, self.planned = terms, planned
        self.lists_disbursements = (
            lists_disbursements  # later disbursements stand in the schedule from the start
        )
        self.to_come: list[tuple[date, int]] = []
        self.today = date.min
        self.touched = date.min
        self.facts: list[MigratedFact] = []
        self.number = 0

    def run(self, steps: Sequence[Step]) -> tuple[int, Difference] | None:
        """Play all steps up to the last check; the first check that differs, and where."""
        checks = [index for index, step in enumerate(steps) if step["type"] == CHECK]
        number = 0
        self._start(steps)
        for step in steps[: checks[-1] + 1] if checks else ():
            if step["type"] == CHECK:
                number += 1
                difference = first_difference(self.account(), step["rows"], step["totals"])
                if difference:
                    return number, difference
            else:
                self.play(step)
        return None

    def _start(self, steps: Sequence[Step]) -> None:
        """The calendar of a loan begins with its first disbursement."""
        first = next((step for step in steps if step["type"] == "disburse"), None)
        if first is None:
            raise UnsupportedStep("nothing is disbursed")
        self.terms = self.terms.changed(disbursed_on=date.fromisoformat(first["date"]))
        if self.lists_disbursements:
            draws = [step for step in steps if step["type"] == "disburse"]
            self.to_come = [(date.fromisoformat(s["date"]), self._minor(s)) for s in draws]
        for step in steps:
            if step["type"] == "business_date":
                break
            # Nothing moves the calendar before that, and nothing is booked ahead of it.
            if step["type"] in ("disburse", "payoff", "charge_off", *PAYMENTS) and "date" in step:
                self.today = max(self.today, date.fromisoformat(step["date"]))

    def account(self) -> Account:
        """The loan as it stood when it was last touched; before that, as it is planned."""
        if not self.facts:
            day = self.terms.disbursed_on
            planned = MigratedFact(MigratedFactKind.DISBURSED, day, day, amount=self.planned)
            return replay(self.terms, [planned], day)
        account = replay(self.terms, self.facts, self.touched)
        account.announced = list(self.to_come)
        return account

    def play(self, step: Step) -> None:
        """Play one step."""
        name = step["type"]
        if name in PAYMENTS:
            self._fact(
                MigratedFactKind.PAID,
                self._day(step),
                amount=self._minor(step),
                transaction=PAYMENTS[name],
            )
        elif name in _STEPS:
            _STEPS[name](self, step)
        else:
            raise UnsupportedStep(f"the step {name!r} is not known here")

    def _day(self, step: Step, field: str = "date") -> date:
        day = date.fromisoformat(step[field]) if field in step else self.today
        if day == date.min:
            raise UnsupportedStep(f"the step {step['type']!r} has no day, and none came before it")
        if self.today == date.min:
            self.today = day
        return day

    def _minor(self, step: Step) -> int:
        return minor(Decimal(step["amount"]), self.terms.decimals)

    def _fact(self, kind: MigratedFactKind, on: date, **content: Any) -> None:
        if kind in _TRANSACTIONS:
            self.today = max(self.today, on)
        self.number += 1
        self.facts.append(MigratedFact(kind, on, self.today, self.number, **content))
        self.touched = self.today

    def business_date(self, step: Step) -> None:
        """The calendar moves on."""
        self.today = date.fromisoformat(step["date"])

    def end_of_day(self, step: Step) -> None:
        """The loan is brought up to date."""
        del step
        self.touched = self.today

    def disburse(self, step: Step) -> None:
        """Money is drawn."""
        self.to_come = self.to_come[1:]
        self._fact(MigratedFactKind.DISBURSED, self._day(step), amount=self._minor(step))

    def payoff(self, step: Step) -> None:
        """A repayment of whatever settles the loan."""
        day = self._day(step)
        amount = settlement(self.terms, self.facts, day)
        self._fact(MigratedFactKind.PAID, day, amount=amount)

    def add_charge(self, step: Step) -> None:
        """A fee, or a penalty by its name."""
        name = str(step["charge"]).upper()
        is_penalty = any(word in name for word in _PENALTY_WORDS)
        day = date.fromisoformat(step["due_date"])
        self._fact(MigratedFactKind.CHARGED, day, amount=self._minor(step), is_penalty=is_penalty)

    def chargeback(self, step: Step) -> None:
        """The last payment is taken back, in part or whole."""
        payments = [fact for fact in self.facts if fact.kind is MigratedFactKind.PAID]
        of = payments[-1].number if payments else 0
        self._fact(
            MigratedFactKind.CHARGED_BACK, self._day(step), amount=self._minor(step), count=of
        )

    def refund_overpaid(self, step: Step) -> None:
        """Refund what was overpaid."""
        self._fact(MigratedFactKind.REFUNDED, self._day(step), amount=self._minor(step))

    def reverse(self, step: Step) -> None:
        """A transaction of a day never happened."""
        day = date.fromisoformat(step["date"])
        name = str(step["transaction"]).lower()
        wanted = name.removeprefix("last ").replace(" ", "_")
        found = [f for f in self.facts if _is_transaction(f, wanted) and f.on == day]
        place = -1 if name.startswith("last ") else int(step.get("nth", 1)) - 1
        if not -1 <= place < len(found) or not found:
            raise UnsupportedStep(f"there is no {wanted} on {day} to reverse")
        self.facts.remove(found[place])
        self.touched = self.today

    def reschedule(self, step: Step) -> None:
        """A new rate, another due date, or more instalments."""
        data = dict(step["data"])
        day = date.fromisoformat(data.pop("rescheduleFromDate"))
        for name in ("submittedOnDate", "reschedulereason"):
            data.pop(name, None)
        if "newInterestRate" in data:
            self._fact(
                MigratedFactKind.RATE_CHANGED,
                day,
                rate_pct=Decimal(str(data.pop("newInterestRate"))),
            )
        if "adjustedDueDate" in data:
            until = date.fromisoformat(data.pop("adjustedDueDate"))
            self._fact(MigratedFactKind.DUE_DATE_MOVED, day, until=until)
        if "extraTerms" in data:
            self._fact(MigratedFactKind.EXTENDED, day, count=int(data.pop("extraTerms")))
        if data:
            raise UnsupportedStep(f"a reschedule by {', '.join(sorted(data))} is not known here")

    def interest_pause(self, step: Step) -> None:
        """Days without interest."""
        data = step.get("data", step)
        first, last = (date.fromisoformat(data[name]) for name in ("startDate", "endDate"))
        self._fact(MigratedFactKind.INTEREST_PAUSED, first, until=last)

    def re_age(self, step: Step) -> None:
        """All that is open is spread over new instalments."""
        data = step["data"]
        handling = data.get("reAgeInterestHandling", "DEFAULT")
        ageing = ReAgeing(
            first_due_on=date.fromisoformat(data["startDate"]),
            instalments=int(data["numberOfInstallments"]),
            every=int(data.get("frequencyNumber", 1)),
            unit=PeriodUnit(str(data.get("frequencyType", "MONTHS")).lower()),
            interest=AGEING_INTEREST[handling],
        )
        self._fact(MigratedFactKind.RE_AGED, self._day(step), ageing=ageing)

    def re_amortise(self, step: Step) -> None:
        """Spread what is overdue over the instalments to come."""
        self._fact(MigratedFactKind.RE_AMORTISED, self._day(step))

    def charge_off(self, step: Step) -> None:
        """The loan is charged off."""
        self._fact(MigratedFactKind.CHARGED_OFF, self._day(step))

    def set_rule(self, step: Step) -> None:
        """A product's rule for loans made from now on; a running loan keeps its own."""


def _is_transaction(fact: MigratedFact, name: str) -> bool:
    return name == (
        fact.transaction if fact.kind is MigratedFactKind.PAID else _NAMES.get(fact.kind)
    )


_NAMES = {
    MigratedFactKind.DISBURSED: "disbursement",
    MigratedFactKind.CHARGED_BACK: "chargeback",
    MigratedFactKind.CHARGED_OFF: "charge-off",
    MigratedFactKind.RE_AGED: "re-age",
    MigratedFactKind.RE_AMORTISED: "re-amortize",
    MigratedFactKind.REFUNDED: "credit_balance_refund",
}
"""Names of facts other than payments on other systems."""

_STEPS: dict[str, Callable[[CaseRun, Step], None]] = {
    "business_date": CaseRun.business_date,
    "end_of_day": CaseRun.end_of_day,
    "disburse": CaseRun.disburse,
    "payoff": CaseRun.payoff,
    "add_charge": CaseRun.add_charge,
    "chargeback": CaseRun.chargeback,
    "credit_balance_refund": CaseRun.refund_overpaid,
    "reverse": CaseRun.reverse,
    "reschedule": CaseRun.reschedule,
    "interest_pause": CaseRun.interest_pause,
    "re_age": CaseRun.re_age,
    "re_amortise": CaseRun.re_amortise,
    "charge_off": CaseRun.charge_off,
    "set_future_instalment_rule": CaseRun.set_rule,
}
