"""Assumptions of an estimate on a day: dated parameters, curves and scenarios of a policy.

>>> from usance.base.parameters import Parameters
>>> given = Assumptions.at(Parameters.load(), date(2024, 6, 30))
>>> given.prior(Framework.US_GAAP, Claim.CHARGE_OFF, segment=9)[-1], str(given.interest)
(31980000, '3/200')

Macroeconomic factors on defaults are weighted scenarios, then reversion to the long run.

>>> drivers = Drivers(Decimal(1), Decimal("0.02"), Decimal("-6.5"), Decimal("0.86"))
>>> calm = Scenario("calm", 600_000, cpi_ppm=(20_000,), collection_ppm=(860_000,))
>>> harsh = Scenario("harsh", 400_000, cpi_ppm=(20_000,), collection_ppm=(840_000, 850_000))
>>> macro_factors((calm, harsh), drivers, horizon=2, reversion=2, months=5)
(1052000000, 1026000000, 1013000000, 1000000000, 1000000000)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import starmap

from usance.base.codes import Code
from usance.base.errors import UsanceError, raise_all
from usance.base.parameters import Parameters, Value
from usance.base.rates import PPB, PPM, Rate, to_ppb
from usance.books.losses.curves import Curve, curve_problems
from usance.books.losses.errors import CurveError, ScenarioError
from usance.books.losses.expectation import adjusted_rate
from usance.books.losses.stages import STAGES


@dataclass(frozen=True, slots=True)
class Drivers:
    """Elasticities of defaults to the drivers, and the drivers' long-run means."""

    cpi_effect: Decimal
    """Relative change of defaults for a change of consumer prices by 1 (100 %)."""
    cpi_mean: Decimal
    collection_effect: Decimal
    """The same for the share of newly overdue principal collected within 30 days."""
    collection_mean: Decimal


@dataclass(frozen=True, slots=True)
class Scenario:
    """One course of the economy, month by month from the close; the last value holds on."""

    name: str
    weight_ppm: int
    cpi_ppm: tuple[int, ...]
    collection_ppm: tuple[int, ...]
    where: str = ""

    def factor(self, drivers: Drivers, month: int) -> Fraction:
        """The factor on defaults of a month ahead (1, 2 …), relative to the long run."""
        cpi = Fraction(_at(self.cpi_ppm, month), PPM) - Fraction(drivers.cpi_mean)
        collection = Fraction(_at(self.collection_ppm, month), PPM)
        collection -= Fraction(drivers.collection_mean)
        moved = adjusted_rate(
            1, Fraction(drivers.cpi_effect) * cpi, Fraction(drivers.collection_effect) * collection
        )
        return max(moved, Fraction(0))


def scenario_problems(scenarios: Sequence[Scenario]) -> list[UsanceError]:
    """Weights below zero or not summing to one, names there twice."""
    problems: list[UsanceError] = []
    for number, each in enumerate(scenarios):
        where = each.where or f"scenario {each.name}"
        if each.weight_ppm < 0:
            fix = "Give a weight of 0% or more"
            problems.append(ScenarioError("the weight is below zero", where=where, fix=fix))
        if each.name in {other.name for other in scenarios[:number]}:
            what = f"there is another scenario {each.name!r}"
            problems.append(ScenarioError(what, where=where, fix="Give each its own name"))
    total = sum(each.weight_ppm for each in scenarios)
    if scenarios and total != PPM:
        where = scenarios[-1].where or f"scenario {scenarios[-1].name}"
        shown = f"{Decimal(total).scaleb(-4).normalize():f}%"
        problems.append(
            ScenarioError(f"the weights sum to {shown}", where=where, fix="Make them sum to 100%")
        )
    return problems


@lru_cache(maxsize=64)
def macro_factors(
    scenarios: tuple[Scenario, ...], drivers: Drivers, *, horizon: int, reversion: int, months: int
) -> tuple[int, ...]:
    """The weighted factor of each month ahead, in parts per billion.

    It holds in full over the horizon and goes back to one in equal steps over the reversion.
    """
    found = []
    for month in range(1, months + 1):
        full = sum(
            (Fraction(each.weight_ppm, PPM) * each.factor(drivers, month) for each in scenarios),
            Fraction(0 if scenarios else 1),
        )
        kept = Fraction(1)
        if month > horizon:
            kept = max(Fraction(0), 1 - Fraction(month - horizon, max(reversion, 1)))
        found.append(to_ppb(1 + (full - 1) * kept))
    assert all(value >= 0 for value in found)
    return tuple(found) if scenarios else (PPB,) * months


def _at(path: tuple[int, ...], month: int) -> int:
    return path[min(month, len(path)) - 1]


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
    unobserved: tuple[tuple[Fraction, ...], ...]
    """By claim and IFRS 9 stage, losses of a vintage not observed from its start, of exposure."""
    history_from: int | None = None
    """The first month whose vintage was observed from its start; all of them if none is named."""

    @classmethod
    def at(
        cls,
        parameters: Parameters,
        as_of: date,
        *,
        curves: Sequence[PolicyCurve] = (),
        scenarios: Sequence[Scenario] = (),
        history_from: int | None = None,
        history_cohorts: int | None = None,
        unobserved: Mapping[Claim, tuple[Fraction, ...]] | None = None,
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
        stated = unobserved or {}
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
            history_cohorts=history_cohorts or value("history_cohorts").integer,
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
            unobserved=(
                stated.get(Claim.PAYOUT) or _shares(value("unobserved_payout")),
                stated.get(Claim.CHARGE_OFF) or _shares(value("unobserved_charge_off")),
            ),
            history_from=history_from,
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

    def is_observed(self, cohort: int) -> bool:
        """True if the vintage of a month was observed from its start."""
        return self.history_from is None or cohort >= self.history_from

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


def _shares(value: Value) -> tuple[Fraction, ...]:
    """One rate for each IFRS 9 stage, written one after the other."""
    where = f"{value.name} from {value.valid_from}"
    rates = [Fraction(Rate.parse(word, where=where).ppb, PPB) for word in str(value.value).split()]
    if len(rates) != STAGES:
        fix = "Write a rate for each of the three stages"
        raise CurveError(f"has {len(rates)} rates", where=where, fix=fix)
    return tuple(rates)


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
