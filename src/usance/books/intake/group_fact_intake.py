"""Facts of the group from a file, by the schema of their kind; manual journals among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from usance.base.book import Book
from usance.base.codes import Currency
from usance.base.documents import parse_json
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all
from usance.base.fields import Fields
from usance.books.group.documents import read_facts
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact_from_fields, facts_of_table
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import IntakeRow, intake_rows, refuse


def new_group_facts(book: Book, path: Path, mapping: IntakeMapping) -> tuple[list[GroupFact], int]:
    """Facts of a table that are new, and how many were there already."""
    problems: list[UsanceError] = []
    made = [
        (_fact(row), row) for row in intake_rows(path, mapping, book.manifest.currency, problems)
    ]
    good = [(fact, _at_id(row)) for fact, row in made if fact and row.is_good]
    facts, known = _unknown(book, good)
    refuse(problems, path)
    return facts, known


def new_facts_of_document(book: Book, path: Path) -> tuple[list[GroupFact], int]:
    """Facts of a YAML document that are new, and how many were there already."""
    problems: list[UsanceError] = []

    def wrong(what: str, fix: str) -> None:
        problems.append(DocumentError(what, where=str(path), fix=fix))

    given = read_facts(path, Currency[book.manifest.currency])
    facts, known = _unknown(book, [(fact, wrong) for fact in given])
    raise_all(problems, where=str(path))
    return facts, known


def _at_id(row: IntakeRow) -> Callable[[str, str], None]:
    return lambda what, fix: row.wrong(what, fix, "id")


def _unknown(
    book: Book, given: Iterable[tuple[GroupFact, Callable[[str, str], None]]]
) -> tuple[list[GroupFact], int]:
    """Facts that the book has not, and how many it has; another content of one is told as wrong."""
    stored = {each.fact_id: each for each in facts_of_table(book.read("group_facts"))}
    facts: list[GroupFact] = []
    known = 0
    for fact, wrong in given:
        before = stored.get(fact.fact_id)
        if before is None:
            stored[fact.fact_id] = fact
            facts.append(fact)
        elif before == fact:
            known += 1
        else:
            fix = "Reverse the fact, and give the new one its own number"
            wrong(f"fact {fact.fact_id} is in the book with another content", fix)
    return facts, known


def _fact(row: IntakeRow) -> GroupFact | None:
    currency = row.code("currency", Currency, Currency[row.currency])
    row.currency = currency.label
    day = row.day("effective_on")
    kind = row.code("kind", GroupFactKind, GroupFactKind.COST_INCURRED)
    number, entity = row.whole("id"), row.whole("entity")
    amount, party, quantity = row.amount("amount"), row.whole("party"), row.whole("quantity")
    booked_at = row.moment("booked_at", day)
    try:
        raw = parse_json(row.text("detail") or "{}", where=f"{row.where}, detail")
    except InputError as error:
        row.problems.append(error)
        return None
    if not row.is_good:
        return None
    given = Fields(raw, lambda path: f"{row.where}, {'.'.join(map(str, ('detail', *path)))}",
                   row.problems)  # fmt: skip
    return fact_from_fields(
        number, entity, kind, day, booked_at, currency, amount, party, quantity, given, raw
    )
