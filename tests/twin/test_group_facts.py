"""What a group states in a run: it adds up month by month, and its books close on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.twin.small_run import closed_book
from usance.base.codes import FundingModel
from usance.base.dates import last_of_month
from usance.base.rates import PPB, PPM
from usance.books.chart import load_chart
from usance.books.close.closes import controls_of, effective_closes
from usance.books.group.documents import parse_facts
from usance.books.group.entities import parse_entities
from usance.books.group.entries import unbalanced
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, facts_of_table, table_of_facts
from usance.books.group.posting import group_lines
from usance.twin.run.group_facts import AfterClose, month_facts, opening_facts
from usance.twin.run.group_scale import scaled_facts
from usance.twin.run.run_context import RunContext
from usance.twin.run.sources import sources_table
from usance.world.scenario.file import names, read_scenario
from usance.world.scenario.scenario import Scenario

JANUARY, FEBRUARY = 636, 637


@pytest.fixture(scope="module")
def calm() -> Scenario:
    return read_scenario("calm")


def of_kind(rows: pa.Table, kind: GroupFactKind) -> list[GroupFact]:
    return [each for each in facts_of_table(rows) if each.kind is kind]


def total(rows: pa.Table, kind: GroupFactKind) -> int:
    return sum(each.amount_minor for each in of_kind(rows, kind))


@settings(max_examples=25)
@given(
    amounts=st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=6),
    scale=st.integers(1, 2 * PPB),
)
def test_an_entry_balances_at_every_scale(amounts: list[int], scale: int) -> None:
    lines = [*amounts, -sum(amounts)]
    rows = ", ".join(f"{{account: cash, amount: {each / 100:.2f}}}" for each in lines)
    text = f"facts: [{{id: 1, kind: opening_balance, entity: 1, on: 2022-12-31, lines: [{rows}]}}]"
    (found,) = parse_facts(scaled_facts(text, scale, "CNY"))
    assert not any(unbalanced(found).values())
    for before, after in zip(lines[:-1], found.detail["lines"], strict=False):
        assert abs(after.minor - before * scale / PPB) <= 1


def test_prices_keep_their_size() -> None:
    text = """
facts:
  - {id: 1, kind: exchange_rate, entity: 1, on: 2022-12-31, currency: USD, rate: 6.9}
  - {id: 2, kind: shares_issued, entity: 1, on: 2022-12-31, quantity: 1000, amount: 5.00}
"""
    rate, issued = parse_facts(scaled_facts(text, PPB // 10, "CNY"))
    assert str(rate.detail["rate"]) == "6.9"
    assert (issued.quantity, issued.amount_minor) == (100, 50)


def test_the_opening_is_funded_at_the_scale_of_the_run(calm: Scenario) -> None:
    whole, tenth = opening_facts(calm, PPB), opening_facts(calm, PPB // 10)
    balance = calm.opening.balance_minor[FundingModel.ON_BALANCE_SHEET]
    assert total(whole, GroupFactKind.FUNDING_RAISED) == balance * calm.group.leverage_ppm // PPM
    assert total(tenth, GroupFactKind.FUNDING_RAISED) * 10 == total(
        whole, GroupFactKind.FUNDING_RAISED
    )
    given_ = total(whole, GroupFactKind.FUNDING_RAISED) + total(
        whole, GroupFactKind.CAPITAL_CONTRIBUTED
    )
    assert given_ > balance
    assert max(each.effective_on for each in facts_of_table(whole)) == date(2022, 12, 31)


@pytest.mark.parametrize("name", names())
def test_every_packaged_scenario_states_its_group(name: str) -> None:
    scenario = read_scenario(name)
    assert facts_of_table(opening_facts(scenario, PPB // 1000))


@pytest.mark.parametrize("name", ["calm", "2024"])
def test_each_stated_fact_is_stated_once(name: str) -> None:
    scenario = read_scenario(name)
    written = [
        (each.kind, each.effective_on)
        for each in parse_facts(scaled_facts(scenario.group.facts, PPB, "CNY"))
        if each.effective_on <= date(2024, 6, 30)
    ]
    tables = [opening_facts(scenario, PPB)]
    tables += [
        month_facts(scenario, month, {}, {}, {}, PPB, 1 + 1000 * month)
        for month in range(scenario.first_month, scenario.last_month + 1)
    ]
    said = [(each.kind, each.effective_on) for rows in tables for each in facts_of_table(rows)]
    for each in written:
        assert said.count(each) >= written.count(each)


def test_a_month_raises_or_repays_what_the_balance_moved_by_and_pays_its_interest(
    calm: Scenario,
) -> None:
    """Principal that is owed for years does not come and go each month."""
    plain = replace(calm, group=replace(calm.group, non_current_ppm=0))
    own = {FundingModel.ON_BALANCE_SHEET: 1_000_000_00}
    more = {FundingModel.ON_BALANCE_SHEET: 1_100_000_00}
    opened = opening_facts(plain, PPB)
    (first,) = of_kind(opened, GroupFactKind.FUNDING_RAISED)
    january = month_facts(plain, JANUARY, {}, own, {}, PPB, 100, opened)
    (repaid,) = of_kind(january, GroupFactKind.FUNDING_REPAID)
    assert repaid.amount_minor == first.amount_minor - 800_000_00
    until = pa.concat_tables([opened, january])
    february = month_facts(plain, FEBRUARY, {}, more, {}, PPB, 200, until)
    (raised,) = of_kind(february, GroupFactKind.FUNDING_RAISED)
    (interest,) = of_kind(february, GroupFactKind.FUNDING_INTEREST_PAID)
    assert raised.amount_minor == 80_000_00
    assert {raised.detail["deal"], repaid.detail["deal"]} == {first.detail["deal"]}
    assert not of_kind(february, GroupFactKind.FUNDING_REPAID)
    # 28 days of February at 4.5 % on actual days of 365; January was paid.
    assert abs(interest.amount_minor - 800_000_00 * 0.045 * 28 / 365) <= 1
    ended = month_facts(plain, FEBRUARY + 1, {}, {}, {}, PPB, 300,
                        pa.concat_tables([until, february]))  # fmt: skip
    assert total(ended, GroupFactKind.FUNDING_REPAID) == 880_000_00


def test_another_rate_raises_all_again_and_stated_deals_are_left_alone(calm: Scenario) -> None:
    costs = dict(calm.group.funding_cost_ppm) | {FEBRUARY: 60_000}
    dearer = replace(calm, group=replace(calm.group, funding_cost_ppm=costs, non_current_ppm=0))
    own = {FundingModel.ON_BALANCE_SHEET: 1_000_000_00}
    opened, bank = (
        opening_facts(dearer, PPB),
        parse_facts("""
facts:
  - {id: 900, kind: funding_raised, entity: 1, on: 2022-12-31, amount: 50000.00, deal: bank,
     lender: short_term_loans, rate: 4%}
"""),
    )
    before = pa.concat_tables([opened, table_of_facts(bank)])
    january = month_facts(dearer, JANUARY, {}, own, {}, PPB, 100, before)
    before = pa.concat_tables([before, january])
    february = month_facts(dearer, FEBRUARY, {}, own, {}, PPB, 200, before)
    (raised,) = of_kind(february, GroupFactKind.FUNDING_RAISED)
    (repaid,) = of_kind(february, GroupFactKind.FUNDING_REPAID)
    assert raised.amount_minor == repaid.amount_minor == 800_000_00
    assert raised.detail["deal"] != repaid.detail["deal"]
    assert raised.detail["rate"] == 60_000
    named = {
        each.detail.get("deal") for rows in (january, february) for each in facts_of_table(rows)
    }
    assert "bank" not in named


def test_costs_follow_volume_lines_and_months_and_are_paid(calm: Scenario) -> None:
    volumes = {FundingModel.ICE: 300_000_00, FundingModel.CAPITAL_HEAVY: 700_000_00}
    rows = month_facts(calm, JANUARY, volumes, {}, {1: 10, 2: 5, 9: 99}, PPB // 2, 1)
    by_function = {
        each.detail["function"]: each.amount_minor
        for each in of_kind(rows, GroupFactKind.COST_INCURRED)
    }
    servicing = 1_000_000_00 * calm.group.cost_of_volume_ppm["servicing_cost"] // PPM
    servicing += calm.group.cost_minor["servicing_cost"] // 2
    assert by_function["servicing_cost"] == servicing
    administration = 1_000_000_00 * calm.group.cost_of_volume_ppm["administration"] // PPM
    administration += calm.group.cost_minor["administration"] // 2
    assert by_function["administration"] == administration
    drivers = {each.party: each.quantity for each in of_kind(rows, GroupFactKind.COST_DRIVER)}
    assert drivers == {1: 10, 2: 5}
    channels = {each.number: each.cost_minor for each in calm.users.channels}
    paid = sum(by_function.values()) + 10 * channels[1] + 5 * channels[2]
    assert total(rows, GroupFactKind.COST_PAID) == paid


def test_fees_are_invoiced_on_the_terms_of_the_month_and_received_in_the_next(
    calm: Scenario,
) -> None:
    (ice,) = (each for each in calm.funding if each.model is FundingModel.ICE)
    changed = replace(calm, funding_from={FEBRUARY: (replace(ice, fee_ppm=10_000),)})
    volumes = {FundingModel.ICE: 100_000_00}
    january = month_facts(changed, JANUARY, volumes, {}, {}, PPB, 1)
    february = month_facts(changed, FEBRUARY, volumes, {}, {}, PPB, 100, january)
    assert total(january, GroupFactKind.REFERRAL_INVOICED) == 2_700_00
    assert total(february, GroupFactKind.REFERRAL_INVOICED) == 1_000_00
    assert total(february, GroupFactKind.FEES_RECEIVED) == 2_700_00


def test_numbers_follow_each_other(calm: Scenario) -> None:
    rows = month_facts(calm, JANUARY, {FundingModel.ICE: 10**7}, {}, {1: 1}, PPB, 41)
    assert rows["fact_id"].to_pylist() == list(range(41, 41 + rows.num_rows))


def test_tax_owed_is_paid(calm: Scenario) -> None:
    left = AfterClose({1: 500, 3: 0}, 0)
    rows = month_facts(calm, JANUARY, {}, {}, {}, PPB, 1, None, left)
    (paid,) = of_kind(rows, GroupFactKind.TAX_PAID)
    assert (paid.entity, paid.amount_minor) == (1, 500)
    slow = replace(calm, group=replace(calm.group, tax_paid_ppm=330_000))
    (paid,) = of_kind(month_facts(slow, JANUARY, {}, {}, {}, PPB, 1, None, left),
                      GroupFactKind.TAX_PAID)  # fmt: skip
    assert paid.amount_minor == 165


def test_value_added_tax_is_prepaid_as_much_as_the_quarter_before_had(calm: Scenario) -> None:
    """600 were owed at the close, three fifths of its quarter: 400 are paid within the next."""
    early = replace(calm, group=replace(calm.group, vat_prepaid_ppm=400_000))
    left = AfterClose({}, 0, {1: 600, 3: 60})
    rows = month_facts(early, JANUARY, {}, {}, {}, PPB, 1, None, left)
    assert not of_kind(rows, GroupFactKind.MANUAL_ENTRY)  # tax is paid, not entered by hand
    paid = of_kind(rows, GroupFactKind.TAX_PAID)
    assert [each.entity for each in paid] == [1, 3]
    entities = parse_entities(calm.group.policies["entities.yaml"])
    amounts = []
    for one in paid:
        lines = group_lines([one], entities, one.effective_on, one.booked_at)
        amounts.append({load_chart().by_number[each.account].name: each.amount for each in lines})
    assert amounts == [
        {"other_tax_payable": 400, "cash": -400},
        {"other_tax_payable": 40, "restricted_cash": -40},
    ]
    assert not of_kind(month_facts(calm, JANUARY, {}, {}, {}, PPB, 1, None, left),
                       GroupFactKind.TAX_PAID)  # fmt: skip


def test_sources_have_terms_as_far_as_a_run_can_go() -> None:
    """Without them loans of a forecast would bring no fees."""
    scenario = read_scenario("2024")
    rows = sources_table(RunContext(scenario, Fraction(1, 1000))).to_pylist()
    ends = {row["source"]: row["valid_to"] for row in rows}
    assert set(ends.values()) == {last_of_month(scenario.final_month)}
    assert scenario.final_month > scenario.last_month


def test_banks_pay_interest_on_what_the_group_held(calm: Scenario) -> None:
    paid = replace(calm, group=replace(calm.group, bank_interest_ppm=20_000))
    rows = month_facts(paid, JANUARY, {}, {}, {}, PPB, 1, None, AfterClose({}, 4_000_000_00))
    assert total(rows, GroupFactKind.BANK_INTEREST) == 20_000_00  # a quarter of 2 %


def test_some_of_the_funding_falls_due_after_a_year(calm: Scenario) -> None:
    later = replace(calm, group=replace(calm.group, non_current_ppm=250_000))
    owned = {FundingModel.ON_BALANCE_SHEET: 1_000_000_00}
    january = month_facts(later, JANUARY, {}, owned, {}, PPB, 1)
    raised = {each.detail["lender"]: each.amount_minor
              for each in of_kind(january, GroupFactKind.FUNDING_RAISED)}  # fmt: skip
    assert raised == {"trust_investors": 600_000_00, "trust_investors_non_current": 200_000_00}
    february = month_facts(later, FEBRUARY, {}, owned, {}, PPB, 100, january)
    assert not of_kind(february, GroupFactKind.FUNDING_REPAID)
    nothing = month_facts(later, FEBRUARY, {}, {}, {}, PPB, 100, january)
    assert total(nothing, GroupFactKind.FUNDING_REPAID) == 800_000_00


def test_the_books_close_on_what_the_group_states(tmp_path: Path) -> None:
    book = closed_book(tmp_path)
    closes = effective_closes(book)
    assert [each.name for each in closes] == ["2022-12.1", "2023-12.1", "2024-03.1"]
    for each in closes:
        found = controls_of(book, each)
        assert all(control["holds"] for control in found["controls"])
    names_of = [control["name"] for control in controls_of(book, closes[-1])["controls"]]
    assert "cash flows tie to the balance sheet" in names_of


def test_what_providers_withhold_is_a_cost_of_servicing() -> None:
    """0.2% of what borrowers paid and a tenth for each payment, paid as it is incurred."""
    calm = read_scenario("calm")
    plain = month_facts(calm, JANUARY, {}, {}, {}, PPB, 1)
    providers = replace(calm.providers, fee_ppm=2_000, fee_minor=10)
    with_fees = month_facts(replace(calm, providers=providers), JANUARY, {}, {}, {}, PPB, 1,
                            paid=(1_000_000, 30))  # fmt: skip
    for kind in (GroupFactKind.COST_INCURRED, GroupFactKind.COST_PAID):
        sums = [sum(each.amount_minor for each in facts_of_table(rows) if each.kind is kind)
                for rows in (plain, with_fees)]  # fmt: skip
        assert sums[1] - sums[0] == 2_000 + 300
