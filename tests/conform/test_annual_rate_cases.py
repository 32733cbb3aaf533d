"""The runner of worked examples: all shared ones pass, and bad ones say what is wrong."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from usance.base.errors import DocumentError
from usance.conform.apr.file import read_case
from usance.conform.apr.run import AnnualRateReport, check_annual_rates, run_case

US: dict[str, Any] = {
    "id": "us",
    "jurisdiction": "US",
    "rule": "Reg Z (12 CFR 1026) Appendix J, actuarial method",
    "title": "monthly",
    "unit_period": "1 month",
    "unit_periods_per_year": 12,
    "advances": [{"amount": 5000, "t": 0, "f": 0}],
    "payment_streams": [{"amount": 230, "count": 24, "t": 1, "f": 0}],
    "dates": {"advance": "1978-01-10", "first_payment": "1978-02-10"},
    "expected_apr_pct": 9.69,
}
EU: dict[str, Any] = {
    "id": "eu",
    "jurisdiction": "EU",
    "advances": [{"amount": 1000, "t": 0}],
    "payment_streams": [{"amount": 1200, "t": 1.5}],
    "expected_apr_pct": 12.92,
}


def write(folder: Path, *cases: object) -> Path:
    file = folder / "cases.json"
    file.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    return file


def changed(base: dict[str, Any], *without: str, **fields: Any) -> dict[str, Any]:
    kept = {name: value for name, value in deepcopy(base).items() if name not in without}
    return {**kept, **fields}


def test_shared_cases(shared: Path) -> None:
    report = check_annual_rates(shared / "cases" / "apr.json")
    total = len(report.results)
    assert report.as_dict() == {"total": total, "passed": total, "failures": []}
    assert all(result.note == "" for result in report.results)


def test_shared_cases_by_their_dates_alone(shared: Path, tmp_path: Path) -> None:
    cases = json.loads((shared / "cases" / "apr.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        for stream in (*case["advances"], *case["payment_streams"]):
            del stream["t"], stream["f"]
        del case["unit_periods_per_year"]
    assert check_annual_rates(write(tmp_path, *cases)).failures == ()


@pytest.mark.parametrize(
    "case",
    [
        US,
        changed(US, "unit_period", "dates", "title", "rule"),
        changed(US, "unit_periods_per_year"),
        changed(US, unit_period="the month", jurisdiction="us"),
        changed(US, advances={"amount": "5000.00", "t": 0}),
        changed(US, payments=[{"amount": 0, "t": 3}]),
        changed(
            US,
            payment_streams=[
                {"amount": 230, "count": 20, "t": 1},
                {"amount": 230, "count": 4, "t": 21},
            ],
        ),
        changed(
            US,
            payment_streams=[{"amount": 230, "count": 24, "date": "1978-02-10"}],
            advances=[{"amount": 5000}],
        ),
        changed(US, payment_streams=[{"amount": 230}] * 24, advances=[{"amount": 5000}]),
        changed(
            US,
            unit_period="255 days",
            unit_periods_per_year=1.4313725490196079,
            payment_streams=[{"amount": 5400, "t": 1}],
            expected_apr_pct=11.45,
        ),
        changed(
            US,
            "unit_period",
            "unit_periods_per_year",
            advances=[{"amount": 1000}],
            payment_streams=[{"amount": 1080}],
            dates={"advance": "1978-01-03", "payment": "1978-09-15"},
            expected_apr_pct=11.45,
        ),
        changed(
            US,
            "unit_period",
            "unit_periods_per_year",
            advances=[{"amount": 1000}],
            payment_streams=[{"amount": 510}, {"amount": 520.2}],
            dates={"advance": "2023-01-10", "payments": ["2023-02-10", "2023-03-10"]},
            expected_apr_pct=24,
        ),
        EU,
        changed(EU, jurisdiction="UK"),
        changed(EU, payment_streams=[{"amount": 1200, "months": 18}]),
        changed(EU, payment_streams=[{"amount": 1200, "days": 546}], expected_apr_pct=12.96),
        changed(EU, payment_streams=[{"amount": 1200, "t": 18}], unit_periods_per_year=12),
        changed(EU, payment_streams=[{"amount": 1200, "s": 1.5}], expected_apr_pct=12.9),
        changed(
            EU,
            "advances",
            "payment_streams",
            drawdowns=[{"amount": 950, "t": 0}],
            repayments=[{"amount": 1200, "t": 1.5}],
            expected_apr_pct=16.85,
        ),
        changed(
            EU,
            advances=[{"amount": 1000}],
            payment_streams=[{"amount": 1200}],
            dates={"drawdown": "1994-01-01", "first_repayment": "1995-07-01"},
        ),
        changed(
            EU,
            payment_streams=[{"amount": 600, "t": 1, "count": 2}],
            unit_period="1 year",
            expected_apr_pct=13.07,
        ),
        changed(
            EU,
            payment_streams=[{"amount": 600, "t": 1, "count": 2, "interval": 1}],
            expected_apr_pct=13.07,
        ),
        changed(
            EU,
            payment_streams=[
                {"amount": 272, "t": 0.25},
                {"amount": 272, "t": 0.5},
                {"amount": 544, "t": 1},
            ],
            expected_apr_pct=13.19,
        ),
        changed(
            EU,
            payment_streams=[{"amount": 550, "t": 1}],
            charges=[{"amount": 550, "t": 1}],
            expected_apr_pct=10,
        ),
    ],
)
def test_ways_to_write_a_case(case: dict[str, Any], tmp_path: Path) -> None:
    report = check_annual_rates(write(tmp_path, case))
    assert report.as_dict() == {"total": 1, "passed": 1, "failures": []}


def test_a_wrong_expectation_is_a_failure_with_both_numbers(tmp_path: Path) -> None:
    report = check_annual_rates(write(tmp_path, changed(US, expected_apr_pct=9.68), EU))
    assert (report.as_dict()["total"], report.passed) == (2, 1)
    assert report.as_dict()["failures"] == [
        {"id": "us", "expected_apr_pct": "9.68", "got_apr_pct": "9.69", "problems": []}
    ]


def test_expected_decimals_decide_the_rounding() -> None:
    for expected, passes in (
        (10, True),
        (9.7, True),
        (9.69, True),
        (9.6857, True),
        (9.6858, False),
    ):
        raw = json.loads(json.dumps(changed(US, expected_apr_pct=expected)))
        raw["expected_apr_pct"] = read_decimal(expected)
        assert run_case(read_case(raw, 1)).passed is passes


def read_decimal(number: float) -> Any:
    from usance.base.documents import parse_json

    return parse_json(str(number))


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (7, "is not an object"),
        (changed(US, jurisdiction="FR"), "unknown jurisdiction 'FR'"),
        (changed(US, "jurisdiction"), "unknown jurisdiction"),
        (changed(US, rule="Reg Z, United States Rule method"), "rule unknown"),
        (changed(US, "advances"), "advances is missing"),
        (changed(US, "payment_streams"), "payment_streams is missing"),
        (changed(US, advances=[], payment_streams=[]), "advances is empty"),
        (changed(US, "dates", advances=[{"amount": 9}], payment_streams=[]), "payment_streams is"),
        (changed(US, advances=[7]), "advances[1] is not an object"),
        (changed(US, advances=[{"t": 0}]), "advances[1].amount is missing"),
        (changed(US, advances=[{"amount": -1, "t": 0}]), "advances[1].amount is -1"),
        (changed(US, advances=[{"amount": "5,000", "t": 0}]), "advances[1].amount is '5,000'"),
        (changed(US, payment_streams=[{"amount": 1, "t": -1}]), "payment_streams[1].t is -1"),
        (changed(US, payment_streams=[{"amount": 1, "t": True}]), "payment_streams[1].t is True"),
        (changed(US, payment_streams=[{"amount": 1, "t": 10**26}]), "payment_streams[1].t is 1000"),
        (changed(US, advances=[{"amount": 10**26, "t": 0}]), "advances[1].amount is 1000"),
        (changed(US, payment_streams=[{"amount": 1, "t": 1, "f": "x"}]), "payment_streams[1].f"),
        (changed(US, payment_streams=[{"amount": 1, "t": 1, "count": 0}]), "[1].count is 0"),
        (changed(US, payment_streams=[{"amount": 1, "t": 1, "count": 10**9}]), "[1].count is"),
        (changed(US, unit_periods_per_year=0), "unit_periods_per_year is 0"),
        (changed(US, "unit_period", "unit_periods_per_year"), "unit_periods_per_year is missing"),
        (changed(US, "unit_periods_per_year", unit_period="moon"), "unknown unit-period 'moon'"),
        (changed(US, dates=[]), ""),
        (changed(US, dates="1978-01-10"), "dates is not an object"),
        (changed(US, dates={"advance": "1978-02-30"}), "1978-02-30 does not exist"),
        (changed(US, dates={"payment_days": [1, 32]}), "dates.payment_days"),
        (changed(US, "expected_apr_pct"), "expected_apr_pct is missing"),
        (changed(US, expected_apr_pct="9.69 %"), "expected_apr_pct is '9.69 %'"),
        (changed(US, "dates", advances=[{"amount": 5000}]), "advances[1] has no dates"),
        (changed(US, advances=[{"amount": 0}]), "advances come to nothing"),
        (changed(US, advances=[{"amount": 0, "t": 0}]), "no rate"),
        (changed(US, payment_streams=[{"amount": 1, "years": 1}]), "has no t"),
        (changed(EU, payment_streams=[{"amount": 9, "t": 0.5, "count": 2}]), "has no interval"),
    ],
)
def test_a_case_that_cannot_be_used_says_which_and_why(
    case: object, problem: str, tmp_path: Path
) -> None:
    report = check_annual_rates(write(tmp_path, case, EU))
    assert report.passed == (2 if problem == "" else 1)
    if problem:
        (failure,) = report.failures
        assert problem in failure.problems[0]
        assert failure.problems[0].startswith(failure.id)
        assert failure.got_pct is None


def test_all_problems_of_a_case_are_listed(tmp_path: Path) -> None:
    bad = {"id": "bad", "jurisdiction": "XX", "advances": [{"amount": "x", "t": "y"}]}
    (failure,) = check_annual_rates(write(tmp_path, bad)).failures
    assert len(failure.problems) == 5
    assert all(problem.startswith("bad: ") for problem in failure.problems)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cases": {}}', '{"cases": []}', "7", "NaN"]
)
def test_a_file_that_is_none_of_cases(text: str, tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError):
        check_annual_rates(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        check_annual_rates(tmp_path / "none.json")


def test_lines_for_people(tmp_path: Path) -> None:
    odd = changed(US, id="odd", dates={"advance": "1978-01-09", "first_payment": "1978-02-10"})
    report = check_annual_rates(
        write(tmp_path, US, odd, changed(EU, expected_apr_pct=13), {"id": "bad"})
    )
    lines = list(report.lines())
    assert lines[0] == "ok    us  expected 9.69 %, got 9.69 %  monthly"
    assert "1978-01-09 to 1978-02-10 is t = 1, f = 0.0333333; the case has t = 1, f = 0" in lines[2]
    assert "ok    eu  expected 13 %, got 13 %" in lines
    assert lines[-2:] == [
        "3 of 4 cases passed",
        "dates and times agree in 1 of the 2 cases that have both",
    ]
    assert "FAIL  bad  expected no rate, got no rate" in lines


def test_no_cases_with_dates_no_line_about_them() -> None:
    assert list(AnnualRateReport(()).lines()) == ["0 of 0 cases passed"]
