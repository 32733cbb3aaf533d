"""A small book to try things on: five loans of three funding models, from drawdown to their end.

The loans are documents as people write them, beside this module in `data/sample`. `add_loans` puts
any such documents into a book, so a book of one's own is made the same way. `add_sample_group` adds
the company around them, so that the book can be published.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     book = sample_book(Path(folder) / "book")
...     book.rows("loans"), book.rows("facts")
(5, 27)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from pathlib import Path

import pyarrow as pa

from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, parse
from usance.base.columns import make, sort
from usance.base.dates import to_day, to_month
from usance.base.ids import owned_id
from usance.base.packs import CountryPack
from usance.base.tables import table
from usance.books.group.documents import read_facts
from usance.books.group.facts import table_of_facts
from usance.loan.columns import convention_code
from usance.loan.documents import LoanDocument, read_loan
from usance.loan.facts import START_OF_TIME, Fact

FOLDER = Path(__file__).resolve().parent / "data" / "sample"
LOANS: Mapping[str, FundingModel] = {
    "guaranteed_prepaid": FundingModel.CAPITAL_HEAVY,
    "guaranteed_default": FundingModel.CAPITAL_HEAVY,
    "own_prepaid": FundingModel.ON_BALANCE_SHEET,
    "own_default": FundingModel.ON_BALANCE_SHEET,
    "served_default": FundingModel.CAPITAL_LIGHT,
}
"""The loans of the sample by name, with their funding model."""

Given = Sequence[tuple[int, FundingModel, LoanDocument]]
_OF_TERMS = (
    "instalments", "principal_minor", "rate_ppm", "coupon_ppm", "guarantee_fee_minor",
    "flat_fee_minor", "upfront_fee_minor",
)  # fmt: skip


def sample_book(folder: Path | str, pack: CountryPack | None = None) -> Book:
    """Make the book in a new or empty folder, in the currency of its pack."""
    book = Book.create(folder, pack=pack)
    add_loans(book, [
        (owned_id(place, 1), model, read_loan(FOLDER / f"{name}.yaml", pack=pack))
        for place, (name, model) in enumerate(LOANS.items(), start=1)
    ])  # fmt: skip
    return book


def add_sample_group(book: Book) -> None:
    """Add the company around the loans: capital, shares, costs, and rates of the dollar in yuan."""
    currency = Currency[book.manifest.currency]
    files = ("facts.yaml", "rates.yaml") if currency is Currency.CNY else ("facts.yaml",)
    facts = [each for name in files for each in read_facts(FOLDER / "group" / name, currency)]
    with book.writing() as step:
        for month in sorted({to_month(each.booked_at.date()) for each in facts}):
            booked = [each for each in facts if to_month(each.booked_at.date()) == month]
            step.add("group_facts", table_of_facts(booked), month=month)


def add_loans(book: Book, loans: Given) -> None:
    """Add loans and their facts, each filed by its month; one product and one source for all."""
    with book.writing() as step:
        for month in sorted({to_month(each.terms[0].disbursed_on) for _, _, each in loans}):
            drawn = [each for each in loans if to_month(each[2].terms[0].disbursed_on) == month]
            step.add("loans", loan_rows(drawn), month=month)
        facts = [(number, fact) for number, _, each in loans for fact in each.facts]
        for month in sorted({to_month(booked_at(fact).date()) for _, fact in facts}):
            booked = [each for each in facts if to_month(booked_at(each[1]).date()) == month]
            step.add("facts", fact_rows(booked), month=month)


def loan_rows(loans: Given) -> pa.Table:
    """The `loans` table of documents, a row for every version of terms."""
    given = [(number, model, terms) for number, model, each in loans for terms in each.terms]
    numbers, terms = [number for number, _, _ in given], [each for _, _, each in given]
    ones, drawn = [1] * len(given), [to_day(each.disbursed_on) for each in terms]
    rows = make(
        "loans", loan_id=numbers, terms_no=[each.terms_no for each in terms], effective_on=drawn,
        line_id=numbers, decision_id=numbers, product=ones,
        convention=[convention_code(each.convention) for each in terms],
        model=[int(model) for _, model, _ in given], source=ones,
        currency=[int(parse(Currency, each.currency)) for each in terms], disbursed_on=drawn,
        first_due_on=[to_day(each.first_due_on) for each in terms], eir_ppb=[0] * len(given),
        grade=ones, user_loan_no=ones, channel=ones, region=ones,
        **{name: [getattr(each, name) for each in terms] for name in _OF_TERMS},
    )  # fmt: skip
    return sort(rows, table("loans"))


def fact_rows(facts: Sequence[tuple[int, Fact]]) -> pa.Table:
    """The `facts` table of facts by loan number."""
    rows = make(
        "facts", loan_id=[number for number, _ in facts],
        effective_on=[to_day(fact.effective_on) for _, fact in facts],
        kind=[int(fact.kind) for _, fact in facts], ref=[fact.ref for _, fact in facts],
        amount_minor=[fact.amount_minor for _, fact in facts], arg=[fact.arg for _, fact in facts],
        booked_at=[booked_at(fact) for _, fact in facts],
    )  # fmt: skip
    return sort(rows, table("facts"))


def booked_at(fact: Fact) -> datetime:
    """Booking time of a fact: its own, or the beginning of its day."""
    if fact.booked_at != START_OF_TIME:
        return fact.booked_at
    return datetime.combine(fact.effective_on, time(), UTC)
