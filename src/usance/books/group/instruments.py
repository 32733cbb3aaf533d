"""Notes the group issued and bonds it holds, at amortised cost by effective interest.

A fact states the price, the costs of the transaction, and the contract: so much is paid on each of
some days, and the face on the last. What an instrument costs or earns beyond its coupons (issued
below par, bought above it, costs) is spread over its life by the effective rate; inside a period
interest grows by the day. It is cumulative and rounded once (ASC 835-30-35, IFRS 9 5.4.1).

>>> from datetime import UTC, datetime
>>> from usance.books.group.facts import fact
>>> known = datetime(2024, 1, 1, tzinfo=UTC)
>>> notes = fact(
...     1, 4, GroupFactKind.NOTES_ISSUED, date(2023, 12, 31), known, 980_000, name="ABS 1",
...     lender="trust_investors", face="10000.00", rate="5%", costs="50.00",
...     days=["2024-12-31", "2025-12-31"],
... )
>>> issued = Instrument.of(notes)
>>> [issued.amortised(day) for day in (date(2024, 6, 30), date(2024, 12, 31), date(2025, 12, 31))]
[6066, 12200, 25000]
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import pairwise

from usance.base.money import MILLION, half_up
from usance.books.effective_interest.instruments import (
    AtAmortisedCost,
    acquisition_cost,
    at_amortised_cost,
    coupon_of,
    dated_bond,
    discount_at_issue,
)
from usance.books.group.entities import Entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.funding import accruals, cash_of
from usance.books.group.lines import Amount
from usance.books.group.readers import PaymentPurpose

PAYMENTS: Mapping[GroupFactKind, GroupFactKind] = {
    GroupFactKind.NOTES_PAID: GroupFactKind.NOTES_ISSUED,
    GroupFactKind.BOND_PAID: GroupFactKind.BOND_BOUGHT,
}
"""Kinds of payments, each with the kind that inception its instrument."""
_NAMES = {GroupFactKind.NOTES_ISSUED: "notes", GroupFactKind.BOND_BOUGHT: "bond"}


@dataclass(frozen=True, slots=True)
class Instrument:
    """Notes or a bond: the fact that inception it, its amortisation table, its payments."""

    inception: GroupFact
    coupon_minor: int
    held: AtAmortisedCost
    paid: tuple[GroupFact, ...] = ()

    @classmethod
    def of(cls, inception: GroupFact, paid: Sequence[GroupFact] = ()) -> Instrument:
        """The instrument of a fact; an issuer's costs lower the initial carrying amount."""
        detail = inception.detail
        costs = (
            -detail["costs"] if inception.kind is GroupFactKind.NOTES_ISSUED else detail["costs"]
        )
        cost = acquisition_cost(inception.amount_minor, costs)
        coupon = _whole(
            coupon_of(detail["face"], Fraction(detail["rate"], MILLION), detail["a_year"])
        )
        held = _held(cost, inception.effective_on, detail["days"], coupon, detail["face"])
        return cls(inception, coupon, held, tuple(paid))

    @property
    def early_redemption(self) -> GroupFact | None:
        """The payment that redeemed it early, if one did."""
        early = (each for each in self.paid if each.detail["as"] is PaymentPurpose.WHOLE)
        return next(early, None)

    def coupons(self, day: date) -> int:
        """Coupons accrued to date."""
        return _whole(self._accrued(day, [Fraction(self.coupon_minor)] * len(self.held.table)))

    def amortised(self, day: date) -> int:
        """Discount (or premium, below zero) and costs amortised to date."""
        at_start = discount_at_issue(self.inception.detail["face"], self.held.cost)
        return _whole(at_start - self._discount(day))

    def paid_by(self, day: date, what: PaymentPurpose = PaymentPurpose.COUPON) -> int:
        """Payments to date for one purpose."""
        own = [each for each in self.paid if each.detail["as"] is what]
        return sum(each.amount_minor for each in own if each.effective_on <= day)

    def carrying_amount(self, day: date) -> int:
        """The carrying amount at the end of a day, with the accrued coupon."""
        paid = sum(self.paid_by(day, what) for what in PaymentPurpose)
        return int(self.held.cost) + self.coupons(day) + self.amortised(day) - paid

    def _discount(self, day: date) -> Fraction:
        """The discount not yet amortised: face less carrying amount."""
        beyond = [period.interest - self.coupon_minor for period in self.held.table]
        return discount_at_issue(
            self.inception.detail["face"], self.held.cost + self._accrued(day, beyond)
        )

    def _accrued(self, day: date, periods: Sequence[Fraction]) -> Fraction:
        """Amounts of periods accrued to date, by days; nothing accrues after a redemption."""
        until = min(day, self.early_redemption.effective_on) if self.early_redemption else day
        days = pairwise([self.inception.effective_on, *self.inception.detail["days"]])
        total = Fraction(0)
        for (start, end), whole in zip(days, periods, strict=True):
            elapsed = min(max((until - start).days, 0), (end - start).days)
            total += whole * elapsed / (end - start).days
        return total


@cache
def _held(
    cost: Fraction, inception: date, days: tuple[date, ...], coupon: int, face: int
) -> AtAmortisedCost:
    # A close asks for an instrument many times, and its rate takes a while to find.
    return at_amortised_cost(cost, dated_bond(inception, days, coupon, face))


def instruments(facts: Iterable[GroupFact]) -> dict[tuple[GroupFactKind, str], Instrument]:
    """Every instrument by its kind and name."""
    inception: dict[tuple[GroupFactKind, str], GroupFact] = {}
    paid: dict[tuple[GroupFactKind, str], list[GroupFact]] = {}
    for each in facts:
        if each.kind in PAYMENTS.values():
            inception[each.kind, each.detail["name"]] = each
        elif each.kind in PAYMENTS:
            paid.setdefault((PAYMENTS[each.kind], each.detail["name"]), []).append(each)
    return {key: Instrument.of(each, paid.get(key, ())) for key, each in inception.items()}


def instrument_amounts(
    facts: Iterable[GroupFact], entities: Entities, day: date
) -> Iterator[Amount]:
    """Issue or purchase, costs, coupons, amortisation, payments, and the gain of a redemption."""
    for (kind, _), each in instruments(facts).items():
        name, inception, on = _NAMES[kind], each.inception, each.inception.effective_on
        accounts = _accounts(inception)
        yield Amount(kind.label, inception, inception.amount_minor, on, accounts)
        yield Amount(f"{name}_costs", inception, inception.detail["costs"], on, accounts)
        foreign = inception.currency is not entities[inception.entity].currency
        growing = {f"{name}_coupon": each.coupons, f"{name}_discount": each.amortised}
        for part, so_far in growing.items():
            for end, minor in accruals(on, so_far, day, foreign=foreign):
                yield Amount(part, inception, minor, end, accounts)
        for payment in each.paid:
            paid_on = payment.effective_on
            yield Amount(payment.kind.label, payment, payment.amount_minor, paid_on, accounts)
        if each.early_redemption:
            yield from _redeemed(name, each, each.early_redemption, accounts)


def _redeemed(
    name: str, held: Instrument, last: GroupFact, accounts: Mapping[str, str]
) -> Iterator[Amount]:
    """Early redemption: unpaid coupons are part of the price, the rest is a gain or loss."""
    on = last.effective_on
    if last.kind is GroupFactKind.NOTES_PAID:
        yield Amount(
            "notes_coupon_redeemed", last, held.coupons(on) - held.paid_by(on), on, accounts
        )
    yield Amount(f"{name}_redeemed", last, held.carrying_amount(on), on, accounts)


def _accounts(inception: GroupFact) -> dict[str, str]:
    if inception.kind is GroupFactKind.NOTES_ISSUED:
        return {"lender": inception.detail["lender"], "cash": cash_of(inception)}
    return {"asset": inception.detail["asset"]}


def _whole(value: Fraction) -> int:
    return half_up(value.numerator, value.denominator)
