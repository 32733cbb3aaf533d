"""Tax on income: the worked figures, the whole life of a loan, and why the rate is what it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.books.group_books import (
    ENDS,
    GROUP,
    GUARANTEE,
    LATER,
    LENDING,
    OPENED,
    OVERSEAS,
    PLATFORM,
    TRUST,
    Facts,
    closed,
    lines_of,
    with_rates,
)
from usance.base.codes import IfrsAdjustment
from usance.base.errors import UsanceError
from usance.books.group.entities import Entities, parse_entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import visible_facts
from usance.books.group.tax import (
    TaxYear,
    deferred,
    load_differences,
    profit_before_tax,
    rate_reconciliation,
    temporary_differences,
)
from usance.books.statements.tax_years import tax_years

# Cumulative balances of the worked loan A2 at its closes (31 Dec, 31 Mar, 30 Jun).
A2 = [
    {"financial_allowance": -38_16, "contract_allowance": -12_02, "contingent": -360_00},
    {"financial_allowance": -25_44, "contract_allowance": -9_05, "contingent": -400_00},
    {"financial_allowance": 0, "contract_allowance": 0, "contingent": 0},
]


def test_deferred_tax_of_the_worked_loan() -> None:
    assert [deferred(each, 250_000) for each in A2] == [(102_55, 0), (108_62, 0), (0, 0)]


def test_contract_assets_and_earned_fees_are_taxed_later() -> None:
    assert deferred({"contract_assets": 80_14, "unearned_fee": 4_00}, 250_000) == (0, 21_04)
    assert deferred({"unearned_fee": -40_00}, 250_000) == (10_00, 0)


def test_whole_life_tax_of_the_worked_loan_is_a_quarter_of_what_it_lost() -> None:
    """A2 from origination to its last close: tax = 25 % of -4,483.80."""
    moves = [
        (date(2023, 12, 31), {"provisions": 410_18, "allowances": -410_18, "service": -75_60,
                              "contract_assets": 80_14, "vat": -4_54}),
        (date(2024, 3, 31), {"provisions": 24_31, "allowances": -24_31, "guarantee": -120_00,
                             "service": -21_30, "contract_assets": 22_57 - 42_40, "vat": -8_47,
                             "cash": 127_20, "stand": 127_20 - 84_80}),
        (date(2024, 6, 30), {"provisions": 5_899_39, "guarantee": -120_00, "service": -13_18,
                             "contract_assets": 13_97 - 74_28, "vat": -7_99,
                             "cash": -6_090_00, "stand": 127_20 - 169_60,
                             "allowances": 169_60 + 74_28 + 6_090_00 - 5_899_39}),
        (date(2024, 9, 30), {"provisions": -1_500_00, "cash": 1_500_00}),
    ]  # fmt: skip
    names = {"provisions": "contingent_provision", "allowances": "contingent",
             "vat": "other_tax_payable", "service": "heavy_facilitation",
             "guarantee": "guarantee_revenue", "stand": "stand_ready",
             "contract_assets": "contract_assets", "cash": "cash"}  # fmt: skip
    loans = [
        lines_of({names[key]: minor for key, minor in rows.items()}, GUARANTEE, day)
        for day, rows in moves
    ]
    books = closed([], [day for day, _ in moves], loans)
    end = books.at(moves[-1][0])
    expense = end.amount("income_tax") + end.amount("deferred_tax")
    assert expense == -1_120_95
    assert end.amount("cash") == -4_483_80
    assert end.amount("deferred_tax_asset") == end.amount("deferred_tax_liability") == 0
    assert books.at(date(2023, 12, 31)).amount("deferred_tax_asset") == 102_55
    assert books.at(date(2024, 3, 31)).amount("deferred_tax_asset") == 108_62


@given(st.lists(st.integers(-(10**9), 10**9), min_size=8, max_size=8), st.integers(0, 500_000))
def test_current_and_deferred_tax_together_are_the_rate_on_profit(
    minors: list[int], rate: int
) -> None:
    """Within half a cent for each of three roundings at the start and at the end."""
    names = ("contingent", "loan_allowance", "contract_assets", "unearned_fee")
    start, now = dict(zip(names, minors, strict=False)), dict(zip(names, minors[4:], strict=True))
    entity = GROUP[GUARANTEE]
    from dataclasses import replace

    year = TaxYear(
        replace(entity, tax_ppm=rate),
        {**now, "marketing": minors[0]},
        start,
        permanent_minor=minors[1],
    )
    stands, stood = deferred(now, rate), deferred(start, rate)
    change = (stands.liability_minor - stands.asset_minor) - (
        stood.liability_minor - stood.asset_minor
    )
    assert year.deferred == stands
    exact = rate * (year.profit + year.permanent_minor)
    assert abs((year.current + change) * 1_000_000 - exact) <= 2_500_000
    assert year.profit == -minors[0]
    assert temporary_differences(now) == sum(minors[4:])


def test_tax_is_cumulative_within_the_year_and_starts_again() -> None:
    facts = Facts()
    for month, minor in ((2, 33), (5, 34), (8, -20)):
        facts.say(LENDING, GroupFactKind.SUNDRY, date(2024, month, 1), minor)
    facts.say(LENDING, GroupFactKind.SUNDRY, date(2025, 2, 1), 2)
    facts.say(LENDING, GroupFactKind.PERMANENT_DIFFERENCE, date(2024, 5, 1), 10, reason="meals")
    books = closed(facts.facts, [*ENDS, date(2025, 3, 31)])
    due = [books.at(day).amount("income_tax") for day in (*ENDS, date(2025, 3, 31))]
    # 25 % of 33, 67 + 10, 47 + 10 twice, and in the new year of 49 + 10, half up.
    assert due == [8, 19, 14, 14, 15]
    assert books.at(ENDS[3]).amount("income_tax_payable") == -14


def test_profits_kept_for_a_payout_are_taxed_when_they_are_paid_out() -> None:
    """25 % of 1,000.00 is tax, 10 % of the 750.00 left will be withheld."""
    facts = Facts()
    facts.say(LENDING, GroupFactKind.SUNDRY, date(2024, 2, 1), 1_000_00)
    facts.say(LENDING, GroupFactKind.GROUP_DIVIDEND, date(2024, 5, 1), 400_00, to=PLATFORM)
    facts.say(LENDING, GroupFactKind.WITHHOLDING, date(2024, 5, 1), 40_00)
    books = closed(facts.facts, ENDS[:2])
    assert books.at(ENDS[0]).amount("deferred_tax_liability") == -75_00
    # 750.00 - 40.00 withheld - 400.00 paid out leave 310.00.
    assert books.at(ENDS[1]).amount("deferred_tax_liability") == -31_00
    assert books.at(ENDS[1]).amount("income_tax") == 290_00


def test_the_rate_is_explained_to_the_last_cent() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUNDRY, date(2024, 2, 1), 1_000_00)
    facts.say(LENDING, GroupFactKind.SUNDRY, date(2024, 2, 1), 300_01)
    facts.say(LENDING, GroupFactKind.PERMANENT_DIFFERENCE, date(2024, 2, 1), 20_00, reason="fines")
    books = closed(facts.facts, ENDS[:1])
    seen = visible_facts(facts.facts, ENDS[0], LATER)
    years = tax_years(books.ledger, seen, GROUP, books.rates, ENDS[0])
    end = books.at(ENDS[0])
    expense = end.amount("income_tax") + end.amount("deferred_tax")
    steps = rate_reconciliation(years, expense, 250_000)
    assert [step.minor for step in steps] == [325_00, -100_00, 5_00, 22_00, 0, 0, 252_00]
    assert sum(step.minor for step in steps[:-1]) == steps[-1].minor


def test_non_controlling_interests_bear_their_share() -> None:
    facts = with_rates()
    facts.say(OVERSEAS, GroupFactKind.SUNDRY, date(2024, 2, 1), -1_000_00)
    books = closed(facts.facts, ENDS[:1])
    end = books.at(ENDS[0])
    lost = end.amount("other_income") + end.amount("income_tax") + end.amount("exchange_result")
    assert lost > 0
    assert abs(end.amount("non_controlling_income") * 5 + lost) <= 5
    assert end.amount("non_controlling_interests") == -end.amount("non_controlling_income")


def test_non_controlling_shares_multiply_through_owners() -> None:
    chain = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: A, role: parent}
  - {number: 2, name: B, role: platform, owner: 1, share: 90%}
  - {number: 3, name: C, role: subsidiary, owner: 2, share: 80%}
""")
    assert [chain.non_controlling_ppm(number) for number in (1, 2, 3)] == [0, 100_000, 280_000]


def test_vat_is_paid_on_the_fifteenth_after_its_period() -> None:
    """The worked loan C: 8.07 on 15 January, 1.32 on 15 April, 1.82 on 15 July."""
    facts = Facts()
    facts.say(
        PLATFORM, GroupFactKind.OPENING_BALANCE, OPENED,
        lines=[{"account": "other_tax_payable", "amount": "-8.07"},
               {"account": "retained_earnings", "amount": "8.07"}],
    )  # fmt: skip
    loans = [
        lines_of({"light_servicing": minor, "other_tax_payable": -minor}, PLATFORM, day)
        for minor, day in ((1_32, ENDS[0]), (1_82, ENDS[1]))
    ]
    early = closed(facts.facts, [date(2024, 1, 14)])
    assert early.at(date(2024, 1, 14)).amount("cash") == 0
    books = closed(facts.facts, ENDS, loans)
    assert [books.at(day).amount("cash") for day in ENDS] == [-8_07, -9_39, -11_21, -11_21]
    assert [books.at(day).amount("other_tax_payable") for day in ENDS] == [-1_32, -1_82, 0, 0]


def test_a_loss_is_carried_forward_and_never_back() -> None:
    """In 2024 a loss of 500.00 after a profit of 100.00 a year before; then 300.00, 400.00."""
    facts, ends = Facts(), [date(2023, 12, 31), ENDS[3], date(2025, 12, 31), date(2026, 12, 31)]
    for year, minor in ((2023, 100_00), (2024, -500_00), (2025, 300_00), (2026, 400_00)):
        facts.say(PLATFORM, GroupFactKind.SUNDRY, date(year, 12, 1), minor)
    books = closed(facts.facts, ends)
    current = [books.at(day).amount("income_tax") for day in ends]
    assert current == [15_00, 15_00, 15_00, 45_00]  # 400.00 less 200.00 that were left
    # Nothing was in sight in 2024; in 2025 three years of 300.00 are more than the 200.00 left.
    assert [books.at(day).amount("deferred_tax_asset") for day in ends] == [0, 0, 30_00, 0]
    assert all(books.at(day).amount("income_tax_payable") <= 0 for day in ends)


def test_a_loss_is_worth_what_taxable_differences_will_bring() -> None:
    """200.00 lost, beside contract assets of 106.00 with their value-added tax."""
    asset = lines_of({"contract_assets": 106_00, "light_servicing": -100_00,
                      "other_tax_payable": -6_00}, PLATFORM, ENDS[0])  # fmt: skip
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUNDRY, date(2024, 2, 1), -200_00)
    end = closed(facts.facts, ENDS[:1], [asset]).at(ENDS[0])
    assert end.amount("income_tax") == 0
    assert end.amount("deferred_tax_liability") == -15_00  # 15 % of 100.00: without the tax in it
    assert end.amount("deferred_tax_asset") == 15_00


def test_a_trust_is_taxed_in_the_hands_of_its_beneficiary() -> None:
    """Its income, and the allowance of its loans; the platform's tax is 15 %."""
    rows = {"financing_income": -1_000_00, "cash": 1_000_00, "loan_provision": 200_00,
            "loan_allowance": -200_00}  # fmt: skip
    books = closed([], ENDS[:1], [lines_of(rows, TRUST, ENDS[0])])
    held = books.at(ENDS[0]).columns
    assert held[PLATFORM, IfrsAdjustment.NONE]["income_tax"] == 150_00
    assert held[PLATFORM, IfrsAdjustment.NONE]["deferred_tax_asset"] == 30_00
    assert "income_tax" not in held[TRUST, IfrsAdjustment.NONE]


def test_tax_is_withheld_on_the_share_that_will_be_distributed() -> None:
    some = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: A, role: parent}
  - {number: 2, name: B, role: platform, owner: 1, tax: 25%, withholding: 10%, distributed: 30%}
""")
    facts = Facts()
    facts.say(2, GroupFactKind.SUNDRY, date(2024, 2, 1), 1_000_00)
    end = closed(facts.facts, ENDS[:1], entities=some).at(ENDS[0])
    assert end.amount("deferred_tax_liability") == -22_50


def paying_up(later: str = "{}") -> Entities:
    return parse_entities(f"""
currency: CNY
entities:
  - {{number: 1, name: A, role: parent}}
  - {{number: 2, name: B, role: platform, owner: 1, tax: 25%, withholding: 10%, distributed: 30%,
     distributed_from: {later}}}
""")


def test_a_dividend_is_paid_out_of_what_was_to_be_distributed() -> None:
    """Of 750.00 after tax 225.00 are to be paid out; 200.00 are, so that 25.00 are left."""
    some = paying_up()
    facts = Facts()
    facts.say(2, GroupFactKind.SUNDRY, date(2024, 2, 1), 1_000_00)
    facts.say(2, GroupFactKind.GROUP_DIVIDEND, date(2024, 5, 1), 200_00, to=1)
    books = closed(facts.facts, ENDS[:2], entities=some)
    held = [books.at(day).amount("deferred_tax_liability") for day in ENDS[:2]]
    assert held == [-22_50, -2_50]


def test_tax_withheld_on_a_dividend_was_expected_and_is_no_second_expense() -> None:
    some = paying_up()
    facts = Facts()
    facts.say(2, GroupFactKind.SUNDRY, date(2024, 2, 1), 1_000_00)
    facts.say(2, GroupFactKind.GROUP_DIVIDEND, date(2024, 5, 1), 200_00, to=1)
    facts.say(2, GroupFactKind.WITHHOLDING, date(2024, 5, 1), 20_00)
    books = closed(facts.facts, ENDS[:2], entities=some)
    expense = [
        books.at(day).amount("income_tax") + books.at(day).amount("deferred_tax")
        for day in ENDS[:2]
    ]
    # What was withheld lowers the profit left by 20.00, of which 30 % will be paid out.
    assert expense == [272_50, 271_90]
    seen = visible_facts(facts.facts, ENDS[1], LATER)
    years = tax_years(books.ledger, seen, some, books.rates, ENDS[1])
    steps = rate_reconciliation(years, expense[1], 250_000)
    assert [step.minor for step in steps] == [250_00, 0, 0, 21_90, 0, 0, 271_90]


def test_each_year_is_distributed_by_the_share_that_holds_at_its_end_or_today() -> None:
    """Every year 750.00 after tax: 60 % of 2024 since June, all of 2025."""
    some = paying_up("{2025-01: 100%, 2024-06: 60%}")
    facts, ends = Facts(), [ENDS[0], ENDS[1], ENDS[3], date(2025, 12, 31)]
    for day in (date(2024, 2, 1), date(2025, 2, 1)):
        facts.say(2, GroupFactKind.SUNDRY, day, 1_000_00)
    books = closed(facts.facts, ends, entities=some)
    held = [books.at(day).amount("deferred_tax_liability") for day in ends]
    assert held == [-22_50, -45_00, -45_00, -120_00]


def test_profits_made_before_the_books_began_are_no_new_tax() -> None:
    """The liability on them is stated; a dividend out of them is paid out of it."""
    facts = Facts()
    rows = {"cash": 1_000, "deferred_tax_liability": -30, "retained_earnings": -970}
    sides = [{"account": name, "amount": amount} for name, amount in rows.items()]
    facts.say(2, GroupFactKind.OPENING_BALANCE, OPENED, lines=sides)
    facts.say(2, GroupFactKind.GROUP_DIVIDEND, date(2024, 5, 1), 100_00, to=1)
    books = closed(facts.facts, ENDS[:2], entities=paying_up("{2024-06: 0%}"))
    held = [books.at(day).amount("deferred_tax_liability") for day in ENDS[:2]]
    assert held == [-30_00, -20_00]


@pytest.mark.parametrize(
    "later", ["[2024-06]", "{2024-13: 60%}", "{2024-06: 160%}", "{2024-06: x}"]
)
def test_a_share_by_month_is_a_month_and_a_share(later: str) -> None:
    with pytest.raises(UsanceError, match="distributed_from"):
        paying_up(later)


def test_vat_paid_too_much_is_an_asset_until_the_next_period() -> None:
    loans = [
        lines_of({"light_servicing": minor, "other_tax_payable": -minor}, PLATFORM, day)
        for minor, day in ((10_00, ENDS[0]), (-4_00, ENDS[1]), (5_00, ENDS[2]))
    ]
    books = closed([], ENDS, loans)
    assert [books.at(day).amount("cash") for day in ENDS] == [0, -10_00, -10_00, -11_00]
    assert [books.at(day).amount("other_tax_payable") for day in ENDS] == [-10_00, 0, -1_00, 0]
    assert [books.at(day).amount("prepaid") for day in ENDS] == [0, 4_00, 0, 0]


def test_deferred_tax_of_the_opening_is_taken_as_given() -> None:
    """An asset of 50.00 on allowances of 100.00; 25 % of what is added comes on top."""
    facts = Facts()
    rows = {"loan_allowance": -100, "contract_assets": 40, "deferred_tax_asset": 50, "cash": 10}
    sides = [{"account": name, "amount": amount} for name, amount in rows.items()]
    facts.say(GUARANTEE, GroupFactKind.OPENING_BALANCE, OPENED, lines=sides)
    loans = [lines_of({"loan_allowance": -8_00, "loan_provision": 8_00}, GUARANTEE, ENDS[0])]
    end = closed(facts.facts, ENDS[:1], loans).at(ENDS[0])
    assert end.amount("deferred_tax_asset") == 52_00
    assert end.amount("deferred_tax_liability") == 0
    assert end.amount("income_tax") + end.amount("deferred_tax") == -2_00


@pytest.mark.parametrize("name", ["contingent", "contract_assets"])
def test_one_taxpayer_sets_off_what_it_has_against_what_it_owes(name: str) -> None:
    """What stood there when the books began too; tax to be withheld is its owner's."""
    began = {"deferred_tax_asset": 30_00, "deferred_tax_liability": -20_00}
    sign = -1 if name == "contingent" else 1
    now = {**began, "contract_assets": 106_00, "contingent": -120_00, "referral": -1_000_00}
    now[name] += sign * 400_00
    known = tuple(
        TaxYear(replace(GROUP[PLATFORM], tax_ppm=250_000, one_taxpayer=alone), now, began, began,
                vat_ppm=60_000)
        for alone in (False, True)
    )  # fmt: skip
    apart, set_off = (
        (began["deferred_tax_asset"] + year.deferred.asset_minor,
         -began["deferred_tax_liability"] + year.deferred.liability_minor)
        for year in known
    )  # fmt: skip
    assert min(apart) > 0
    assert min(set_off) == 0
    assert apart[0] - apart[1] == set_off[0] - set_off[1]
    assert (set_off[0] > 0) == (name == "contingent")
    assert known[0].current == known[1].current


def test_ifrs_adjustments_carry_their_own_tax() -> None:
    loans = [
        lines_of(
            {"contingent": -100_00, "contingent_provision": 100_00},
            GUARANTEE,
            ENDS[0],
            IfrsAdjustment.ECL,
        )
    ]
    books = closed([], ENDS[:1], loans)
    assert books.at(ENDS[0]).amount("income_tax") == 0
    assert books.at(ENDS[0]).amount("deferred_tax_asset", IfrsAdjustment.ECL) == 0


def test_the_lists_of_differences_are_apart() -> None:
    listed = load_differences()
    assert not set(listed.deductible) & set(listed.taxable)
    assert profit_before_tax({"referral": -5, "income_tax": 2, "cash": 5}) == 5
