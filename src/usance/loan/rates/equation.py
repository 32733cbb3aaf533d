"""The equation of an annual rate: what a borrower receives is worth what is paid.

Every method asks for the rate i a period at which the sum of amount / ((1 + f·i) · (1 + i)^t) is
zero, where t compounds and f is a part of a period at simple interest. Here is the sign of that
sum at a given rate, exactly: in Decimal, and on a tie in fractions.

>>> month = Equation.of([TimedFlow(1_000_00, 0), TimedFlow(-1_010_00, 1)])
>>> [month.position(Fraction(percent, 100)) for percent in (0, 1, 2)]
[-1, 0, 1]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

from usance.base.errors import InputError

# Digits of the sign check, and those after which two irrational values are called equal.
DIGITS = (60, 400)


class RateNotFound(InputError):
    """No annual rate makes these flows balance."""

    code = "loan.rate"
    http_status = 422


class RateNotUnique(RateNotFound):
    """The borrower turns lender on the way, so more than one rate, or none, would fit."""

    code = "loan.rate.not_unique"


@dataclass(frozen=True, slots=True)
class TimedFlow:
    """Money at a time; the borrower receives what is positive and pays what is negative."""

    amount: int
    periods: Fraction | int
    fraction: Fraction | int = 0

    @property
    def time(self) -> Fraction:
        """Periods from the start, whole and fraction together."""
        return Fraction(self.periods) + self.fraction


@dataclass(frozen=True)
class Equation:
    """Flows in order of time, one per moment, with the first one received and some paid."""

    flows: tuple[TimedFlow, ...]
    spans: tuple[Fraction, ...]
    """Whole periods from the flow before."""
    turns: int
    """The number of sign changes of the flows."""

    @classmethod
    def of(cls, flows: Sequence[TimedFlow]) -> Equation:
        """Check and order flows; those at the same time are one."""
        netted: dict[tuple[Fraction, Fraction], int] = {}
        for flow in sorted(flows, key=lambda flow: flow.time):
            key = Fraction(flow.periods), Fraction(flow.fraction)
            if key[0] < 0 or not 0 <= key[1] < 1:
                raise RateNotFound(
                    f"a flow at {key[0]} periods and a fraction of {key[1]}",
                    fix="Count whole periods from 0 and give a fraction from 0 to below 1",
                )
            netted[key] = netted.get(key, 0) + flow.amount
        ordered = tuple(TimedFlow(amount, *key) for key, amount in netted.items() if amount)
        signs = [flow.amount > 0 for flow in ordered]
        _require_loan(signs, moments=len(netted))
        spans = [Fraction(after.periods - before.periods) for before, after in pairwise(ordered)]
        turns = sum(before != after for before, after in pairwise(signs))
        return cls(ordered, (Fraction(0), *spans), turns)

    def position(self, rate: Fraction) -> int:
        """Sign of a period's rate less the rate of the flows.

        With one change of sign, that is the sign of the flows' value. With more, a rate at which
        the borrower would be owed money on the way is too low; for the others the value rises with
        the rate, so the sign still changes once.
        """
        if rate <= -1:
            return -1
        for digits in DIGITS:
            sign = self._decimal_sign(rate, Context(prec=digits))
            if sign is not None:
                return sign
        rational = all(span.denominator == 1 for span in self.spans)
        return self._exact_sign(rate) if rational else 0

    def value_sign(self, rate: Fraction) -> int:
        """Sign of the flows' value at a period's rate, whatever happens on the way."""
        return replace(self, turns=1).position(rate)

    def _decimal_sign(self, rate: Fraction, context: Context) -> int | None:
        """The sign of `position`, or None where so many digits cannot tell."""
        total = size = Decimal(0)
        # More than the rounding errors of a value, in units of its last digit.
        roundings = 2 * math.ceil(self.flows[-1].time) + 8 * len(self.flows) + 16
        margin = Decimal(roundings).scaleb(1 - context.prec)
        last = len(self.flows) - 1
        for k, growth in enumerate(self._growths(rate, context)):
            value = context.divide(self.flows[k].amount, growth)
            total = context.add(total, value)
            size = context.add(size, value.copy_abs())
            if k == last or self.turns > 1:
                if total.copy_abs() <= context.multiply(size, margin):
                    return None
                if k == last or total < 0:
                    return 1 if total > 0 else -1
        return None

    def _growths(self, rate: Fraction, context: Context) -> Iterator[Decimal]:
        """The value of one unit of the first flow at the time of each."""
        base = _decimal(1 + rate, context)
        powers = {span: context.power(base, _decimal(span, context)) for span in set(self.spans)}
        growth = Decimal(1)
        fraction = self.flows[0].fraction
        for flow, span in zip(self.flows, self.spans, strict=True):
            growth = context.multiply(growth, powers[span])
            if flow.fraction != fraction:
                odd = (1 + flow.fraction * rate) / (1 + fraction * rate)
                growth = context.multiply(growth, _decimal(odd, context))
                fraction = flow.fraction
            yield growth

    def _exact_sign(self, rate: Fraction) -> int:
        balance = Fraction(0)
        fraction = self.flows[0].fraction
        for flow, span in zip(self.flows, self.spans, strict=True):
            odd = (1 + flow.fraction * rate) / (1 + fraction * rate)
            balance = balance * (1 + rate) ** int(span) * odd + flow.amount
            if balance < 0 and self.turns > 1:
                return -1
            fraction = flow.fraction
        return (balance > 0) - (balance < 0)


def _require_loan(signs: Sequence[bool], moments: int) -> None:
    if len(signs) < 2 or all(signs) or not any(signs):
        why = "all flows fall on one day" if moments == 1 else "the borrower only receives or pays"
        raise RateNotFound(
            f"no rate: {why}", fix="Give what is received as positive and what is paid as negative"
        )
    if not signs[0]:
        raise RateNotFound(
            "no rate: the first flow is a payment of the borrower",
            fix="Start with the day the money is received, and set a fee paid before it against it",
        )


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
