"""The published cases of another system, as its own tests show them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from usance.conform.schedules.run import ScheduleReport, check_schedules

CASES = "cases/schedules.json"
NEVER_READ = ("id", "scenario", "source", "loan_product_in_test")


@pytest.fixture(scope="module")
def report(shared: Path) -> ScheduleReport:
    return check_schedules(shared / CASES)


def test_every_base_schedule_reproduces(report: ScheduleReport) -> None:
    groups = report.by_group()
    for group in ("base_schedule", "as_of_later_business_date"):
        assert groups[group]["passed"] == groups[group]["total"]


def test_nine_lives_of_ten_reproduce(report: ScheduleReport) -> None:
    lives = report.by_group()["lifecycle"]
    assert lives["passed"] * 10 >= lives["total"] * 9


def test_most_cases_reproduce_as_stated(shared: Path) -> None:
    as_stated = check_schedules(shared / CASES, as_stated=True)
    assert as_stated.passed == 84
    assert not any(result.assumed for result in as_stated.results)


def test_what_does_not_reproduce_is_documented(report: ScheduleReport, root: Path) -> None:
    page = (root / "docs/reference/migration-conventions.md").read_text(encoding="utf-8")
    documented = [int(number) for number in re.findall(r"^\| ([0-9]+) \| ", page, re.MULTILINE)]
    assert [result.position for result in report.failures] == documented


def test_names_and_sources_play_no_part(
    report: ScheduleReport, shared: Path, tmp_path: Path
) -> None:
    document = json.loads((shared / CASES).read_text(encoding="utf-8"))
    for number, case in enumerate(document["cases"]):
        case.update(dict.fromkeys(NEVER_READ, f"another {len(document['cases']) - number}"))
        for step in case.get("steps", ()):
            step.pop("source_line", None)
    scrambled = tmp_path / "scrambled.json"
    scrambled.write_text(json.dumps(document), encoding="utf-8")
    again = check_schedules(scrambled)
    assert [result.passed for result in again.results] == [r.passed for r in report.results]


def test_a_wrong_cent_is_found(shared: Path, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads((shared / CASES).read_text(encoding="utf-8"))
    case = document["cases"][0]
    case["expected_rows"][2]["interest"] += 0.01
    document["cases"] = [case]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    [failure] = check_schedules(file).failures
    assert failure.difference is not None
    assert (failure.difference.row, failure.difference.cell) == ("row 3", "interest")
