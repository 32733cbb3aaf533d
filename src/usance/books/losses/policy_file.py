"""Documents of loss policies: curves, scenarios and overlays, problems with their lines.

>>> text = '''
... scenarios:
...   - {name: base, weight: 70%, cpi: [2%], collection: [85%]}
...   - {name: harsh, weight: 20%, cpi: [4%], collection: [80%]}
... '''
>>> parse_policy(text, name="losses.yaml", currency="CNY")
Traceback (most recent call last):
usance.books.losses.errors.ScenarioError: losses.yaml line 4, scenarios[2]: \
the weights sum to 90%. Make them sum to 100%.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from usance.base.dates import parse_month
from usance.base.documents import read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import (
    Fields,
    amount_of,
    day,
    fields_of,
    one_of,
    text,
    whole_of,
)
from usance.base.parameters import Parameters
from usance.base.rates import PPB, PPM, Rate
from usance.books.losses.assumptions import (
    Assumptions,
    Claim,
    Framework,
    PolicyCurve,
    Scenario,
    scenario_problems,
)
from usance.books.losses.curves import curve_problems
from usance.books.losses.errors import CurveError, ScenarioError
from usance.books.losses.overlays import Overlay, overlay_problems
from usance.books.losses.stages import STAGES

MAX_SEGMENT = 2**15 - 1
MAX_COHORTS = 120


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """A lender's curves, scenarios and overlays, besides the dated parameters."""

    curves: tuple[PolicyCurve, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    history_from: int | None = None
    """The first month whose loans are all in the book, those that are gone included."""
    history_cohorts: int | None = None
    """The vintages that have to have reached an age before a curve follows them there."""
    unobserved: Mapping[Claim, tuple[Fraction, ...]] = field(default_factory=dict)
    """By claim and stage, what older loans are expected to lose of their exposure."""

    def assumptions(self, parameters: Parameters, as_of: date) -> Assumptions:
        """The assumptions of a day under this policy."""
        return Assumptions.at(
            parameters, as_of, curves=self.curves, scenarios=self.scenarios,
            history_from=self.history_from, history_cohorts=self.history_cohorts,
            unobserved=self.unobserved,
        )  # fmt: skip


def read_policy(path: Path | str, *, currency: str, as_of: date | None = None) -> LossPolicy:
    """The policy in a YAML or JSON file; overlays that have ended by `as_of` are problems."""
    return parse_policy(read_text(path), name=str(path), currency=currency, as_of=as_of)


def parse_policy(
    written: str, *, name: str, currency: str, as_of: date | None = None
) -> LossPolicy:
    """The policy in a text, or everything that is wrong with it."""
    given = fields_of(written, name)
    curves = [_curve(each) for each in given.each("curves")]
    scenarios = [_scenario(each) for each in given.each("scenarios")]
    overlays = [_overlay(each, currency) for each in given.each("overlays")]
    history_from = given.take("history_from", _month)
    history_cohorts = given.take("history_cohorts", whole_of(1, MAX_COHORTS))
    unobserved = _unobserved(given.inner("unobserved"))
    given.close()
    if None not in scenarios:
        given.problems += scenario_problems([each for each in scenarios if each])
    given.problems += overlay_problems([each for each in overlays if each], as_of=as_of or date.min)
    raise_all(given.problems, where=name)
    return LossPolicy(
        tuple(filter(None, curves)), tuple(filter(None, scenarios)), tuple(filter(None, overlays)),
        history_from, history_cohorts, unobserved,
    )  # fmt: skip


def _month(given: Any, where: str) -> int:
    return parse_month(text(given, where), where=where)


def _unobserved(given: Fields | None) -> dict[Claim, tuple[Fraction, ...]]:
    """`{payout: [2.6%, 90%, 95%]}`: a rate for each stage."""
    found: dict[Claim, tuple[Fraction, ...]] = {}
    for claim in Claim if given is not None else ():
        rates = _rates(given, claim.label) if given is not None and claim.label in given else []
        if rates and len(rates) != STAGES:
            assert given is not None
            given.wrong(f"has {len(rates)} rates", "Give one for each stage", claim.label)
        elif rates:
            found[claim] = tuple(Fraction(ppb, PPB) for ppb, _ in rates)
    if given is not None:
        given.close()
    return found


def _curve(given: Fields) -> PolicyCurve | None:
    framework = given.take("framework", one_of(Framework)) or Framework.US_GAAP
    claim = given.need("claim", one_of(Claim))
    segment = given.need("segment", whole_of(0, MAX_SEGMENT))
    valid_from = given.need("from", day)
    source = given.need("source", text)
    months = _rates(given, "months")
    given.close()
    given.problems += curve_problems(months)
    if not months and given.is_sound:
        fix = "List the cumulative rate of month 0, 1, 2 …"
        error = CurveError("the curve has no months", where=given.where("months"), fix=fix)
        given.problems.append(error)
    if not given.is_sound:
        return None
    points = tuple(ppb for ppb, _ in months)
    return PolicyCurve(framework, claim, segment, valid_from, points, source)


def _scenario(given: Fields) -> Scenario | None:
    name = given.need("name", text)
    weight = given.need("weight", _share)
    paths = {key: _rates(given, key) for key in ("cpi", "collection")}
    given.close()
    for key, path in paths.items():
        if not path and given.is_sound:
            fix = "List its value of month 1, 2, 3 … ahead"
            error = ScenarioError(f"{key} is empty", where=given.where(key), fix=fix)
            given.problems.append(error)
    if not given.is_sound:
        return None
    cpi, collection = (tuple(ppb * PPM // PPB for ppb, _ in path) for path in paths.values())
    return Scenario(name, weight, cpi, collection, where=given.where())


def _overlay(given: Fields, currency: str) -> Overlay | None:
    # What an overlay may not lack is asked for here by name, and checked in one place for all.
    estimate, reason = given.need("estimate", text), given.take("reason", text)
    approver, ends_on = given.take("approver", text), given.take("ends_on", day)
    segment = given.need("segment", whole_of(0, MAX_SEGMENT))
    factor, amount = given.take("factor", _factor), given.take("amount", amount_of(currency))
    begins_on = given.take("from", day)
    given.close()
    if not given.is_sound:
        return None
    return Overlay(
        estimate,
        segment,
        reason or "",
        approver or "",
        ends_on,
        factor,
        amount,
        given.where(),
        begins_on,
    )


def _rates(given: Fields, key: str) -> list[tuple[int, str]]:
    """A list of rates (ppb) with their places; the fields keep what cannot be read."""
    found = given.need(key, _listed)
    rates = []
    for number, item in enumerate(found or [], start=1):
        where = given.where(key, number)
        try:
            rates.append((_rate(item, where), where))
        except UsanceError as error:
            given.problems.append(error)
    return rates


def _listed(given: Any, where: str) -> list[Any]:
    if isinstance(given, list):
        return given
    raise DocumentError("is not a list", where=where, fix="Write [0%, 0.5%, …]")


def _rate(given: Any, where: str) -> int:
    # A curve may end at 1, which as a rate alone could be taken for 1%.
    return PPB if given == 1 and type(given) is not bool else Rate.parse(given, where=where).ppb


def _share(given: Any, where: str) -> int:
    return _rate(given, where) * PPM // PPB


def _factor(given: Any, where: str) -> Decimal:
    if type(given) is int or isinstance(given, Decimal):
        return Decimal(given)
    raise DocumentError(f"{given!r} is not a factor", where=where, fix="Write such as 1.10")
