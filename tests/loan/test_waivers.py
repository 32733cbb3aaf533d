"""Waivers by instalment: what nobody paid and nobody owes stands apart from what was paid."""

from __future__ import annotations

from datetime import date

import pytest

from usance.base.codes import Component, FactKind
from usance.loan.facts import Fact
from usance.loan.loan import replay
from usance.loan.terms import Terms
from usance.loan.waivers import waived_by_instalment

TERMS = Terms(
    principal_minor=600_000, rate_ppm=180_000, instalments=6, disbursed_on=date(2024, 1, 15),
    first_due_on=date(2024, 2, 15),
)  # fmt: skip
DRAWN = Fact(FactKind.DISBURSED, date(2024, 1, 15), 600_000, ref=1)
END = date(2024, 8, 1)


def paid(day: str, amount: int, ref: int) -> Fact:
    return Fact(FactKind.PAID, day, amount, ref=ref)


def waived(day: str, amount: int, ref: int, component: Component = Component.INTEREST) -> Fact:
    return Fact(FactKind.WAIVED, day, amount, ref=ref, arg=int(component))


def interest(facts: list[Fact], as_of: date = END) -> list[int]:
    return [each.interest for each in waived_by_instalment([TERMS], [DRAWN, *facts], as_of)]


def test_nothing_is_waived_of_what_is_paid() -> None:
    assert interest([paid("2024-02-15", 105_315, 2)]) == [0] * 6


def test_a_waiver_covers_what_is_open_when_it_comes() -> None:
    first = replay(TERMS, [DRAWN], END).rows()[0].due.interest
    after = [paid("2024-02-15", 105_315, 2), waived("2024-02-20", 500, 3)]
    assert interest(after) == [0, 500, 0, 0, 0, 0]
    assert interest([waived("2024-02-10", first + 7, 2), paid("2024-02-15", 105_315, 3)]) == [
        first, 7, 0, 0, 0, 0,
    ]  # fmt: skip
    assert interest(after, date(2024, 2, 19)) == [0] * 6


def test_a_waiver_that_was_taken_back_is_none() -> None:
    facts = [waived("2024-02-10", 500, 2), Fact(FactKind.REVERSED, "2024-02-12", 0, ref=3, arg=2)]
    assert interest(facts) == [0] * 6


@pytest.mark.parametrize("taken", [1, 4_000, 60_000, 105_315])
def test_a_charge_back_takes_cash_and_no_waiver(taken: int) -> None:
    facts = [
        waived("2024-02-10", 500, 2), paid("2024-02-15", 104_815, 3),
        Fact(FactKind.CHARGED_BACK, "2024-02-20", min(taken, 104_815), ref=4),
    ]  # fmt: skip
    rows = replay(TERMS, [DRAWN, *facts], END).rows()
    parts = waived_by_instalment([TERMS], [DRAWN, *facts], END)
    assert sum(each.interest for each in parts) == 500
    for part, row in zip(parts, rows, strict=True):
        assert all(0 <= a <= b for a, b in zip(part, row.paid, strict=True))
    cash = sum(sum(row.paid) - sum(part) for part, row in zip(parts, rows, strict=True))
    assert cash == 104_815 - min(taken, 104_815)


def test_what_was_waived_before_new_terms_stays_waived() -> None:
    later = TERMS.changed(
        principal_minor=600_000, instalments=8, disbursed_on=date(2024, 3, 1),
        first_due_on=date(2024, 4, 1), terms_no=2,
    )  # fmt: skip
    facts = [
        DRAWN, waived("2024-02-10", 500, 2), Fact(FactKind.TERMS_CHANGED, "2024-03-01", 0, 3, 2),
        waived("2024-03-05", 300, 4),
    ]  # fmt: skip
    parts = waived_by_instalment([TERMS, later], facts, END)
    assert [each.interest for each in parts] == [500, 300, 0, 0, 0, 0, 0, 0, 0]
