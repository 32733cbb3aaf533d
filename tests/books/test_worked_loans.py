"""The worked loans of the specification, row by row and to the fen, through rules and closes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest

from tests.books.worked import (
    DRAWN,
    GROUP,
    KNOWN,
    PLATFORM,
    Books,
    Worked,
    balances,
    columns,
    drawn,
    minor_of,
    policies,
    rows_of,
)
from tests.books.worked_tables import (
    CHARGED_OFF,
    COLUMNS,
    DEC,
    DEFAULTED,
    JUN,
    MAR,
    MICROCREDIT,
    PLATFORM_LOAN,
    PREPAID,
    PROVISIONS,
    SEP,
    TABLES,
)
from usance.base.codes import FundingModel, IfrsAdjustment
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact
from usance.books.group.tax import deferred, profit_before_tax
from usance.books.rules import Activity
from usance.loan import Terms


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_the_table(name: str) -> None:
    loan, names, table, profit = TABLES[name]
    books = Books(loan)
    for row in rows_of(table):
        moved = balances(books.post(row.day, row.step))
        expected = dict(zip(names, row.minor, strict=True))
        found = {column: sum(moved.get(each, 0) for each in COLUMNS[column]) for column in names}
        assert found == expected, f"{name}, {row.day} {row.step}"
        shown = {each for column in names for each in COLUMNS[column]}
        assert _outside(moved) <= shown, f"{name}, {row.day} {row.step}"
    _is_over(books, minor_of(profit))


def _outside(moved: Mapping[str, int]) -> set[str]:
    """Accounts that moved, but for balances between the companies."""
    return moved.keys() - {"within_group"}


def _is_over(books: Books, profit: int) -> None:
    """Only cash is left, and it is the profit; no framework holds anything else."""
    left = books.balances()
    sheet = {name: minor for name, minor in left.items() if name in ("cash", "restricted_cash")}
    assert sum(sheet.values()) == profit == profit_before_tax(left)
    assert {name for name in left if name not in sheet} <= {
        *PROVISIONS, "guarantee_revenue", "heavy_facilitation", "heavy_servicing",
        "light_facilitation", "light_servicing", "financing_income", "funding_costs",
        "other_platform_fees", "referral",
    }  # fmt: skip
    for tag in set(IfrsAdjustment) - {IfrsAdjustment.NONE}:
        assert books.balances(tag) == {}


def played(name: str, until: date) -> Books:
    """The books of a table after its rows up to a day."""
    loan, _, table, _ = TABLES[name]
    books = Books(loan)
    for row in rows_of(table):
        if row.day <= until:
            books.post(row.day, row.step)
    return books


def test_an_instalment_passes_through_the_provider() -> None:
    """The first instalment of A: received one day, cleared and passed on the next."""
    books = Books(PREPAID)
    books.post(DRAWN, "all", lag_days=1)
    assert balances(books.post(date(2024, 1, 31), "money", lag_days=1)) == {
        "providers_institution": 1_545_00, "providers_fees": 63_60,
        "payable_institutions": -1_545_00, "financial_receivable": -42_40,
        "contract_assets": -21_20,
    }  # fmt: skip
    cleared = books.post(date(2024, 2, 1), "money", lag_days=1)
    assert balances(cleared) == {
        "cash": 63_60, "providers_institution": -1_545_00, "providers_fees": -63_60,
        "payable_institutions": 1_545_00,
    }  # fmt: skip
    cash = cleared.take(cleared.account == 1010)
    assert sorted(cash.amount.tolist()) == [-1_545_00, 63_60, 1_545_00]


@pytest.mark.parametrize("name", ["A1", "A2"])
def test_guarantee_under_ifrs(name: str) -> None:
    """Receivable, allowance and what stands ready leave; premium due and its allowance stay."""
    before_tax = {DRAWN: 38_16, MAR: 19_08, JUN: 0}
    for day, expected in before_tax.items():
        found = played(name, day).balances(IfrsAdjustment.GUARANTEE)
        assert -found.get("financial_provision", 0) == expected
    found = played(name, MAR).balances(IfrsAdjustment.GUARANTEE)
    assert found == {
        "financial_receivable": -127_20, "financial_allowance": 19_08, "stand_ready": 127_20,
        "financial_provision": -19_08, "deferred_tax_asset": -2_86, "income_tax": 2_86,
    }  # fmt: skip
    assert played(name, MAR).balances(IfrsAdjustment.ECL) == {}


def test_what_ifrs_keeps_of_the_premium() -> None:
    """31 Mar: nothing of A1, of A2 the overdue slice 42.40 with an allowance of 6.36."""
    kept = {}
    for name in ("A1", "A2"):
        books = played(name, MAR)
        both = [books.balances(), books.balances(IfrsAdjustment.GUARANTEE)]
        kept[name] = tuple(
            sum(each.get(account, 0) for each in both)
            for account in ("financial_receivable", "financial_allowance", "stand_ready")
        )
    assert kept == {"A1": (0, 0, 0), "A2": (42_40, -6_36, 0)}


def test_deferred_tax_of_the_defaulted_loan() -> None:
    assets = [
        deferred(played("A2", day).balances(), 250_000).asset_minor for day in (DRAWN, MAR, JUN)
    ]
    assert assets == [102_55, 108_62, 0]


def test_provisions_of_the_defaulted_loan_by_line() -> None:
    left = played("A2", DEC).balances()
    assert {name: left[name] for name in PROVISIONS & left.keys()} == {
        "financial_provision": 169_60, "contract_provision": 74_28,
        "contingent_provision": 4_590_00,
    }  # fmt: skip


def test_effective_interest_under_ifrs() -> None:
    """B1: a rate of 1.744743 % against 1.711183 %, 52.78 of the fee earned against 45.12."""
    assert columns([MICROCREDIT], DRAWN).eir_ppb.tolist() == [17_111_826]
    assert played("B1", MAR).balances()["unearned_fee"] == -63_60 + 45_12
    assert played("B1", MAR).balances(IfrsAdjustment.EIR) == {
        "unearned_fee": 7_66, "other_tax_payable": -43, "financing_income": -7_23,
        "income_tax": 1_08, "deferred_tax_liability": -1_08,
    }  # fmt: skip
    assert played("B1", JUN).balances(IfrsAdjustment.EIR) == {}


def test_cash_flows_of_the_trust_loan() -> None:
    flows = played("B2", DEC).flows()
    assert flows[Activity.OPERATING] == 63_60 + 135_00 - 110_25 - 25_85
    assert flows[Activity.INVESTING] == -9_000_00 + 1_500_00 + 900_00
    assert flows[Activity.FINANCING] == 0 == flows[Activity.NONE]


@pytest.mark.parametrize("name", ["A1", "A2", "C"])
def test_all_cash_of_institutions_loans_is_operating(name: str) -> None:
    flows = played(name, DEC).flows()
    assert {each for each, minor in flows.items() if minor} == {Activity.OPERATING}


@pytest.mark.parametrize("name", TABLES)
def test_every_entity_and_framework_balances(name: str) -> None:
    ledger = played(name, DEC).ledger
    assert not ledger.sums(lambda own: [own.entity, own.tag])
    apart = ledger.take(ledger.account == 1780)
    assert int(apart.amount.sum()) == 0


def of_institution(kind: FundingModel, terms_minor: int, fee_ppm: int, *group: GroupFact) -> Worked:
    """A loan of which only the institution's fee is ours."""
    terms = Terms(principal_minor=terms_minor, rate_ppm=0, instalments=1,
                            disbursed_on=DRAWN, first_due_on=date(2024, 1, 31))  # fmt: skip
    return Worked(kind, terms, [drawn(terms)], fee_ppm, {DRAWN: policies(DRAWN)}, group)


def _fees(kind: GroupFactKind, number: int, day: date, minor: int) -> GroupFact:
    return fact(number, PLATFORM, kind, day, KNOWN, minor, party=7)


def test_a_referred_loan() -> None:
    """D: confirmed, invoiced, received, and the tax paid over."""
    invoiced, received = date(2024, 1, 5), date(2024, 2, 5)
    books = Books(
        of_institution(
            FundingModel.ICE,
            5_000_00,
            26_500,
            _fees(GroupFactKind.REFERRAL_INVOICED, 1, invoiced, 132_50),
            _fees(GroupFactKind.FEES_RECEIVED, 2, received, 132_50),
        )
    )
    confirmed = {"contract_assets": 132_50, "referral": -125_00, "other_tax_payable": -7_50}
    assert balances(books.post(DRAWN, "all")) == confirmed
    assert balances(books.post(date(2024, 1, 15), "vat")) == {
        "cash": -7_50,
        "other_tax_payable": 7_50,
    }
    moved = balances(books.post(invoiced, "all"))
    lost = moved.pop("contract_provision", 0), moved.pop("receivable_allowance_fees", 0)
    assert moved == {"accounts_receivable": 132_50, "contract_assets": -132_50}
    assert sum(lost) == 0
    moved = balances(books.post(received, "all"))
    assert {name: moved[name] for name in ("cash", "accounts_receivable")} == {
        "cash": 132_50, "accounts_receivable": -132_50,
    }  # fmt: skip
    _is_over(books, 125_00)


@pytest.mark.parametrize("way", ["by loan", "by fact"])
def test_use_of_technology(way: str) -> None:
    """E: fees for use, told by the loans handled or by a fact of the group."""
    received = date(2024, 2, 5)
    paid = _fees(GroupFactKind.FEES_RECEIVED, 2, received, 1_060_00)
    told = (
        of_institution(FundingModel.TECH_SOLUTIONS, 10_600_00, 100_000, paid)
        if way == "by loan"
        else of_institution(
            FundingModel.TECH_SOLUTIONS, 10_600_00, 0,
            _fees(GroupFactKind.USAGE_DELIVERED, 1, DRAWN, 1_060_00), paid,
        )
    )  # fmt: skip
    books = Books(told)
    moved = balances(books.post(DRAWN, "all"))
    expected = {"accounts_receivable": 1_060_00, "other_platform_fees": -1_000_00}
    assert {name: moved[name] for name in expected} == expected
    assert moved["other_tax_payable"] == -60_00
    books.post(date(2024, 1, 15), "vat")
    books.post(received, "all")
    _is_over(books, 1_000_00)


def test_the_end_is_the_same_however_often_the_books_are_closed() -> None:
    """Closing by month, quarter or once: the same balances in every framework."""
    months = [date(2024, month, day) for month, day in
              ((1, 31), (2, 29), (3, 31), (4, 30), (5, 31), (6, 30))]  # fmt: skip
    for loan in (PREPAID, DEFAULTED, MICROCREDIT, CHARGED_OFF, PLATFORM_LOAN):
        found = []
        for closes in ([DEC], [MAR, JUN, SEP, DEC], [*months, SEP, DEC]):
            books = Books(loan)
            for day in closes:
                books.post(day, "all")
            found.append([books.balances(tag) for tag in IfrsAdjustment])
        assert found[0] == found[1] == found[2]


def test_groups_tax_rate_gives_the_tax_of_a_whole_life() -> None:
    """A2: the tax is 25 % of −4,483.80, and nothing of it is deferred at the end."""
    left = played("A2", DEC).balances()
    platform = GROUP[PLATFORM]
    assert deferred(left, platform.tax_ppm) == (0, 0)
    assert profit_before_tax(left) * platform.tax_ppm == -4_483_80 * 250_000
