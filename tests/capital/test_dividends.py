"""Dividends from declaration to payment, the exchange's form, and repurchase programmes."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.documents import read_csv
from usance.base.parameters import Parameters
from usance.capital.dividends import (
    Dividend,
    DividendPaid,
    Entitlement,
    Market,
    payable_minor,
    payout,
)
from usance.capital.errors import DividendError, RepurchaseError
from usance.capital.prices import rounded
from usance.capital.register import Register, ShareChange, ShareKind
from usance.capital.repurchases import Programme, problems, utilisation

DECLARED, RECORD, PAID = date(2024, 3, 12), date(2024, 4, 15), date(2024, 5, 21)


def entitlement(market: Market = Market.ORDINARY, **changes: Any) -> Entitlement:
    plain: dict[str, Any] = {"record_on": RECORD, "pays_on": PAID, "currency": "USD"}
    return Entitlement(market, **(plain | changes))


def dividend(*terms: Entitlement, **changes: Any) -> Dividend:
    plain: dict[str, Any] = {
        "name": "2023H2", "declared_on": DECLARED, "currency": "USD", "per_share": Decimal("0.29"),
        "entitlements": terms or (entitlement(),),
    }  # fmt: skip
    return Dividend(**(plain | changes))


def register(*changes: tuple[ShareKind, date, int]) -> Register:
    opening = (ShareKind.ISSUED, date(2023, 12, 31), 1_000)
    return Register(tuple(ShareChange(kind, on, shares, "USD")
                          for kind, on, shares in (opening, *changes)))  # fmt: skip


def test_it_is_owed_from_declaration_and_settled_by_the_record_date() -> None:
    shares = register((ShareKind.REPURCHASED, date(2024, 4, 1), 100),
                      (ShareKind.ISSUED, date(2024, 4, 20), 500))  # fmt: skip
    days = (date(2024, 3, 11), DECLARED, date(2024, 4, 1), RECORD, date(2024, 6, 30))
    owed = [dividend().declared_minor(shares, day) for day in days]
    assert owed == [0, 290_00, 290_00, 261_00, 261_00]


def test_what_is_owed_less_what_is_paid() -> None:
    paid = [
        DividendPaid("2023H2", PAID, Market.ORDINARY, "USD", 100_00),
        DividendPaid("2023H2", date(2024, 5, 24), Market.ADS, "USD", 190_00),
        DividendPaid("2023H1", PAID, Market.ADS, "USD", 999_00),
    ]
    days = (DECLARED, PAID, date(2024, 5, 24))
    found = [payable_minor(dividend(), paid, register(), day) for day in days]
    assert found == [290_00, 190_00, 0]


def test_a_market_is_paid_in_its_currency_after_tax() -> None:
    terms = entitlement(currency="HKD", exchange_rate=Decimal("7.8"), withholding_ppm=100_000)
    found = dividend(terms).payment(Market.ORDINARY, 1_001)
    assert found == (2_264_26, 226_43, 2_037_83, "HKD")
    with pytest.raises(DividendError, match="not paid to holders of ads"):
        dividend(terms).payment(Market.ADS, 1)


@given(st.integers(0, 10**9), st.integers(0, 1_000_000), st.integers(1, 10**6))
def test_gross_is_withheld_and_net(shares: int, withholding: int, per_share: int) -> None:
    given_terms = entitlement(withholding_ppm=withholding)
    found = dividend(given_terms, per_share=Decimal(per_share).scaleb(-4)).payment(
        Market.ORDINARY, shares
    )
    assert found.gross_minor == found.withheld_minor + found.net_minor
    assert 0 <= found.withheld_minor <= found.gross_minor


@pytest.mark.parametrize(
    "changes",
    [
        {"ex_on": date(2024, 4, 16)},
        {"ex_on": date(2024, 3, 11)},
        {"lodge_by": datetime.combine(date(2024, 4, 16), time(16, 30))},
        {"pays_on": date(2024, 4, 14)},
        {"closed": (date(2024, 4, 15), date(2024, 4, 12))},
        {"exchange_rate": Decimal(0)},
        {"withholding_ppm": 1_000_001},
    ],
)
def test_impossible_terms_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DividendError, match="dividend '2023H2'"):
        dividend(entitlement(**changes))


def test_impossible_dividends_are_refused() -> None:
    with pytest.raises(DividendError, match="0 per share"):
        dividend(per_share=Decimal(0))
    with pytest.raises(DividendError, match="has no market"):
        dividend(entitlements=())
    with pytest.raises(DividendError, match="or one twice"):
        dividend(entitlement(), entitlement())


def day_in(text: str) -> date:
    """A day as filings print it; the English month is looked up, whatever the locale."""
    day, month, year = text.split()[:3]
    months = "January February March April May June July August September October November December"
    return date(int(year), months.split().index(month) + 1, int(day))


def test_both_markets_of_real_dividends(shared: Path) -> None:
    for name, period in (("003", "2023H2"), ("002", "2024H1")):
        rows = read_csv(shared / "filings" / f"{name}.csv")
        found = {row["line"]: row["value"] for _, row in rows
                 if row["statement"] == "dividend" and row["period_or_date"] == period}  # fmt: skip
        per_share = Decimal(found["Dividend per Class A ordinary share"])
        assert dividend(per_share=per_share).per_ads(2) == Decimal(found["Dividend per ADS"])


def test_real_dividends_lie_within_the_policy(shared: Path) -> None:
    """A half year's dividend on its average shares, at the filing's rate, against net income."""
    parameters = Parameters.load()
    lowest, highest = (parameters.at(f"capital.payout_{end}", DECLARED).value.fraction  # type: ignore[union-attr]
                       for end in ("minimum", "maximum"))  # fmt: skip
    rows = [row for _, row in read_csv(shared / "filings" / "002.csv")]
    half = [row for row in rows if row["currency"] == "USD" and row["period_or_date"] == "2024H1"]
    income = next(Decimal(row["value"]) * 1000 for row in half if row["line"] == "Net income")
    shares = next(int(row["value"]) for row in rows if row["line"] == "Basic"
                  and row["unit"] == "shares" and row["period_or_date"] == "2024Q2")  # fmt: skip
    owed = dividend(per_share=Decimal("0.30")).amount_minor(shares)
    assert lowest <= payout(owed, int(income * 100)) <= highest


def test_there_is_no_payout_of_a_loss() -> None:
    assert payout(30, 100) == Fraction(3, 10)
    with pytest.raises(DividendError, match="no income"):
        payout(1, 0)


PROGRAMME = Programme("2024", "USD", 100_00, date(2024, 4, 1), date(2025, 3, 31))


def bought(on: date, amount: int, shares: int = 10, currency: str = "USD") -> ShareChange:
    return ShareChange(ShareKind.REPURCHASED, on, shares, currency, amount, "2024")


def test_a_programme_counts_what_was_bought_under_it() -> None:
    changes = [
        bought(date(2024, 4, 1), 40_00),
        bought(date(2024, 5, 1), 50_00, 20),
        ShareChange(ShareKind.REPURCHASED, date(2024, 5, 1), 7, "USD", 7_00),
        ShareChange(ShareKind.RETIRED, date(2024, 5, 1), 7, "USD"),
    ]
    used = utilisation(PROGRAMME, changes, date(2024, 4, 30))
    assert (used.shares, used.amount_minor, used.remaining_minor) == (10, 40_00, 60_00)
    used = utilisation(PROGRAMME, changes, date(2024, 5, 1))
    assert (used.shares, used.amount_minor, used.remaining_minor) == (30, 90_00, 10_00)
    assert used.average_price() == 3
    assert used.average_price(ads_ratio=2) == 6
    assert utilisation(PROGRAMME, [], date(2024, 5, 1)).average_price() == 0
    assert list(problems(PROGRAMME, changes)) == []


def test_repurchases_outside_a_programme_are_named() -> None:
    changes = [
        bought(date(2024, 3, 31), 10_00),
        bought(date(2024, 5, 2), 1_00, currency="HKD"),
        bought(date(2024, 5, 1), 60_00),
        bought(date(2025, 3, 31), 30_00),
    ]
    assert [error.what for error in problems(PROGRAMME, changes)] == [
        "a repurchase on 2024-03-31 outside programme '2024'",
        "a repurchase in HKD under programme '2024' in USD",
        "with this repurchase programme '2024' is exceeded by 1.00 USD",
    ]
    assert list(problems(PROGRAMME, [bought(PROGRAMME.opens_on, PROGRAMME.limit_minor)])) == []
    with pytest.raises(RepurchaseError):
        Programme("p", "USD", 0, DECLARED, PAID)


def test_published_averages_follow_from_amount_and_number(shared: Path) -> None:
    """Amount and count are printed rounded, so the price lies between the extremes they allow."""
    checked = 0
    for name, plan, day in (("003", "2023", "2024-03-12"), ("000", "2024", "2024-05-17"),
                            ("002", "2024", "2024-08-13")):  # fmt: skip
        rows = read_csv(shared / "filings" / f"{name}.csv")
        of_day = [row for _, row in rows if row["period_or_date"] == day]
        found = {row["line"]: Fraction(row["value"]) for row in of_day
                 if row["statement"] == "share_repurchase"}  # fmt: skip
        count, amount = (found[f"{plan} plan {noun}"] for noun in ("ADSs purchased", "amount"))
        prices = []
        for shift in (-1, 1):
            shares = int((count - shift * Fraction(1, 20)) * 1_000_000) * 2
            minor = int((amount + shift * Fraction(1, 2)) * 100_000_000)
            changes = [ShareChange(ShareKind.REPURCHASED, PAID, shares, "USD", minor, "2024")]
            used = utilisation(PROGRAMME, changes, PAID)
            prices.append(rounded(used.average_price(ads_ratio=2), 1))
        assert prices[0] <= found[f"{plan} plan average price"] <= prices[1]
        checked += 1
    assert checked == 3
