"""Notes issued and bonds held: effective interest from facts, to known figures and to the end."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.books.group_books import LENDING, PLATFORM, TRUST, Facts, amounts, books_by, closed
from usance.base.codes import Currency
from usance.base.errors import Problems, UsanceError
from usance.books.group.fact_kinds import GroupFactKind as K
from usance.books.group.instruments import Instrument
from usance.books.statements.cash import cash_flows

BEGUN = date(2020, 12, 31)
YEARS = [BEGUN + timedelta(days=365 * n) for n in range(1, 6)]
NOTES: dict[str, Any] = {
    "name": "ABS 1", "lender": "trust_investors", "face": "10000.00", "rate": "6%", "a_year": 2,
    "costs": "50.00", "days": ["2024-06-30", "2024-12-31"],
}  # fmt: skip


def paid(what: str, name: str = "ABS 1") -> dict[str, str]:
    return {"name": name, "as": what}


def issued(price: int = 9_700_00, **changes: Any) -> Facts:
    facts = Facts()
    facts.say(TRUST, K.NOTES_ISSUED, date(2023, 12, 31), price, **{**NOTES, **changes})
    return facts


def test_a_bond_of_the_standard_is_carried_as_printed() -> None:
    """IFRS 9, IG B.26: bought at 995 with costs of 5, 59 a year, 1,250 after five years."""
    facts = Facts()
    facts.say(LENDING, K.BOND_BOUGHT, BEGUN, 995_00, name="B", face="1250.00", rate="4.72%",
              costs="5.00", days=[str(day) for day in YEARS])  # fmt: skip
    for day in YEARS:
        facts.say(LENDING, K.BOND_PAID, day, 59_00, **paid("coupon", "B"))
    carried, earned = [], []
    for day in YEARS:
        found = amounts(books_by(facts.facts, day))
        carried.append(round(found["short_term_investments"] / 100))
        earned.append(-found["interest_income"])
    assert carried == [1041, 1086, 1136, 1190, 1250]
    steps = [later - before for before, later in pairwise([0, *earned])]
    assert steps == [99_95, 104_05, 108_55, 113_50, 118_95]
    facts.say(LENDING, K.BOND_PAID, YEARS[-1], 1_250_00, **paid("face", "B"))
    left = amounts(books_by(facts.facts, YEARS[-1]))
    assert left == {"cash": 545_00, "interest_income": -545_00}


def effective_rate(cost: float, flows: list[tuple[int, float]]) -> float:
    """By halving, in floats: another way than the books take."""
    low, high = -0.9, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        worth = sum(cash / (1 + middle) ** (days / 365) for days, cash in flows)
        low, high = (middle, high) if worth > cost else (low, middle)
    return low


def test_notes_below_par_cost_their_effective_rate() -> None:
    facts = issued().facts
    rate = effective_rate(9_650, [(182, 300), (366, 10_300)])
    half = 9_650 * ((1 + rate) ** (182 / 365) - 1)
    middle = amounts(books_by(facts, date(2024, 6, 30)))
    assert middle["interest_payable"] == -300_00
    assert middle["funding_costs"] == pytest.approx(100 * half, abs=1)
    assert middle["trust_investors"] == -(9_650_00 + middle["funding_costs"] - 300_00)
    # Inside a period it grows by the day: 91 of 182 days.
    quarter = amounts(books_by(facts, date(2024, 3, 31)))
    assert quarter["funding_costs"] == pytest.approx(50 * half, abs=1)
    assert quarter["interest_payable"] == -150_00


def test_notes_paid_to_the_end_leave_their_cost_and_nothing_else() -> None:
    facts = issued()
    facts.say(TRUST, K.NOTES_PAID, date(2024, 6, 30), 300_00, **paid("coupon"))
    facts.say(TRUST, K.NOTES_PAID, date(2024, 12, 31), 300_00, **paid("coupon"))
    facts.say(TRUST, K.NOTES_PAID, date(2024, 12, 31), 10_000_00, **paid("face"))
    last = date(2024, 12, 31)
    assert amounts(books_by(facts.facts, last)) == {
        "restricted_cash": -950_00, "funding_costs": 950_00,
    }  # fmt: skip
    # Nothing more is earned later.
    assert amounts(books_by(facts.facts, date(2026, 1, 1))) == amounts(books_by(facts.facts, last))
    flows = cash_flows(closed(facts.facts), date(2023, 12, 30), last)
    # Issued on the last day of 2023, closed in March: price and costs are of the first quarter.
    assert (flows.operating, flows.financing) == (-600_00, 9_700_00 - 50_00 - 10_000_00)


def test_notes_bought_back_early_leave_a_gain() -> None:
    facts = issued()
    facts.say(TRUST, K.NOTES_PAID, date(2024, 3, 31), 9_600_00, **paid("whole"))
    before = Instrument.of(facts.facts[0]).carrying_amount(date(2024, 3, 31))
    found = amounts(books_by(facts.facts, date(2024, 12, 31)))
    assert found["other_income"] == -(before - 9_600_00)
    assert found["restricted_cash"] == 50_00
    assert set(found) == {"other_income", "restricted_cash", "funding_costs"}


def test_a_bond_sold_early_leaves_a_loss() -> None:
    facts = Facts()
    facts.say(PLATFORM, K.BOND_BOUGHT, date(2023, 12, 31), 980_00, name="B", face="1000.00",
              days=["2024-12-31"], asset="other_non_current")  # fmt: skip
    facts.say(PLATFORM, K.BOND_PAID, date(2024, 7, 1), 985_00, **paid("whole", "B"))
    found = amounts(books_by(facts.facts, date(2024, 12, 31)))
    # Half of the discount of 20.00 was earned after 183 of 366 days.
    assert found == {"cash": 5_00, "interest_income": -10_00, "investment_result": 5_00}


def test_a_foreign_bond_earns_at_the_rate_of_each_month() -> None:
    facts = Facts().rates()
    own = {"currency": Currency.USD, "name": "B"}
    facts.say(PLATFORM, K.BOND_BOUGHT, date(2023, 12, 31), 970_00, face="1000.00",
              days=["2024-12-31"], **own)  # fmt: skip
    facts.say(PLATFORM, K.BOND_PAID, date(2024, 12, 31), 1_000_00, **own, **{"as": "face"})
    lines = books_by(facts.facts, date(2024, 12, 31))
    in_yuan = -amounts(lines)["interest_income"]
    assert 30_00 * 7 < in_yuan < 30 * 725
    assert "short_term_investments" not in amounts(lines)


REFUSED: list[tuple[list[tuple[K, str, int, dict[str, Any]]], str]] = [
    ([(K.NOTES_PAID, "2024-06-30", 5, paid("coupon", "ABS 2"))], "fact 2: notes_paid: nothing"),
    ([(K.BOND_PAID, "2024-06-30", 5, paid("coupon"))], "fact 2: bond_paid: nothing began"),
    ([(K.NOTES_ISSUED, "2024-01-01", 5_00, NOTES | {"costs": 0})], "fact 2: notes_issued: 'ABS 1'"),
    ([(K.NOTES_ISSUED, "2024-06-30", 5_00, NOTES | {"name": "x"})], "it pays before it begins"),
    ([(K.NOTES_ISSUED, "2024-01-01", 50_00, NOTES | {"name": "x"})], "something is advanced first"),
    ([(K.NOTES_PAID, "2024-06-30", 10_000_00, paid("face"))], "its face is due on 2024-12-31"),
    ([(K.NOTES_PAID, "2024-12-31", 10_000_01, paid("face"))], "0.01 CNY more than its face"),
    ([(K.NOTES_PAID, "2024-06-30", 601_00, paid("coupon"))], "1.00 CNY more than its coupon"),
    ([(K.NOTES_PAID, "2024-02-01", 9_000_00, paid("whole")),
      (K.NOTES_PAID, "2024-06-30", 300_00, paid("coupon"))], "it had ended by group fact 2"),
    ([(K.NOTES_PAID, "2024-06-30", 5, {**paid("coupon"), "currency": Currency.USD})],
     "'ABS 1' is another's"),
]  # fmt: skip


@pytest.mark.parametrize(("later", "expected"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(
    later: list[tuple[K, str, int, dict[str, Any]]], expected: str
) -> None:
    facts = issued()
    for kind, on, minor, detail in later:
        facts.say(TRUST, kind, date.fromisoformat(on), minor, **detail)
    with pytest.raises(UsanceError) as caught:
        books_by(facts.facts, date(2024, 12, 31))
    found = caught.value.errors if isinstance(caught.value, Problems) else [caught.value]
    assert any(expected in str(each) for each in found), [str(each) for each in found]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"days": ["2024-12-31", "2024-06-30"]}, "is no list of days in order"),
        ({"days": []}, "is no list of days in order"),
        ({"face": "0"}, "face"),
        ({"lender": "accrued"}, "unknown account 'accrued'"),
    ],
)
def test_a_contract_that_makes_no_sense_is_refused_when_stated(
    changes: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UsanceError, match="group fact 1") as caught:
        issued(**changes)
    assert expected in str(caught.value)


@given(
    st.integers(1_000, 10**9), st.integers(80, 120), st.integers(0, 20), st.integers(30, 400),
    st.integers(1, 4),
)  # fmt: skip
@settings(max_examples=30)
def test_interest_rises_to_coupons_and_discount(
    face: int, price_pct: int, rate_pct: int, span: int, count: int
) -> None:
    days = [BEGUN + timedelta(days=span * n) for n in range(1, count + 1)]
    facts, price = Facts(), face * price_pct // 100
    facts.say(PLATFORM, K.BOND_BOUGHT, BEGUN, price, name="B", rate=f"{rate_pct}%",
              face=f"{face // 100}.{face % 100:02}", days=[str(day) for day in days])  # fmt: skip
    bond = Instrument.of(facts.facts[0])
    assert (bond.coupons(BEGUN), bond.amortised(BEGUN), bond.carrying_amount(BEGUN)) == (
        0,
        0,
        price,
    )
    assert bond.coupons(days[-1]) == bond.coupon_minor * len(days)
    assert bond.amortised(days[-1]) == face - price
    spread = [bond.amortised(BEGUN + timedelta(days=n)) for n in range(0, span * count + 1, 7)]
    steps = [later - before for before, later in pairwise(spread)]
    # Over equal periods it goes one way: up from below par, down from above.
    assert all(step * (face - price) >= 0 for step in steps)
