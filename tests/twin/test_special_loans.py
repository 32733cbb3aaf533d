"""Loans with incidents: resumed from bytes like others, dues and tape as their facts have them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.twin.runs import digests, ticking
from tests.twin.test_day_by_day import MONTHS, SCALE, lively
from usance.base.book import Book
from usance.base.columns import sort
from usance.base.dates import first_of_month, last_of_month
from usance.base.tables import table
from usance.measure.book_tape import dues_between, tape_month
from usance.measure.positions import Portfolio
from usance.twin.month.timestamps import end_of_month
from usance.twin.run.runner import run_scenario


def run(folder: Path, shard_bits: int) -> Book:
    return run_scenario(
        lively(), folder, scale=SCALE, first=MONTHS[0], last=MONTHS[-1], workers=1,
        clock=ticking(), shard_bits=shard_bits,
    ).book  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return run(tmp_path_factory.mktemp("special") / "run", 22)


def test_shards_that_are_read_again_each_month_come_to_the_same(book: Book, tmp_path: Path) -> None:
    """More shards than stay in memory: each goes on from its checkpoint."""
    own, whole = digests(run(tmp_path / "run", 5)), digests(book)
    for name in ("facts", "loans", "tape", "dues", "requests", "decisions"):
        assert own[name] == whole[name], name


def test_dues_and_tape_are_those_of_the_facts(book: Book) -> None:
    last = MONTHS[-1]
    known = end_of_month(last, lively().time_zone)
    loans, facts = (sort(book.read(name), table(name)) for name in ("loans", "facts"))
    portfolio, cells = Portfolio.of(loans, facts, known), book.read("cells")
    assert len(portfolio.changed) > 5
    assert tape_month(portfolio, last, cells).sort_by("loan_id") == book.read("tape", month=last)
    for month in range(MONTHS[0], last + 1):
        days = first_of_month(month), last_of_month(month)
        made = dues_between(portfolio, *days, cells, last_of_month(last))
        assert counted(made) == counted(book.read("dues", month=month)), month


def counted(dues: pa.Table) -> list[tuple[object, ...]]:
    rows = (tuple(row.values()) for row in dues.to_pylist())
    return sorted((row for row in rows if any(row[2:])), key=str)
