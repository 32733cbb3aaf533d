"""Small books on disk, from loans written as terms and facts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from tests.books.worked import HEAVY, LIGHT, OWN_BOOK, Worked, drawn, paid_on_time
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel
from usance.base.columns import make, sort
from usance.base.dates import parse_month, to_day
from usance.base.tables import table
from usance.books.close.checklist import Closing, close
from usance.books.periods import parse_close_period
from usance.loan import Fact, schedule
from usance.loan.columns import convention_code

MICROSECONDS = 86_400_000_000
QUARTERS = ("2023Q4", "2024Q1", "2024Q2", "2024Q3", "2024Q4")


def worked_loans() -> list[Worked]:
    """A1, A2, B1, B2 and C of the worked examples."""
    late = schedule(LIGHT)[2].total + 10_60
    return [
        Worked(FundingModel.CAPITAL_HEAVY, HEAVY, [
            drawn(HEAVY), *paid_on_time(HEAVY, 4),
            Fact(FactKind.PAID, date(2024, 5, 15), 3_007_26, ref=40),
        ]),
        Worked(FundingModel.CAPITAL_HEAVY, HEAVY, [
            drawn(HEAVY), *paid_on_time(HEAVY, 2),
            Fact(FactKind.COMPENSATED, date(2024, 5, 31), 6_090_00, ref=40),
            Fact(FactKind.RECOVERED, date(2024, 8, 15), 1_500_00, ref=41),
        ]),
        Worked(FundingModel.ON_BALANCE_SHEET, OWN_BOOK, [
            drawn(OWN_BOOK), *paid_on_time(OWN_BOOK, 4),
            Fact(FactKind.PAID, date(2024, 5, 15), 3_021_77, ref=40),
        ]),
        Worked(FundingModel.ON_BALANCE_SHEET, OWN_BOOK, [
            drawn(OWN_BOOK), *paid_on_time(OWN_BOOK, 1),
            Fact(FactKind.CHARGED_OFF, date(2024, 8, 28), 7_500_00, ref=40),
            Fact(FactKind.RECOVERED, date(2024, 11, 15), 900_00, ref=41),
        ]),
        Worked(FundingModel.CAPITAL_LIGHT, LIGHT, [
            drawn(LIGHT), *paid_on_time(LIGHT, 2),
            Fact(FactKind.FEE_CHARGED, date(2024, 4, 20), 10_60, ref=40, arg=1),
            Fact(FactKind.PAID, date(2024, 4, 20), late, ref=41),
            Fact(FactKind.CHARGED_OFF, date(2024, 10, 28), 4_500_00, ref=42),
        ]),
    ]  # fmt: skip


def make_book(folder: Path, loans: Sequence[Worked], *, source: Sequence[int] = ()) -> Book:
    """A book with one loan a user, in one shard; every fact is booked on its day."""
    book = Book.create(folder, currency="CNY", time_zone="Asia/Shanghai")
    ids = [16384 * (place + 1) + 1 for place in range(len(loans))]
    terms = [loan.terms for loan in loans]
    ones = [1] * len(loans)
    days = [to_day(each.disbursed_on) for each in terms]
    rows = make(
        "loans", loan_id=ids, terms_no=ones, effective_on=days, line_id=ids, decision_id=ids,
        product=ones, convention=[convention_code(each.convention) for each in terms],
        model=[int(loan.model) for loan in loans], source=list(source) or ones,
        currency=[0] * len(loans), disbursed_on=days,
        first_due_on=[to_day(each.first_due_on) for each in terms],
        instalments=[each.instalments for each in terms],
        principal_minor=[each.principal_minor for each in terms],
        rate_ppm=[each.rate_ppm for each in terms], coupon_ppm=[each.coupon_ppm for each in terms],
        guarantee_fee_minor=[each.guarantee_fee_minor for each in terms],
        eir_ppb=[0] * len(loans), grade=ones, user_loan_no=ones, channel=ones, region=ones,
        flat_fee_minor=[each.flat_fee_minor for each in terms],
        upfront_fee_minor=[each.upfront_fee_minor for each in terms],
    )  # fmt: skip
    with book.writing() as step:
        step.add("loans", rows, month=parse_month("2023-12"))
        step.add("facts", fact_rows(ids, loans), month=parse_month("2023-12"))
    return book


def fact_rows(ids: Sequence[int], loans: Sequence[Worked]):  # type: ignore[no-untyped-def]
    """The `facts` table of loans."""
    facts = [(loan_id, fact) for loan_id, loan in zip(ids, loans, strict=True)
             for fact in loan.facts]  # fmt: skip
    days = [to_day(fact.effective_on) for _, fact in facts]
    return sort(
        make(
            "facts", loan_id=[loan_id for loan_id, _ in facts], effective_on=days,
            kind=[int(fact.kind) for _, fact in facts], ref=[fact.ref for _, fact in facts],
            amount_minor=[fact.amount_minor for _, fact in facts],
            arg=[fact.arg for _, fact in facts],
            booked_at=[day * MICROSECONDS for day in days],
        ),
        table("facts"),
    )  # fmt: skip


def close_all(book: Book, periods: Sequence[str] = QUARTERS) -> list[Closing]:
    """Close period after period, each knowing what was booked by its end."""
    closings = []
    for text in periods:
        period = parse_close_period(text)
        end = datetime(period.last_day.year, period.last_day.month, period.last_day.day, 23, 59,
                       tzinfo=UTC)  # fmt: skip
        closings.append(close(book, period, known_at=end, clock=time.perf_counter))
    return closings
