"""Three-way reconciliation: planted breaks are found, each with its class, and no others."""

from __future__ import annotations

from collections import Counter
from datetime import date

import numpy as np
import pytest

from tests.service.planted_days import (
    BANK_PLANTS,
    FEE_FIXED,
    FEE_PPM,
    PROVIDER_PLANTS,
    Day,
    generated_day,
)
from usance.service.bank_files.statement import FileLine
from usance.service.errors import BreakRefused, LineError, MatchRefused
from usance.service.orders.payment_order import Movement, PaymentOrder, Purpose
from usance.service.reconciliation.breaks import BreakCase, BreakClass, Leg
from usance.service.reconciliation.lines import Lines
from usance.service.reconciliation.match_log import MatchLog
from usance.service.reconciliation.matching import Matching, MatchRules, Rule
from usance.service.reconciliation.reconcile import ClearingTerms, Reconciliation, reconcile

TERMS = ClearingTerms("CNY", FEE_PPM, FEE_FIXED)
DAY = date(2024, 7, 1)


def reconciled(made: Day, decided: MatchRules | None = None) -> Reconciliation:
    return reconcile(
        Lines.of(made.ours), Lines.of(made.file), Lines.of(made.bank), TERMS,
        through=made.through, known_loans=np.array(made.loans), decided=decided,
    )  # fmt: skip


def check(made: Day) -> None:
    done = reconciled(made)
    found = Counter((b.leg, b.kind, b.reference, b.difference_minor) for b in done.breaks)
    assert found == made.planted, f"day {made.number}"
    assert not list(done.tie_problems())
    for leg in (done.provider_leg, done.bank_leg):
        nothing_twice(leg)


def nothing_twice(leg: Matching) -> None:
    """Every line of theirs is in one match or one break; ours likewise, but for its parts."""
    ours, theirs, rules = leg.pairs
    broken = [each.theirs for each in leg.differences if each.theirs >= 0]
    # A batch of ours may be one line of theirs, never two.
    many = np.isin(rules, [Rule.ONE_TO_MANY, Rule.BATCH_SUM])
    used = Counter([*theirs[~many].tolist(), *set(theirs[many].tolist()), *broken])
    assert set(used) == set(range(len(leg.theirs.amount_minor)))
    assert set(used.values()) <= {1}
    kept = [each.ours for each in leg.differences if each.ours >= 0]
    used = Counter([*ours[~many].tolist(), *set(ours[many].tolist()), *kept])
    assert set(used) == set(range(len(leg.ours.amount_minor)))
    assert set(used.values()) <= {1}


def test_planted_breaks_are_found_and_no_others() -> None:
    planted: Counter[tuple[Leg, BreakClass]] = Counter()
    for number in range(300):
        made = generated_day(number)
        check(made)
        planted.update((leg, kind) for leg, kind, _, _ in made.planted)
    assert {kind for leg, kind in planted if leg is Leg.PROVIDER} == set(PROVIDER_PLANTS)
    assert {kind for leg, kind in planted if leg is Leg.BANK} == set(BANK_PLANTS)


@pytest.mark.nightly
def test_planted_breaks_of_ten_thousand_days() -> None:
    for number in range(300, 10_300):
        check(generated_day(number))


def test_a_file_read_in_another_order_gives_the_same_breaks() -> None:
    for number in range(40):
        made = generated_day(number)
        backwards = Day(number, made.day, made.through, made.ours[::-1], made.file[::-1],
                        made.bank[::-1])  # fmt: skip
        one, other = reconciled(made).breaks, reconciled(backwards).breaks

        def plain(each: object) -> tuple[object, ...]:
            return tuple(each)[:6]  # type: ignore[arg-type]

        assert Counter(map(plain, one)) == Counter(map(plain, other))


def line(reference: str, amount: int, **more: object) -> FileLine:
    return FileLine(1, reference, amount, "CNY", DAY, **more)  # type: ignore[arg-type]


def two_views(ours: list[FileLine], file: list[FileLine], **options: object) -> Reconciliation:
    terms = ClearingTerms("CNY", **options)  # type: ignore[arg-type]
    return reconcile(Lines.of(ours), Lines.of(file), Lines.of([]), terms, through=DAY)


def test_one_line_of_theirs_for_a_batch_of_ours_and_the_other_way() -> None:
    done = two_views([line("OR1", 5, batch="P1"), line("OR2", 7, batch="P1")], [line("P1", 12)])
    assert not [each for each in done.breaks if each.leg is Leg.PROVIDER]
    done = two_views([line("P1", 12)], [line("", 5, batch="P1"), line("", 7, batch="P1")])
    assert not [each for each in done.breaks if each.leg is Leg.PROVIDER]
    done = two_views([line("P1", 12)], [line("", 5, batch="P1"), line("", 8, batch="P1")])
    assert len([each for each in done.breaks if each.leg is Leg.PROVIDER]) == 3


def test_the_tolerance_is_zero_until_somebody_dates_another() -> None:
    assert ClearingTerms.at(DAY, "CNY").tolerance_minor == 0
    ours, file = [line("OR1", 100)], [line("OR1", 102)]
    assert [each.kind for each in two_views(ours, file).breaks] == [BreakClass.AMOUNT]
    done = two_views(ours, file, tolerance_minor=2)
    assert done.provider_leg.pairs[2].tolist() == [Rule.TOLERANCE]


def test_what_a_person_separates_stays_apart_and_what_they_match_stays_together() -> None:
    ours, file = [line("OR1", 100, party="x")], [line("OR1", 100, party="x", loan_id=9)]
    log = MatchLog().unmatched("OR1", "f/1", by="operator 7")
    keys = ["OR1"], ["f/1"]
    done = reconcile(Lines.of(ours), Lines.of(file), Lines.of([]), TERMS, through=DAY,
                     decided=log.rules(*keys))  # fmt: skip
    assert {each.kind for each in done.breaks if each.leg is Leg.PROVIDER} == {
        BreakClass.MISSING_WITH_US, BreakClass.MISSING_WITH_THEM,
    }  # fmt: skip
    again = log.matched("OR1", "f/1", by="operator 8")
    done = reconcile(Lines.of(ours), Lines.of(file), Lines.of([]), ClearingTerms("CNY"),
                     through=DAY, decided=again.rules(*keys))  # fmt: skip
    assert done.provider_leg.pairs[2].tolist() == [Rule.BY_HAND]
    assert not done.breaks
    assert [step.by for step in again.steps] == ["operator 7", "operator 8"]
    with pytest.raises(MatchRefused):
        again.matched("OR2", "f/1", by="operator 8")
    with pytest.raises(MatchRefused):
        again.matched("OR3", "f/3", by="")


def test_money_that_is_not_due_is_in_transit_and_no_break() -> None:
    file = [line("OR1", 1_000, batch="B1", fee_minor=16)]
    done = reconcile(Lines.of([line("OR1", 1_000)]), Lines.of(file), Lines.of([]), TERMS,
                     through=DAY)  # fmt: skip
    assert (done.breaks, done.in_transit_minor) == ([], 984)
    assert not list(done.tie_problems())


def test_a_reference_of_ours_that_is_there_twice_is_refused() -> None:
    with pytest.raises(LineError, match="twice"):
        two_views([line("OR1", 1), line("OR1", 2)], [])
    with pytest.raises(LineError, match="lengths"):
        Lines.columns(amount_minor=[1], day=[1, 2])


def test_views_may_be_empty() -> None:
    done = two_views([], [])
    assert (done.breaks, done.matched_lines) == ([], 0)


def test_a_break_above_the_limit_needs_a_second_person() -> None:
    [found] = two_views([line("OR1", 100)], [line("OR1", 500)]).breaks[:1]
    case = BreakCase(found)
    with pytest.raises(BreakRefused):
        case.clear("operator 7", limit_minor=1_000)  # nobody has explained it
    explained = case.propose("operator 7", "paid twice in one order")
    assert explained.clear("operator 7", limit_minor=500).cleared_by == "operator 7"
    with pytest.raises(BreakRefused):
        explained.clear("operator 7", limit_minor=499)
    closed = explained.clear("operator 8", limit_minor=0)
    with pytest.raises(BreakRefused):
        closed.clear("operator 9", limit_minor=0)
    with pytest.raises(BreakRefused):
        closed.propose("operator 9", "again")


def test_settled_orders_are_our_lines() -> None:
    from datetime import UTC, datetime

    at = datetime(2024, 7, 1, tzinfo=UTC)
    order = PaymentOrder(
        order_id=1, purpose=Purpose.PAYOUT, reference="OR1", provider=2, party=1, currency="CNY",
        amount_minor=100, created_at=at, expires_at=at, settlements=(Movement("T", 100, DAY),),
        returns=(Movement("U", 100, DAY),),
    )  # fmt: skip
    lines = Lines.of_orders([order], DAY)
    assert lines.reference.to_pylist() == ["OR1", "OR1"]
    assert lines.amount_minor.tolist() == [-100, 100]
    assert len(Lines.of_orders([order], date(2024, 7, 2))) == 0


def test_of_several_lines_the_one_that_fits_is_matched_and_the_others_are_duplicates() -> None:
    done = two_views([line("OR1", 100)], [line("OR1", 60), line("OR1", 100)])
    found = [(each.kind, each.difference_minor) for each in done.breaks if each.leg is Leg.PROVIDER]
    assert found == [(BreakClass.DUPLICATE, 60)]


def test_money_that_came_back_the_same_day_is_two_movements() -> None:
    there, back = line("OR1", 100, loan_id=9), line("OR1", -100, loan_id=9)
    assert not provider_breaks([there, back], [there, back])
    assert provider_breaks([there, back], [there]) == [(BreakClass.MISSING_WITH_THEM, 100)]
    assert provider_breaks([there], [there, back]) == [(BreakClass.MISSING_WITH_US, -100)]
    assert provider_breaks([there, back], [there, back, there]) == [(BreakClass.DUPLICATE, 100)]
    assert provider_breaks([there, back], []) == [
        (BreakClass.MISSING_WITH_THEM, -100), (BreakClass.MISSING_WITH_THEM, 100),
    ]  # fmt: skip


def provider_breaks(ours: list[FileLine], file: list[FileLine]) -> list[tuple[BreakClass, int]]:
    done = two_views(ours, file)
    assert not list(done.tie_problems())
    return [(each.kind, each.difference_minor) for each in done.breaks if each.leg is Leg.PROVIDER]
