"""The tables of the worked loans: what each loan is, and what every event moves, to the fen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from tests.books.worked import (
    DRAWN,
    HEAVY,
    KNOWN,
    LIGHT,
    MONEY,
    OWN_BOOK,
    TRUST,
    Worked,
    drawn,
    paid_on_time,
    policies,
    rate_ppb,
)
from usance.base.codes import FactKind, FundingModel
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact
from usance.books.policies import Policies
from usance.loan import Fact, schedule

MAR, JUN, SEP, DEC = date(2024, 3, 31), date(2024, 6, 30), date(2024, 9, 30), date(2024, 12, 31)
EARLY = [1_000_000, 1_000_000, 1_000_000, 0]
"""Own loans are expected to be repaid with the fourth instalment."""

PROVISIONS = {
    "contingent_provision", "financial_provision", "contract_provision", "loan_provision",
}  # fmt: skip
COLUMNS: Mapping[str, set[str]] = {
    "cash": MONEY,
    "FAR": {"financial_receivable"},
    "FAR allow.": {"financial_allowance"},
    "contract asset": {"contract_assets"},
    "CA allow.": {"contract_allowance"},
    "stand-ready": {"stand_ready"},
    "contingent": {"contingent"},
    "VAT": {"other_tax_payable"},
    "guarantee rev.": {"guarantee_revenue"},
    "service fees": {"heavy_facilitation", "heavy_servicing"},
    "service fees (light)": {"light_facilitation", "light_servicing"},
    "other fees": {"other_platform_fees"},
    "provisions": PROVISIONS,
    "loans": {"loans"},
    "accrued int.": {"accrued_interest"},
    "unearned fee": {"unearned_fee"},
    "allowance": {"loan_allowance"},
    "trust payable": {"trust_investors"},
    "interest payable": {"interest_payable"},
    "financing income": {"financing_income"},
    "funding costs": {"funding_costs"},
}
OF_HEAVY = ("cash", "FAR", "FAR allow.", "contract asset", "CA allow.", "stand-ready",
            "contingent", "VAT", "guarantee rev.", "service fees", "provisions")  # fmt: skip
OF_OWN = ("cash", "loans", "accrued int.", "unearned fee", "allowance", "VAT",
          "financing income", "provisions")  # fmt: skip
OF_TRUST = ("cash", "loans", "accrued int.", "unearned fee", "allowance", "trust payable",
            "interest payable", "VAT", "financing income", "funding costs",
            "provisions")  # fmt: skip
OF_LIGHT = ("cash", "contract asset", "CA allow.", "VAT", "service fees (light)", "other fees",
            "provisions")  # fmt: skip


def of_heavy(day: date, contingent: int = 0) -> Policies:
    fees = rate_ppb("15", "100")
    return policies(day, lost_ppm=100_000, contingent=contingent, receivable=fees, contract=fees)


def of_light(day: date, contract: int = 0) -> Policies:
    return policies(day, lost_ppm=100_000, contract=contract)


def of_own(day: date, loans: int = 0) -> Policies:
    return policies(day, loans=loans, survival=EARLY)


PREPAID = Worked(
    FundingModel.CAPITAL_HEAVY,
    HEAVY,
    [
        drawn(HEAVY),
        *paid_on_time(HEAVY, 4),
        Fact(FactKind.PAID, date(2024, 5, 15), 3_007_26, ref=20),
    ],
    estimates={
        DRAWN: of_heavy(DRAWN, rate_ppb("360", "9,000")),
        MAR: of_heavy(MAR, rate_ppb("250", "4,500")),
        JUN: of_heavy(JUN),
    },
)
PREPAID_TABLE = """
2023-12-31 | all     |        | 254.40 | −38.16 | 80.14  | −12.02 | −254.40 | −360.00 | −4.54 |         | −75.60 | 410.18
2024-01-15 | vat     | −4.54  |        |        |        |        |         |         | 4.54  |         |        |
2024-02-29 | money   | 127.20 | −84.80 |        | −42.40 |        |         |         |       |         |        |
2024-03-31 | money   | 63.60  | −42.40 |        | −21.20 |        |         |         |       |         |        |
2024-03-31 | all     |        |        | 19.08  | 22.57  | 6.15   | 127.20  | 110.00  | −8.47 | −120.00 | −21.30 | −135.23
2024-04-15 | vat     | −8.47  |        |        |        |        |         |         | 8.47  |         |        |
2024-04-30 | money   | 63.60  | −42.40 |        | −21.20 |        |         |         |       |         |        |
2024-05-15 | settled |        | −84.80 |        | −17.91 |        | 127.20  |         | −1.39 | −40.00  | 16.90  |
2024-06-30 | all     |        |        | 19.08  |        | 5.87   |         | 250.00  |       |         |        | −274.95
2024-07-15 | vat     | −1.39  |        |        |        |        |         |         | 1.39  |         |        |
"""  # noqa: E501

DEFAULTED = Worked(
    FundingModel.CAPITAL_HEAVY,
    HEAVY,
    [
        drawn(HEAVY), *paid_on_time(HEAVY, 2),
        Fact(FactKind.COMPENSATED, date(2024, 5, 31), 6_090_00, ref=20),
        Fact(FactKind.RECOVERED, date(2024, 8, 15), 1_500_00, ref=21),
    ],
    estimates={
        DRAWN: of_heavy(DRAWN, rate_ppb("360", "9,000")),
        MAR: of_heavy(MAR, rate_ppb("400", "6,000")),
        JUN: of_heavy(JUN),
        SEP: of_heavy(SEP),
    },
)  # fmt: skip
DEFAULTED_TABLE = """
2023-12-31 | all         |           | 254.40  | −38.16  | 80.14  | −12.02 | −254.40 | −360.00   | −4.54 |         | −75.60 | 410.18
2024-01-15 | vat         | −4.54     |         |         |        |        |         |           | 4.54  |         |        |
2024-02-29 | money       | 127.20    | −84.80  |         | −42.40 |        |         |           |       |         |        |
2024-03-31 | all         |           |         | 12.72   | 22.57  | 2.97   | 127.20  | −40.00    | −8.47 | −120.00 | −21.30 | 24.31
2024-04-15 | vat         | −8.47     |         |         |        |        |         |           | 8.47  |         |        |
2024-05-31 | earned      |           |         |         | 13.97  |        | 127.20  |           | −7.99 | −120.00 | −13.18 |
2024-05-31 | written off |           | −169.60 | 169.60  | −74.28 | 74.28  |         |           |       |         |        |
2024-05-31 | money       | −6,090.00 |         |         |        |        |         | 6,090.00  |       |         |        |
2024-06-30 | all         |           |         | −144.16 |        | −65.23 |         | −5,690.00 |       |         |        | 5,899.39
2024-07-15 | vat         | −7.99     |         |         |        |        |         |           | 7.99  |         |        |
2024-08-15 | money       | 1,500.00  |         |         |        |        |         | −1,500.00 |       |         |        |
2024-09-30 | all         |           |         |         |        |        |         | 1,500.00  |       |         |        | −1,500.00
"""  # noqa: E501

MICROCREDIT = Worked(
    FundingModel.ON_BALANCE_SHEET,
    OWN_BOOK,
    [
        drawn(OWN_BOOK), *paid_on_time(OWN_BOOK, 4),
        Fact(FactKind.PAID, date(2024, 5, 15), 3_021_77, ref=20),
    ],
    estimates={
        DRAWN: of_own(DRAWN, rate_ppb("306", "9,000")),
        MAR: of_own(MAR, rate_ppb("200", "4,500")),
        JUN: of_own(JUN),
    },
)  # fmt: skip
MICROCREDIT_TABLE = """
2023-12-31 | all     | −8,936.40 | 9,000.00  |  | −63.60 | −306.00 |       |         | 306.00
2024-01-31 | settled | 1,635.00  | −1,500.00 |  | 17.92  |         | −8.66 | −144.26 |
2024-02-29 | settled | 1,612.50  | −1,500.00 |  | 15.06  |         | −7.22 | −120.34 |
2024-03-31 | settled | 1,590.00  | −1,500.00 |  | 12.14  |         | −5.78 | −96.36  |
2024-03-31 | all     |           |           |  |        | 106.00  |       |         | −106.00
2024-04-15 | vat     | −21.66    |           |  |        |         | 21.66 |         |
2024-04-30 | settled | 1,567.50  | −1,500.00 |  | 9.19   |         | −4.34 | −72.35  |
2024-05-15 | settled | 3,021.77  | −3,000.00 |  | 9.29   |         | −1.76 | −29.30  |
2024-06-30 | all     |           |           |  |        | 200.00  |       |         | −200.00
2024-07-15 | vat     | −6.10     |           |  |        |         | 6.10  |         |
"""


def investors() -> list[GroupFact]:
    """The trust's investors of B2: 9,000.00 at 0.35 % a month, repaid as the loan is."""

    def stated(number: int, kind: GroupFactKind, on: date, minor: int, **more: object) -> GroupFact:
        return fact(number, TRUST, kind, on, KNOWN, minor, **more)  # type: ignore[arg-type]

    deal, repaid, interest = (
        {"deal": "T1"}, GroupFactKind.FUNDING_REPAID, GroupFactKind.FUNDING_INTEREST_PAID,
    )  # fmt: skip
    bought_out = date(2024, 4, 30)
    return [
        stated(1, GroupFactKind.FUNDING_RAISED, DRAWN, 9_000_00, **deal, lender="trust_investors",
               rate="4.2%", day_count="30E/360"),
        stated(2, repaid, date(2024, 2, 1), 1_500_00, **deal, value_on="2024-01-31"),
        stated(3, interest, date(2024, 4, 1), 84_00, **deal),
        stated(4, GroupFactKind.TRUST_BUY_OUT, bought_out, 7_526_25, buyer=3),
        stated(5, repaid, bought_out, 7_500_00, **deal),
        stated(6, interest, bought_out, 26_25, **deal),
    ]  # fmt: skip


CHARGED_OFF = Worked(
    FundingModel.ON_BALANCE_SHEET,
    OWN_BOOK,
    [
        drawn(OWN_BOOK), *paid_on_time(OWN_BOOK, 1),
        Fact(FactKind.CHARGED_OFF, date(2024, 8, 28), 7_500_00, ref=20),
        Fact(FactKind.RECOVERED, date(2024, 11, 15), 900_00, ref=21),
    ],
    estimates={
        DRAWN: policies(DRAWN, loans=rate_ppb("306", "9,000")),
        MAR: policies(MAR, loans=rate_ppb("2,000", "7,500")),
        JUN: policies(JUN, loans=rate_ppb("6,500", "7,500")),
        SEP: policies(SEP),
        DEC: policies(DEC),
    },
    group=investors(),
    entity=TRUST,
    fund_cash="restricted_cash",
)  # fmt: skip
CHARGED_OFF_TABLE = """
2023-12-31 | all         | 63.60     | 9,000.00  |         | −63.60 | −306.00   | −9,000.00 |        |        |         |       | 306.00
2024-01-31 | settled     | 1,635.00  | −1,500.00 |         | 17.92  |           |           |        | −8.66  | −144.26 |       |
2024-02-01 | investors   | −1,500.00 |           |         |        |           | 1,500.00  |        |        |         |       |
2024-03-31 | all         |           |           | 202.50  | 27.20  | −1,694.00 |           | −84.00 | −13.00 | −216.70 | 84.00 | 1,694.00
2024-04-01 | investors   | −84.00    |           |         |        |           |           | 84.00  |        |         |       |
2024-04-15 | vat         | −21.66    |           |         |        |           |           |        | 21.66  |         |       |
2024-04-30 | group       | −7,526.25 |           |         |        |           | 7,500.00  |        |        |         | 26.25 |
2024-06-30 | all         |           |           | 65.25   | 8.88   | −4,500.00 |           |        | −4.19  | −69.94  |       | 4,500.00
2024-07-15 | vat         | −4.19     |           |         |        |           |           |        | 4.19   |         |       |
2024-08-28 | written off |           | −7,500.00 | −267.75 | 9.60   | 7,758.15  |           |        |        |         |       |
2024-09-30 | all         |           |           |         |        | −1,258.15 |           |        |        |         |       | 1,258.15
2024-11-15 | money       | 900.00    |           |         |        | −900.00   |           |        |        |         |       |
2024-12-31 | all         |           |           |         |        | 900.00    |           |        |        |         |       | −900.00
"""  # noqa: E501

THIRD = schedule(LIGHT)[2].total
PLATFORM_LOAN = Worked(
    FundingModel.CAPITAL_LIGHT,
    LIGHT,
    [
        drawn(LIGHT), *paid_on_time(LIGHT, 2),
        Fact(FactKind.FEE_CHARGED, date(2024, 4, 20), 10_60, ref=20, arg=1),
        Fact(FactKind.PAID, date(2024, 4, 20), THIRD + 10_60, ref=21),
        Fact(FactKind.CHARGED_OFF, date(2024, 10, 28), 4_500_00, ref=22),
    ],
    estimates={
        DRAWN: of_light(DRAWN, rate_ppb("8", "100")),
        MAR: of_light(MAR, rate_ppb("8.00", "102.25")),
        JUN: of_light(JUN, rate_ppb("40.00", "92.04")),
        SEP: of_light(SEP, rate_ppb("50.00", "92.04")),
        DEC: of_light(DEC),
    },
)  # fmt: skip
PLATFORM_TABLE = """
2023-12-31 | all         |       | 142.53 | −11.40 | −8.07 | −134.46 |        | 11.40
2024-01-15 | vat         | −8.07 |        |        | 8.07  |         |        |
2024-02-29 | money       | 63.60 | −63.60 |        |       |         |        |
2024-03-31 | all         |       | 23.32  | 3.40   | −1.32 | −22.00  |        | −3.40
2024-04-15 | vat         | −1.32 |        |        | 1.32  |         |        |
2024-04-20 | money       | 42.40 | −31.80 |        | −0.60 |         | −10.00 |
2024-06-30 | all         |       | 21.59  | −32.00 | −1.22 | −20.37  |        | 32.00
2024-07-15 | vat         | −1.82 |        |        | 1.82  |         |        |
2024-09-30 | all         |       |        | −10.00 |       |         |        | 10.00
2024-10-28 | written off |       | −92.04 | 92.04  |       |         |        |
2024-12-31 | all         |       |        | −42.04 |       |         |        | 42.04
"""

TABLES = {
    "A1": (PREPAID, OF_HEAVY, PREPAID_TABLE, "240.00"),
    "A2": (DEFAULTED, OF_HEAVY, DEFAULTED_TABLE, "−4,483.80"),
    "B1": (MICROCREDIT, OF_OWN, MICROCREDIT_TABLE, "462.61"),
    "B2": (CHARGED_OFF, OF_TRUST, CHARGED_OFF_TABLE, "−6,537.50"),
    "C": (PLATFORM_LOAN, OF_LIGHT, PLATFORM_TABLE, "94.79"),
}
