"""Loans of a file as rows of `loans`, numbered by the order of their first row."""

from __future__ import annotations

from pathlib import Path

from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, Product
from usance.base.errors import InputError, Problems, UsanceError
from usance.base.ids import PER_USER, owned_id
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import IntakeRow, Row, intake_rows, refuse
from usance.loan.columns import unsupported_term
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
from usance.loan.terms import Terms

_TERMS = (
    "instalments", "principal_minor", "rate_ppm", "coupon_ppm", "guarantee_fee_minor",
    "flat_fee_minor", "upfront_fee_minor",
)  # fmt: skip


def loan_numbers(book: Book) -> dict[str, int]:
    """Loans of the book by the text their file named them by; own loans by their number."""
    known = {
        str(number): number for number in book.read("loans", ["loan_id"])["loan_id"].to_pylist()
    }
    refs = book.read("refs").to_pydict()
    return known | dict(zip(refs["loan_ref"], refs["loan_id"], strict=True))


def new_loans(
    book: Book, path: Path, mapping: IntakeMapping
) -> tuple[list[Row], dict[str, int], int]:
    """Rows that are new, their numbers by text, and how many rows were there already."""
    problems: list[UsanceError] = []
    numbers = loan_numbers(book)
    stored = {row["loan_id"]: row for row in book.read("loans").to_pylist() if row["terms_no"] == 1}
    last_user = max((number // PER_USER for number in numbers.values()), default=0)
    users: dict[str, tuple[int, int]] = {}
    rows: list[Row] = []
    refs: dict[str, int] = {}
    known = 0
    for row in intake_rows(path, mapping, book.manifest.currency, problems):
        text = row.text("loan")
        if text in refs:
            row.wrong(f"loan {text!r} is there twice", "Keep one of the rows", "loan")
        made = _terms(row)
        if made is None:
            continue
        before = numbers.get(text)
        if before is not None:
            known += 1
            if _differs(stored[before], _row(row, made, before, stored[before]["user_loan_no"])):
                fix = "Terms are changed by a fact; correct the file, or give the loan another name"
                row.wrong(f"loan {text!r} is in the book with other terms", fix)
            continue
        user = row.text("user") or text
        if user not in users:
            last_user += 1
            users[user] = last_user, 0
        users[user] = users[user][0], users[user][1] + 1
        number = owned_id(*users[user])
        refs[text] = number
        rows.append(_row(row, made, number, users[user][1]))
    refuse(problems, path)
    return rows, refs, known


def _terms(row: IntakeRow) -> Terms | None:
    """The terms of a row, or None after its problems were kept."""
    name = row.text("convention") or "level_monthly"
    if name not in CONVENTIONS:
        row.wrong(
            f"unknown convention {name!r}", f"Choices: {', '.join(CONVENTIONS)}", "convention"
        )
        return None
    rate = row.rate("rate")
    given = {
        "principal_minor": row.amount("principal"), "rate_ppm": rate,
        "coupon_ppm": row.rate("coupon", rate), "instalments": row.whole("instalments"),
        "disbursed_on": row.day("disbursed_on"), "first_due_on": row.day("first_due_on"),
        "guarantee_fee_minor": row.amount("guarantee_fee"),
        "flat_fee_minor": row.amount("flat_fee"), "upfront_fee_minor": row.amount("upfront_fee"),
    }  # fmt: skip
    if not row.is_good:
        return None
    try:
        terms = Terms(convention=CONVENTIONS[name], currency=row.currency, **given)  # type: ignore[arg-type]
    except InputError as error:
        found = error.errors if isinstance(error, Problems) else (error,)
        for each in found:
            row.wrong(each.what, each.fix, each.where)
        return None
    why = unsupported_term(terms)
    if why:
        row.wrong(f"the books do not keep {why}", "Check it with usance conform portfolio first")
        return None
    return terms


def _row(row: IntakeRow, terms: Terms, number: int, user_loan_no: int) -> Row:
    return {
        "loan_id": number, "terms_no": 1, "effective_on": terms.disbursed_on, "line_id": number,
        "decision_id": number, "product": int(row.code("product", Product, Product.INSTALMENT)),
        "convention": CONVENTION_CODES[terms.convention.name],
        "model": int(row.code("model", FundingModel, FundingModel.CAPITAL_HEAVY)),
        "source": row.whole("source", 1), "currency": int(Currency[terms.currency]),
        "disbursed_on": terms.disbursed_on, "first_due_on": terms.first_due_on, "eir_ppb": 0,
        "grade": row.whole("grade", 1), "user_loan_no": user_loan_no,
        "channel": row.whole("channel", 1), "region": row.whole("region", 1),
        **{name: getattr(terms, name) for name in _TERMS},
    }  # fmt: skip


def _differs(stored: Row, given: Row) -> bool:
    return any(stored[name] != value for name, value in given.items())
