"""Facts of a file as rows of `facts`; the loans they are about are replayed with them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from usance.base.book import Book
from usance.base.codes import Component, FactKind, Fee
from usance.base.errors import InputError, Problems, UsanceError
from usance.base.ids import fact_ref
from usance.books.intake.loan_intake import loan_numbers
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import IntakeRow, Row, intake_rows, refuse
from usance.loan import Fact, replay
from usance.loan.stored_rows import fact_of_row, terms_of_row


def new_facts(book: Book, path: Path, mapping: IntakeMapping) -> tuple[list[Row], int]:
    """Rows that are new, and how many were there already."""
    problems: list[UsanceError] = []
    numbers = loan_numbers(book)
    stored = {(row["loan_id"], row["ref"]): row for row in book.read("facts").to_pylist()}
    rows: list[Row] = []
    known = 0
    places: dict[int, IntakeRow] = {}
    for row in intake_rows(path, mapping, book.manifest.currency, problems):
        number = numbers.get(row.text("loan"))
        if number is None:
            row.wrong(f"no loan {row.text('loan')!r} is in the book", "Import loans first", "loan")
            continue
        made = _row(row, number)
        before = stored.get((number, made["ref"]))
        if not row.is_good:
            continue
        if before is None:
            stored[number, made["ref"]] = made
            rows.append(made)
            places[number] = row
        elif {**before, "booked_at": 0} == {**made, "booked_at": 0}:
            known += 1
        else:
            what = f"reference {row.text('ref')!r} is in the book with another content"
            row.wrong(what, "Reverse the fact, and give the new one its own reference", "ref")
    _replay(book, stored, places)
    refuse(problems, path)
    return rows, known


def _row(row: IntakeRow, number: int) -> Row:
    kind = row.code("kind", FactKind, FactKind.PAID)
    day, ref = row.day("effective_on"), row.text("ref")
    return {
        "loan_id": number, "effective_on": day, "kind": int(kind),
        "ref": fact_ref(ref) if ref else 0,
        "amount_minor": row.amount("amount"), "arg": _argument(row, kind),
        "booked_at": row.moment("booked_at", day),
    }  # fmt: skip


def _argument(row: IntakeRow, kind: FactKind) -> int:
    """The argument that a kind of fact has, from its own column."""
    match kind:
        case FactKind.REVERSED:
            target = row.text("reverses")
            if not target:
                row.wrong(
                    "reverses nothing", "Name the reference of the fact it reverses", "reverses"
                )
            return fact_ref(target) if target else 0
        case FactKind.PAID | FactKind.REFUNDED | FactKind.CHARGED_BACK:
            return row.whole("provider")
        case FactKind.FEE_CHARGED:
            return int(row.code("fee", Fee, Fee.LATE_FEE))
        case FactKind.WAIVED:
            return int(row.code("component", Component, Component.PENALTY))
        case FactKind.COMPENSATED | FactKind.BOUGHT_OUT:
            return row.whole("party")
        case FactKind.TERMS_CHANGED | FactKind.INTEREST_PAUSED:
            row.wrong(
                f"{kind.label} needs new terms", "Enter it by command on the platform", "kind"
            )
    return 0


def _replay(book: Book, stored: dict[tuple[int, int], Row], places: dict[int, IntakeRow]) -> None:
    """Replay every loan that gets facts; a loan that cannot be is a problem of its last row."""
    facts: dict[int, list[Fact]] = defaultdict(list)
    for (number, _), row in stored.items():
        if number in places:
            facts[number].append(fact_of_row(row))
    for row in book.read("loans").to_pylist():
        place = places.get(row["loan_id"])
        if place is None or row["terms_no"] != 1 or not place.is_good:
            continue
        own = facts[row["loan_id"]]
        try:
            replay(terms_of_row(row), own, max(fact.effective_on for fact in own))
        except InputError as error:
            found = error.errors if isinstance(error, Problems) else (error,)
            for each in found:
                place.wrong(f"the loan cannot be replayed with it: {each.what}", each.fix)
