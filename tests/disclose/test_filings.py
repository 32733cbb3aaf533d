"""The real filings: exactly the known breaks, one finding for each, and almost all rebuilt."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.disclose.filings import NAMES, paths, rows_of, text_of
from usance.disclose import Report, TieKind, check, rebuild

TAX, PRETAX = "Income tax expense", "Income before income tax expense"
# Document, column of the matrix (or statement), line, period, expected, found.
KNOWN = {
    ("002", "comprehensive_income", "Foreign currency translation adjustment", "2023H1"): 1,
    ("002", "effective_interest_net_of_tax", TAX, "2023H1"): 1,
    ("002", "ecl_net_of_tax", TAX, "2024H1"): 1,
    ("002", "effective_interest_net_of_tax", TAX, "2024H1"): 2,
    ("002", "financial_guarantee_net_of_tax", TAX, "2024H1"): 2,
    ("002", "effective_interest_net_of_tax", PRETAX, "2024H1"): 1,
    ("002", "financial_guarantee_net_of_tax", PRETAX, "2024H1"): 1,
    ("003", "balance_sheet", "Noncontrolling interests", "2023-12-31"): 1,
}


@pytest.fixture(scope="module")
def together(shared: Path) -> Report:
    return check(paths(shared, *NAMES, "004"))


def breaks(report: Report) -> Counter[tuple[str, ...]]:
    return Counter(
        (cell.document, cell.statement.partition(":")[2] or cell.statement, cell.line,
         cell.period.name)
        for cause in report.root_causes
        if cause.kind is TieKind.BROKEN
        for cell in [cause.cell]
    )  # fmt: skip


def test_the_known_breaks_and_no_other(together: Report) -> None:
    assert breaks(together) == Counter(KNOWN)
    assert together.as_dict()["counts"]["restated"] == 0


def test_one_root_of_the_translation_adjustment_with_its_three_totals(together: Report) -> None:
    [cause] = [each for each in together.root_causes if "translation adjustment" in each.cell.line]
    assert [cause.expected, cause.found] == [16_674_000, 16_673_000]
    assert len(cause.dependants) == 3
    assert {tie.target.period.name for tie in cause.dependants} == {"2023H1"}


def test_the_kinds_of_the_breaks(together: Report) -> None:
    rules = Counter(
        cause.tie.rule.partition(":")[0]
        for cause in together.root_causes
        if cause.kind is TieKind.BROKEN
    )
    assert rules == {
        "shorter periods add up to the longer one": 1,
        "tax on the adjustment": 4,
        "adjustment rolls forward": 4,
        "noncontrolling interests roll forward": 1,
    }


def test_intervals_are_no_breaks(together: Report) -> None:
    mild = [cause for cause in together.root_causes if cause.kind is TieKind.INTERVAL]
    assert Counter(cause.tie.rule for cause in mild) == {
        "change on the earlier period": 3,
        "basic shares: average by days of the parts": 1,
        "average price = amount / number": 1,
    }


def test_plugs_are_named_by_column(together: Report) -> None:
    plugs = [cause for cause in together.root_causes if cause.kind is TieKind.PLUG]
    assert Counter(cause.cell.statement for cause in plugs) == {"balance_sheet": 3, "cash_flows": 2}
    assert {cause.cell.currency for cause in plugs} == {"USD"}


@pytest.mark.parametrize(("name", "broken"), [("000", 0), ("002", 8), ("003", 1), ("004", 0)])
def test_each_filing_alone(shared: Path, name: str, broken: int) -> None:
    report = check(paths(shared, name))
    assert report.as_dict()["counts"]["broken"] == broken
    assert report.covered >= report.cells * 19 // 20


@pytest.mark.parametrize("name", NAMES)
def test_rebuilt_from_primary_facts(shared: Path, name: str) -> None:
    report = rebuild(paths(shared, name)[0])
    assert report.derived > 300
    assert 100 * report.equal >= 97 * report.derived
    assert len(report.differences) == report.derived - report.equal
    assert {each.kind for each in report.differences} <= {"plug", "interval"}


@pytest.mark.parametrize("name", NAMES)
def test_rebuild_reads_no_derived_figure(shared: Path, tmp_path: Path, name: str) -> None:
    """Every derived figure set to another number: what is rebuilt stays the same."""
    [path] = paths(shared, name)
    rows = rows_of(path)
    before = rebuild(path)
    totals = {
        number for number, row in enumerate(rows)
        if row[1] == "operations" and row[8] == "1" and row[5] == "RMB"
    }  # fmt: skip
    for number in totals:
        rows[number][7] = str(int(rows[number][7]) + 10_000_000)
    spoilt = tmp_path / "spoilt.csv"
    spoilt.write_text(text_of(rows), encoding="utf-8")
    after = rebuild(spoilt)
    wrong = {each.fact.row - 1: each for each in after.differences}
    assert totals <= wrong.keys()
    for number in totals:
        rebuilt = wrong[number].as_dict()["rebuilt"]
        assert rebuilt == rows_of(path)[number][7]
    others = len(after.differences) - len(totals)
    assert others <= len(before.differences) + 3


def test_the_order_of_files_does_not_matter(shared: Path, together: Report) -> None:
    names = reversed([*NAMES, "004"])
    assert breaks(check(paths(shared, *names))) == breaks(together)


@pytest.mark.parametrize("name", NAMES)
def test_a_lost_cell_breaks_nothing(shared: Path, tmp_path: Path, name: str) -> None:
    """Any one row left out, as a scanner does: fewer ties, and no false finding."""
    rows = rows_of(paths(shared, name)[0])
    before = breaks(check(paths(shared, name)))
    file = tmp_path / "lost.csv"
    for number in range(5, len(rows), len(rows) // 25):
        file.write_text(text_of(rows[:number] + rows[number + 1 :]), encoding="utf-8")
        assert not breaks(check([file])) - before, rows[number]


def test_the_same_bytes_for_every_hash_seed(shared: Path) -> None:
    start = "from usance.cli import main; raise SystemExit(main())"
    call = [sys.executable, "-c", start, "disclose", "check", *map(str, paths(shared)), "--json"]
    answers = {
        subprocess.run(
            call, capture_output=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert b'"broken": 10' in answers.pop()
