"""The report holds everything an institution must be told, and nothing without consent."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.assess.requests import document
from tests.pages.checks import words
from usance import cli
from usance.assess.decision.investigation import SECTIONS, investigate, write_report
from usance.base.errors import UsanceError
from usance.pages.reports.pre_loan_report import pre_loan_report

PURPOSES = ("credit_decision", "bureau_inquiry", "share_with_institution")


def consent(purpose: str, **changes: Any) -> dict[str, Any]:
    return {"purpose": purpose, "given": True, "effective_at": "2024-06-30T07:50:00Z",
            "booked_at": "2024-06-30T07:50:01Z", "text_version": "2024-05",
            "channel": "own_app"} | changes  # fmt: skip


def whole(**changes: Any) -> dict[str, Any]:
    return document(**changes) | {"consents": [consent(each) for each in PURPOSES], "months": 12}


def section_of(report: dict[str, Any], title: str) -> dict[str, Any]:
    """The figures of a section by name."""
    return {figure["name"]: figure for figure in report["sections"][title]}


def test_every_content_is_there_with_its_source() -> None:
    report = investigate(whole(), "request.json", "consumer")
    assert set(report["sections"]) == set(SECTIONS)
    assert all(report["sections"].values())
    assert [each["purpose"] for each in report["consents"]] == list(PURPOSES)
    assert report["suggested"] == {"line_minor": 2_220_000, "rate_ppm": 135_000, "months": 12}
    assert report["assessment"]["grade"] == 3
    assert report["capacity"]["debt_with_line_minor"] == 300_000 + 2_220_000
    assert report["versions"]["flow"]["number"] == 1
    bureau = section_of(report, "multi_lender_exposure")["bureau_open_loans"]
    assert (bureau["value"], bureau["source"], bureau["records"]) == (2, "bureau_file", 1)
    assert bureau["last_booked_at"] == "2024-06-30T07:59:30+00:00"
    given = section_of(report, "device_and_links")["link_size"]
    assert given["source"] == "given with the request"
    derived = section_of(report, "income_and_occupation")["bank_inflow_ppm"]
    assert derived["means"] == "no bank records"
    assert derived["from"] == ["application", "bank_month"]
    for figures in report["sections"].values():
        assert all(figure["source"] for figure in figures)
    assert "bank_inflow_ppm: no bank records" in report["warnings"]


def test_a_record_booked_later_is_not_told() -> None:
    """It was not known, so the figure is not from it and its source must not say so."""
    made = whole()
    late = made["records"]["bureau_file"][0] | {"booked_at": "2024-06-30T08:00:01Z"}
    made["records"]["bureau_file"].append(late | {"open_loans": 9})
    found = section_of(investigate(made, "request.json", "consumer"), "multi_lender_exposure")
    bureau = found["bureau_open_loans"]
    assert (bureau["value"], bureau["records"]) == (2, 1)
    assert bureau["last_booked_at"] == "2024-06-30T07:59:30+00:00"
    # The same moment written elsewhere in the world.
    made["records"]["bureau_file"][1]["booked_at"] = "2024-06-30T15:59:40+08:00"
    found = section_of(investigate(made, "request.json", "consumer"), "multi_lender_exposure")
    assert (found["bureau_open_loans"]["value"], found["bureau_open_loans"]["records"]) == (9, 2)


def test_what_was_not_assessed_is_not_a_zero() -> None:
    report = investigate(whole(document_valid=False), "request.json", "consumer")
    assert report["assessment"] == {"approved": False, "score": None, "grade": None, "pd_ppm": None}
    assert report["suggested"] == {"line_minor": None, "rate_ppm": None, "months": 12}
    assert report["capacity"]["debt_with_line_minor"] is None
    assert report["reasons"]
    assert "not known" in pre_loan_report(report)


def test_capacity_says_what_the_whole_line_costs_a_month() -> None:
    capacity = investigate(whole(), "request.json", "consumer")["capacity"]
    rate = Fraction(135_000, 12 * 10**6)
    level = 2_220_000 * rate / (1 - (1 + rate) ** -12)
    assert abs(capacity["instalment_minor"] - level) <= 1
    assert abs(capacity["instalment_of_income_ppm"] - level * 10**6 / 900_000) <= 2


@pytest.mark.parametrize("purpose", PURPOSES)
def test_no_report_without_consent(purpose: str) -> None:
    made = whole()
    made["consents"] = [each for each in made["consents"] if each["purpose"] != purpose]
    with pytest.raises(UsanceError, match="no consent to"):
        investigate(made, "request.json", "consumer")


def test_a_withdrawn_consent_is_none() -> None:
    made = whole()
    withdrawn = consent("share_with_institution", given=False, effective_at="2024-06-30T07:55:00Z")
    made["consents"].append(withdrawn | {"booked_at": "2024-06-30T07:56:00Z"})
    with pytest.raises(UsanceError, match="share with institution"):
        investigate(made, "request.json", "consumer")
    # Booked after the decision, the withdrawal was not known to it.
    made["consents"][-1]["booked_at"] = "2024-06-30T08:56:00Z"
    assert investigate(made, "request.json", "consumer")["consents"]


def test_the_page_shows_it_and_escapes_everything(tmp_path: Path) -> None:
    made = whole(list_hit="watch")
    for each in made["consents"]:
        each["channel"] = "<script>alert(1)</script>"
    report = investigate(made, "request.json", "consumer")
    assert write_report(report, tmp_path, pre_loan_report) == [
        "investigation.json",
        "investigation.html",
    ]
    seen = words((tmp_path / "investigation.html").read_text(encoding="utf-8"))
    for word in ("Warnings", "on a list: watch", "Multi lender exposure", "22200.00 CNY", "13.50 %",
                 "no bank records", "Versions",
                 "<script>alert(1)</script>", report["versions"]["flow"]["sha256"]):  # fmt: skip
        assert word in seen
    assert json.loads((tmp_path / "investigation.json").read_text()) == report


def test_the_command_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(whole()))
    call = ["assess", "report", str(file), "--out", str(tmp_path / "out")]
    assert cli.main(call) == 0
    assert "investigation.html" in capsys.readouterr().out
    file.write_text(json.dumps(whole() | {"months": 0}))
    assert cli.main(call) == 2
    assert "months is 0" in capsys.readouterr().err
