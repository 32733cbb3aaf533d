"""Contradictions in a file of mandates, each with its line; a file with any is refused.

A check looks at one mandate and yields its problems; `_CHECKS` lists them. Those that compare
mandates with each other come after.

>>> from datetime import date
>>> from usance.base.codes import FundingModel
>>> late = Mandate(
...     source=1, valid_from=date(2024, 5, 1), valid_to=date(2024, 4, 1), model=FundingModel.ICE,
...     fee_ppm=1, approved_by=("one", "two"),
... )  # fmt: skip
>>> for found in contradictions(Mandates((late,)), [lambda *path: "line 3"], lambda path: ""):
...     print(found)
line 3: valid until 2024-04-01, before it begins on 2024-05-01. Exchange the two dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from usance.base.codes import FundingModel
from usance.base.dates import to_month
from usance.base.document_places import Places
from usance.base.errors import CodeError, UsanceError
from usance.base.money import Money
from usance.base.rates import PPM, Rate
from usance.match.errors import (
    EmptyEligibility,
    MandateApproval,
    MandateBudget,
    MandateDates,
    MandateError,
    MandateShare,
    UnknownName,
)
from usance.match.mandates.co_funding import co_funding_problems
from usance.match.mandates.concentration import SHARES
from usance.match.mandates.limits import list_limits
from usance.match.mandates.mandate import NO_LIMIT, Budgets, Mandate, Mandates, Measure

# Mandates and limits are numbered in 16 bits.
MAX_LIMITS = 32_767
Locate = Callable[..., str]
Check = Callable[[Mandate, Mandates, Locate], Iterator[UsanceError]]


def contradictions(
    mandates: Mandates, locators: Sequence[Locate], places: Places
) -> list[UsanceError]:
    """All problems of mandates that were read; `locators` give the lines of each."""
    found: list[UsanceError] = []
    for mandate, where in zip(mandates.mandates, locators, strict=True):
        for check in _CHECKS:
            found += check(mandate, mandates, where)
    found += _versions(mandates, locators)
    found += _whole_file(mandates, places)
    return found


@cache
def co_lender_minimum_ppm(on: date) -> int:
    """Minimum part of a jointly funded loan that the platform has to provide, on a day."""
    from usance.base.parameters import Parameters

    return Parameters.load().at("funding.co_lender_minimum_share", on).integer


def _dates(mandate: Mandate, _: Mandates, where: Locate) -> Iterator[UsanceError]:
    if mandate.valid_to < mandate.valid_from:
        what = f"valid until {mandate.valid_to}, before it begins on {mandate.valid_from}"
        yield MandateDates(what, where=where("valid"), fix="Exchange the two dates")


def _approval(mandate: Mandate, _: Mandates, where: Locate) -> Iterator[UsanceError]:
    names = {name.casefold() for name in mandate.approved_by}
    if len(names) < 2:
        what = f"approved by {len(names)} person{'' if len(names) == 1 else 's'}"
        fix = "Name two different people under approved_by"
        yield MandateApproval(what, where=where("approved_by"), fix=fix)


def _terms(mandate: Mandate, _: Mandates, where: Locate) -> Iterator[UsanceError]:
    bears_risk = mandate.model in (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)
    if bears_risk and not mandate.coupon_ppm:
        fix = "Give coupon, the annual cost of its money"
        yield MandateError(f"{mandate.model.label} without a coupon", where=where("model"), fix=fix)
    if not bears_risk and not mandate.fee_ppm:
        fix = "Give fee, what the source pays the platform of the volume"
        yield MandateError(f"{mandate.model.label} without a fee", where=where("model"), fix=fix)
    if mandate.guarantee.guarantor and mandate.model is not FundingModel.CAPITAL_HEAVY:
        what = f"a guarantor under {mandate.model.label}, where nobody guarantees"
        fix = "Leave it out, or make the model capital_heavy"
        yield MandateError(what, where=where("guarantee"), fix=fix)
    if mandate.guarantee.premium_ppm and not mandate.guarantee.guarantor:
        fix = "Name the guarantor, or leave the premium out"
        yield MandateError("a premium for no guarantor", where=where("guarantee"), fix=fix)
    if not mandate.approval_ppm:
        fix = "Give a rate above zero, or end the mandate"
        yield EmptyEligibility("it approves nothing", where=where("approval_rate"), fix=fix)


def _co_lending(mandate: Mandate, _: Mandates, where: Locate) -> Iterator[UsanceError]:
    share = mandate.co_share_ppm
    if share >= PPM:
        fix = "Leave the source a part of each loan"
        yield MandateShare("the platform lends all of it", where=where("platform_share"), fix=fix)
    elif 0 < share < co_lender_minimum_ppm(mandate.valid_from):
        least = Rate(co_lender_minimum_ppm(mandate.valid_from))
        what = f"the platform lends {Rate(share)} of each loan, below the least share of {least}"
        fix = f"Give {least} or more, or leave platform_share out"
        yield MandateShare(what, where=where("platform_share"), fix=fix)


def _amounts(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    own = mandate.eligibility
    least = Money(own.min_amount_minor, book.currency)
    if own.min_amount_minor > own.max_amount_minor:
        what = f"the smallest loan, {least}, is above the largest"
        yield EmptyEligibility(what, where=where("amount"), fix="Exchange from and to")
    if own.borrower_minor != NO_LIMIT and own.borrower_minor < own.min_amount_minor:
        what = f"a borrower may have less than the smallest loan, {least}"
        yield EmptyEligibility(what, where=where("borrower_limit"), fix="Raise the limit")
    smallest = mandate.source_part_minor(own.min_amount_minor)
    for name, budget_minor in _named(mandate.budgets):
        if 0 < budget_minor < smallest:  # none at all: the source lends nothing for now
            what = f"the budget of a {name}, {Money(budget_minor, book.currency)}, is below {least}"
            fix = "Raise it, or lower the smallest loan"
            yield MandateBudget(what, where=where("budgets", name), fix=fix)
    if own.cut_off <= own.opens:
        fix = "Give a cut_off after it opens"
        yield EmptyEligibility("closed all day", where=where("cut_off"), fix=fix)


def _places(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    losses = book.platform.losses
    limited = {
        each.member for each in mandate.concentration_limits if each.measure is Measure.GRADE
    }
    for key, grades in (("grades", mandate.eligibility.grades), ("concentration_limits", limited)):
        for grade in sorted(grades - losses.keys()):
            fix = f"Add it to platform.expected_loss, or take one of {', '.join(map(str, losses))}"
            yield UnknownName(f"unknown grade {grade}", where=where(key), fix=fix)
    both = mandate.eligibility.needs & mandate.eligibility.refuses
    if both:
        what = f"{min(both)} is both needed and refused"
        yield EmptyEligibility(what, where=where("refuses"), fix="Take it out of one list")
    home, regions = mandate.home_region, mandate.eligibility.regions
    if home != NO_LIMIT and regions != {home}:
        what = f"a regional source of {book.regions.label_of(home)} that lends elsewhere"
        fix = "Give regions its home region alone"
        yield EmptyEligibility(what, where=where("regions"), fix=fix)


def _minimum_take(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    take = mandate.minimum_take
    if take is None:
        return
    lasts_days = (mandate.valid_to - mandate.valid_from).days + 1
    lasts_months = to_month(mandate.valid_to) - to_month(mandate.valid_from) + 1
    times = {"day": lasts_days, "month": lasts_months, "total": 1}
    for name, budget_minor in _named(mandate.budgets):
        allowed_minor = budget_minor * times[name]
        if allowed_minor < take.amount_minor:
            wanted, most = (
                Money(each, book.currency) for each in (take.amount_minor, allowed_minor)
            )
            what = f"the budget per {name} allows {most} in all, below the minimum take of {wanted}"
            fix = "Raise the budget or lower the minimum take"
            yield MandateBudget(what, where=where("minimum_take"), fix=fix)


def _concentration(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    for measure, share in SHARES.items():
        own = [each for each in mandate.concentration_limits if each.measure is measure]
        bounds = {each.member: each.bound_ppm for each in own}
        if len(bounds) < len(own):
            fix = "Keep one of them"
            yield MandateShare(
                f"two shares for one {measure}", where=where("concentration_limits"), fix=fix
            )
        members = share.eligible(mandate.eligibility, book)
        if members and members <= bounds.keys():
            together = sum(bounds[member] for member in members)
            if together < PPM:
                what = f"the shares of every {measure} it takes sum to {Rate(together)}"
                fix = "Raise them to 100% or more, or nothing can be lent"
                yield MandateShare(what, where=where("concentration_limits"), fix=fix)
            elif max(bounds[member] for member in members) < PPM and not mandate.ramp_minor:
                what = f"every {measure} it takes has a share, so its first loan would break one"
                fix = "Give ramp, the amount to lend before shares are judged"
                yield MandateShare(what, where=where("concentration_limits"), fix=fix)
    yield from _averages(mandate, book, where)


def _averages(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    bounds = {each.measure: each.bound_ppm for each in mandate.concentration_limits}
    losses = book.platform.losses
    grades = mandate.eligibility.grades or losses.keys()
    lowest = min((losses[grade] for grade in grades if grade in losses), default=0)
    if bounds.get(Measure.EXPECTED_LOSS, PPM) < lowest:
        what = f"its average loss stays below that of its best grade, {Rate(lowest)}"
        yield EmptyEligibility(
            what, where=where("concentration_limits"), fix="Raise it, or take better grades"
        )
    least, most = bounds.get(Measure.AVERAGE_RATE_MIN), bounds.get(Measure.AVERAGE_RATE_MAX)
    if least is not None and most is not None and least > most:
        what = f"an average rate of at least {Rate(least)} and at most {Rate(most)}"
        yield EmptyEligibility(what, where=where("concentration_limits"), fix="Exchange the two")


def _counts_from(mandate: Mandate, _: Mandates, where: Locate) -> Iterator[UsanceError]:
    if mandate.counts_from is not None and mandate.counts_from > mandate.valid_from:
        what = f"counts from {mandate.counts_from}, after it begins on {mandate.valid_from}"
        fix = "Give the day its budget began, or leave counts_from out"
        yield MandateDates(what, where=where("counts_from"), fix=fix)


def _versions(mandates: Mandates, locators: Sequence[Locate]) -> Iterator[UsanceError]:
    """Versions of one source must differ in number and follow each other in time."""
    rows = sorted(
        zip(mandates.mandates, locators, strict=True),
        key=lambda row: (row[0].source, row[0].valid_from, row[0].version),
    )
    for (before, _), (after, where) in pairwise(rows):
        if before.source != after.source:
            continue
        if before.version == after.version:
            what = f"source {after.source} has version {after.version} twice"
            yield MandateError(what, where=where("version"), fix="Number its versions 1, 2, 3")
        if after.valid_from <= before.valid_to:
            last = before.valid_to
            what = (
                f"version {after.version} of source {after.source} begins on {after.valid_from}, "
                f"while version {before.version} is valid until {last}"
            )
            fix = f"End the earlier one by {after.valid_from - timedelta(days=1)}"
            yield MandateDates(what, where=where("valid"), fix=fix)


def _whole_file(mandates: Mandates, places: Places) -> Iterator[UsanceError]:
    known = {each.source for each in mandates.mandates}
    for number, event in enumerate(mandates.events, start=1):
        if event.source not in known:
            what = f"an event of source {event.source}, which has no mandate"
            fix = "Name a source of this file"
            yield UnknownName(what, where=places(("events", number, "source")), fix=fix)
    least = sum(each.min_ppm for each in mandates.platform.model_shares)
    if least > PPM:
        where, fix = places(("platform", "model_shares")), "Lower them to 100% or less"
        yield MandateShare(f"the least shares sum to {Rate(least)}", where=where, fix=fix)
    models = [each.model for each in mandates.platform.model_shares]
    for model in sorted({each for each in models if models.count(each) > 1}):
        what = f"two target shares for {model.label}"
        yield MandateShare(what, where=places(("platform", "model_shares")), fix="Keep one of them")
    if (count := max(len(list_limits(mandates)), len(mandates.mandates))) > MAX_LIMITS:
        what = f"{count} mandates or limits"
        yield MandateError(what, where=places(("sources",)), fix=f"Keep {MAX_LIMITS} or fewer")
    for each in mandates.platform.model_shares:
        if each.min_ppm > each.max_ppm:
            what = f"{each.model.label} has a least share above its most"
            yield MandateShare(
                what, where=places(("platform", "model_shares")), fix="Exchange the two"
            )
    if mandates.period is not None and mandates.period[1] < mandates.period[0]:
        fix = "Exchange from and to"
        yield MandateDates("the period ends before it begins", where=places(("period",)), fix=fix)
    try:
        ZoneInfo(mandates.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        where, fix = places(("time_zone",)), "Name one such as Asia/Shanghai"
        yield CodeError(f"unknown time zone {mandates.time_zone!r}", where=where, fix=fix)


def _named(budgets: Budgets) -> list[tuple[str, int]]:
    every = [("day", budgets.day_minor), ("month", budgets.month_minor),
             ("total", budgets.total_minor)]  # fmt: skip
    return [(name, budget_minor) for name, budget_minor in every if budget_minor != NO_LIMIT]


_CHECKS: tuple[Check, ...] = (
    _dates, _approval, _terms, _co_lending, _amounts, _places, _minimum_take, _concentration,
    _counts_from, co_funding_problems,
)  # fmt: skip
