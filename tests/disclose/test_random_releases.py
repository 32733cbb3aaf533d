"""Random books: whatever happened, the release of any of their periods ties."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from tests.disclose.random_books import QUARTERS, random_book
from tests.disclose.workbook import Workbook
from usance.books.periods import parse_close_period
from usance.disclose import TieKind, check, load_profile, rebuild
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import publish, release_of

RATE = Decimal("7.2672")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21])
def test_every_printed_figure_ties(tmp_path: Path, seed: int) -> None:
    book, draw = random_book(tmp_path, seed), Random(seed)
    tables = []
    for period in draw.sample((*QUARTERS, "2023"), 2):
        for filer in (Filer(rate=RATE), Filer(rate=RATE, unit="unit")):
            release = release_of(book, parse_close_period(period), load_profile(), filer)
            files = publish(release, tmp_path / filer.unit, ["xlsx"])
            report = check([files["csv"]])
            assert report.counts.get(TieKind.BROKEN, 0) == 0, list(report.lines())
            again = rebuild(files["csv"])
            # An average price is exact, amount and number behind it are printed rounded.
            assert {each.kind for each in again.differences} <= {"interval"}
            if filer.unit == "thousand":
                tables.append(files["csv"])
                workbook = Workbook(files["xlsx"])
                chosen = draw.sample(sorted(workbook.formulas), 40)
                assert all(workbook.value(cell) == workbook.cached[cell] for cell in chosen)
    kinds = {cause.kind for cause in check(tables).root_causes}
    assert not kinds & {TieKind.BROKEN, TieKind.RESTATED}
