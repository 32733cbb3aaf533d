"""Entries of each kind of fact, with the figures of the specification if it has any."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.books.group_books import (
    ENDS,
    GROUP,
    KNOWN,
    LENDING,
    OVERSEAS,
    PARENT,
    PLATFORM,
    TRUST,
    Facts,
    amounts,
    books_by,
    closed,
    with_rates,
)
from usance.base.codes import Currency, IfrsAdjustment
from usance.base.errors import Problems, UsanceError
from usance.books.errors import GroupFactError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import facts_of_stated
from usance.books.group.posting import group_lines
from usance.books.group.rules import activities, load_group_rules
from usance.books.rules import Activity, load_rules
from usance.capital.documents.record import read_capital
from usance.capital.facts import facts_of

MARCH, JUNE = ENDS[0], ENDS[1]


def b2() -> Facts:
    """The investors of the worked loan B2."""
    facts = Facts()
    deal = {"deal": "T1", "lender": "trust_investors", "rate": "4.2%",
            "day_count": "30/360 monthly"}  # fmt: skip
    facts.say(TRUST, GroupFactKind.FUNDING_RAISED, date(2023, 12, 31), 9_000_00, **deal)
    repaid = {"deal": "T1"}
    facts.say(TRUST, GroupFactKind.FUNDING_REPAID, date(2024, 2, 1), 1_500_00,
              value_on="2024-01-31", **repaid)  # fmt: skip
    facts.say(TRUST, GroupFactKind.FUNDING_INTEREST_PAID, date(2024, 4, 1), 84_00, **repaid)
    facts.say(TRUST, GroupFactKind.FUNDING_REPAID, date(2024, 4, 30), 7_500_00, **repaid)
    facts.say(TRUST, GroupFactKind.FUNDING_INTEREST_PAID, date(2024, 4, 30), 26_25, **repaid)
    return facts


def test_investors_of_the_worked_trust_earn_what_the_specification_says() -> None:
    facts = b2().facts
    march = amounts(books_by(facts, MARCH))
    assert march == {
        "restricted_cash": 7_500_00, "trust_investors": -7_500_00, "funding_costs": 84_00,
        "interest_payable": -84_00,
    }  # fmt: skip
    assert amounts(books_by(facts, JUNE)) == {"restricted_cash": -110_25, "funding_costs": 110_25}


def test_actual_days_run_over_365() -> None:
    facts = Facts()
    facts.say(LENDING, GroupFactKind.FUNDING_RAISED, date(2024, 1, 1), 365_000_00, deal="S",
              lender="short_term_loans", rate="10%")  # fmt: skip
    found = amounts(books_by(facts.facts, date(2024, 3, 1)))
    assert found["funding_costs"] == 60 * 100_00
    assert found["cash"] == 365_000_00


def test_a_residual_and_a_buy_out_leave_the_group_as_it_was() -> None:
    facts = b2()
    facts.say(TRUST, GroupFactKind.RESIDUAL_DISTRIBUTED, MARCH, 5_00, to=PLATFORM)
    facts.say(TRUST, GroupFactKind.TRUST_BUY_OUT, MARCH, 700_00, buyer=LENDING)
    lines = books_by(facts.facts, MARCH)
    assert amounts(lines, entity=PLATFORM) == {"cash": 5_00, "within_group": -5_00}
    assert amounts(lines, entity=LENDING) == {"cash": -700_00, "within_group": 700_00}
    assert "within_group" not in amounts(lines)
    flows = closed(facts.facts, [MARCH])
    assert flows.at(MARCH).amount("cash") == -695_00


def test_referral_and_usage_are_invoiced_and_received() -> None:
    """The worked loans D and E, from invoice to cash; the drawdown itself is the loan's."""
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.REFERRAL_INVOICED, date(2024, 1, 31), 132_50, party=8)
    facts.say(PLATFORM, GroupFactKind.USAGE_DELIVERED, date(2024, 1, 31), 1_060_00, party=9)
    start = amounts(books_by(facts.facts, date(2024, 1, 31)))
    assert start["accounts_receivable"] == 1_192_50
    assert start["contract_assets"] == -132_50
    assert start["other_platform_fees"] == -1_000_00
    assert start["other_tax_payable"] == -60_00
    facts.say(PLATFORM, GroupFactKind.FEES_RECEIVED, date(2024, 2, 20), 132_50, party=8)
    facts.say(PLATFORM, GroupFactKind.FEES_RECEIVED, date(2024, 2, 20), 1_060_00, party=9)
    end = amounts(books_by(facts.facts, MARCH))
    assert end == {"cash": 1_192_50, "contract_assets": -132_50, "other_platform_fees": -1_000_00,
                   "other_tax_payable": -60_00}  # fmt: skip


def test_fees_age_and_are_written_off_against_the_allowance() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.USAGE_DELIVERED, date(2024, 1, 1), 1_000_00, party=9,
              due_on="2024-02-01")  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.FEES_RECEIVED, date(2024, 2, 15), 400_00, party=9)

    def allowance(day: date) -> int:
        return amounts(books_by(facts.facts, day)).get("receivable_allowance_fees", 0)

    assert allowance(date(2024, 2, 1)) == -3_00  # 0.3 % of 1,000.00, not yet past due
    assert allowance(date(2024, 2, 20)) == -9_60  # 1.6 % of 600.00, up to 30 days
    assert allowance(date(2024, 3, 31)) == -21_60  # 3.6 %, 59 days past due
    facts.say(PLATFORM, GroupFactKind.FEES_WRITTEN_OFF, date(2024, 12, 1), 600_00, party=9)
    gone = amounts(books_by(facts.facts, date(2024, 12, 31)))
    assert "receivable_allowance_fees" not in gone
    assert "accounts_receivable" not in gone
    assert gone["contract_provision"] == 600_00


def test_loss_rates_follow_from_fees_that_have_run_their_course() -> None:
    """Of 100,000 sold 2,000 were never paid: 2 % of what is current, 4 % of the next age."""
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.USAGE_DELIVERED, date(2024, 1, 31), 1_000_00, party=8)
    facts.say(PLATFORM, GroupFactKind.FEES_HISTORY, date(2024, 2, 1), never_paid="2000",
              entering=["100000", "50000", "23000", "8000", "2000"])  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.FEES_HISTORY, date(2024, 4, 1), never_paid="0",
              entering=["100000"])  # fmt: skip

    def allowance(day: date) -> int:
        return -amounts(books_by(facts.facts, day)).get("receivable_allowance_fees", 0)

    assert allowance(date(2024, 1, 31)) == 3_00  # 0.3 %: nothing is stated yet
    assert allowance(date(2024, 2, 20)) == 40_00  # 20 days past due: 2,000 of 50,000
    assert allowance(date(2024, 3, 31)) == 86_96  # 60 days: 2,000 of 23,000
    assert allowance(date(2024, 4, 1)) == 0  # the newest history: everything was paid


def test_awards_by_holders_and_leavers() -> None:
    """IFRS 2, IG11: 100 options for each of 500, at 15, 20 % of them leaving over three years."""
    facts = Facts()
    facts.say(
        PLATFORM, GroupFactKind.GRANT, date(2020, 12, 31), name="G", award="option", fair_value=15,
        exercise_price=1, tranches=[{"on": "2023-12-31", "holders": 500, "units_each": 100}],
    )  # fmt: skip
    facts.say(
        PLATFORM, GroupFactKind.VESTING_ESTIMATE, date(2020, 12, 31), grant="G", leavers="20%"
    )
    lines = books_by(facts.facts, date(2021, 12, 31))
    both = (
        amounts(lines)["administration"] + amounts(lines, tag=IfrsAdjustment.SBC)["administration"]
    )
    assert both == 200_000_00


def test_a_related_institution_stands_on_its_own_line() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.REFERRAL_INVOICED, date(2024, 1, 31), 132_50, party=77)
    found = amounts(books_by(facts.facts, MARCH))
    assert found["related_receivable"] == 132_50
    assert found["related_contract"] == -132_50


def test_costs_by_function_and_by_what_drives_them() -> None:
    facts = Facts()
    on = date(2024, 1, 31)
    facts.say(PLATFORM, GroupFactKind.COST_INCURRED, on, 900_00, function="administration")
    facts.say(PLATFORM, GroupFactKind.COST_PAID, on, 500_00)
    facts.say(
        PLATFORM, GroupFactKind.COST_DRIVER, on, quantity=1_001, driver="bureau_fee", price="0.355"
    )
    facts.say(PLATFORM, GroupFactKind.COST_DRIVER, on, 10_000_00, driver="collection_commission",
              rate="12%")  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.COST_DRIVER, on, quantity=10, driver="channel_cost", price=25)
    facts.say(PLATFORM, GroupFactKind.COST_PREPAID, on, 366_00, function="marketing",
              first="2024-01-01", last="2024-12-31")  # fmt: skip
    found = amounts(books_by(facts.facts, MARCH))
    assert found["servicing_cost"] == 355_36 + 1_200_00
    assert found["marketing"] == 250_00 + 91_00
    assert found["administration"] == 900_00
    assert found["prepaid"] == 366_00 - 91_00
    assert found["accrued"] == -(900_00 - 500_00 + 355_36 + 1_200_00 + 250_00)


def test_things_wear_in_equal_months_until_they_are_sold() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.ASSET_BOUGHT, date(2024, 1, 15), 1_000_00, asset="property",
              name="servers", months=3, function="administration")  # fmt: skip
    assert amounts(books_by(facts.facts, date(2024, 1, 31)))["property"] == 1_000_00
    assert amounts(books_by(facts.facts, date(2024, 2, 29)))["property"] == 666_67
    facts.say(PLATFORM, GroupFactKind.ASSET_SOLD, date(2024, 3, 20), 500_00, name="servers")
    end = amounts(books_by(facts.facts, JUNE))
    assert end == {"cash": -500_00, "administration": 666_67, "other_income": -166_67}


def test_an_acquisition_brings_goodwill_and_non_controlling_interests() -> None:
    facts = with_rates()
    facts.say(
        PLATFORM, GroupFactKind.ACQUISITION, date(2024, 1, 31), 800_00, acquired=OVERSEAS,
        non_controlling="200.00",
        lines=[{"account": "cash", "amount": 300}, {"account": "intangibles", "amount": 450},
               {"account": "accrued", "amount": -50}],
    )  # fmt: skip
    books = closed(facts.facts, [MARCH])
    group = books.at(MARCH)
    assert group.amount("subsidiaries") == 0
    assert group.amount("goodwill") == 300_00  # 800 + 200 - 700, all within the same rate
    assert group.amount("non_controlling_interests") == -200_00
    assert group.amount("cash") == -500_00


def test_share_based_compensation_under_both_frameworks() -> None:
    facts = with_rates()
    facts.say(
        PARENT, GroupFactKind.GRANT, date(2022, 1, 1), currency=Currency.USD, name="2022",
        award="restricted", fair_value="10.00",
        tranches=[{"on": "2023-01-01", "units": 500}, {"on": "2024-01-01", "units": 500}],
        functions={"sales_and_marketing": "25%", "general_and_administrative": "75%"},
    )  # fmt: skip
    lines = books_by(facts.facts, date(2023, 1, 1))
    assert amounts(lines) == {"marketing": 1_250_00, "administration": 3_750_00,
                              "paid_in_capital": -5_000_00}  # fmt: skip
    assert amounts(lines, tag=IfrsAdjustment.SBC) == {
        "marketing": 625_00,
        "administration": 1_875_00,
        "paid_in_capital": -2_500_00,
    }
    assert amounts(books_by(facts.facts, MARCH), tag=IfrsAdjustment.SBC) == {}


def test_shares_are_issued_bought_back_and_retired_at_their_cost() -> None:
    facts = with_rates()
    usd = {"currency": Currency.USD}
    facts.say(
        PARENT, GroupFactKind.SHARES_ISSUED, date(2024, 1, 2), 10_000_00, quantity=1_000, **usd
    )
    facts.say(
        PARENT, GroupFactKind.SHARES_REPURCHASED, date(2024, 1, 3), 900_00, quantity=60, **usd
    )
    facts.say(
        PARENT, GroupFactKind.SHARES_REPURCHASED, date(2024, 1, 4), 500_00, quantity=40, **usd
    )
    facts.say(PARENT, GroupFactKind.SHARES_RETIRED, date(2024, 1, 5), quantity=50, **usd)
    facts.say(PARENT, GroupFactKind.SHARES_RETIRED, date(2024, 1, 6), quantity=50, **usd)
    half = amounts(books_by(facts.facts, date(2024, 1, 5)))
    assert half["treasury_shares"] == 700_00
    end = amounts(books_by(facts.facts, MARCH))
    assert end == {"cash": 8_600_00, "paid_in_capital": -8_600_00}


def test_a_dividend_is_owed_in_the_currency_it_was_declared_in() -> None:
    facts = with_rates()
    usd = {"currency": Currency.USD}
    facts.say(
        PARENT, GroupFactKind.SHARES_ISSUED, date(2023, 1, 2), 10_000_00, quantity=1_000, **usd
    )
    facts.say(PARENT, GroupFactKind.DIVIDEND_DECLARED, date(2024, 3, 12), name="2023H2",
              per_share="0.29", record_on="2024-04-15", **usd)  # fmt: skip
    assert amounts(books_by(facts.facts, MARCH))["dividends_payable"] == -290_00
    facts.say(PARENT, GroupFactKind.DIVIDEND_PAID, date(2024, 5, 21), 290_00, name="2023H2", **usd)
    end = amounts(books_by(facts.facts, JUNE))
    assert end["retained_earnings"] == 290_00
    assert "dividends_payable" not in end


def test_a_foreign_debt_gives_an_exchange_result_and_each_currency_balances() -> None:
    """USD 100.00 owed by an entity in CNY: 7.00 when incurred, 7.10 in March, 7.25 in June."""
    facts = with_rates()
    facts.say(PLATFORM, GroupFactKind.COST_INCURRED, date(2024, 1, 31), 100_00,
              currency=Currency.USD, function="administration")  # fmt: skip
    march, june = books_by(facts.facts, MARCH), books_by(facts.facts, JUNE)
    assert amounts(march)["administration"] == 700_00
    assert amounts(march)["exchange_result"] == 10_00
    assert amounts(june)["exchange_result"] == 25_00
    facts.say(PLATFORM, GroupFactKind.CURRENCY_EXCHANGED, date(2024, 6, 30), 725_00,
              bought="100.00 USD")  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.COST_PAID, date(2024, 6, 30), 100_00, currency=Currency.USD)
    paid = {name: minor for name, minor in amounts(books_by(facts.facts, ENDS[3])).items()
            if name != "exchange_position"}  # fmt: skip
    assert paid == {"administration": 700_00, "exchange_result": 25_00, "cash": -725_00}


def test_a_rate_that_is_not_there_names_the_fact() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.COST_INCURRED, date(2024, 1, 31), 100_00,
              currency=Currency.EUR, function="administration")  # fmt: skip
    with pytest.raises(GroupFactError) as caught:
        books_by(facts.facts, MARCH)
    assert caught.value.where == "group fact 1"
    assert "EUR on 2024-01-31" in caught.value.what


def test_deposits_investments_and_what_banks_pay() -> None:
    facts = Facts()
    on = date(2024, 1, 31)
    facts.say(PLATFORM, GroupFactKind.DEPOSIT_PLACED, on, 100_00, **{"as": "restricted_cash"})
    facts.say(PLATFORM, GroupFactKind.DEPOSIT_PLACED, on, 70_00, **{"as": "security_deposits"})
    facts.say(PLATFORM, GroupFactKind.DEPOSIT_RETURNED, on, 20_00, **{"as": "security_deposits"})
    facts.say(PLATFORM, GroupFactKind.INVESTMENT_MADE, on, 50_00)
    facts.say(PLATFORM, GroupFactKind.INVESTMENT_RESULT, on, -5_00)
    facts.say(PLATFORM, GroupFactKind.INVESTMENT_RETURNED, on, 30_00)
    facts.say(PLATFORM, GroupFactKind.BANK_INTEREST, on, 3_00)
    facts.say(PLATFORM, GroupFactKind.SUBSIDY, on, 4_00)
    facts.say(PLATFORM, GroupFactKind.SUNDRY, on, -1_00)
    assert amounts(books_by(facts.facts, MARCH)) == {
        "cash": -100_00 - 70_00 + 20_00 - 50_00 + 30_00 + 3_00 + 4_00 - 1_00,
        "restricted_cash": 100_00, "security_deposits": 50_00, "short_term_investments": 15_00,
        "investment_result": 5_00, "interest_income": -3_00, "other_income": -3_00,
    }  # fmt: skip


def test_what_is_known_later_is_not_there_before() -> None:
    from datetime import UTC, datetime

    from usance.books.group.facts import fact

    late = fact(
        1, PLATFORM, GroupFactKind.SUBSIDY, date(2024, 1, 5), datetime(2024, 4, 9, tzinfo=UTC), 5
    )
    assert len(group_lines([late], GROUP, MARCH, datetime(2024, 4, 8, tzinfo=UTC))) == 0
    assert len(group_lines([late], GROUP, MARCH, datetime(2024, 4, 9, tzinfo=UTC))) == 2


def test_every_rule_of_both_halves_has_a_number_and_an_activity() -> None:
    named = activities()
    assert len(named) == len(load_rules()) + len(load_group_rules())
    assert named[811] is Activity.FINANCING
    assert named[205] is Activity.OPERATING


@pytest.mark.parametrize(
    ("kind", "minor", "detail", "said"),
    [
        (GroupFactKind.FUNDING_REPAID, 5, {"deal": "none"}, "raised under the deal 'none'"),
        (GroupFactKind.ASSET_SOLD, 5, {"name": "desk"}, "'desk' was not bought"),
        (GroupFactKind.DIVIDEND_PAID, 5, {"name": "x"}, "no dividend 'x' is declared in CNY"),
        (GroupFactKind.GROUP_TRANSFER, 5, {"to": 99}, "there is no entity 99"),
        (GroupFactKind.GROUP_DIVIDEND, 5, {"to": 3}, "it is not paid to the owner"),
        (GroupFactKind.COST_DRIVER, 5, {"driver": "bureau_fee"}, "neither price nor rate is given"),
        (GroupFactKind.CURRENCY_EXCHANGED, 5, {"bought": "1.00 CNY"}, "a currency for itself"),
        (GroupFactKind.SHARES_RETIRED, 0, {"quantity": 5}, "more than were in treasury"),
        (GroupFactKind.UNITS_CHANGED, 0, {"quantity": 5, "grant": "g", "change": "vested"},
         "there is no grant 'g'"),
        (GroupFactKind.DIVIDEND_DECLARED, 0, {"name": "x"}, "what is declared is not clear"),
        (GroupFactKind.COST_PREPAID, 5, {"function": "marketing", "first": "2024-02-01",
                                     "last": "2024-01-01"}, "its last day is before its first"),
        (GroupFactKind.EXCHANGE_RATE, 0, {"rate": 1}, "no rate for CNY"),
    ],
)  # fmt: skip
def test_facts_that_do_not_fit_are_named(
    kind: GroupFactKind, minor: int, detail: dict[str, object], said: str
) -> None:
    facts = Facts()
    facts.say(PLATFORM, kind, date(2024, 1, 31), minor, **detail)
    with pytest.raises(UsanceError) as caught:
        books_by(facts.facts, MARCH)
    found = caught.value.errors if isinstance(caught.value, Problems) else [caught.value]
    assert any(said in error.what and error.where == "group fact 1" for error in found)


def test_prices_are_exact() -> None:
    facts = Facts()
    driven = facts.say(PLATFORM, GroupFactKind.COST_DRIVER, MARCH, quantity=3, driver="bureau_fee",
                       price=Decimal("0.005"))  # fmt: skip
    assert amounts(books_by([driven], MARCH))["servicing_cost"] == 2


def test_what_capital_states_is_posted(tmp_path: Path) -> None:
    """Records of the room `capital` become facts; the books end at its own figures."""
    file = tmp_path / "capital.yaml"
    file.write_text("""
entity: 1
currency: USD
facts:
  - {kind: shares_issued, on: 2023-12-31, shares: 1000, amount: 5000.00}
  - {kind: shares_repurchased, on: 2024-01-10, shares: 100, amount: 900.00}
  - {kind: shares_reissued, on: 2024-01-20, shares: 40, amount: 500.00}
  - kind: grant
    name: g
    on: 2024-01-01
    award: restricted
    fair_value: 3
    tranches: [{on: 2024-02-01, units: 30}]
  - {kind: vested, grant: g, on: 2024-02-01, units: 30, source: treasury}
  - {kind: vesting_estimate, grant: g, on: 2024-01-02, shares: [2/3]}
  - kind: dividend_declared
    name: d
    on: 2024-02-15
    per_share: 0.10
    ordinary: {record_on: 2024-03-01, pays_on: 2024-05-01}
  - {kind: shares_issued, on: 2024-02-20, shares: 30, amount: 0.00}
""")
    stated = read_capital(file)
    facts = with_rates().facts
    facts += facts_of_stated(facts_of(stated, "USD"), 100, KNOWN)
    found = amounts(books_by(facts, MARCH))
    # 100 bought at 9.00, 40 sold at 12.50, 30 handed over, 30 left.
    assert found["treasury_shares"] == 270_00
    assert found["cash"] == 5_000_00 - 900_00 + 500_00
    assert found["administration"] == 90_00
    # 970 shares at the declaration, 1,000 on the record date.
    assert found["dividends_payable"] == -100_00
    assert found["retained_earnings"] == 100_00
    assert sum(found.values()) == 0
