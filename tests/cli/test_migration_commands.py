"""`usance conform schedules` and `usance conform portfolio` as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.answers import Usance
from tests.conform.test_case_files import ONE, ROWS
from tests.migration.test_portfolio import write

PORTFOLIO = "conform portfolio terms.csv rows.csv --map map.yaml"


def test_schedules_that_reproduce(usance: Usance) -> None:
    answer = usance("conform schedules cases.json", cases_json=json.dumps({"cases": [ONE]}))
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "ok    case    1  base_schedule",
        "base_schedule: 1 of 1 reproduced to the cent",
        "1 of 1 cases reproduced to the cent",
    ]


def test_schedules_that_do_not(usance: Usance) -> None:
    wrong = ONE | {"expected_rows": [ROWS[0] | {"principal": 1.0}, ROWS[1]]}
    answer = usance(
        "conform schedules cases.json --json", cases_json=json.dumps({"cases": [wrong]})
    )
    assert answer.code == 1
    assert answer.json["passed"] == 0
    assert answer.json["failures"][0]["cell"] == "principal"


def test_cases_that_cannot_be_used_are_listed_and_the_others_run(usance: Usance) -> None:
    broken = ONE | {"events": None, "n_instalments": 0}
    text = json.dumps({"cases": [broken, ONE]})
    answer = usance("conform schedules cases.json --json", cases_json=text)
    assert answer.code == 2
    assert (answer.json["total"], answer.json["passed"]) == (2, 1)
    assert len(answer.json["failures"][0]["problems"]) == 2
    answer = usance("conform schedules cases.json", cases_json=text)
    assert answer.code == 2
    assert "- cases.json line 1, case 1, events: is missing" in answer.err
    assert "1 of 2 cases reproduced to the cent" in answer.out


@pytest.mark.parametrize("text", ["{", "[]", '{"cases": [1, 2]}'])
def test_a_file_that_is_none_gets_a_message(usance: Usance, text: str) -> None:
    answer = usance("conform schedules cases.json", cases_json=text)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err


def test_a_portfolio_that_ties(usance: Usance) -> None:
    write(Path(), [{}, {}])
    answer = usance(PORTFOLIO)
    assert (answer.code, answer.out) == (0, "2 of 2 loans tie as mapped\n0 do not tie\n")


def test_a_portfolio_with_a_report(usance: Usance) -> None:
    write(Path(), [{}, {"multiple_of": 10}])
    answer = usance(f"{PORTFOLIO} --out report.html --json")
    assert answer.code == 1
    assert answer.json["findings"] == [{"options": {"multiple_of": "10"}, "loans": ["L2"]}]
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_portfolio_that_is_none_gets_a_message(usance: Usance) -> None:
    write(Path(), [{}])
    answer = usance(PORTFOLIO, terms_csv="id,amount\n1,2\n")
    assert answer.code == 2
    assert "terms.csv line 1: has no column 'rate'" in answer.err
