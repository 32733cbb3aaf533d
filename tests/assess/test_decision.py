"""One decision: from records to reasons, and never on an input that nobody gave."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.assess.requests import document, request, ticking
from usance import cli
from usance.assess.decision.decide import Decider, Decision
from usance.assess.decision.request import read_request
from usance.assess.errors import FlowError, WrongInput
from usance.assess.flow.files import Flow, read_flow
from usance.base.codes import DecisionOutcome
from usance.base.errors import UsanceError


@pytest.fixture(scope="module")
def flow() -> Flow:
    return read_flow("consumer")


@pytest.fixture(scope="module")
def decider(flow: Flow) -> Decider:
    return Decider(flow)


def decided(decider: Decider, **changes: Any) -> Decision:
    return decider.decide(request(**changes), ticking())


def test_an_ordinary_applicant_is_approved(decider: Decider, flow: Flow) -> None:
    """Points by hand: 380 + 45 + 48 + 44 + 44 + 44 + 62 + 24 + 26 + 36 = 753, grade 3."""
    decision = decided(decider)
    row = decision.row()
    # 2.8 incomes of 9,000.00 less 3,000.00 of debt; 9.2 % above funds.
    wanted = {"approved": 1, "score": 753, "grade": 3, "pd_ppm": 14_000, "line_minor": 2_220_000,
              "rate_ppm": 135_000, "reason_1": 0, "latency_us": 1500, "flow_no": 1}  # fmt: skip
    assert {name: row[name] for name in wanted} == wanted
    assert decision.decision_id == 7 * 16384 + 1
    stages = [stage for stage, _, _ in decision.answer.path]
    assert [*dict.fromkeys(stages)] == ["registration", "identity", "score", "line", "price"]
    shown = decision.as_dict(flow)
    assert shown["inputs"]["rate_cap_ppm"] == 240_000
    assert shown["inputs"]["bad_neighbours_ppm"] == -1
    assert shown["inputs"]["drawdown_minor"] is None


@pytest.mark.parametrize(
    ("changes", "stage", "codes"),
    [
        ({"list_hit": "block"}, "registration", [101]),
        ({"applications_24h": 6}, "registration", [102]),
        ({"link_size": 3, "bad_neighbours_ppm": 300_000}, "registration", [104]),
        ({"consent_given": False}, "identity", [111]),
        ({"face_match_ppm": None}, "identity", [114]),
        ({"face_match_ppm": 799_999}, "identity", [115]),
        ({"age_years": 17}, "identity", [117]),
        ({"monthly_income_minor": 130_000}, "line", [130]),
        ({"funding_cost_ppm": 149_000}, "price", [140, 212, 211, 204]),
    ],
)  # fmt: skip
def test_declines_name_their_reasons(
    decider: Decider, changes: dict[str, Any], stage: str, codes: list[int]
) -> None:
    answer = decided(decider, **changes).answer
    assert (answer.approved, answer.stage) == (False, stage)
    assert [code for code in answer.reasons if code] == codes
    assert answer.number("line_minor") == answer.number("rate_ppm") == 0


def test_what_is_referred_goes_on_to_the_line_a_person_may_grant(decider: Decider) -> None:
    waits = decided(decider, list_hit="watch", reviewers=1)
    answer, plain = waits.answer, decided(decider).answer
    assert (answer.approved, answer.stage, answer.referred_by) == (False, "", "registration")
    assert waits.row()["approved"] == DecisionOutcome.REFERRED
    assert waits.as_dict(decider.flow)["referred_by"] == "registration"
    for name in ("line_minor", "rate_ppm", "score"):
        assert answer.number(name) == plain.number(name) > 0
    assert decided(decider, list_hit="watch").answer.outcome is DecisionOutcome.APPROVED


def test_what_is_declined_later_waits_for_nobody(decider: Decider) -> None:
    made = decided(decider, list_hit="watch", reviewers=1, age_years=17)
    assert (made.answer.referred_by, made.answer.stage) == ("", "identity")
    assert made.row()["approved"] == DecisionOutcome.DECLINED
    assert made.row()["line_minor"] == 0


def test_a_decline_by_score_tells_the_points_that_were_lost(decider: Decider) -> None:
    """By hand: 60 points for paying late, 38 for being new here, 37 for income, 27 for age."""
    made = document(age_years=19, occupation=None, monthly_income_minor=250_000)
    made["records"]["bureau_file"][0]["worst_days_24m"] = 45
    answer = decided(decider, records=made["records"]).answer
    assert (answer.approved, answer.stage) == (False, "score")
    assert answer.reasons == (206, 212, 203, 201)
    assert answer.number("score") == 611


def test_nobody_is_told_of_something_that_is_not_known(decider: Decider) -> None:
    """Without a file, statements and loans there was no late payment, no inquiry, no inflow."""
    records = document()["records"] | {"bureau_file": [], "bureau_inquiry": []}
    answer = decided(decider, records=records, requested_minor=5_000_000).answer
    assert answer.reasons == (131, 212, 210, 211)
    assert answer.number("score") == 380 + 45 + 48 + 44 + 25 + 25 + 28 + 24 + 26 + 36


def test_a_source_that_is_left_out_decides_nothing(decider: Decider) -> None:
    """Who forgets the loans of a user would find nothing overdue."""
    for name in document()["records"]:
        records = {key: rows for key, rows in document()["records"].items() if key != name}
        with pytest.raises(UsanceError, match=rf"records\.{name}: {name} is missing"):
            decided(decider, records=records)


def test_a_smaller_line_is_a_counter_offer_with_reasons(decider: Decider) -> None:
    answer = decided(decider, requested_minor=5_000_000).answer
    assert answer.approved
    assert answer.reasons[0] == 131
    assert answer.reasons[1:] == (212, 211, 204)


def test_a_drawdown_is_checked_again(decider: Decider) -> None:
    asked = {"kind": "drawdown", "drawdown_minor": 500_000, "line_available_minor": 600_000,
             "line_age_days": 20}  # fmt: skip
    assert decided(decider, **asked).answer.approved
    answer = decided(decider, **{**asked, "line_available_minor": 499_999}).answer
    assert (answer.stage, answer.reasons[0]) == ("drawdown", 152)


def test_what_is_booked_later_does_not_decide(decider: Decider) -> None:
    made = document()
    late = dict(made["records"]["bureau_file"][0])
    late |= {"effective_on": "2024-06-29", "booked_at": "2024-06-30T08:00:01Z",
             "worst_days_24m": 200}  # fmt: skip
    made["records"]["bureau_file"].append(late)
    assert decided(decider, records=made["records"]).answer.approved
    late["booked_at"] = "2024-06-30T08:00:00Z"
    assert decided(decider, records=made["records"]).answer.reasons[0] == 121


@pytest.mark.parametrize("name", ["list_hit", "consent_given", "funding_cost_ppm", "card_check"])
def test_an_input_that_nobody_gives_is_never_defaulted(decider: Decider, name: str) -> None:
    made = document()
    del made["inputs"][name]
    from usance.assess.decision.request import read_request

    with pytest.raises(WrongInput, match=f"{name} is missing"):
        decider.decide(read_request(made, str), ticking())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"consent_given": None}, "inputs.consent_given: consent_given is empty"),
        ({"consent_given": 1}, "inputs.consent_given: 1 is neither true nor false"),
        ({"list_hit": "blocked"}, "unknown list_hit 'blocked'. Did you mean 'block'?"),
        ({"applications_24h": "3"}, "'3' is not a whole number"),
        ({"applications_24h": True}, "True is not a whole number"),
        ({"applications_24h": -1}, "-1 is too small"),
        ({"link_size": 2**53}, "is too large"),
        ({"face_match_ppm": 1_000_001}, "Give 0 to 1000000, or -1 (no picture taken)"),
        ({"agee": 3}, "unknown input 'agee'"),
        ({"age_years": 130}, "records.application[1].age_years: 130 is too large"),
        ({"bureau_open_loans": 1}, "bureau_open_loans is given twice"),
    ],
)
def test_a_wrong_input_is_named(decider: Decider, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UsanceError) as caught:
        decided(decider, **changes)
    assert named in str(caught.value)


def test_everything_wrong_is_told_at_once(decider: Decider) -> None:
    with pytest.raises(UsanceError) as caught:
        decided(decider, list_hit="x", link_size=0, card_check=7)
    assert str(caught.value).count("\n- ") == 3


def test_a_flow_is_not_used_before_its_day(decider: Decider) -> None:
    with pytest.raises(FlowError, match="in force from 2024-01-01"):
        decided(decider, at="2023-12-31T08:00:00Z")


def test_the_business_day_is_that_of_the_platform(decider: Decider) -> None:
    """At 17:00 in London on the last day of 2023 it is 2024 in Shanghai."""
    made = document(at="2023-12-31T17:00:00Z")
    for source in made["records"].values():
        for record in source:
            record |= {"effective_on": "2023-12-30", "booked_at": "2023-12-30T00:00:00Z"}
    decision = decided(decider, at=made["at"], records=made["records"])
    assert decision.booked_at.date() == date(2023, 12, 31)


def test_the_command_decides_and_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(document()))
    call = ["assess", "decide", str(file), "--log", str(tmp_path / "log")]
    assert cli.main([*call, "--json"], now=ticking()) == 0
    assert json.loads(capsys.readouterr().out)["data"]["score"] == 753
    file.write_text(json.dumps(document(number=2, list_hit="block")))
    assert cli.main(call, now=ticking()) == 0
    printed = capsys.readouterr().out
    assert "declined by registration" in printed
    assert "You are on a list of people we cannot lend to." in printed
    assert cli.main(["assess", "replay", str(tmp_path / "log")]) == 0
    assert "differences  0" in capsys.readouterr().out


def test_the_command_names_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"user_id": 7,\n "kind": "aplication"}')
    assert cli.main(["assess", "decide", str(file)]) == 2
    said = capsys.readouterr().err
    for named in ("number is missing", "line 2", "Did you mean 'application'?", "at is missing"):
        assert named in said


def test_records_that_cannot_be_read_are_the_only_complaint() -> None:
    wrong = document()
    wrong["records"]["application"][0]["age_years"] = "31"
    with pytest.raises(UsanceError) as caught:
        Decider(read_flow("consumer")).decide(read_request(wrong, str), ticking())
    assert "records.application[1].age_years: '31' is not a whole number" in str(caught.value)
    assert "is missing" not in str(caught.value)
