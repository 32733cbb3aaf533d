"""New volume against true-up, sensitivity, and earlier estimates against their outcome."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.books.loss_books import AS_OF, LAST, LossBook, assumptions, loss_book
from usance.base.codes import FundingModel
from usance.base.dates import last_of_month
from usance.books.loans.amounts import AMOUNTS
from usance.books.losses.assumptions import Assumptions, Claim
from usance.books.losses.estimation import estimate
from usance.books.losses.pools import Exposures
from usance.books.losses.review import back_test, provision_splits, sensitivity
from usance.measure.triangles import Triangle

CURVE = (0, 10_000_000, 20_000_000, 30_000_000, 40_000_000)
SIZE = 4


def on_the_curve(times: Fraction = Fraction(1)) -> LossBook:
    """Four vintages of 1,000,000 that follow the curve, or a multiple of it."""
    paths = [[int(Fraction(CURVE[age] * 10**6, 10**9) * times) for age in range(SIZE)]] * SIZE
    exposure = [[[800_000] * SIZE], [[0] * SIZE], [[0] * SIZE]]
    return loss_book([paths], [[10**6] * SIZE], exposure, [FundingModel.ON_BALANCE_SHEET])


def plain() -> Assumptions:
    return assumptions(
        default_curves=(CURVE, CURVE), recovery=(Fraction(0),) * 2, interest=Fraction(0),
        history_cohorts=99,
    )  # fmt: skip


def as_it_was(book: LossBook, months: int) -> LossBook:
    """The book some months earlier."""
    kept = len(book.triangle.cohorts) - months
    known = np.arange(kept) <= np.arange(kept)[::-1, None]
    cut = {
        name: np.where(known, getattr(book.triangle, name)[:, :kept, :kept], 0)
        for name in Triangle.__slots__
        if name.endswith("_minor")
    }
    limits = np.arange(kept, dtype=np.int16)[::-1]
    cohorts = book.triangle.cohorts[:kept]
    triangle = replace(book.triangle, cohorts=cohorts, limits=limits, **cut)
    return LossBook(triangle, Exposures(book.exposures.models, book.exposures.minor[:, :, :kept]))


amounts = st.integers(0, 10**12)


@given(st.lists(st.tuples(amounts, amounts, amounts), min_size=1))
def test_a_provision_is_that_of_new_loans_and_the_true_up_of_older_ones(
    cells: list[tuple[int, int, int]],
) -> None:
    held = np.zeros((2 * len(cells), len(AMOUNTS)), np.int64)
    before = np.zeros((len(cells), len(AMOUNTS)), np.int64)
    place = AMOUNTS.index("loan_provision")
    before[:, place], held[::2, place], held[1::2, place] = zip(*cells, strict=True)
    found = provision_splits(held, before)["loan_provision"]
    assert found.new_volume_minor == sum(new for _, _, new in cells)
    assert found.true_up_minor == sum(old - was for was, old, _ in cells)


def test_half_a_point_more_default_is_that_much_of_what_is_still_to_come() -> None:
    book = on_the_curve()
    (us, ifrs) = sensitivity(
        book.triangle, book.exposures, plain(), as_of=AS_OF, close_no=1
    )  # fmt: skip
    # Of 5,000 per vintage at birth, 1/4, 2/4, 3/4 and all are still to come.
    assert (us.estimate, us.target_minor) == ("loan_allowance", 10_000 + 20_000 + 30_000 + 40_000)
    assert (us.lower_minor, us.higher_minor) == (-12_500, 12_500)
    assert ifrs.higher_minor == 12_500


def test_a_shift_never_takes_a_vintage_below_what_has_happened() -> None:
    book = on_the_curve()
    given_ = replace(plain(), sensitivity=Fraction(1, 2))
    (us, _) = sensitivity(book.triangle, book.exposures, given_, as_of=AS_OF, close_no=1)
    assert us.lower_minor == -us.target_minor


def outcomes(book: LossBook, months: int) -> list[tuple[int, int, int]]:
    earlier = as_it_was(book, months)
    day = last_of_month(LAST - months)
    made = estimate(earlier.triangle, earlier.exposures, plain(), as_of=day, close_no=3)
    found = back_test(made.rows(), {3: LAST - months}, book.triangle, {1: Claim.CHARGE_OFF})
    assert all(each.close_no == 3 and each.segment == 1 for each in found)
    return [(each.cohort, each.expected_ppb, each.missed_ppb) for each in found]


def test_an_estimate_that_came_true_misses_nothing() -> None:
    found = outcomes(on_the_curve(), 2)
    assert found == [(LAST - 3, 30_000_000, 0), (LAST - 2, 20_000_000, 0)]


def test_a_vintage_twice_as_bad_shows_by_how_much() -> None:
    found = outcomes(on_the_curve(Fraction(2)), 2)
    # The older one had one month of twice the curve behind it, the younger nothing yet.
    assert [missed for _, _, missed in found] == [60_000_000 - 45_000_000, 20_000_000]


def test_a_close_that_is_not_asked_for_says_nothing() -> None:
    book = on_the_curve()
    made = estimate(book.triangle, book.exposures, plain(), as_of=AS_OF, close_no=3)
    claims = {1: Claim.CHARGE_OFF}
    assert back_test(made.rows(), {3: LAST}, book.triangle, claims) == []
    assert back_test(made.rows(), {4: LAST - 1}, book.triangle, claims) == []
