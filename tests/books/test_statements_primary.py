"""Statements from lines: the published pages reproduced line by line, and the worked flows."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.books.group_books import (
    ENDS,
    GROUP,
    LATER,
    LENDING,
    OPENED,
    OVERSEAS,
    PARENT,
    PLATFORM,
    TRUST,
    Facts,
    books_by,
    closed,
    lines_of,
    with_rates,
)
from usance.base.codes import Currency, IfrsAdjustment
from usance.base.columns import make
from usance.base.dates import last_of_month, to_day, to_month
from usance.base.errors import Problems
from usance.base.money import half_up
from usance.books.chart import load_chart
from usance.books.group.entities import parse_entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.lines import GroupLines
from usance.books.group.posting import group_postings
from usance.books.journal import CloseHead
from usance.books.statements.cash import cash_flows
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.controls import bank_problems, group_controls, settlement_problems
from usance.books.statements.ifrs_reconciliation import (
    COLUMNS,
    balance_sheet_matrix,
    operations_matrix,
)
from usance.books.statements.layout import OPERATIONS, SHEET, SHEET_MATRIX, SHIPPED, load_layout
from usance.books.statements.ledger import Ledger
from usance.books.statements.notes import per_share, per_share_rows
from usance.books.statements.primary import (
    balance_sheet,
    comprehensive_income,
    movement,
    operations,
)
from usance.books.statements.roll_forwards import (
    Movement,
    RollForward,
    equity_roll_forwards,
    equity_rows,
    roll_forward,
)

MARCH = ENDS[0]
ONE = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: "Qifu Technology, Inc.", role: parent}
  - {number: 2, name: Platform, role: platform, owner: 1}
""")


def printed(path: Path, statement: str, period: str) -> dict[tuple[str, str], int]:
    """Figures of a filing in minor units, as if thousands were yuan."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["line"], row["parent_line"]): int(row["value"]) * 100
        for row in rows
        if row["statement"] == statement and row["currency"] == "RMB"
        and row["period_or_date"] == period and row["unit"] == "thousand"
    }  # fmt: skip


def as_lines(figures: dict[tuple[str, str], int]) -> dict[str, int]:
    """An account for each printed leaf of the balance sheet or operations, debit positive."""
    found = {}
    for statement in (SHEET, OPERATIONS):
        for line in load_layout().lines(statement):
            minor = figures.get((line.line, line.parent))
            if minor is not None and not line.is_total:
                account, sign = next(iter(line.signs.items()))
                found[account] = sign * minor
    return found


@pytest.mark.parametrize("day", ["2023-12-31", "2024-03-31"])
def test_a_published_balance_sheet_comes_out_as_printed(shared: Path, day: str) -> None:
    figures = printed(shared / "filings" / "000.csv", "balance_sheet", day)
    rows = as_lines(figures)
    rows["retained_earnings"] = -sum(rows.values())
    books = GroupBooks(lines_of(rows, PLATFORM, MARCH), ONE, closed([]).rates)
    made = {(row.line, row.parent): row.amount_minor for row in balance_sheet(books.at(MARCH))}
    assert made == figures


@pytest.mark.parametrize("period", ["2023Q1", "2024Q1"])
def test_published_operations_come_out_as_printed(shared: Path, period: str) -> None:
    figures = printed(shared / "filings" / "000.csv", "operations", period)
    rows = as_lines(figures)
    rows["cash"] = -sum(rows.values())
    books = GroupBooks(lines_of(rows, PLATFORM, MARCH), ONE, closed([]).rates)
    moved = movement(None, books.at(MARCH))
    made = {(row.line, row.parent): row.amount_minor for row in operations(moved, period)}
    assert made == figures


def test_lines_of_the_other_statements_are_those_printed(shared: Path) -> None:
    filing = shared / "filings" / "000.csv"
    books = closed([], [MARCH], [lines_of({"cash": 5_00, "referral": -5_00}, PLATFORM, MARCH)], ONE)
    flows = cash_flows(books, OPENED, MARCH).rows("2024Q1")
    assert {(row.line, row.parent) for row in flows} == set(printed(filing, "cash_flows", "2024Q1"))
    income = comprehensive_income(movement(None, books.at(MARCH)), "2024Q1")
    assert {(row.line, row.parent) for row in income} == set(
        printed(filing, "comprehensive_income", "2024Q1")
    )


def test_the_matrix_has_the_lines_and_columns_of_the_filing(shared: Path) -> None:
    path = shared / "filings" / "002.csv"
    books = closed([], [MARCH], [lines_of({"cash": 5_00, "referral": -5_00}, PLATFORM, MARCH)], ONE)
    made = [
        *operations_matrix(None, books.at(MARCH), "2024H1"),
        *balance_sheet_matrix(books.at(MARCH)),
    ]
    have = {(row.statement, row.line, row.parent) for row in made}
    with path.open(encoding="utf-8") as file:
        wanted = {
            (row["statement"], row["line"], row["parent_line"])
            for row in csv.DictReader(file)
            if row["statement"].startswith("ifrs_reconciliation_") and ":" in row["statement"]
        }
    assert wanted <= have
    assert {name.split(":")[1] for name, _, _ in wanted} == set(COLUMNS)


def b2() -> tuple[Facts, list[Ledger], list[date]]:
    """The worked loan B2 with its investors: loan lines by close, cash by activity."""
    facts = Facts()
    deal = {"deal": "T1"}
    facts.say(TRUST, GroupFactKind.FUNDING_RAISED, OPENED, 9_000_00, lender="trust_investors",
              rate="4.2%", day_count="30/360 monthly", **deal)  # fmt: skip
    facts.say(
        TRUST,
        GroupFactKind.FUNDING_REPAID,
        date(2024, 2, 1),
        1_500_00,
        value_on="2024-01-31",
        **deal,
    )
    facts.say(TRUST, GroupFactKind.FUNDING_INTEREST_PAID, date(2024, 4, 1), 84_00, **deal)
    facts.say(TRUST, GroupFactKind.FUNDING_REPAID, date(2024, 4, 30), 7_500_00, **deal)
    facts.say(TRUST, GroupFactKind.FUNDING_INTEREST_PAID, date(2024, 4, 30), 26_25, **deal)
    moves = {
        date(2023, 12, 31): [(401, "loans", "restricted_cash", 9_000_00),
                             (402, "restricted_cash", "unearned_fee", 63_60)],
        date(2024, 3, 31): [(125, "restricted_cash", "loans", 1_500_00),
                            (126, "restricted_cash", "accrued_interest", 135_00),
                            (403, "accrued_interest", "financing_income", 337_50),
                            (404, "unearned_fee", "financing_income", 45_12),
                            (405, "financing_income", "other_tax_payable", 21_66)],
        date(2024, 6, 30): [(403, "accrued_interest", "financing_income", 65_25),
                            (404, "unearned_fee", "financing_income", 8_88),
                            (405, "financing_income", "other_tax_payable", 4_19)],
        date(2024, 9, 30): [(406, "loan_provision", "loans", 7_500_00),
                            (407, "loan_provision", "accrued_interest", 267_75),
                            (408, "unearned_fee", "loan_provision", 9_60)],
        date(2024, 12, 31): [(128, "restricted_cash", "loan_provision", 900_00)],
    }  # fmt: skip
    return facts, [_rules(rows, TRUST, day) for day, rows in moves.items()], list(moves)


def _rules(rows: list[tuple[int, str, str, int]], entity: int, day: date) -> Ledger:
    chart = load_chart()
    parts = []
    for rule, debit, credit, minor in rows:
        part = lines_of({debit: minor, credit: -minor}, entity, day)
        parts.append(Ledger(part.entity, part.basis, part.tag, part.account, part.currency,
                            np.full(2, rule), part.period, part.day, part.amount))  # fmt: skip
    assert chart["loans"].number
    return Ledger.joined(parts)


def test_cash_flows_of_the_worked_trust_loan() -> None:
    facts, loans, ends = b2()
    books = closed(facts.facts, ends, loans)
    flows = cash_flows(books, date(2023, 11, 30), ends[-1])
    assert (flows.operating, flows.investing, flows.financing) == (62_50, -6_600_00, 0)
    assert flows.effect == 0
    assert flows.closing == -6_537_50
    quarters = [cash_flows(books, start, end)
                for start, end in zip([date(2023, 11, 30), *ends], ends, strict=False)]  # fmt: skip
    assert sum(each.change for each in quarters) == flows.change


def test_moves_between_cash_and_restricted_cash_are_no_flow() -> None:
    facts = Facts()
    facts.say(
        PLATFORM,
        GroupFactKind.DEPOSIT_PLACED,
        date(2024, 1, 5),
        100_00,
        **{"as": "restricted_cash"},
    )
    facts.say(
        PLATFORM,
        GroupFactKind.DEPOSIT_PLACED,
        date(2024, 1, 5),
        70_00,
        **{"as": "security_deposits"},
    )
    flows = cash_flows(closed(facts.facts, [MARCH]), OPENED, MARCH)
    assert (flows.operating, flows.investing, flows.financing, flows.closing) == (
        -70_00,
        0,
        0,
        -70_00,
    )


def test_a_foreign_entity_is_translated_by_hand() -> None:
    """USD 1,000.00 of capital at 7.00, income of 100.00 on 1 March, March ends at 7.10."""
    facts = with_rates()
    usd = {"currency": Currency.USD}
    facts.say(PARENT, GroupFactKind.SHARES_ISSUED, OPENED, 1_000_00, quantity=1_000, **usd)
    facts.say(PARENT, GroupFactKind.SUBSIDY, date(2024, 3, 1), 100_00, **usd)
    books = closed(facts.facts, [date(2024, 2, 29), MARCH])
    group = books.at(MARCH)
    assert group.amount("cash") == 7_810_00
    assert group.amount("paid_in_capital") == -7_000_00
    assert group.amount("other_income") == -710_00  # the average of March
    assert group.amount("other_comprehensive") == -100_00
    flows = cash_flows(books, date(2024, 2, 29), MARCH)
    assert (flows.operating, flows.effect, flows.closing) == (710_00, 0, 7_810_00)
    before = cash_flows(books, date(2023, 11, 30), date(2024, 2, 29))
    # Nine days of February at 7.00 and twenty at 7.10; the rest is the rates' doing.
    assert (before.financing, before.effect) == (7_068_97, 31_03)


def test_cents_of_balances_within_the_group_do_not_unbalance_it() -> None:
    """One entity owes two others a cent of a dollar: 0.07 each, 0.15 together at 7.25."""
    facts = with_rates()
    for receiver in (LENDING, TRUST):
        facts.say(PLATFORM, GroupFactKind.GROUP_TRANSFER, date(2024, 5, 2), 1, to=receiver,
                  currency=Currency.USD)  # fmt: skip
    group = closed(facts.facts, ENDS[:2]).at(ENDS[1])
    assert {entity: column["within_group"] for (entity, _), column in group.columns.items()
            if "within_group" in column} == {PLATFORM: 15, LENDING: -7, TRUST: -7}  # fmt: skip
    assert group.amount("within_group") == 0
    assert sum(group.totals[IfrsAdjustment.NONE].values()) == 0


def test_contract_liabilities_stand_apart_in_the_matrix() -> None:
    rows = {"cash": 12_00, "contract_liabilities": -7_00, "accrued": -5_00}
    books = closed([], [MARCH], [lines_of(rows, PLATFORM, MARCH)], ONE)
    made = {row.line: row.amount_minor for row in balance_sheet_matrix(books.at(MARCH))
            if row.statement.endswith(":us_gaap")}  # fmt: skip
    assert made["Contract liabilities"] == 7_00
    assert made["Accrued expenses and other current liabilities"] == 5_00
    assert made["Total current liabilities"] == 12_00


def test_equity_rolls_forward_by_reason() -> None:
    facts = with_rates()
    usd = {"currency": Currency.USD}
    facts.say(
        PARENT, GroupFactKind.SHARES_ISSUED, date(2024, 1, 2), 1_000_00, quantity=1_000, **usd
    )
    facts.say(PARENT, GroupFactKind.SHARES_REPURCHASED, date(2024, 1, 3), 50_00, quantity=10, **usd)
    facts.say(PARENT, GroupFactKind.DIVIDEND_DECLARED, date(2024, 1, 4), 20_00, name="d", **usd)
    facts.say(PLATFORM, GroupFactKind.SUBSIDY, date(2024, 1, 5), 90_00)
    facts.say(OVERSEAS, GroupFactKind.NON_CONTROLLING_CONTRIBUTION, date(2024, 1, 6), 90_00)
    rolls = equity_roll_forwards(closed(facts.facts, [MARCH]), OPENED, MARCH)
    assert all(roll.difference == 0 for roll in rolls.values())
    assert rolls["Paid-in capital"].movements == (Movement("Issue of shares", 7_000_00),)
    assert rolls["Treasury shares"].movements == (Movement("Repurchase of shares", -350_00),)
    assert dict(rolls["Retained earnings"].movements) == {
        "Dividends": -140_00, "Net income": 90_00 - 13_50,
    }  # fmt: skip
    assert rolls["Noncontrolling interests"].movements == (
        Movement("Noncontrolling interests", 90_00),
    )
    lines = equity_rows(rolls, "2024Q1")
    assert lines[-1].amount_minor == 90_00


def test_ifrs_columns_roll_forward_and_add_up() -> None:
    facts = Facts()
    opening = [{"account": "contingent", "amount": "-40.00"},
               {"account": "deferred_tax_asset", "amount": "6.00"},
               {"account": "retained_earnings", "amount": "34.00"}]  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.OPENING_BALANCE, OPENED, tag="ecl", lines=opening)
    loans = [
        lines_of({"contingent": 20_00, "contingent_provision": -20_00, "deferred_tax_asset": -3_00,
                  "income_tax": 3_00}, PLATFORM, MARCH, IfrsAdjustment.ECL),
    ]  # fmt: skip
    books = closed(facts.facts, [MARCH], loans)
    rows = {(row.statement.split(":")[1], row.line): row.amount_minor
            for row in operations_matrix(books.at(OPENED), books.at(MARCH), "2024Q1")}  # fmt: skip
    assert rows["ecl_net_of_tax", "Provision for contingent liabilities"] == -20_00
    assert rows["ecl_net_of_tax", "Income tax expense"] == -3_00
    assert rows["ifrs", "Net income"] == 17_00
    assert rows["us_gaap", "Net income"] == 0
    rolls = equity_roll_forwards(books, OPENED, MARCH, IfrsAdjustment.ECL)
    assert rolls["Retained earnings"] == RollForward(
        "Retained earnings", -34_00, (Movement("Net income", 17_00),), -17_00
    )
    sheet = {(row.statement.split(":")[1], row.line): row.amount_minor
             for row in balance_sheet_matrix(books.at(MARCH))}  # fmt: skip
    assert sheet["ecl_net_of_tax", "Guarantee liabilities-contingent"] == 20_00
    assert sheet["ifrs", "TOTAL ASSETS"] == sheet["ifrs", "TOTAL LIABILITIES AND EQUITY"] == 3_00


@pytest.mark.parametrize(
    ("name", "opening", "moved", "closing"),
    [
        ("stand-ready FY23", 4_120_346, (4_926_567, -5_097_312), 3_949_601),
        ("contingent FY23", 3_418_391, (3_053_810, -3_264_937), 3_207_264),
        ("loan allowance FY23, hundred thousand", 14_574, (21_510, -18_443, 1_073), 18_714),
        ("receivable FY23, hundred thousand", 42_250, (49_066, -50_500, -3_873), 36_943),
        ("receivable less allowance FY23", 36_943, (-5_754,), 31_189),
        ("receivable and related additions FY23", 4_906_586, (19_981,), 4_926_567),
    ],
)
def test_real_roll_forwards_from_their_movements(
    name: str, opening: int, moved: tuple[int, ...], closing: int
) -> None:
    """Through the books: opening as a fact, each movement under its own rule."""
    facts = Facts()
    sides = [{"account": "stand_ready", "amount": -opening},
             {"account": "retained_earnings", "amount": opening}]  # fmt: skip
    facts.say(PLATFORM, GroupFactKind.OPENING_BALANCE, OPENED, lines=sides)
    day = date(2024, 12, 31)
    parts = [_rules([(201 + n, "financial_receivable", "stand_ready", minor * 100)], PLATFORM, day)
             for n, minor in enumerate(moved)]  # fmt: skip
    books = closed(facts.facts, [day], [Ledger.joined(parts)])
    reasons = {201 + n: f"movement {n}" for n in range(len(moved))}
    roll = roll_forward(name, books.ledger, ["stand_ready"], reasons, 648, 659, sign=-1)
    assert roll.opening == opening * 100
    assert roll.closing == closing * 100
    assert sorted(each.minor for each in roll.movements) == sorted(m * 100 for m in moved)
    assert not list(roll.problems())
    assert list(RollForward(name, opening, roll.movements[1:], roll.closing).problems())


def test_a_ledger_is_read_from_the_table_of_postings() -> None:
    chart = load_chart()
    names = ("cash", "paid_in_capital", "cash", "referral")
    table = make(
        "postings", journal_id=[1, 1, 2, 2], line=[1, 2, 1, 2], entity=[2] * 4, basis=[0] * 4,
        tag=[0] * 4, account=[chart[name].number for name in names],
        period=[650] * 4, effective_on=np.full(4, to_day(MARCH)), rule=[801, 801, 501, 501],
        cell=[0] * 4, loan_id=[0] * 4, amount_minor=[7_00, -7_00, 5_00, -5_00],
    )  # fmt: skip
    books = GroupBooks(Ledger.of_postings(table), GROUP, closed([]).rates)
    flows = cash_flows(books, last_of_month(647), MARCH)
    assert (flows.opening, flows.closing) == (7_00, 12_00)
    assert books.at(MARCH).amount("cash") == 12_00


def test_banks_and_parties_are_compared_with_the_ledger() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUBSIDY, date(2024, 1, 5), 90_00)
    facts.say(PLATFORM, GroupFactKind.BANK_BALANCE, MARCH, 90_00)
    loans = [_rules([(121, "cash", "providers_institution", 40_00),
                     (122, "payable_institutions", "cash", 40_00)], PLATFORM, MARCH)]  # fmt: skip
    books = closed(facts.facts, [MARCH], loans)
    assert list(bank_problems(books, facts.facts, MARCH)) == []
    facts.say(PLATFORM, GroupFactKind.BANK_BALANCE, MARCH, 1)
    (problem,) = bank_problems(books, facts.facts, MARCH)
    assert "banks hold 0.01 CNY more than the ledger" in str(problem)
    facts.say(PLATFORM, GroupFactKind.PROVIDER_SETTLEMENT, date(2024, 2, 1), 40_00, party=5)
    facts.say(PLATFORM, GroupFactKind.INSTITUTION_SETTLEMENT, date(2024, 2, 1), 39_00, party=6)
    (other,) = settlement_problems(books, facts.facts, MARCH)
    assert "parties say 3900, the ledger 4000" in str(other)


def test_a_bank_statement_feeds_the_comparison_with_the_ledger() -> None:
    """A statement as read from a bank's file becomes a fact, and the close compares it."""
    from usance.service import OwnBankAccount, Statement, bank_balances

    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUBSIDY, date(2024, 1, 5), 90_00)
    books = closed(facts.facts, [MARCH])
    for closing, found in ((90_00, 0), (91_00, 1)):
        statement = Statement("CN01", "S-1", "CNY", (), 0, closing, MARCH)
        [fact] = bank_balances([statement], {"CN01": OwnBankAccount(PLATFORM)})
        kind = GroupFactKind[fact.kind.upper()]
        said = Facts()
        said.say(fact.entity, kind, fact.effective_on, fact.amount_minor, **fact.detail)
        assert len(list(bank_problems(books, said.facts, MARCH))) == found


def test_income_per_share_is_printed_as_filings_do() -> None:
    """Q1 2024 of the filing: 1,164,287 thousand on 312.5 m and 318.9 m shares would print so."""
    facts = Facts()
    facts.say(PARENT, GroupFactKind.SHARES_ISSUED, OPENED, 0, quantity=312_446_370)
    facts.say(
        PARENT,
        GroupFactKind.GRANT,
        OPENED,
        name="g",
        award="option",
        fair_value=0,
        exercise_price=0,
        tranches=[{"on": "2030-01-01", "units": 6_468_787}],
    )
    income = 1_164_287_000_00
    found = per_share(facts.facts, income, Currency.CNY, date(2024, 1, 1), MARCH, 60)
    rows = per_share_rows(found, income, Currency.CNY, "Example, Inc.", "2024Q1", 2)
    assert [(row.line, row.unit, str(row.value)) for row in rows] == [
        ("Basic", "per_share", "3.73"), ("Diluted", "per_share", "3.65"),
        ("Basic", "per_ads", "7.46"), ("Diluted", "per_ads", "7.30"),
        ("Basic", "shares", "312446370"), ("Diluted", "shares", "318915157"),
    ]  # fmt: skip


def test_every_account_is_in_a_statement_once() -> None:
    expected = {account.name for account in load_chart() if not account.within_group}
    for statement in (SHEET, SHEET_MATRIX):
        lines = load_layout().lines(statement)
        seen = [name for line in lines if not line.is_total for name in line.signs]
        assert sorted(seen) == sorted(expected)
        signs = {line.line: line.signs for line in lines}
        assert set(signs["TOTAL ASSETS"].values()) == {1}
        assert set(signs["TOTAL LIABILITIES AND EQUITY"].values()) == {-1}


def test_a_layout_that_leaves_out_an_account_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "statements.yaml"
    path.write_text(SHIPPED.read_text().replace("      - Goodwill\n", "      - Good will\n"))
    with pytest.raises(Problems) as caught:
        load_layout(path)
    assert [error.what for error in caught.value.errors] == [
        "no account has this line",
        "goodwill is 0 times in balance_sheet",
        "goodwill is 0 times in ifrs_reconciliation_balance_sheet",
    ]


@pytest.mark.parametrize(
    ("document", "start", "end", "quarter", "additions", "payouts"),
    [
        ("000", "2023-12-31", "2024-03-31", "2024Q1", 485_161, 847_102),
        ("002", "2024-03-31", "2024-06-30", "2024Q2", 299_712, 575_782),
    ],
)
def test_implied_movements_close_the_published_quarters(
    shared: Path, document: str, start: str, end: str, quarter: str, additions: int, payouts: int
) -> None:
    """Stand-ready and contingent of two real quarters, released with 6 % tax on revenue."""
    folder = shared / "filings"
    before = printed(folder / "000.csv", "balance_sheet", start)
    page = folder / f"{document}.csv"
    after, income = printed(page, "balance_sheet", end), printed(page, "operations", quarter)
    current = "Total current liabilities"
    stand, contingent = ("Guarantee liabilities-stand ready", current), (
        "Guarantee liabilities-contingent", current,
    )  # fmt: skip
    revenue = income["Revenue from releasing of guarantee liabilities", "Credit driven services"]
    released = half_up(revenue * 106, 10_000) * 100
    charged = income["Provision for contingent liabilities", "Total operating costs and expenses"]
    rolls = (
        RollForward("stand ready", before[stand],
                    (Movement("additions", additions * 100), Movement("released", -released)),
                    after[stand]),
        RollForward("contingent", before[contingent],
                    (Movement("provision", charged), Movement("net payouts", -payouts * 100)),
                    after[contingent]),
    )  # fmt: skip
    assert [roll.difference for roll in rolls] == [0, 0]


def test_statements_from_the_postings_a_close_writes() -> None:
    """Opening, foreign equity and holdings keep their own day through the table of postings."""
    facts = with_rates()
    usd = {"currency": Currency.USD}
    sides = [{"account": "cash", "amount": 900}, {"account": "paid_in_capital", "amount": -900}]
    facts.say(PARENT, GroupFactKind.OPENING_BALANCE, OPENED, lines=sides, **usd)
    facts.say(
        PARENT, GroupFactKind.CAPITAL_CONTRIBUTED, date(2024, 1, 20), 50_00, to=PLATFORM, **usd
    )
    facts.say(PARENT, GroupFactKind.SUBSIDY, date(2024, 3, 20), 5_00, **usd)
    before, tables = GroupLines.of(()), []
    for number, day in enumerate(ENDS[:2], start=1):
        lines = books_by(facts.facts, day)
        head = CloseHead(number, to_month(day), day, LATER, "close")
        moved = lines - before
        activity = np.zeros(len(moved), np.int64)
        tables.append(group_postings(moved, head, activity))
        before = lines
    rates = Rates.of(facts.facts, Currency.CNY)
    books = GroupBooks(Ledger.of_postings(pa.concat_tables(tables)), GROUP, rates)
    for start, end in ((OPENED, ENDS[0]), (ENDS[0], ENDS[1])):
        found = group_controls(books, facts.facts, start, end)
        assert {name: problems for name, problems in found.items() if problems} == {}
    assert books.span(to_month(ENDS[0])) == (date(2024, 1, 1), ENDS[0])
    assert books.at(ENDS[0]).amount("paid_in_capital") == -6_300_00
