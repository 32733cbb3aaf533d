"""A book that grows by months is measured as its tables are, and no month is looked at twice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tests.measure import metric_oracle as oracle
from tests.measure.books import MONTHS, random_book
from usance.base.book import Book
from usance.base.dates import last_of_month
from usance.measure.definitions import (
    PREAGGREGATIONS,
    Aggregate,
    PreAggregation,
    Window,
    preaggregation_for,
)
from usance.measure.engines import open_engine
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure
from usance.measure.relations import relation


def _figures(inputs: Inputs, end: date) -> list[tuple[object, ...]]:
    return [
        (each.definition.name, each.series, each.by, each.numerator, each.denominator)
        for each in measure(inputs, as_of=end, roles=oracle.ROLES)
    ]


def _add(book: Book, tables: dict[str, pa.Table], month: int) -> None:
    """A month of the tape and of facts, the latter filed by a month that says nothing of them."""
    tape, facts = tables["tape"], tables["facts"]
    some = facts.filter(pc.equal(pc.bit_wise_and(facts["amount_minor"], 7), month - MONTHS[0]))
    with book.writing() as step:
        step.add("tape", tape.filter(pc.equal(tape["month"], month)), month=month)
        step.add("facts", some, month=month)


def test_a_book_by_months_is_measured_as_its_tables_are(tmp_path: Path) -> None:
    tables = {name: each for name, each in random_book(5).items() if name != "sums"}
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    with book.writing() as step:
        for name in tables.keys() - {"tape", "facts"}:
            step.add(name, tables[name])
    for month in MONTHS:
        _add(book, tables, month)
        if month % 3 == 2:
            so_far = tables | {name: book.read(name) for name in ("tape", "facts")}
            end = last_of_month(month)
            assert _figures(Inputs.of_book(book), end) == _figures(Inputs.of_tables(so_far), end)


def test_a_month_is_looked_at_once(tmp_path: Path) -> None:
    tables = random_book(6)
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    preaggregation = PreAggregation("tape", ("month",), ("principal_minor",))
    for month in MONTHS:
        _add(book, tables, month)
    inputs = Inputs.of_book(book)
    with open_engine(inputs) as engine:
        before = engine.rows(engine.summed_by_month("tape", preaggregation.of(relation("tape"))))
    for each in inputs.by_month["tape"][MONTHS[0]]:
        each.unlink()
    rest = Inputs({"users": tables["users"]}, "", by_month=inputs.by_month)
    with open_engine(rest) as engine:
        again = engine.rows(engine.summed_by_month("tape", preaggregation.of(relation("tape"))))
        (last,) = engine.rows(
            engine.summed_by_month("tape", preaggregation.of(relation("tape")), (MONTHS[-1],) * 2)
        )
    assert sorted(again) == sorted(before)
    assert last == max(before)


def test_a_preaggregation_has_only_sums_that_add_up() -> None:
    columns = ("bucket", "cell")
    money = Aggregate("tape", Window.END, amount=((1, ("principal_minor",)),))
    assert preaggregation_for("tape", money, columns) == PREAGGREGATIONS[0]
    assert preaggregation_for("tape", money, ("dpd",)) is None
    for amount in (((1, ("principal_minor", "mob")),), ((1, ("principal_minor",)), (1, (7,)))):
        assert (
            preaggregation_for("tape", Aggregate("tape", Window.END, amount=amount), columns)
            is None
        )
    assert (
        preaggregation_for("tape", Aggregate("tape", Window.END, distinct="loan_id"), columns)
        is None
    )
