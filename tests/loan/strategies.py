"""Any terms and any history of a loan, for Hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from hypothesis import strategies as st

from tests.loan.cases import OWN_MOVES, TO_DUE_DATE, Event, History, Move
from usance.base.calendars import Roll
from usance.base.codes import Component
from usance.base.dates import add_days
from usance.loan.convention import (
    CONVENTIONS,
    Allocation,
    Amortisation,
    Bucket,
    Convention,
    DayCount,
    DueStatus,
    EarlyPayment,
    LevelBasis,
    MonthEnd,
    PeriodUnit,
    Rounding,
    RoundingDifference,
    SettlementInterest,
    Sweep,
)
from usance.loan.exact.plan import first_rows, schedule
from usance.loan.terms import FeeBasis, LateBase, LateRule, PercentFee, Terms

Draw = Callable[[st.SearchStrategy[Any]], Any]

BUCKETS: tuple[Bucket | None, ...] = (
    *((when, component) for when in DueStatus for component in Component if component < 4),
    None,
)
DAYS = st.dates(date(2015, 1, 1), date(2035, 12, 31))
RATES = st.one_of(st.sampled_from([0, 60_000, 180_000, 359_900]), st.integers(0, 1_000_000))
PRINCIPALS = st.one_of(st.integers(1, 50), st.integers(1, 10_000_000), st.just(9_000_00))


@st.composite
def conventions(draw: Draw) -> Convention:
    """Every combination of options that belongs together."""
    unit = draw(st.sampled_from(PeriodUnit))
    by_months = unit in (PeriodUnit.MONTHS, PeriodUnit.YEARS)
    counts = [each for each in DayCount if by_months or each is not DayCount.MONTHLY]
    amortisation = draw(st.sampled_from(Amortisation))
    rules = [
        e for e in EarlyPayment if amortisation is not Amortisation.FLAT or "reduce" not in e.value
    ]
    calendar = draw(st.sampled_from(["", "", "weekends"]))
    differences = list(RoundingDifference)[: 1 if amortisation is Amortisation.BALLOON else 2]
    return Convention(
        name="any",
        amortisation=amortisation,
        day_count=draw(st.sampled_from(counts)),
        unit=unit,
        every=draw(st.integers(1, 3)) if by_months else draw(st.integers(1, 20)),
        month_end=draw(st.sampled_from(MonthEnd)),
        calendar=calendar,
        roll=draw(
            st.sampled_from(
                [
                    Roll.FOLLOWING,
                    Roll.MODIFIED_FOLLOWING,
                    Roll.NONE,
                ]
            )
        ),
        level_basis=draw(st.sampled_from(LevelBasis)),
        rounding=draw(st.sampled_from(Rounding)),
        round_to_minor=draw(st.sampled_from([1, 1, 10, 100])),
        difference=draw(st.sampled_from(differences)),
        early=draw(st.sampled_from(rules)),
        settlement_interest=draw(st.sampled_from(SettlementInterest)),
        allocation=Allocation(tuple(draw(st.permutations(BUCKETS))), draw(st.sampled_from(Sweep))),
    )


@st.composite
def own_terms(draw: Draw) -> Terms:
    """Terms of the platform's own products."""
    terms = _bare(draw, CONVENTIONS[draw(st.sampled_from(tuple(CONVENTIONS)))])
    return _with_guarantee(draw, replace(terms, coupon_ppm=draw(st.integers(0, terms.rate_ppm))))


@st.composite
def any_terms(draw: Draw) -> Terms:
    """Terms of any convention, with any of the things only the exact form knows."""
    terms = _bare(draw, draw(conventions()))
    principal, count = terms.principal_minor, terms.instalments
    if draw(st.booleans()):
        terms = replace(terms, coupon_ppm=draw(st.integers(0, terms.rate_ppm)))
    elif draw(st.booleans()):
        days = draw(st.lists(st.integers(-50, 700), max_size=3, unique=True))
        steps = [(add_days(terms.disbursed_on, day), draw(RATES)) for day in sorted(days)]
        terms = replace(terms, rate_steps=tuple(steps))
    balloon = terms.convention.amortisation is Amortisation.BALLOON
    terms = replace(
        terms,
        balloon_minor=draw(st.integers(1, principal)) if balloon else 0,
        grace_principal=draw(st.integers(0, count - 1)),
        grace_interest=draw(st.integers(0, count - 1)),
        percent_fees=tuple(draw(st.lists(percent_fees(), max_size=2))),
        late=draw(st.none() | late_rules()),
    )
    if terms.convention.difference is RoundingDifference.LAST and draw(st.booleans()):
        terms = _with_tranches(draw, terms)
    drawn = principal - sum(amount for _, amount in terms.tranches)
    room = min(drawn, principal - terms.balloon_minor, principal - terms.upfront_fee_minor) - 1
    terms = replace(terms, down_payment_minor=draw(st.integers(0, max(0, room))))
    return _with_guarantee(draw, terms)


def _bare(draw: Draw, convention: Convention) -> Terms:
    principal, disbursed_on = draw(PRINCIPALS), draw(DAYS)
    balloon = convention.amortisation is Amortisation.BALLOON
    soonest = 4 if convention.calendar else 1  # a roll backwards must not reach the disbursement
    return Terms(
        principal_minor=principal,
        rate_ppm=draw(RATES),
        instalments=draw(st.integers(1, 14)),
        disbursed_on=disbursed_on,
        first_due_on=add_days(disbursed_on, draw(st.integers(soonest, 62))),
        convention=convention,
        balloon_minor=1 if balloon else 0,
        flat_fee_minor=draw(st.integers(0, 500)),
        upfront_fee_minor=draw(st.integers(0, (principal - 1) // 2)),
    )


def _with_tranches(draw: Draw, terms: Terms) -> Terms:
    start, end = first_rows(terms)[0].start, first_rows(terms)[-1].end
    days = draw(st.lists(st.integers(start + 1, end), max_size=2, unique=True))
    tranches = []
    left = terms.principal_minor - 1
    for day in sorted(days):
        if left > 1 and day < end:
            amount = draw(st.integers(1, left))
            tranches.append((date.fromordinal(day), amount))
            left -= amount
    return replace(terms, tranches=tuple(tranches))


def _with_guarantee(draw: Draw, terms: Terms) -> Terms:
    percent = tuple(each for each in terms.percent_fees if each.component != 2)
    fees = sum(row.service_fee for row in schedule(replace(terms, percent_fees=percent)))
    return replace(terms, guarantee_fee_minor=draw(st.integers(0, fees)))


@st.composite
def percent_fees(draw: Draw) -> PercentFee:
    """A percentage fee of either kind."""
    component = draw(st.sampled_from([Component.SERVICE_FEE, Component.GUARANTEE_FEE]))
    return PercentFee(component, draw(st.sampled_from(FeeBasis)), draw(st.integers(0, 30_000)))


@st.composite
def late_rules(draw: Draw) -> LateRule:
    """A late rule with or without each of its parts."""
    return LateRule(
        rate_ppm=draw(st.integers(0, 400_000)),
        fee_minor=draw(st.integers(0, 2_000)),
        grace_days=draw(st.integers(0, 10)),
        cap_ppm=draw(st.sampled_from([0, 50_000, 1_000_000])),
        base=draw(st.sampled_from(LateBase)),
    )


GAPS = st.one_of(st.just(TO_DUE_DATE), st.integers(0, 2), st.integers(0, 90))


def moves(choices: Sequence[Event] = tuple(Event)) -> st.SearchStrategy[list[Move]]:
    """Up to twelve things that happen."""
    each = st.builds(Move, GAPS, st.sampled_from(choices), st.integers(0, 100))
    return st.lists(each, max_size=12)


@st.composite
def any_histories(draw: Draw) -> History:
    """Any terms with any history played on them."""
    history = History(draw(any_terms()))
    for move in draw(moves()):
        history.play(move)
    return history


@st.composite
def own_histories(draw: Draw) -> History:
    """One of the platform's own products with any history it can have."""
    history = History(draw(own_terms()))
    for move in draw(moves(OWN_MOVES)):
        history.play(move)
    return history
