"""The all-in cost of a quote against the highest one allowed on its day.

The cost is the internal rate of return of everything the borrower receives and pays, every fee
inside. A quote above the cap is refused, never trimmed; one at the cap passes.

>>> from usance.base.dates import add_months
>>> day = date(2024, 1, 31)
>>> level = [Flow(day, 10_000_00), *(Flow(add_months(day, k), -945_60) for k in range(1, 12))]
>>> quote = [*level, Flow(add_months(day, 12), -945_55)]  # 24 % a year in whole fen
>>> check_cap(quote, day, Parameters.load()).rate_ppm
240001
>>> check_cap([*quote, Flow(day, -20_00)], day, Parameters.load())  # and a fee at disbursement
Traceback (most recent call last):
usance.loan.rates.cap.RateCapExceeded: pricing.rate_cap: the all-in cost is 24.3914267% a year, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from usance.base.errors import InputError
from usance.base.money import half_up
from usance.base.parameters import Parameters, Value
from usance.base.rates import PPB, PPM, Rate
from usance.loan.rates.annual import Flow, RateBasis, irr_timeline, percent
from usance.loan.rates.equation import TimedFlow
from usance.loan.rates.solver import Timeline

CAP = "pricing.rate_cap"
HALF_A_UNIT = Fraction(1, 2)


class RateCapExceeded(InputError):
    """A quote costs more a year than the cap in force allows."""

    code = "loan.rate_cap"
    http_status = 422


@dataclass(frozen=True, slots=True)
class AnnualCost:
    """The annual cost of a loan to its borrower: the rate, and the amounts it follows from."""

    basis: RateBasis
    rate_ppb: int
    received_minor: int
    paid_minor: int

    @property
    def rate_ppm(self) -> int:
        """The rate in parts per million."""
        return half_up(self.rate_ppb * PPM, PPB)

    @property
    def charges_minor(self) -> int:
        """Everything paid beyond what was received."""
        return self.paid_minor - self.received_minor


def all_in_cost(flows: Sequence[Flow], basis: RateBasis = RateBasis.NOMINAL_MONTHLY) -> AnnualCost:
    """The annual cost of all flows between a borrower and everyone who is paid for the loan."""
    return _cost(_by_day(flows), basis)


def check_cap(
    flows: Sequence[Flow],
    on: date,
    parameters: Parameters,
    *,
    basis: RateBasis = RateBasis.NOMINAL_MONTHLY,
    rounding_minor: Fraction = HALF_A_UNIT,
) -> AnnualCost:
    """The all-in cost of a quote made on a day, or `RateCapExceeded`.

    The market states the cap as twelve times the monthly rate, hence the default basis; loans
    whose interest runs by days are stated by `NOMINAL_BY_DAYS`.

    Interest is rounded to whole minor units in every payment, so that a loan at exactly the cap
    can come out above it by up to `rounding_minor` in each payment. That much is not held against
    a quote, and nothing more: the present value of the payments at the cap may exceed what is
    received by `rounding_minor` a payment, discounted like them. Give 0 to allow nothing.
    """
    if not 0 <= rounding_minor < 1:
        fix = "Give 0 to below 1 minor unit a payment"
        raise InputError(f"an allowance of {rounding_minor}", where="rounding_minor", fix=fix)
    days = _by_day(flows)
    cap = parameters.at(CAP, on)
    cost = _cost(days, basis)
    if _is_above(irr_timeline(days, basis), _rate_of(cap), rounding_minor):
        raise _exceeded(cost, cap, on)
    return cost


def _cost(days: Sequence[Flow], basis: RateBasis) -> AnnualCost:
    return AnnualCost(
        basis=basis,
        rate_ppb=irr_timeline(days, basis).rate(),
        received_minor=sum(flow.amount_minor for flow in days if flow.amount_minor > 0),
        paid_minor=-sum(flow.amount_minor for flow in days if flow.amount_minor < 0),
    )


def _is_above(timeline: Timeline, cap: Rate, rounding_minor: Fraction) -> bool:
    scale, slack = rounding_minor.denominator, rounding_minor.numerator
    lightened = [
        TimedFlow(flow.amount * scale + (slack if flow.amount < 0 else 0), flow.periods)
        for flow in timeline.flows
    ]
    return Timeline(lightened, timeline.per_year).compare(cap.fraction) < 0


def _by_day(flows: Sequence[Flow]) -> list[Flow]:
    """One flow a day: a fee at disbursement is simply less received."""
    days: dict[date, int] = {}
    for flow in flows:
        days[flow.day] = days.get(flow.day, 0) + flow.amount_minor
    return [Flow(day, amount) for day, amount in sorted(days.items()) if amount]


def _rate_of(cap: Value) -> Rate:
    if not isinstance(cap.value, Rate):
        raise InputError(f"{cap.value!r} is no rate", where=CAP, fix="Give it the unit 'rate'")
    return cap.value


def _exceeded(cost: AnnualCost, cap: Value, on: date) -> RateCapExceeded:
    return RateCapExceeded(
        f"the all-in cost is {_text(cost.rate_ppb)}% a year, every fee included, above the cap of "
        f"{cap.value} in force on {on} (since {cap.valid_from}: {cap.source})",
        where=CAP,
        fix=f"Lower the rate or a fee until the all-in cost is at most {cap.value}",
    )


def _text(rate_ppb: int) -> str:
    """A rate in per cent with as many decimals as it has, up to the seven of a ppb."""
    return f"{percent(rate_ppb, decimals=7):f}".rstrip("0").rstrip(".")
