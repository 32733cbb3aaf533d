"""Limits by name: nothing of a version in them, and every draw judged as the router judges it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random

from usance.base.codes import FundingModel
from usance.match.mandates.mandate import (
    Budgets,
    ConcentrationLimit,
    Eligibility,
    Mandate,
    Mandates,
    Measure,
    ModelShare,
    Platform,
)
from usance.match.reservation.events import Answered, Candidate, LimitSet, Requested, Result, State
from usance.match.reservation.limit_names import LimitRequest, NamedLimits, limits_of
from usance.match.reservation.reservation import binding_limit, step

BANK = Mandate(
    source=7, valid_from=date(2024, 1, 1), valid_to=date(2024, 5, 31),
    model=FundingModel.CAPITAL_HEAVY, coupon_ppm=50_000,
    eligibility=Eligibility(borrower_minor=900_00),
    budgets=Budgets(day_minor=50_000_00, month_minor=500_000_00, total_minor=5_000_000_00),
    concentration_limits=(
        ConcentrationLimit(Measure.REGION, 100_000, 4),
        ConcentrationLimit(Measure.AVERAGE_RATE_MIN, 200_000),
    ),
)  # fmt: skip
PLATFORM = Platform(
    guarantee_minor=900_000_00, model_shares=(ModelShare(FundingModel.CAPITAL_HEAVY, 0, 500_000),)
)
ASKED = LimitRequest(3, 500_00, date(2024, 6, 3), 1, 4, 3, 240_000)
NINE = datetime(2024, 6, 3, 1, tzinfo=UTC)


def book(*mandates: Mandate, **changes: object) -> Mandates:
    return Mandates(mandates, platform=PLATFORM, **changes)  # type: ignore[arg-type]


def test_a_new_version_changes_ceilings_and_no_name() -> None:
    later = replace(
        BANK, version=2, valid_from=date(2024, 6, 1), valid_to=date(2024, 12, 31),
        counts_from=BANK.valid_from, budgets=replace(BANK.budgets, total_minor=1_00),
    )  # fmt: skip
    old, new = (limits_of(book(each), 0, ASKED) for each in (BANK, later))
    assert [each.name for each in old] == [each.name for each in new]
    changed = [each.name for each, other in zip(old, new, strict=True) if each != other]
    assert changed == ["7/total/all/2024-01-01"]
    fresh = limits_of(book(replace(later, counts_from=None)), 0, ASKED)
    assert {each.name for each in fresh} - {each.name for each in old} == {
        "7/total/all/2024-06-01", "7/borrower/3/2024-06-01", "7/placed/all/2024-06-01",
        "7/region/4/2024-06-01", "7/average_rate_min/all/2024-06-01",
    }  # fmt: skip


def test_every_limit_has_its_own_name_and_number() -> None:
    draws = limits_of(book(BANK, period=(date(2024, 6, 1), date(2024, 6, 30))), 0, ASKED)
    assert [(each.name, each.amount) for each in draws] == [
        ("7/total/all/2024-01-01", 500_00),
        ("7/month/all/2024-06", 500_00),
        ("7/day/all/2024-06-03", 500_00),
        ("7/borrower/3/2024-01-01", 500_00),
        ("7/placed/all/2024-01-01", 500_00),
        ("7/region/4/2024-01-01", 500_00 * 1_000_000),
        ("7/average_rate_min/all/2024-01-01", -500_00 * 240_000),
        ("platform/guarantee/all/2024-06-01", 500_00),
        ("platform/placed/all/2024-06-01", 500_00),
        ("platform/model/capital_heavy/2024-06-01", 500_00 * 1_000_000),
    ]
    numbers = [each.number for each in draws if each.number]
    assert len(set(numbers)) == len(numbers) == len(draws) - 2
    elsewhere = limits_of(book(BANK), 0, ASKED._replace(region=5))
    assert not any("/region/" in each.name for each in elsewhere)


def test_shares_hold_after_every_loan_whatever_comes() -> None:
    """Judged by reservations; recomputed from what was approved, in exact arithmetic."""
    draw, ramp = Random(5), 2_000_00
    limits = NamedLimits(book(replace(BANK, ramp_minor=ramp, eligibility=Eligibility())))
    state, lent, refused = State(), list[LimitRequest](), set[str]()
    for n in range(400):
        asked = LimitRequest(
            n, draw.randint(1, 900) * 100, date(2024, 6, 3), 1, draw.choice((4, 5, 6)), 3,
            draw.choice((120_000, 220_000, 240_000)),
        )  # fmt: skip
        draws = [each for each in limits.of(0, asked) if each.name.startswith("7/")]
        for each in draws:
            set_to = LimitSet(NINE, each.name, each.ceiling, each.whole, each.ramp_minor)
            state, _ = step(state, set_to)
        candidate = Candidate(
            (7,), tuple((each.name, each.amount) for each in draws), timedelta(seconds=9)
        )
        refused.add(binding_limit(state.limits, candidate))
        state, outcomes = step(state, Requested(NINE, str(n), n, (candidate,)))
        if outcomes[0].result is not Result.RESERVED:
            continue
        state, _ = step(state, Answered(NINE, str(n), 1, 7, approved=True))
        lent.append(asked)
        whole = sum(each.amount_minor for each in lent)
        if whole > ramp:
            there = sum(each.amount_minor for each in lent if each.region == 4)
            rates = sum(each.amount_minor * each.rate_ppm for each in lent)
            assert asked.region != 4 or there * 10 <= whole
            assert asked.rate_ppm >= 200_000 or rates >= whole * 200_000
    assert refused == {"", "7/region/4/2024-01-01", "7/average_rate_min/all/2024-01-01",
                       "7/day/all/2024-06-03"}  # fmt: skip
