"""A new value of an IFRS parameter: the opening is restated, and no quarter earns it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books.small_book import QUARTERS, close_all, make_book, worked_loans
from usance.base.codes import IfrsAdjustment
from usance.base.money import half_up
from usance.base.parameters import Parameters
from usance.books.close import checklist
from usance.books.close.closes import effective_closes, postings_of
from usance.books.group.entities import parse_entities
from usance.books.group.exchange_rates import Rates
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import Ledger
from usance.books.statements.primary import movement

SIMPLE = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: Platform, role: platform, owner: 2}
  - {number: 2, name: Holding, role: parent}
""")


def changed_in_2024(tmp_path: Path) -> Parameters:
    """The shipped parameters, with payouts under IFRS at one and a half from 2024 on."""
    import shutil

    from usance.base.parameters import SHIPPED

    folder = tmp_path / "parameters"
    shutil.copytree(SHIPPED, folder)
    file = folder / "losses" / "ifrs_payout_multiple.yaml"
    file.write_text(f"{file.read_text()}  2024-01-01:\n    value: 1.5\n    source: a test\n")
    return Parameters.load(folder)


def test_a_new_multiple_restates_the_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = changed_in_2024(tmp_path)
    monkeypatch.setattr(checklist.Parameters, "load", classmethod(lambda _: parameters))
    book = make_book(tmp_path / "book", worked_loans())
    close_all(book, QUARTERS[:2])
    ledger = Ledger.of_postings(postings_of(book, effective_closes(book)))
    books = GroupBooks(ledger, SIMPLE, Rates.of((), SIMPLE.currency))
    first, second = (close.day for close in effective_closes(book))
    reserve = -books.at(first).amount("contingent", IfrsAdjustment.NONE)
    moved = movement(books.at(first), books.at(second), IfrsAdjustment.ECL)
    # From 0.75 to 1.5 of what was there, less 15 % tax, is no expense of the quarter.
    assert reserve > 0
    restated = half_up(reserve * 3, 4)
    assert moved("retained_earnings") == restated - half_up(restated * 15, 100)
    assert moved("contingent_provision") == -moved("contingent") - restated
