"""Capital documents: what they mean, that facts bring them back, and that mistakes have lines."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from usance.base.errors import Problems, UsanceError
from usance.base.stated_fact import StatedFact
from usance.capital.awards import CostFunction, Source, UnitKind
from usance.capital.dividends import Dividend, DividendType, Market
from usance.capital.documents.record import KINDS, read_capital
from usance.capital.errors import CapitalError
from usance.capital.facts import RECORDED, UNITS, facts_of, records_of
from usance.capital.per_share import income_per_share
from usance.capital.records import Capital
from usance.capital.register import Balances
from usance.capital.share_based_compensation import IFRS, US_GAAP, compensation_by_function

WHOLE = """
entity: 7
currency: USD
facts:
  - {kind: shares_issued, on: 2022-12-31, shares: 1000000, amount: 12.50}
  - {kind: shares_reserved, on: 2022-12-31, shares: 3000}
  - kind: grant
    name: options
    award: option
    on: 2023-01-01
    holders: 50
    units_each: 100
    exercise_price: 5.00
    pricing: {share_price: 10.00, volatility: 45%, years: 6, rate: 0.035, dividend_yield: 4%}
    tranches:
      - {on: 2024-01-01, share: 1/3}
      - {on: 2025-01-01, share: 1/3}
      - {on: 2026-01-01, share: 1/3}
    functions: {sales_and_marketing: 20%, general_and_administrative: 80%}
  - kind: grant
    name: restricted
    award: restricted
    on: 2023-01-01
    fair_value: 10.00
    currency: USD
    tranches: [{on: 2024-01-01, units: 3000}]
  - {kind: vesting_estimate, grant: options, on: 2023-01-01, leavers: 12%}
  - {kind: vesting_estimate, grant: options, on: 2024-01-01, shares: [100%, 0.9, 4/5]}
  - {kind: vested, grant: restricted, on: 2024-01-01, units: 3000, source: reserved}
  - {kind: forfeited, grant: options, on: 2024-03-31, units: 150}
  - {kind: exercised, grant: options, on: 2024-05-01, units: 1000}
  - {kind: lapsed, grant: options, on: 2024-05-02, units: 6}
  - {kind: programme_opened, name: "2024", on: 2024-04-01, until: 2025-03-31, limit: 35000.00}
  - {kind: shares_repurchased, on: 2024-05-02, ads: 1000, amount: 20000.01, programme: "2024"}
  - {kind: shares_retired, on: 2024-06-28, shares: 1000}
  - {kind: shares_reissued, on: 2024-06-29, shares: 100, amount: 1500.00}
  - kind: dividend_declared
    name: 2023H2
    on: 2024-03-12
    per_share: 0.29
    ordinary:
      record_on: 2024-05-15
      pays_on: 2024-05-21
      ex_on: 2024-04-12
      lodge_by: 2024-04-15 16:30
      closed: [2024-04-16, 2024-04-18]
      currency: HKD
      exchange_rate: 7.8
      withholding: 10%
    ads: {record_on: 2024-05-15, pays_on: 2024-05-24}
    form:
      issuer: Example Credit, Inc.
      stock_code: "00001"
      title: Dividend for the second half of 2023
      announced_on: 2024-03-13
      year_end: 2023-12-31
      period_end: 2023-12-31
      registrar: Example Registrar Limited
      registrar_address: 1 Example Road
      dividend_type: Interim (Semi-annual)
  - {kind: dividend_paid, name: 2023H2, on: 2024-05-21, market: ordinary, amount: 1000.00}
"""


def read(folder: Path, text: str) -> Capital:
    path = folder / "capital.yaml"
    path.write_text(text, encoding="utf-8")
    return read_capital(path)


def wrong(folder: Path, text: str) -> list[str]:
    with pytest.raises(UsanceError) as caught:
        read(folder, text)
    error = caught.value
    errors = error.errors if isinstance(error, Problems) else (error,)
    return [str(each).replace(f"{folder}/", "") for each in errors]


@pytest.fixture
def whole(tmp_path: Path) -> Capital:
    return read(tmp_path, WHOLE)


def test_awards_mean_what_they_say(whole: Capital) -> None:
    options, restricted = whole.holdings
    assert [tranche.units for tranche in options.grant.tranches] == [1667, 1667, 1666]
    assert options.grant.fair_value == Decimal("4.7788")
    assert dict(options.grant.functions_ppm) == {
        CostFunction.MARKETING: 200_000,
        CostFunction.ADMINISTRATION: 800_000,
    }
    assert options.estimates[0].shares == (Fraction(88, 100),)
    assert options.estimates[1].shares == (Fraction(1), Fraction(9, 10), Fraction(4, 5))
    assert restricted.changes[0].source is Source.RESERVED
    assert restricted.outstanding(date(2024, 1, 1)) == 0


def test_shares_mean_what_they_say(whole: Capital) -> None:
    assert whole.register.at(date(2023, 12, 31)) == Balances(1_003_000, 0, 3_000)
    assert whole.register.at(date(2024, 6, 30)) == Balances(1_003_000, 900, 0)
    # 2,000 shares for 20,000.01: half of them leave at half the cost, then a tenth of the rest.
    assert whole.register.treasury_cost_minor(date(2024, 6, 30)) == 900_000


def test_dividends_mean_what_they_say(whole: Capital) -> None:
    (dividend,) = whole.of(Dividend)
    ordinary = dividend.entitlement(Market.ORDINARY)
    assert ordinary is not None
    assert ordinary.closed == (date(2024, 4, 16), date(2024, 4, 18))
    assert str(ordinary.lodge_by) == "2024-04-15 16:30:00"
    assert dividend.form is not None
    assert dividend.form.dividend_type is DividendType.SEMI_ANNUAL


def test_facts_bring_the_records_back(whole: Capital) -> None:
    facts = facts_of(whole, "USD")
    kept = [
        StatedFact(**{**fact_fields(fact), "detail": json.loads(json.dumps(fact.detail))})
        for fact in facts
    ]
    assert records_of(kept) == whole
    units = {kind.value for kind in UnitKind}
    assert {fact.kind for fact in facts} == {*KINDS, RECORDED, UNITS} - units
    assert {fact.entity for fact in facts} == {7}


def fact_fields(fact: StatedFact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in StatedFact.__dataclass_fields__}


def test_facts_carry_amounts_and_quantities(whole: Capital) -> None:
    told = {
        fact.detail.get("change", fact.kind): (fact.amount_minor, fact.quantity)
        for fact in facts_of(whole, "USD")
    }
    assert told["exercised"] == (5_000_00, 1_000)
    assert told["grant"] == (0, 3_000)
    assert told["shares_repurchased"] == (20_000_01, 2_000)
    assert told["shares_retired"] == (0, 1_000)
    assert told["programme_opened"] == (35_000_00, 0)
    # On the record date 1,000 more shares from options, and 2,000 less bought back.
    assert told["dividend_declared"] == (290_870_00, 1_003_000)
    assert told["dividend_recorded"] == (-290_00, 1_002_000)


def test_what_a_dividend_came_to_is_the_sum_of_its_facts(whole: Capital) -> None:
    (dividend,) = whole.of(Dividend)
    facts = [
        fact for fact in facts_of(whole, "USD") if fact.kind in ("dividend_declared", RECORDED)
    ]
    for day in (date(2024, 3, 11), date(2024, 3, 12), date(2024, 5, 14), date(2024, 5, 15)):
        due = sum(fact.amount_minor for fact in facts if fact.effective_on <= day)
        assert due == dividend.declared_minor(whole.register, day)


def test_a_period_takes_its_pay_and_its_shares(whole: Capital) -> None:
    first, last = date(2024, 4, 1), date(2024, 6, 30)
    us, ifrs = (
        compensation_by_function(whole, policy, first, last, "USD") for policy in (US_GAAP, IFRS)
    )
    assert us[CostFunction.FACILITATION] == 0
    assert 0 < sum(ifrs.values()) < sum(us.values())  # graded is ahead, so less is left
    found = income_per_share(whole, US_GAAP, first, last, 100_000, Decimal("12.00"))
    assert found.basic > found.diluted > 0
    assert found.antidilutive == ("restricted",)  # all of it had vested


def test_everything_wrong_is_found_in_one_pass_with_its_line(tmp_path: Path) -> None:
    text = """facts:
  - {kind: shares_isued, on: 2024-01-01, shares: 1}
  - {kind: shares_issued, on: 2024-02-30, shares: 1, ads: 1}
  - kind: grant
    name: g
    award: options
    on: 2024-01-01
    fair_value: -1
    tranches: [{on: 2025-01-01, unit: 5}]
    functions: {marketing: 100%}
  - {kind: forfeited, on: 2024-01-01, units: 0}
  - {kind: vesting_estimate, grant: g, on: 2024-01-01}
  - {kind: dividend_declared, name: d, on: 2024-01-01, per_share: 0.10}
  - on: 2024-01-01
"""
    with pytest.raises(UsanceError, match="2024-02-30 does not exist"):
        read(tmp_path, text)
    found = wrong(tmp_path, text.replace("2024-02-30", '"2024-02-30"'))
    assert found == [
        (
            "capital.yaml line 2, facts[1].kind: unknown kind 'shares_isued'. Did you mean "
            f"'shares_issued'? Choices: {', '.join(KINDS)}."
        ),
        "capital.yaml line 3, facts[2].on: 2024-02-30 does not exist. February 2024 has 29 days.",
        (
            "capital.yaml line 3, facts[2]: needs one of shares and ads. "
            "Give the number in one of the two."
        ),
        (
            "capital.yaml line 6, facts[3].award: unknown award 'options'. Did you mean 'option'? "
            "Choices: option, restricted."
        ),
        (
            "capital.yaml line 8, facts[3].fair_value: -1 is not a price. "
            "Write a plain number such as 12.50, with at most twelve decimals."
        ),
        "capital.yaml line 9, facts[3].tranches[1].units: units is missing. Give units.",
        (
            "capital.yaml line 9, facts[3].tranches[1].unit: unknown key 'unit'. "
            "Did you mean 'units'? Choices: on, units."
        ),
        (
            "capital.yaml line 10, facts[3].functions.marketing: unknown key 'marketing'. "
            "Did you mean 'sales_and_marketing'? Choices: facilitation_origination_and_servicing, "
            "sales_and_marketing, general_and_administrative."
        ),
        "capital.yaml line 11, facts[4].grant: grant is missing. Give grant.",
        "capital.yaml line 11, facts[4].units: 0 is too small. Give 1 to 9223372036854775807.",
        (
            "capital.yaml line 12, facts[5]: needs one of shares and leavers. "
            "Give what vests, or who leaves."
        ),
        (
            "capital.yaml line 13, facts[6]: dividend 'd': has no market, or one twice. "
            "Give ordinary, ads, or both, once each."
        ),
        "capital.yaml line 14, facts[7].kind: kind is missing. Give kind.",
    ]


def test_facts_that_cannot_be_true_together_are_named(tmp_path: Path) -> None:
    found = wrong(tmp_path, """
facts:
  - {kind: shares_issued, on: 2024-01-01, shares: 1000}
  - {kind: grant, name: g, award: restricted, on: 2024-01-01, fair_value: 1,
     tranches: [{on: 2025-01-01, units: 10}]}
  - {kind: grant, name: g, award: restricted, on: 2024-01-01, fair_value: 1,
     tranches: [{on: 2025-01-01, units: 10}]}
  - {kind: forfeited, grant: h, on: 2024-02-01, units: 5}
  - {kind: shares_repurchased, on: 2024-02-01, shares: 5, amount: 5, programme: p}
  - {kind: shares_retired, on: 2024-02-01, shares: 6}
  - {kind: dividend_declared, name: d, on: 2024-01-01, per_share: 0.10,
     ordinary: {record_on: 2024-01-02, pays_on: 2024-01-03}}
  - {kind: dividend_paid, name: d, on: 2024-01-03, market: ordinary, amount: 100.01}
  - {kind: dividend_paid, name: d, on: 2024-01-03, market: ordinary, amount: 1, currency: HKD}
  - {kind: dividend_paid, name: e, on: 2024-01-03, market: ordinary, amount: 1}
""")  # fmt: skip
    assert [line.split(": ", 1)[0] + ": " + line.split(": ", 1)[1].split(". ")[0]
            for line in found] == [
        "capital.yaml line 6, facts[3]: two records are called grant 'g'",
        "capital.yaml line 8, facts[4]: unknown grant 'h'",
        "capital.yaml line 9, facts[5]: unknown programme 'p'",
        "capital.yaml line 15, facts[10]: unknown dividend 'e'",
        "capital.yaml line 10, facts[6]: 6 shares retired, 1 more than were in treasury",
        "capital.yaml line 13, facts[8]: 0.01 USD more is paid for dividend 'd' than is owed",
        "capital.yaml line 14, facts[9]: dividend 'd' was declared in USD",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("entity: 1", "facts is missing"),
        ("- 1", "stands where keys and values belong"),
        ("facts: 3", "stands where keys and values belong"),
        ("facts: [3]", "stands where keys and values belong"),
        ("entity: 99999\nfacts: []", "99999 is too large"),
        ("fact: []\nfacts: []", "unknown key 'fact'"),
    ],
)
def test_what_is_no_capital_document_is_said(tmp_path: Path, text: str, what: str) -> None:
    assert what in " ".join(wrong(tmp_path, text))


def test_a_wrong_fact_is_named_by_its_number() -> None:
    fact = StatedFact(UNITS, 1, date(2024, 1, 1), "USD",
                      detail={"grnt": "g", "change": "lapsed"})  # fmt: skip
    with pytest.raises(Problems) as caught:
        records_of([fact])
    assert [error.where for error in caught.value.errors] == [
        "fact 1, grant",
        "fact 1, units",
        "fact 1, grnt",
    ]


def test_facts_of_two_entities_do_not_mix() -> None:
    facts = [
        StatedFact("shares_issued", entity, date(2024, 1, 1), "USD", quantity=1)
        for entity in (1, 2)
    ]
    with pytest.raises(CapitalError, match="facts of 2 entities: 1, 2"):
        records_of(facts)
