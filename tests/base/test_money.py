"""Money is exact: properties against Decimal and Fraction, and each wrong amount by name."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import AmountError, CodeError, CurrencyMismatch
from usance.base.money import (
    INT64_MAX,
    INT64_MIN,
    Money,
    checked_int64,
    half_even,
    half_up,
    split,
    spread,
    vat_in,
)

MINOR = st.integers(INT64_MIN, INT64_MAX)
WIDE = st.integers(-(10**24), 10**24)


@given(WIDE, st.integers(1, 20) | st.integers(1, 10**9))
def test_half_up_is_decimals(numerator: int, denominator: int) -> None:
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(numerator) / Decimal(denominator)
        assert half_up(numerator, denominator) == exact.to_integral_value(ROUND_HALF_UP)
    assert half_up(-numerator, -denominator) == half_up(numerator, denominator)


@given(st.integers(0, 10**18), st.integers(1, 10**6))
def test_ties_go_away_from_zero(whole: int, half: int) -> None:
    tie = (2 * whole + 1) * half
    assert half_up(tie, 2 * half) == whole + 1
    assert half_up(-tie, 2 * half) == -whole - 1
    assert half_even(tie, 2 * half) == whole + whole % 2


@given(WIDE, st.integers(1, 1000))
def test_half_even_is_pythons_round(numerator: int, denominator: int) -> None:
    assert half_even(numerator, denominator) == round(Fraction(numerator, denominator))
    assert half_even(-numerator, -denominator) == half_even(numerator, denominator)


@given(WIDE, st.lists(st.integers(0, 10**6), min_size=1, max_size=20).filter(any))
def test_split_loses_nothing_and_is_near_exact(total: int, weights: list[int]) -> None:
    shares = split(total, weights)
    assert sum(shares) == total
    whole = sum(weights)
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - Fraction(total * weight, whole)) < 1
        assert weight or not share
    assert split(-total, weights) == [-share for share in shares]


@pytest.mark.parametrize("weights", [[], [0, 0], [2, -1]])
def test_split_refuses_weights_that_share_nothing(weights: list[int]) -> None:
    with pytest.raises(AmountError, match="weights"):
        split(100, weights)


@given(WIDE, st.integers(1, 60))
def test_spread_ends_at_the_total_and_never_drifts(total: int, n: int) -> None:
    slices = [spread(total, k, n) - spread(total, k - 1, n) for k in range(1, n + 1)]
    assert sum(slices) == total
    assert max(slices) - min(slices) <= 1


@given(MINOR)
def test_text_reads_back(minor: int) -> None:
    for currency in ("CNY", "JPY", "KWD"):
        money = Money(minor, currency)
        assert Money.parse(money.number, currency) == money
        assert str(money) == f"{money.number} {currency}"


def test_a_narrow_decimal_context_changes_nothing() -> None:
    with localcontext() as context:
        context.prec = 3
        assert Money.parse("123456.78", "CNY").minor == 12345678
        assert Money(12345678, "CNY").number == "123456.78"
        assert Money.parse(Decimal("123456.78"), "CNY").minor == 12345678


def test_whole_and_decimal_amounts() -> None:
    assert Money.parse(9000, "CNY") == Money.parse(Decimal("9E3"), "CNY") == Money(900000, "CNY")
    assert Money.parse("9000.000", "CNY").minor == 900000
    assert (Money(-5, "CNY").number, Money(-105, "CNY").number) == ("-0.05", "-1.05")


@pytest.mark.parametrize(
    "amount",
    [
        "9,000.00",
        "9 000",
        " 9000",
        "+1",
        "1e3",
        ".5",
        "5.",
        "",
        "NaN",
        "CNY 5",
        "\u0665",
        9000.0,
        True,
        None,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
    ],
)
def test_what_is_no_plain_amount_is_refused(amount: Any) -> None:
    with pytest.raises(AmountError, match=r"such as 9000\.00") as caught:
        Money.parse(amount, "CNY", where="row 3")
    assert caught.value.where == "row 3"


@pytest.mark.parametrize(("amount", "currency"), [("0.001", "CNY"), ("0.5", "JPY")])
def test_finer_than_the_minor_unit_is_refused(amount: str, currency: str) -> None:
    with pytest.raises(AmountError, match="finer than the smallest unit"):
        Money.parse(amount, currency)


@pytest.mark.parametrize("minor", [1.0, True, "1", Decimal(1), None])
def test_only_ints_are_minor_units(minor: Any) -> None:
    with pytest.raises(AmountError, match="whole number"):
        Money(minor, "CNY")
    with pytest.raises(AmountError, match="whole number"):
        checked_int64(minor)


def test_overflow_is_refused_wherever_it_happens() -> None:
    big = Money(INT64_MAX, "CNY")
    makers: list[Callable[[], object]] = [
        lambda: big + Money(1, "CNY"),
        lambda: -Money(INT64_MIN, "CNY"),
        lambda: big * 2,
        lambda: Money(INT64_MIN, "CNY") - Money(1, "CNY"),
        lambda: Money.parse("1" + "0" * 18, "CNY"),
        lambda: Money.parse("1" + "0" * 25, "CNY"),
        lambda: Money.parse("-1" + "0" * 25, "CNY"),
    ]
    for make in makers:
        with pytest.raises(AmountError, match="64 bits"):
            make()


def test_currencies_do_not_mix() -> None:
    yuan, dollar = Money(1, "CNY"), Money(1, "USD")
    for meet in (
        lambda: yuan + dollar,
        lambda: yuan - dollar,
        lambda: yuan < dollar,
        lambda: yuan <= dollar,
        lambda: yuan > dollar,
        lambda: yuan >= dollar,
    ):
        with pytest.raises(CurrencyMismatch, match="exchange rate"):
            meet()
    assert yuan != dollar


def test_unknown_currency_is_refused() -> None:
    with pytest.raises(CodeError, match="RMB"):
        Money(1, "RMB")
    with pytest.raises(CodeError, match="RMB"):
        Money.parse("1", "RMB")


@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15), st.integers(-999, 999))
def test_arithmetic_is_that_of_integers(a: int, b: int, n: int) -> None:
    x, y = Money(a, "CNY"), Money(b, "CNY")
    assert (x + y).minor == a + b
    assert (x - y).minor == a - b
    assert (x * n) == (n * x) == Money(a * n, "CNY")
    assert (x < y, x <= y, x > y, x >= y) == (a < b, a <= b, a > b, a >= b)
    assert bool(x) == bool(a)


@pytest.mark.parametrize("times", [0.5, True, Decimal(2), Money(1, "CNY")])
def test_money_is_multiplied_by_ints_only(times: Any) -> None:
    with pytest.raises(AmountError, match="Multiply by an int"):
        Money(1, "CNY") * times


def test_money_meets_money_only() -> None:
    number: Any = 1
    with pytest.raises(AmountError, match="Make both Money"):
        Money(1, "CNY") + number


def test_money_is_frozen_and_slotted() -> None:
    money: Any = Money(1, "CNY")
    with pytest.raises(AttributeError):
        money.minor = 2
    assert not hasattr(money, "__dict__")


def test_split_money_keeps_its_currency() -> None:
    assert Money(100, "JPY").split([2, 1]) == (Money(67, "JPY"), Money(33, "JPY"))


@pytest.mark.parametrize(
    ("gross", "vat"), [(25440, 1440), (8014, 454), (106, 6), (0, 0), (-106, -6), (9, 1), (8, 0)]
)
def test_vat_in_a_gross_amount(gross: int, vat: int) -> None:
    assert vat_in(gross, 60_000) == vat


@pytest.mark.parametrize(
    "amount",
    ["9" * 26, Decimal("9" * 26), 10**25, 10**5000, "9" * 41, "-" + "9" * 5000],
    ids=["text", "decimal", "int", "huge int", "long text", "huge text"],
)
def test_a_large_amount_is_too_large_not_malformed(amount: str | Decimal | int) -> None:
    with pytest.raises(AmountError, match="too large") as caught:
        Money.parse(amount, "CNY", where="row 3")
    assert caught.value.where == "row 3"
    assert "not an amount" not in caught.value.what


def test_the_largest_amount() -> None:
    assert Money.parse("92233720368547758.07", "CNY").minor == 2**63 - 1
    with pytest.raises(AmountError, match=r"Give at most 92233720368547758\.07 CNY"):
        Money.parse("92233720368547758.08", "CNY")
