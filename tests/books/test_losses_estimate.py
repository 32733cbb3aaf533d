"""The estimate of a close against a second, plain calculation; what it may never do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from tests.books.loss_books import AS_OF, LAST, LossBook, assumptions, loss_book, loss_books
from usance.base.codes import FundingModel
from usance.base.columns import check_keys
from usance.base.errors import UsanceError
from usance.base.rates import PPB, to_ppb
from usance.base.tables import table
from usance.books.losses.assumptions import Assumptions, Claim, Framework, PolicyCurve, Scenario
from usance.books.losses.errors import ExposureError, OverlayError
from usance.books.losses.estimates import NAMES, Estimates
from usance.books.losses.estimation import estimate
from usance.books.losses.overlays import Overlay
from usance.books.losses.pools import Exposures

PLACE = {name: place for place, name in enumerate(NAMES)}
HARSH = Scenario("harsh", 1_000_000, (30_000,), (820_000, 830_000))


def run(book: LossBook, given: Assumptions, *overlays: Overlay, **more: object) -> Estimates:
    return estimate(
        book.triangle, book.exposures, given, overlays, as_of=AS_OF, close_no=7, **more  # type: ignore[arg-type]
    )  # fmt: skip


def curve_of(found: Estimates, name: str, segment: int) -> list[int]:
    points = {row.age: row.value for row in found.details if row[:2] == (name, segment)}
    return [points[age] for age in range(len(points))]


def one_pool(
    *, model: FundingModel = FundingModel.CAPITAL_HEAVY, months: int = 1, exposure: int = 1_000_000
) -> LossBook:
    """Vintages of 1,000,000 each, all alive, nothing defaulted."""
    empty = [[[0] * months for _ in range(months)]]
    left = [[[exposure] * months], [[0] * months], [[0] * months]]
    return loss_book(empty, [[1_000_000] * months], left, [model])


def plainly(book: LossBook, found: Estimates, given: Assumptions, segment: int) -> list[Fraction]:
    """US GAAP targets of a segment by the formula of the page, from the curve that was used."""
    triangle, heavy = book.triangle, book.exposures.claim(segment) is Claim.PAYOUT
    number = int(triangle.segments[segment])
    label = "payout" if heavy else "charge_off"
    curve = curve_of(found, f"{label}_curve", number)
    (recovery,) = curve_of(found, f"{label}_recovery", number)
    macro = given.macro(len(curve))
    defaulted = triangle.compensated_minor if heavy else triangle.charged_off_minor
    nets = []
    for cohort in range(len(triangle.cohorts)):
        age = len(triangle.cohorts) - 1 - cohort
        originated = int(triangle.originated_minor[segment, cohort, age])
        exposed = int(book.exposures.minor[:, segment, cohort].sum())
        lost = int(defaulted[segment, cohort, age])
        back = int(triangle.recovered_minor[segment, cohort, age])
        gross = Fraction(0)
        if exposed and curve[-1]:
            here = curve[min(age, len(curve) - 1)]
            left = 1 - Fraction(here, curve[-1])
            level = Fraction(lost, originated) + left * Fraction(curve[-1], PPB)
            for month in range(age + 1, len(curve)):
                step = Fraction(curve[month] - curve[month - 1], curve[-1])
                gross += originated * level * step * Fraction(macro[month - age - 1], PPB)
        gross = min(gross, exposed * (Fraction(1015, 1000) if heavy else Fraction(1)))
        # The rate is kept exact in the estimate and shown in ppb: a completed one is recomputed.
        share = found_recovery(book, given, segment, len(curve), recovery)
        past = Fraction(0) if heavy else lost * share - back
        nets.append(gross - max(Fraction(0), gross * share + past))
    target, up = max(Fraction(0), sum(nets, Fraction(0))), [max(n, Fraction(0)) for n in nets]
    return [each * target / sum(up) if sum(up) else Fraction(0) for each in up]


def found_recovery(
    book: LossBook, given: Assumptions, segment: int, length: int, shown: int
) -> Fraction:
    triangle, claim = book.triangle, book.exposures.claim(segment)
    defaulted = (triangle.compensated_minor, triangle.charged_off_minor)[claim][segment]
    ends = [
        (int(triangle.recovered_minor[segment, cohort, age]), int(defaulted[cohort, age]))
        for cohort, age in enumerate(map(int, triangle.limits))
        if age >= length - 1 and defaulted[cohort, age]
    ]
    share = given.recovery[claim]
    if len(ends) >= given.history_cohorts:
        share = min(Fraction(1), Fraction(sum(r for r, _ in ends), sum(d for _, d in ends)))
    assert to_ppb(share) == shown
    return share


@settings(max_examples=60)
@given(loss_books())
def test_targets_and_rates_are_those_of_the_plain_calculation(book: LossBook) -> None:
    given_ = assumptions(scenarios=(HARSH,))
    found = run(book, given_)
    names = {
        FundingModel.CAPITAL_HEAVY: "contingent",
        FundingModel.ON_BALANCE_SHEET: "loan_allowance",
    }
    cells = found.rates_ppb.reshape(len(book.exposures.models), -1, len(NAMES))
    for segment, model in enumerate(book.exposures.models):
        if model not in names:
            continue
        expected = plainly(book, found, given_, segment)
        name = names[FundingModel(int(model))]
        assert found.targets[name][segment] == expected
        for cohort, target in enumerate(expected):
            exposed = int(book.exposures.minor[:, segment, cohort].sum())
            rate = to_ppb(target / exposed) if exposed else 0
            assert cells[segment, cohort, PLACE[name]] == rate


@settings(max_examples=40)
@given(loss_books())
def test_no_rate_is_below_zero_or_above_what_can_be_lost(book: LossBook) -> None:
    found = run(book, assumptions(scenarios=(HARSH,)))
    assert found.rates_ppb.min() >= 0
    assert found.rates_ppb.max() <= 1_015_000_000
    exposed = book.exposures.minor.sum(0).reshape(-1)
    assert not found.rates_ppb[exposed == 0].any()


@settings(max_examples=40)
@given(loss_books())
def test_rates_come_back_from_the_stored_rows(book: LossBook) -> None:
    found = run(book, assumptions())
    rows = found.rows()
    check_keys(rows, table("estimates"))
    assert rows.equals(run(book, assumptions()).rows())
    stored = {
        (row["name"], row["segment"], LAST - row["age"]): row["value"] for row in rows.to_pylist()
    }
    segment = np.repeat(book.triangle.segments, len(book.triangle.cohorts))
    cohort = np.tile(book.triangle.cohorts, len(book.triangle.segments))
    rates = found.rates(segment, cohort)
    assert (rates == found.rates_ppb).all()
    for pool, own in zip(zip(segment.tolist(), cohort.tolist(), strict=True), rates, strict=True):
        assert [stored[name, *pool] for name in NAMES] == own.tolist()


@settings(max_examples=40)
@given(loss_books())
def test_both_frameworks_agree_on_curves_that_end_within_a_year(book: LossBook) -> None:
    """Staging alone gives nothing where twelve months are the lifetime."""
    short = tuple(min(month, 10) * 3_000_000 for month in range(12))
    given_ = assumptions(default_curves=(short, short), history_cohorts=99)
    found = run(book, given_)
    for name in ("loan_allowance", "contingent"):
        for stage in (1, 2, 3):
            staged = found.rates_ppb[:, PLACE[f"ifrs_{name}_{stage}"]]
            plain = found.rates_ppb[:, PLACE[name]]
            held = book.exposures.minor[stage - 1].reshape(-1) > 0
            assert (staged[held] == plain[held]).all()
        if name in found.targets:
            assert found.targets[name] == found.targets[f"ifrs_{name}"]


def test_stage_1_has_the_losses_of_twelve_months_alone() -> None:
    curve = (0, *(month * 1_000_000 for month in range(1, 25)))
    given_ = assumptions(
        default_curves=(curve, curve), interest=Fraction(0), recovery=(Fraction(0),) * 2,
        ifrs_multiple=(Fraction(1),) * 2,
    )  # fmt: skip
    rates = run(one_pool(), given_).rates(np.array([1]), np.array([LAST]))[0]
    assert rates[PLACE["contingent"]] == 24_000_000
    assert rates[PLACE["ifrs_contingent_1"] :].tolist() == [12_000_000, 24_000_000, 24_000_000]
    assert rates[PLACE["receivable"]] == rates[PLACE["contract"]] == 24_000_000
    assert not rates[PLACE["loan_allowance"]]
    discounted = run(one_pool(), replace(given_, monthly_discount=Fraction(1, 100)))
    monthly = (Fraction(1, 1000) * Fraction(100, 101) ** month for month in range(1, 25))
    worth = sum(monthly, Fraction(0))
    rate = discounted.rates_ppb[0, PLACE["ifrs_contingent_2"]]
    assert rate == to_ppb(worth)
    assert discounted.rates_ppb[0, PLACE["contingent"]] == 24_000_000


def test_a_pool_whose_risk_has_doubled_leaves_stage_1() -> None:
    curve = (0, *(month * 1_000_000 for month in range(1, 25)))
    months = 2
    given_ = assumptions(
        default_curves=(curve, curve), interest=Fraction(0), recovery=(Fraction(0),) * 2,
        history_cohorts=99,
    )  # fmt: skip
    book = one_pool(months=months)
    book.triangle.compensated_minor[0, 0, 1] = 30_000
    found = run(book, given_)
    assert any("significant increase" in note and "2024-05" in note for note in found.notes)
    old, young = found.rates_ppb[:, PLACE["ifrs_contingent_1"] :]
    assert len(set(old.tolist())) == 1
    assert young[0] * 2 == young[1]


def test_a_year_of_payouts_by_its_own_ifrs_curve() -> None:
    curve = (0, 5_000_000, 10_000_000)
    own = PolicyCurve(Framework.IFRS, Claim.PAYOUT, 1, date(2020, 1, 1), (0, 20_000_000), "board")
    given_ = assumptions(
        default_curves=(curve, curve),
        policy_curves=(own,),
        interest=Fraction(0),
        recovery=(Fraction(0),) * 2,
        ifrs_multiple=(Fraction(1, 2),) * 2,
    )
    rates = run(one_pool(), given_).rates_ppb[0]
    assert (rates[PLACE["contingent"]], rates[PLACE["ifrs_contingent_2"]]) == (10**7, 2 * 10**7)
    rates = run(one_pool(), replace(given_, policy_curves=())).rates_ppb[0]
    assert (rates[PLACE["contingent"]], rates[PLACE["ifrs_contingent_2"]]) == (10**7, 10**7 // 2)


def test_recoveries_of_claims_already_paid_count_when_they_are_received() -> None:
    flat = (0, 40_000_000)
    given_ = assumptions(default_curves=(flat, flat), interest=Fraction(0), history_cohorts=99,
                         recovery=(Fraction(1, 5),) * 2)  # fmt: skip
    book = one_pool(months=3)
    book.triangle.compensated_minor[0, 0, 2] = 1_000_000
    book.exposures.minor[:, 0, 0] = 0
    # Only the youngest vintage has a month of the curve ahead: 40,000 less 8,000 to recover.
    assert run(book, given_).target_minor("contingent").tolist() == [[0, 0, 32_000]]
    book.triangle.recovered_minor[0, 0, 2] = 15_000
    assert run(book, given_).target_minor("contingent").tolist() == [[0, 0, 32_000]]


def test_an_ifrs_multiple_acts_on_the_net_loss_of_own_loans_too() -> None:
    flat = (0, 40_000_000)
    given_ = assumptions(
        default_curves=(flat, flat), history_cohorts=99, recovery=(Fraction(1, 5),) * 2,
        ifrs_multiple=(Fraction(3, 4),) * 2,
    )  # fmt: skip
    book = one_pool(model=FundingModel.ON_BALANCE_SHEET, months=3)
    book.triangle.charged_off_minor[0, 0, 2] = 100_000
    book.exposures.minor[:, 0, 0] = 0
    found = run(book, given_)
    assert found.target_minor("loan_allowance").sum() == 12_000
    assert found.target_minor("ifrs_loan_allowance").sum() == 9_000


def test_a_vintage_that_was_not_observed_from_its_start_enters_no_curve() -> None:
    given_ = assumptions(history_cohorts=1, interest=Fraction(0), recovery=(Fraction(0),) * 2)
    book = one_pool(months=6)
    prior = list(given_.prior(Framework.US_GAAP, Claim.PAYOUT, 1))
    survivors = replace(given_, history_from=LAST + 1)
    assert curve_of(run(book, survivors), "payout_curve", 1) == prior
    # Without the statement the months before the book began count as months without a loss.
    assert curve_of(run(book, given_), "payout_curve", 1)[-1] < prior[-1]


def test_a_vintage_that_was_not_observed_loses_a_share_of_its_exposure_by_stage() -> None:
    rates = (Fraction(1, 20), Fraction(9, 10), Fraction(1))
    given_ = assumptions(unobserved=(rates, rates), history_from=LAST, interest=Fraction(0),
                         recovery=(Fraction(1, 10),) * 2)  # fmt: skip
    book = one_pool(months=2)
    book.triangle.compensated_minor[0, 0, 1] = 500_000
    book.exposures.minor[:, 0, 0] = 100_000, 10_000, 1_000
    old, young = run(book, given_).target_minor("contingent")[0].tolist()
    assert old == (5_000 + 9_000 + 1_000) * 9 // 10
    assert young == run(one_pool(), given_).target_minor("contingent")[0, 0]


def test_recoveries_of_charged_off_loans_lower_the_other_vintages() -> None:
    flat = (0, 40_000_000)
    given_ = assumptions(default_curves=(flat, flat), interest=Fraction(0), history_cohorts=99,
                         recovery=(Fraction(1, 5),) * 2)  # fmt: skip
    book = one_pool(model=FundingModel.ON_BALANCE_SHEET, months=3)
    book.triangle.charged_off_minor[0, 0, 2] = 100_000
    book.exposures.minor[:, 0, 0] = 0
    found = run(book, given_)
    # Only the youngest vintage has a month of the curve ahead: 40,000 less 8,000 to recover.
    # 20,000 of the 100,000 charged off of the oldest are still to come.
    assert found.target_minor("loan_allowance").tolist() == [[0, 0, 12_000]]
    assert any("no exposure is left" in note and "20000" in note for note in found.notes)
    book.triangle.recovered_minor[0, 0, 2] = 15_000
    assert run(book, given_).target_minor("loan_allowance").tolist() == [[0, 0, 27_000]]
    book.triangle.charged_off_minor[0, 0, 2] = 1_000_000
    found = run(book, given_)
    assert found.target_minor("loan_allowance").sum() == 0
    assert "segment 1: the target is below zero and floored" in found.notes


def test_recoveries_come_from_vintages_that_have_run_their_course() -> None:
    flat = (0, 40_000_000)
    given_ = assumptions(default_curves=(flat, flat), history_cohorts=2)
    book = one_pool(months=3)
    for cohort in (0, 1):
        book.triangle.compensated_minor[0, cohort, 1:] = 1000
        book.triangle.recovered_minor[0, cohort, 1:] = 300
    found = run(book, given_)
    assert curve_of(found, "payout_recovery", 1) == [300_000_000]
    assert curve_of(run(book, replace(given_, history_cohorts=3)), "payout_recovery", 1) == [
        110_000_000
    ]


def test_no_more_is_lost_than_is_left() -> None:
    found = run(one_pool(exposure=100), assumptions(recovery=(Fraction(0),) * 2))
    assert found.rates_ppb[0, PLACE["contingent"]] == 1_015_000_000
    assert found.rates_ppb[0, PLACE["receivable"]] == PPB
    assert any("expects more than is left" in note for note in found.notes)


def test_a_book_without_history_says_so_and_follows_the_given_curve() -> None:
    found = run(one_pool(model=FundingModel.CAPITAL_LIGHT), assumptions())
    assert found.notes == ("segment 1 has no history: its curve is the given one",)
    assert found.rates_ppb[0].tolist() == [0, 0, 0, 31_980_000, 0, 0, 0, 0, 0, 0]
    assert not found.targets


def test_fees_are_lost_with_principal_without_interest_or_recoveries() -> None:
    rates = run(one_pool(), assumptions()).rates_ppb[0]
    assert rates[PLACE["contingent"]] == 31_707_585  # 3.51 % × 1.015, 11 % of it recovered
    assert rates[PLACE["receivable"]] == rates[PLACE["contract"]] == 35_100_000
    twice = run(one_pool(), assumptions(fee_severity=Fraction(2))).rates_ppb[0]
    assert twice[PLACE["contract"]] == 70_200_000


def overlay(**changes: object) -> Overlay:
    fields = {"estimate": "contingent", "segment": 1, "reason": "floods", "approver": "board",
              "ends_on": AS_OF, **changes}  # fmt: skip
    return Overlay(**fields)  # type: ignore[arg-type]


def test_overlays_move_a_segments_target_and_nothing_else() -> None:
    book, given_ = one_pool(months=2), assumptions()
    before = run(book, given_)
    factor = run(book, given_, overlay(factor=Decimal("1.5")))
    amount = run(book, given_, overlay(amount_minor=-1000))
    sums = [int(each.target_minor("contingent").sum()) for each in (before, factor, amount)]
    assert abs(2 * sums[1] - 3 * sums[0]) <= 5  # half a unit a pool
    assert sums[2] == sums[0] - 1000
    others = [place for place in range(len(NAMES)) if place != PLACE["contingent"]]
    assert (before.rates_ppb[:, others] == factor.rates_ppb[:, others]).all()
    (added,) = curve_of(amount, "overlay_contingent", 1)
    assert added == to_ppb(Fraction(-1000, 2_000_000))
    fees = run(book, given_, overlay(estimate="contract", factor=Decimal(2)))
    place = PLACE["contract"]
    assert abs(fees.rates_ppb[:, place] - 2 * before.rates_ppb[:, place]).max() <= 1
    gone = run(book, given_, overlay(amount_minor=-(10**9)))
    assert gone.target_minor("contingent").sum() == 0


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"factor": Decimal(1), "ends_on": date(2024, 6, 29)}, "the overlay ended on 2024-06-29"),
        ({"factor": Decimal(1), "approver": ""}, "the overlay has no approver"),
        ({"factor": Decimal(1), "segment": 5}, "there is no segment 5"),
        (
            {"factor": Decimal(1), "estimate": "loan_allowance"},
            "segment 1 is capital_heavy and has no loan_allowance. Lay it on contingent or ifrs_",
        ),
        ({"amount_minor": 10**7}, "takes contingent of segment 1 above what is exposed"),
    ],
)
def test_an_overlay_that_may_not_stand_is_refused(bad: dict[str, object], what: str) -> None:
    with pytest.raises(OverlayError, match=what):
        run(one_pool(), assumptions(), overlay(**bad))


def test_a_series_of_overlays_says_what_held_when() -> None:
    """The first has ended, the last has not begun: that of the day counts, and alone."""
    book, given_ = one_pool(months=2), assumptions()
    series = [
        overlay(factor=Decimal(3), ends_on=date(2024, 3, 31)),
        overlay(factor=Decimal(2), begins_on=date(2024, 4, 1)),
        overlay(factor=Decimal(5), begins_on=date(2024, 7, 1), ends_on=date(2024, 9, 30)),
    ]
    alone = run(book, given_, overlay(factor=Decimal(2)))
    assert (run(book, given_, *series).rates_ppb == alone.rates_ppb).all()
    with pytest.raises(OverlayError, match="has another overlay at overlay 1"):
        run(book, given_, series[1], overlay(factor=Decimal(2), begins_on=AS_OF))
    with pytest.raises(OverlayError, match="ends before it begins"):
        run(book, given_, overlay(factor=Decimal(2), begins_on=date(2024, 7, 1)))


def test_an_overlay_needs_something_to_lie_on() -> None:
    with pytest.raises(OverlayError, match="no exposure that could carry an overlay"):
        run(one_pool(exposure=0), assumptions(), overlay(amount_minor=5))


def short_of_a_cohort(book: LossBook) -> LossBook:
    exposures = Exposures(book.exposures.models, book.exposures.minor[:, :, 1:])
    return LossBook(book.triangle, exposures)


def below_zero(book: LossBook) -> LossBook:
    book.exposures.minor[1, 0, 0] = -1
    return book


def from_nothing(book: LossBook) -> LossBook:
    book.triangle.originated_minor[0, 1] = 0
    return book


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (short_of_a_cohort, r"exposures are \(3, 1, 1\)"),
        (below_zero, "segment 1, vintage 2024-05: an exposure of -1 in stage 2"),
        (from_nothing, "segment 1, vintage 2024-06: there is exposure, and nothing was originated"),
    ],
)
def test_exposures_that_do_not_fit_are_refused(
    spoil: Callable[[LossBook], LossBook], what: str
) -> None:
    with pytest.raises(ExposureError, match=what):
        run(spoil(one_pool(months=2)), assumptions())


def test_a_triangle_of_another_month_is_refused() -> None:
    book = one_pool()
    with pytest.raises(ExposureError, match="Make the triangle as of 2024-07-31"):
        estimate(book.triangle, book.exposures, assumptions(), as_of=date(2024, 7, 31), close_no=1)


@pytest.mark.parametrize(
    ("segment", "cohort"), [(2, LAST), (1, LAST - 2), (1, LAST + 1), (0, LAST)]
)
def test_a_loan_in_no_pool_is_named(segment: int, cohort: int) -> None:
    found = run(one_pool(months=2), assumptions())
    with pytest.raises(UsanceError, match=rf"segment {segment}, .* loan 2 of 2 is in no pool"):
        found.rates(np.array([1, segment]), np.array([LAST, cohort]))


def test_an_empty_book_has_no_pools() -> None:
    none = np.zeros((0, 0, 0), np.int64)
    triangle = replace(one_pool().triangle, segments=np.zeros(0, np.int16),
                       cohorts=np.zeros(0, np.int16), limits=np.zeros(0, np.int16),
                       originated_minor=none, compensated_minor=none, charged_off_minor=none,
                       recovered_minor=none)  # fmt: skip
    exposures = Exposures(np.zeros(0, np.int8), np.zeros((3, 0, 0), np.int64))
    found = estimate(triangle, exposures, assumptions(), as_of=AS_OF, close_no=1)
    assert found.rates(np.zeros(0, np.int16), np.zeros(0, np.int16)).shape == (0, len(NAMES))
    assert set(found.rows().column("name").to_pylist()) == {"receivable_matrix"}
    with pytest.raises(ExposureError, match="loan 1 of 1 is in no pool"):
        found.rates(np.array([1]), np.array([LAST]))
