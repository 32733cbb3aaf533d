"""The estimate of a close: from a cohort triangle and exposures to a loss rate for every pool.

Curves are observed in the triangle and completed by prior ones (`curves`), adjusted for the economy
(`macro`), applied to each pool (`pools`), floored per segment, overlaid (`overlays`), staged for
IFRS (`stages`), and divided by the exposure. Each rate is rounded once, to parts per billion; a
loan's allowance is that rate times its own exposure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

import numpy as np

from usance.base.codes import FundingModel
from usance.base.dates import to_month
from usance.base.errors import raise_all
from usance.base.rates import PPB, to_ppb
from usance.books.kernel.policy_layout import (
    CONTINGENT,
    CONTRACT,
    IFRS_CONTINGENT,
    IFRS_LOANS,
    LOANS,
    RATE_COUNT,
    RECEIVABLE,
)
from usance.books.losses.assumptions import Assumptions, Claim, Framework
from usance.books.losses.curves import Curve, completed_curve, lifetime, observed_curve
from usance.books.losses.errors import ExposureError, OverlayError
from usance.books.losses.estimates import ALL, Estimates, Row
from usance.books.losses.expectation import expected_loss, loss_rate
from usance.books.losses.overlays import Overlay, in_force, overlay_problems
from usance.books.losses.pools import (
    Exposures,
    Outlook,
    Pool,
    Vintage,
    allocated_targets,
    expected_pool,
    pool_name,
    recovery_rate,
    spread,
)
from usance.books.losses.stages import STAGES, has_sicr, stage_rates
from usance.measure.triangles import Triangle

_TARGETS = {
    FundingModel.CAPITAL_HEAVY: (("contingent", CONTINGENT), ("ifrs_contingent", IFRS_CONTINGENT)),
    FundingModel.ON_BALANCE_SHEET: (("loan_allowance", LOANS), ("ifrs_loan_allowance", IFRS_LOANS)),
}
_FEES = {
    FundingModel.CAPITAL_HEAVY: (("receivable", RECEIVABLE), ("contract", CONTRACT)),
    FundingModel.CAPITAL_LIGHT: (("contract", CONTRACT),),
}


@dataclass(slots=True)
class _Work:
    """The state of an estimate in progress."""

    triangle: Triangle
    exposures: Exposures
    assumptions: Assumptions
    overlays: dict[tuple[str, int], Overlay]
    shift: Fraction
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Segment:
    """One segment's place, claim, vintages and curve."""

    place: int
    number: int
    model: FundingModel
    claim: Claim
    vintages: list[Vintage]
    prior: Curve
    curve: Curve
    recovery: Fraction


def estimate(
    triangle: Triangle,
    exposures: Exposures,
    assumptions: Assumptions,
    overlays: Sequence[Overlay] = (),
    *,
    as_of: date,
    close_no: int,
    shift: Fraction = Fraction(0),
) -> Estimates:
    """Loss rates of every pool; `shift` moves lifetime default rates, for a sensitivity."""
    _check(triangle, exposures, overlays, as_of)
    chosen = {(each.estimate, each.segment): each for each in in_force(overlays, as_of)}
    work = _Work(triangle, exposures, assumptions, chosen, shift)
    shape = len(triangle.segments), len(triangle.cohorts)
    rates = np.zeros((*shape, RATE_COUNT), np.int64)
    targets: dict[str, list[list[Fraction]]] = {}
    for place in range(shape[0]):
        segment = _segment(work, place)
        for name, values in _fill(work, segment, rates[place]).items():
            empty = [[Fraction(0)] * shape[1] for _ in range(shape[0])]
            targets.setdefault(name, empty)[place] = values
    work.rows += [Row("macro_factor", ALL, month, value)
                  for month, value in enumerate(_macro(work), start=1)
                  if assumptions.scenarios]  # fmt: skip
    work.rows += [Row("receivable_matrix", ALL, bucket, value)
                  for bucket, value in enumerate(assumptions.receivable_matrix)]  # fmt: skip
    return Estimates(
        close_no, to_month(as_of), triangle.segments, triangle.cohorts,
        rates.reshape(-1, RATE_COUNT), targets, tuple(work.rows), tuple(work.notes),
    )  # fmt: skip


def _check(
    triangle: Triangle, exposures: Exposures, overlays: Sequence[Overlay], as_of: date
) -> None:
    if len(triangle.cohorts) and int(triangle.cohorts[-1]) != to_month(as_of):
        fix = f"Make the triangle as of {as_of}"
        raise ExposureError("the triangle ends in another month", where="triangle", fix=fix)
    exposures.check(triangle)
    problems = overlay_problems(overlays, as_of=as_of)
    models = dict(zip(map(int, triangle.segments), exposures.models, strict=True))
    for number, each in enumerate(overlays, start=1):
        where = each.where or f"overlay {number}"
        if each.segment not in models:
            what = f"there is no segment {each.segment}"
            fix = f"Segments: {', '.join(map(str, models))}"
            problems.append(OverlayError(what, where=where, fix=fix))
            continue
        model = FundingModel(int(models[each.segment]))
        names = [name for name, _ in (*_TARGETS.get(model, ()), *_FEES.get(model, ()))]
        if each.estimate not in names:
            what = f"segment {each.segment} is {model.label} and has no {each.estimate}"
            fix = f"Lay it on {' or '.join(names) or 'another segment'}"
            problems.append(OverlayError(what, where=where, fix=fix))
    raise_all(problems, where="overlays")


def _macro(work: _Work) -> tuple[int, ...]:
    return work.assumptions.macro(work.assumptions.horizon + work.assumptions.reversion)


def _segment(work: _Work, place: int) -> _Segment:
    triangle, given = work.triangle, work.assumptions
    claim, number = work.exposures.claim(place), int(triangle.segments[place])
    defaulted = (triangle.compensated_minor, triangle.charged_off_minor)[claim][place]
    vintages = [
        Vintage(
            age := int(limit),
            int(triangle.originated_minor[place, cohort, age]),
            int(defaulted[cohort, age]),
            int(triangle.recovered_minor[place, cohort, age]),
            tuple(map(int, work.exposures.minor[:, place, cohort])),  # type: ignore[arg-type]
            given.is_observed(int(triangle.cohorts[cohort])),
        )
        for cohort, limit in enumerate(triangle.limits)
    ]
    seen = observed_curve(
        defaulted,
        np.array([each.originated_minor if each.is_observed else 0 for each in vintages]),
        triangle.limits,
        window=given.history_window,
        minimum=given.history_cohorts,
    )
    if not seen:
        work.notes.append(f"segment {number} has no history: its curve is the given one")
    prior = given.prior(Framework.US_GAAP, claim, number)
    curve = completed_curve(prior, seen)
    recovery = recovery_rate(
        [each for each in vintages if each.is_observed], end=len(curve) - 1,
        minimum=given.history_cohorts, given=given.recovery[claim],
    )  # fmt: skip
    work.rows += [Row(f"{claim.label}_curve", number, age, ppb) for age, ppb in enumerate(curve)]
    work.rows.append(Row(f"{claim.label}_recovery", number, 0, to_ppb(recovery)))
    model = FundingModel(int(work.exposures.models[place]))
    return _Segment(place, number, model, claim, vintages, prior, curve, recovery)


def _outlook(work: _Work, segment: _Segment, framework: Framework) -> Outlook:
    given, curve, discount = work.assumptions, segment.curve, Fraction(0)
    if framework is Framework.IFRS:
        curve = given.policy_curve(framework, segment.claim, segment.number) or curve
        discount = given.monthly_discount
        name, multiple = f"ifrs_{segment.claim.label}_curve", _ifrs_multiple(work, segment)
        work.rows += [
            Row(name, segment.number, age, to_ppb(Fraction(ppb, PPB) * multiple))
            for age, ppb in enumerate(curve)
        ]
    return Outlook.of(
        curve, given.macro(len(curve)), ages=len(segment.vintages), monthly_discount=discount
    )


def _ifrs_multiple(work: _Work, segment: _Segment) -> Fraction:
    """Net losses under IFRS over those under US GAAP; 1 where the policy has its own curve."""
    own = work.assumptions.policy_curve(Framework.IFRS, segment.claim, segment.number)
    return Fraction(1) if own else work.assumptions.ifrs_multiple[segment.claim]


def _fill(work: _Work, segment: _Segment, rates: np.ndarray) -> dict[str, list[Fraction]]:
    """Fill the rates of a segment's pools; returns their targets."""
    pools = _pools(work, segment, Framework.US_GAAP)
    _note_pools(work, segment, pools)
    targets: dict[str, list[Fraction]] = {}
    for (name, place), framework in zip(_TARGETS.get(segment.model, ()), Framework, strict=False):
        seen = pools if framework is Framework.US_GAAP else _pools(work, segment, framework)
        net = allocated_targets(seen)
        if framework is Framework.IFRS:
            net = _times(net, _ifrs_multiple(work, segment), work, segment)
        target = _overlaid(work, segment, name, net)
        if framework is Framework.US_GAAP:
            targets[name] = target
            for cohort, vintage in enumerate(segment.vintages):
                rates[cohort, place] = to_ppb(loss_rate(target[cohort], vintage.exposed_minor))
        else:
            targets[name] = _staged_targets(
                work, segment, seen, target, rates[:, place : place + STAGES]
            )
    for name, place in _FEES.get(segment.model, ()):
        for cohort, rate in enumerate(_fee_losses(work, segment, name, pools)):
            rates[cohort, place] = to_ppb(rate)
    return targets


def _pools(work: _Work, segment: _Segment, framework: Framework) -> list[Pool]:
    outlook = _outlook(work, segment, framework)
    max_rate = work.assumptions.max_loss_rate(segment.claim)
    return [
        expected_pool(
            each, outlook, claim=segment.claim, recovery=segment.recovery, max_rate=max_rate,
            unobserved=work.assumptions.unobserved[segment.claim], shift=work.shift,
        )
        for each in segment.vintages
    ]  # fmt: skip


def _times(
    targets: Sequence[Fraction], multiple: Fraction, work: _Work, segment: _Segment
) -> list[Fraction]:
    """Net losses times a multiple, none above what is exposed."""
    max_rate = work.assumptions.max_loss_rate(segment.claim)
    return [
        min(target * multiple, expected_loss(vintage.exposed_minor, max_rate))
        for target, vintage in zip(targets, segment.vintages, strict=True)
    ]


def _note_pools(work: _Work, segment: _Segment, pools: Sequence[Pool]) -> None:
    """Add rows and notes about the pools, before floor and overlay."""
    for cohort, (vintage, pool) in enumerate(zip(segment.vintages, pools, strict=True)):
        if not vintage.originated_minor:
            continue
        label, number, age = segment.claim.label, segment.number, vintage.age
        work.rows.append(Row(f"{label}_to_date", number, age, to_ppb(pool.to_date)))
        work.rows.append(Row(f"{label}_ultimate", number, age, to_ppb(pool.ultimate)))
        if pool.is_capped:
            name = pool_name(work.triangle, segment.place, cohort)
            work.notes.append(f"{name}: the curve expects more than is left; all of it is taken")
        if not vintage.exposed_minor and pool.recoveries:
            name = pool_name(work.triangle, segment.place, cohort)
            amount = int(pool.recoveries)
            work.notes.append(
                f"{name}: no exposure is left, so its rate is 0; recoveries of {amount} minor "
                f"units are expected and lower the segment's other vintages"
            )
    if pools and sum((pool.net for pool in pools), Fraction(0)) < 0:
        work.notes.append(f"segment {segment.number}: the target is below zero and floored")


def _overlaid(work: _Work, segment: _Segment, name: str, targets: list[Fraction]) -> list[Fraction]:
    overlay = work.overlays.get((name, segment.number))
    if overlay is None:
        return targets
    whole = sum(targets, Fraction(0))
    exposed = sum(each.exposed_minor for each in segment.vintages)
    moved = overlay.applied(whole)
    weights = targets if whole else [Fraction(each.exposed_minor) for each in segment.vintages]
    base = whole or Fraction(exposed)
    max_rate = work.assumptions.max_loss_rate(segment.claim)
    limits = [expected_loss(each.exposed_minor, max_rate) for each in segment.vintages]
    if moved > sum(limits) and base:
        what = f"the overlay takes {name} of segment {segment.number} above what is exposed"
        raise OverlayError(what, where=overlay.where or name, fix="Lower it")
    found = spread(moved, weights, limits)
    if moved and not base:
        what = f"segment {segment.number} has no exposure that could carry an overlay"
        raise OverlayError(what, where=overlay.where or name, fix="Leave it out")
    added = loss_rate(moved - whole, exposed)
    work.rows.append(Row(f"overlay_{name}", segment.number, 0, to_ppb(added)))
    return found


def _staged_targets(
    work: _Work,
    segment: _Segment,
    pools: Sequence[Pool],
    targets: list[Fraction],
    rates: np.ndarray,
) -> list[Fraction]:
    """Fill the rates by stage: twelve months of stage 1, the lifetime of the others."""
    given = work.assumptions
    max_rate = given.max_loss_rate(segment.claim)
    found = []
    for cohort, (pool, vintage) in enumerate(zip(pools, segment.vintages, strict=True)):
        first, *others = vintage.exposure_minor
        if _has_sicr(work, segment, cohort):
            # Every performing loan of the pool counts, and is provided for, as one of stage 2.
            moved = (0, first + others[0], others[1])
            by_stage = stage_rates(targets[cohort], moved, given.stage_weights, max_rate)
            by_stage[0] = by_stage[1]
        else:
            by_stage = stage_rates(
                targets[cohort], vintage.exposure_minor, given.stage_weights, max_rate
            )
            by_stage[0] *= pool.next_year
        rates[cohort] = [to_ppb(rate) for rate in by_stage]
        amounts = map(expected_loss, vintage.exposure_minor, by_stage)
        found.append(sum(amounts, Fraction(0)))
    return found


def _has_sicr(work: _Work, segment: _Segment, cohort: int) -> bool:
    """True, with a note, if a pool's lifetime default rate has grown significantly."""
    vintage, given = segment.vintages[cohort], work.assumptions
    to_date = loss_rate(vintage.defaulted_minor, vintage.originated_minor)
    if not (vintage.exposed_minor and vintage.is_observed) or not has_sicr(
        lifetime(segment.curve, to_date, vintage.age), segment.prior[-1], given.stage_2_factor
    ):
        return False
    name = pool_name(work.triangle, segment.place, cohort)
    work.notes.append(f"{name}: significant increase in credit risk; all of it is in stage 2 or 3")
    return True


def _fee_losses(work: _Work, segment: _Segment, name: str, pools: Sequence[Pool]) -> list[Fraction]:
    """The share of remaining fees that is lost: that of the principal they hang on.

    Recoveries go to principal first, so none are expected on fees.
    """
    given = work.assumptions
    overlay = work.overlays.get((name, segment.number))
    severity = given.fee_severity / given.max_loss_rate(segment.claim)
    found = []
    for pool, vintage in zip(pools, segment.vintages, strict=True):
        rate = loss_rate(pool.gross * severity, vintage.exposed_minor)
        found.append(min(Fraction(1), overlay.applied(rate) if overlay else rate))
    if overlay is not None and overlay.factor is not None:
        work.rows.append(Row(f"overlay_{name}", segment.number, 0, to_ppb(overlay.factor)))
    return found
