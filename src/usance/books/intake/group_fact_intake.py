"""Facts of the group from a file, by the schema of their kind; manual journals among them."""

from __future__ import annotations

from pathlib import Path

from usance.base.book import Book
from usance.base.codes import Currency
from usance.base.documents import parse_json
from usance.base.errors import InputError, UsanceError
from usance.base.fields import Fields
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact_from_fields, facts_of_table
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import IntakeRow, intake_rows, refuse


def new_group_facts(book: Book, path: Path, mapping: IntakeMapping) -> tuple[list[GroupFact], int]:
    """Facts that are new, and how many were there already."""
    problems: list[UsanceError] = []
    stored = {each.fact_id: each for each in facts_of_table(book.read("group_facts"))}
    facts: list[GroupFact] = []
    known = 0
    for row in intake_rows(path, mapping, book.manifest.currency, problems):
        made = _fact(row)
        if made is None or not row.is_good:
            continue
        before = stored.get(made.fact_id)
        if before is None:
            stored[made.fact_id] = made
            facts.append(made)
        elif before == made:
            known += 1
        else:
            fix = "Reverse the fact, and give the new one its own number"
            row.wrong(f"fact {made.fact_id} is in the book with another content", fix, "id")
    refuse(problems, path)
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
