"""A new value of an IFRS parameter: the opening is restated, and no quarter earns it."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path
from time import perf_counter

import usance
from tests.books.small_book import QUARTERS, make_book, worked_loans
from usance.base.codes import IfrsAdjustment
from usance.base.money import half_up
from usance.base.parameters import Parameters
from usance.books.close.checklist import close
from usance.books.close.closes import effective_closes, postings_of
from usance.books.group.entities import parse_entities
from usance.books.group.exchange_rates import Rates
from usance.books.periods import parse_close_period
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import Ledger
from usance.books.statements.primary import movement

NAME = "ifrs_payout_multiple.yaml"
SIMPLE = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: Platform, role: platform, owner: 2}
  - {number: 2, name: Holding, role: parent}
""")


def changed_in_2024(tmp_path: Path) -> Parameters:
    """The shipped parameters, with payouts under IFRS at one and a half from 2024 on."""
    shipped = Path(usance.__file__).parent / "parameters" / "losses" / NAME
    folder = tmp_path / "parameters" / "losses"
    folder.mkdir(parents=True)
    added = "  2024-01-01:\n    value: 1.5\n    source: a test\n"
    (folder / NAME).write_text(shipped.read_text() + added)
    return Parameters({**Parameters.load().by_name, **Parameters.load(folder.parent).by_name})


def test_a_new_multiple_restates_the_opening(tmp_path: Path) -> None:
    parameters = changed_in_2024(tmp_path)
    book = make_book(tmp_path / "book", worked_loans())
    for text in QUARTERS[:2]:
        period = parse_close_period(text)
        end = datetime.combine(period.last_day, time.max, UTC)
        close(book, period, known_at=end, clock=perf_counter, parameters=parameters)
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
