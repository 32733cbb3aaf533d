"""Rates are whole parts per million, however they are written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import RateError
from usance.base.rates import INT32_MAX, Rate, to_ppb


@pytest.mark.parametrize(
    ("text", "ppm"),
    [
        ("18%", 180_000),
        ("18 %", 180_000),
        ("0.18", 180_000),
        (Decimal("0.18"), 180_000),
        ("150%", 1_500_000),
        ("-0.5%", -5_000),
        (0, 0),
        ("0.0001%", 1),
        ("23.990000%", 239_900),
    ],
)
def test_ways_to_write_a_rate(text: Any, ppm: int) -> None:
    assert Rate.parse(text).ppm == ppm


@given(st.integers(-INT32_MAX, INT32_MAX))
def test_text_reads_back(ppm: int) -> None:
    rate = Rate(ppm)
    assert Rate.parse(str(rate)) == rate
    assert rate.fraction == Fraction(ppm, 10**6)
    assert rate.ppb == ppm * 1000


def test_text_is_as_short_as_exact() -> None:
    assert [str(Rate(ppm)) for ppm in (180_000, 182_500, -5, 0)] == [
        "18%",
        "18.25%",
        "-0.0005%",
        "0%",
    ]


@pytest.mark.parametrize("given", ["18", "1", "-24", 18, Decimal("1.5")])
def test_a_bare_number_of_one_or_more_is_ambiguous(given: Any) -> None:
    with pytest.raises(RateError, match="could mean"):
        Rate.parse(given)


@pytest.mark.parametrize("given", ["0.1234567", "0.00001%", Decimal("1E-7")])
def test_finer_than_a_ppm_is_refused(given: Any) -> None:
    with pytest.raises(RateError, match="Round it"):
        Rate.parse(given)


@pytest.mark.parametrize(
    "given",
    [0.18, "NaN", "", "18 percent", "1e-3", True, None, Decimal("NaN"), Decimal("1E-99999")],
)
def test_what_is_no_rate_is_refused(given: Any) -> None:
    with pytest.raises(RateError, match=r"18% or 0\.18") as caught:
        Rate.parse(given, where="terms.yaml")
    assert caught.value.where == "terms.yaml"


@pytest.mark.parametrize("ppm", [0.5, True, "1", None])
def test_only_ints_are_ppm(ppm: Any) -> None:
    with pytest.raises(RateError, match="whole number"):
        Rate(ppm)


def test_a_rate_beyond_32_bits_is_refused() -> None:
    with pytest.raises(RateError, match="below"):
        Rate(2**31)
    with pytest.raises(RateError, match="below"):
        Rate.parse("300000%")


def test_a_solved_rate_is_rounded_once_half_up() -> None:
    assert to_ppb(Fraction(1, 2 * 10**9)) == 1
    assert to_ppb(Decimal("0.0171118349")) == 17_111_835
    assert Rate(1) < Rate(2)
