"""Assumptions of an estimate on a day: dated parameters, curves and scenarios of a policy.

>>> from usance.base.parameters import Parameters
>>> given = Assumptions.at(Parameters.load(), date(2024, 6, 30))
>>> given.prior(Framework.US_GAAP, Claim.CHARGE_OFF, segment=9)[-1], str(given.interest)
(31980000, '3/200')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import starmap

from usance.base.codes import Code
from usance.base.errors import UsanceError, raise_all
from usance.base.parameters import Parameters, Value
from usance.base.rates import PPB, Rate, to_ppb
from usance.books.losses.curves import Curve, curve_problems
from usance.books.losses.errors import CurveError
from usance.books.losses.macro import Drivers, Scenario, macro_factors, scenario_problems


class Claim(Code):
    """The event of default: a payout to the institution, or a charge-off of our own loan."""

    PAYOUT = 0
    CHARGE_OFF = 1


class Framework(Code):
    """The accounting framework of an estimate."""

    US_GAAP = 0
    IFRS = 1


@dataclass(frozen=True, slots=True)
class PolicyCurve:
    """A curve that a policy sets for a segment from a day on."""

    framework: Framework
    claim: Claim
    segment: int
    valid_from: date
    curve: Curve
    source: str


@dataclass(frozen=True, slots=True)
class Assumptions:
    """All assumptions of an estimate."""

    default_curves: tuple[Curve, ...]
    """By claim, the curve of a segment that has none of its own."""
    policy_curves: tuple[PolicyCurve, ...]
    recovery: tuple[Fraction, ...]
    """By claim, the share of a defaulted amount that is recovered in the end."""
    ifrs_multiple: tuple[Fraction, ...]
    """By claim, IFRS expectations over those of US GAAP."""
    interest: Fraction
    """The institution's interest in a payout, over its principal."""
    fee_severity: Fraction
    monthly_discount: Fraction
    history_window: int
    history_cohorts: int
    drivers: Drivers
    scenarios: tuple[Scenario, ...]
    horizon: int
    reversion: int
    stage_2_factor: Decimal
    stage_weights: tuple[Decimal, Decimal, Decimal]
    receivable_matrix: Curve
    sensitivity: Fraction

    @classmethod
    def at(
        cls,
        parameters: Parameters,
        as_of: date,
        *,
        curves: Sequence[PolicyCurve] = (),
        scenarios: Sequence[Scenario] = (),
    ) -> Assumptions:
        """The assumptions in force on a day."""
        raise_all(scenario_problems(scenarios), where="scenarios")

        def value(name: str) -> Value:
            return parameters.at(f"losses.{name}", as_of)

        def share(name: str) -> Fraction:
            return Fraction(value(name).integer, 1_000_000)

        def multiple(name: str) -> Decimal:
            return Decimal(str(value(name).value))

        known = sorted((each for each in curves if each.valid_from <= as_of), key=_age)
        return cls(
            default_curves=(_points(value("payout_curve")), _points(value("charge_off_curve"))),
            policy_curves=tuple(known),
            recovery=(share("recovery_payout"), share("recovery_charge_off")),
            ifrs_multiple=(
                Fraction(multiple("ifrs_payout_multiple")),
                Fraction(multiple("ifrs_charge_off_multiple")),
            ),
            interest=share("institution_interest"),
            fee_severity=Fraction(multiple("fee_severity")),
            monthly_discount=share("ifrs_discount") / 12,
            history_window=value("history_window").integer,
            history_cohorts=value("history_cohorts").integer,
            drivers=Drivers(
                multiple("cpi_effect"),
                Decimal(value("cpi_mean").integer).scaleb(-6),
                multiple("collection_effect"),
                Decimal(value("collection_mean").integer).scaleb(-6),
            ),
            scenarios=tuple(scenarios),
            horizon=value("horizon").integer,
            reversion=value("reversion").integer,
            stage_2_factor=multiple("stage_2_factor"),
            stage_weights=(Decimal(1), multiple("stage_2_weight"), multiple("stage_3_weight")),
            receivable_matrix=_points(value("receivable_matrix")),
            sensitivity=Fraction(
                parameters.at("accounting.default_rate_sensitivity", as_of).integer, 1_000_000
            ),
        )

    def policy_curve(self, framework: Framework, claim: Claim, segment: int) -> Curve | None:
        """The latest curve of the policy for a segment, if there is one."""
        wanted = (framework, claim, segment)
        fits = [
            each
            for each in self.policy_curves
            if (each.framework, each.claim, each.segment) == wanted
        ]
        return self._in_payouts(fits[-1].curve, claim) if fits else None

    def prior(self, framework: Framework, claim: Claim, segment: int) -> Curve:
        """The curve expected before any history, a payout with the institution's interest."""
        return self.policy_curve(framework, claim, segment) or self._in_payouts(
            self.default_curves[claim], claim
        )

    def max_loss_rate(self, claim: Claim) -> Fraction:
        """The most that can be lost of an exposure."""
        return 1 + self.interest if claim is Claim.PAYOUT else Fraction(1)

    def macro(self, months: int) -> tuple[int, ...]:
        """The factor on defaults of each month ahead, in parts per billion."""
        return macro_factors(
            self.scenarios, self.drivers, horizon=self.horizon, reversion=self.reversion,
            months=months,
        )  # fmt: skip

    def _in_payouts(self, curve: Curve, claim: Claim) -> Curve:
        most = self.max_loss_rate(claim)
        return tuple(min(PPB, to_ppb(Fraction(value, PPB) * most)) for value in curve)


def _age(curve: PolicyCurve) -> date:
    return curve.valid_from


def _points(value: Value) -> Curve:
    """Rates written one after the other."""
    where = f"{value.name} from {value.valid_from}"
    words = str(value.value).split()
    points = [
        (Rate.parse(word, where=place).ppb, place)
        for word, place in ((each, f"{where}, month {number}") for number, each in enumerate(words))
    ]
    problems: list[UsanceError] = curve_problems(points)
    if not points:
        problems.append(CurveError("has no months", where=where, fix="Write rates such as 0% 0.5%"))
    raise_all(problems, where=where)
    return tuple(starmap(lambda ppb, _: ppb, points))
