"""Case files in small: what they must say, and what is said when they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from usance.base.errors import DocumentError
from usance.conform.schedules.run import ScheduleReport, check_schedules

TERMS: dict[str, Any] = {
    "group": "base_schedule", "schedule_engine": "progressive", "principal_applied": 100.0,
    "nominal_rate_pct": 7.0, "rate_basis": "per year", "n_instalments": 2, "repay_every": 1,
    "frequency": "MONTHS", "interest_type": "DECLINING_BALANCE",
    "interest_calculation_period": "DAILY", "amortisation": "EQUAL_INSTALLMENTS",
    "day_count": {"days_in_year": "360", "days_in_month": "30"},
    "payment_strategy": "ADVANCED_PAYMENT_ALLOCATION", "rounding_mode": "HALF_EVEN",
}  # fmt: skip
DRAWN = {"type": "disburse", "date": "2024-01-01", "amount": 100.0}
ROWS = [
    {"nr": 1, "days": 31, "due_date": "2024-02-01", "principal": 49.86, "interest": 0.58},
    {"nr": 2, "days": 29, "due_date": "2024-03-01", "principal": 50.14, "interest": 0.29},
]
ONE = TERMS | {
    "business_date": "2024-01-01", "events": [DRAWN], "expected_rows": ROWS,
    "expected_totals": {"Due": "100.87"},
}  # fmt: skip
RULE = {"enabled": True}
AGED = {
    "type": "re_age",
    "data": {
        "startDate": "2024-03-01", "numberOfInstallments": "3", "reAgeInterestHandling": "X",
    },
}  # fmt: skip
CHECK = {"type": "check_schedule", "rows": ROWS, "totals": {"Due": "100.87"}}


def played(tmp_path: Path, *cases: Any) -> ScheduleReport:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"cases": list(cases)}), encoding="utf-8")
    return check_schedules(file)


def life(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return TERMS | {"group": "lifecycle", "steps": list(steps)} | fields


def problems(tmp_path: Path, case: dict[str, Any]) -> str:
    [failure] = played(tmp_path, case).failures
    return "\n".join(failure.problems)


def test_one_schedule_and_a_life_in_steps(tmp_path: Path) -> None:
    report = played(tmp_path, ONE, life(DRAWN, CHECK))
    assert report.as_dict() == {
        "total": 2,
        "passed": 2,
        "by_group": {
            "base_schedule": {"total": 1, "passed": 1},
            "lifecycle": {"total": 1, "passed": 1},
        },
        "failures": [],
        "assumed": {},
    }


def test_a_check_before_the_disbursement_sees_the_plan(tmp_path: Path) -> None:
    assert played(tmp_path, life(CHECK, DRAWN)).passed == 1


def test_the_first_cell_that_differs_is_named(tmp_path: Path) -> None:
    wrong = [ROWS[0], ROWS[1] | {"interest": 0.30}]
    report = played(tmp_path, ONE | {"expected_rows": wrong})
    assert report.as_dict()["failures"] == [
        {"case": 1, "group": "base_schedule", "check": 1, "row": "row 2", "cell": "interest",
         "expected": "0.3", "found": "0.29", "problems": []}
    ]  # fmt: skip
    assert "row 2, interest: 0.3 published, 0.29 computed" in "\n".join(report.lines())


def test_a_row_too_few_is_a_difference(tmp_path: Path) -> None:
    [failure] = played(tmp_path, ONE | {"expected_rows": ROWS[:1]}).failures
    assert str(failure.difference) == "the schedule, rows: 1 published, 2 computed"


def test_an_unknown_step_fails_its_case_alone(tmp_path: Path) -> None:
    report = played(tmp_path, life(DRAWN, {"type": "conjure"}, CHECK), ONE)
    assert [result.passed for result in report.results] == [False, True]
    assert report.failures[0].problems == ("the step 'conjure' is not known here",)


def test_what_comes_after_the_last_check_is_not_played(tmp_path: Path) -> None:
    assert played(tmp_path, life(DRAWN, CHECK, {"type": "conjure"})).passed == 1


def test_nothing_to_reverse_is_said(tmp_path: Path) -> None:
    step = {"type": "reverse", "transaction": "Repayment", "date": "2024-01-01", "nth": "1"}
    assert "no repayment on 2024-01-01" in problems(tmp_path, life(DRAWN, step, CHECK))


def test_an_option_left_open_is_tried_and_named(tmp_path: Path) -> None:
    paid = {"type": "repayment", "date": "2024-01-15", "amount": 10.0}
    restored = {
        "type": "set_future_instalment_rule", "transaction_type": "DEFAULT",
        "rule": "NEXT_INSTALLMENT",
    }  # fmt: skip
    check = CHECK | {"rows": [ROWS[0] | {"paid": 0.0}, ROWS[1] | {"paid": 10.0}], "totals": {}}
    report = played(tmp_path, life(DRAWN, paid, check, restored))
    assert report.results[0].assumed == ("future instalments of default: last",)
    assert "1 of them with a setting that their file leaves open" in list(report.lines())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_instalments": None}, "n_instalments: is missing"),
        ({"n_instalments": 0}, "n_instalments: is 0"),
        ({"n_instalments": "six"}, "n_instalments: is 'six'"),
        ({"frequency": "MONTH"}, "unknown frequency 'MONTH'. Choices"),
        ({"day_count": {"days_in_year": "361", "days_in_month": "30"}}, "days_in_year '361'"),
        ({"day_count": 360}, "day_count: is 360"),
        ({"payment_allocation": [{"transaction_type": "DEFAULT"}]}, "future_instalment_rule"),
        ({"payment_allocation": ["DEFAULT"]}, "payment_allocation 1: is no object"),
        ({"events": [{"date": "2024-01-01"}]}, "step 2: has no type"),
        ({"events": [DRAWN | {"date": "1 January"}]}, "'1 January' is no date"),
        ({"events": [DRAWN | {"amount": "much"}]}, "amount: is 'much'"),
        ({"expected_rows": [1]}, "rows: is no list of objects"),
        ({"events": []}, "nothing is disbursed"),
        ({"expected_rows": []}, "rows: is empty"),
        ({"expected_rows": [{"nr": 1}]}, "row 1, principal: is missing"),
        ({"expected_rows": [{"principal": 1, "interest": 0}]}, "neither due_date nor nr"),
        ({"expected_rows": [ROWS[0] | {"capital": 1}]}, "unknown cell 'capital'"),
        ({"expected_rows": [ROWS[0] | {"interest": "some"}]}, "interest: is 'some'"),
        ({"expected_rows": [ROWS[0] | {"due_date": "2024-W05-4"}]}, "is no date"),
        ({"expected_totals": {"Dew": "1"}}, "unknown cell 'Dew'"),
        ({"n_instalments": 10**9}, "Give a whole number within 1 and 600"),
        ({"currency_decimals": 10**9}, "within 0 and 6"),
        ({"nominal_rate_pct": -1}, "nominal_rate_pct: is -1"),
        ({"down_payment_pct": 100}, "down_payment_pct: is 100"),
        ({"principal_applied": 1e300}, "principal_applied: is 1E+300"),
        ({"principal_applied": 0.001}, "0.001 is finer than the minor unit"),
        ({"events": [DRAWN | {"amount": -1}]}, "amount: -1 is not within 0"),
        ({"events": [DRAWN | {"amount": 0.005}]}, "is finer than the minor unit"),
        ({"events": [DRAWN | {"date": "9999-12-01"}]}, "within 1970 and 2100"),
        ({"events": [{"type": "disburse"}]}, "step 2, date: is missing"),
        ({"events": [DRAWN, {"type": "re_age", "data": {}}]}, "numberOfInstallments: is missing"),
        ({"events": [DRAWN, AGED]}, "Choices: DEFAULT, EQUAL"),
        ({"events": [DRAWN] * 2_000}, "Give at most 1000"),
        ({"repay_every": 366, "frequency": "YEARS", "n_instalments": 600}, "leaves the calendar"),
        ({"rate_basis": "per day"}, "unknown rate_basis 'per day'. "),
        ({"payment_strategy": "BEST"}, "unknown payment_strategy 'BEST'. Choices: ADVANCED"),
        ({"interest_recalculation": {"enabled": "no"}}, "enabled: is 'no'"),
        ({"interest_recalculation": RULE | {"rest_frequency_type_code": "9"}}, "Choices: 1, SAME"),
        ({"interest_recalculation": RULE | {"preclose_strategy_code": "9"}}, "Choices: 1, TILL"),
    ],
)
def test_a_case_that_cannot_be_used_says_why(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    assert said in problems(tmp_path, ONE | change)


def test_all_problems_of_a_case_are_listed(tmp_path: Path) -> None:
    found = problems(tmp_path, ONE | {"frequency": "MONTH", "n_instalments": 0, "repay_every": -1})
    assert found.count("case 1, ") == 3


def test_all_cases_that_are_none_are_listed(tmp_path: Path) -> None:
    report = played(tmp_path, 1, ONE, "two")
    assert [result.passed for result in report.results] == [False, True, False]
    first, second = map(str, report.errors)
    assert "cases.json line 1, case 1: is no object" in first
    assert "case 3: is no object" in second


def test_a_problem_has_the_line_of_its_case(tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    broken = json.dumps(ONE | {"frequency": "MONTH", "business_date": None})
    file.write_text(f'{{"cases": [\n{json.dumps(ONE)},\n\n{broken}]}}', encoding="utf-8")
    report = check_schedules(file)
    assert report.passed == 1
    assert len(report.errors) == 2
    assert all(str(error).startswith(f"{file} line 4, case 2, ") for error in report.errors)
    assert len(report.failures[0].problems) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "has no list of cases"),
        ('{"cases": 1}', "has no list of cases"),
        ('{"cases": []}', "has no case"),
        ('{"cases": [\n{"a": 1,}]}', "line 2"),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_is_none_says_why(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "cases.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as error:
        check_schedules(file)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate_basis": "per whole term"}, "a rate per whole term is not supported here"),
        ({"payment_strategy": "CREOCORE_UNIQUE"}, "CREOCORE_UNIQUE is not supported here"),
        ({"interest_recalculation": RULE | {"rest_frequency_type_code": "3"}}, "by the week"),
    ],
)
def test_what_is_known_and_not_supported_is_said(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    paid = {"type": "repayment", "date": "2024-01-15", "amount": 10.0}
    report = played(tmp_path, life(DRAWN, paid, CHECK, **change))
    assert said in report.failures[0].problems[0]
    assert not report.errors


def test_settings_are_tried_so_often_and_no_more(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [DRAWN]
    for kind in ("DEFAULT", "A", "B", "C", "D", "E", "F", "A", "A"):
        rule = {"type": "set_future_instalment_rule", "rule": "NEXT_INSTALLMENT"}
        steps.append(rule | {"transaction_type": kind})
    wrong = CHECK | {"rows": [ROWS[0] | {"interest": 0.59}, ROWS[1]]}
    report = played(tmp_path, life(*steps, wrong))
    assert report.failures[0].attempts == 243
    assert "only the first 243 combinations of settings were tried" in next(report.lines())


def test_the_attempt_that_gets_furthest_is_reported(tmp_path: Path) -> None:
    paid = {"type": "repayment", "date": "2024-01-15", "amount": 10.0}
    restored = {
        "type": "set_future_instalment_rule", "transaction_type": "DEFAULT",
        "rule": "NEXT_INSTALLMENT",
    }  # fmt: skip
    wrong = [ROWS[0] | {"paid": 0.0}, ROWS[1] | {"paid": 10.01}]
    report = played(tmp_path, life(DRAWN, paid, CHECK | {"rows": wrong}, restored))
    [failure] = report.failures
    assert failure.assumed == ("future instalments of default: last",)
    assert "with a setting" not in "".join(report.lines())


def test_a_fault_of_ours_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("ours")

    monkeypatch.setattr("usance.conform.schedules.steps.replay", broken)
    with pytest.raises(AssertionError, match="ours"):
        played(tmp_path, ONE)
