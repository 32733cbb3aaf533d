"""Rights of a borrower in trouble over HTTP: complaints, requests for help, plans, withdrawal."""

from __future__ import annotations

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served, refused
from tests.platform.api.test_lending import fits
from usance.platform.api import shapes


def test_complaints_and_requests_for_help_are_cases_with_a_deadline(served: Served) -> None:
    loan = drawn(served)
    user = loan["user"]
    body = {"subject": "amount", "text": "charged twice"}
    made = served.post(f"/v1/users/{user}/complaints", body)
    assert (made.status_code, made.json()["state"]) == (201, "open")
    refused(served.post(f"/v1/users/{user}/complaints", {**body, "subject": "weather"}), 400,
            "invalid_field")  # fmt: skip
    refused(served.post(f"/v1/users/{user}/complaints", body, "channel_2"), 404, "not_found")
    told = served.post(f"/v1/complaints/{made.json()['case']}/answer",
                       {"answer": "one of the two went back"}, "operations")  # fmt: skip
    assert (told.status_code, told.json()["state"]) == (200, "answered")
    asked = served.post(f"/v1/users/{user}/hardship", {"loan": loan["loan"]})
    assert (asked.status_code, asked.json()["state"]) == (201, "open")
    assert "interest_pause" in {each["kind"] for each in asked.json()["plans"]}
    for what, case in (("complaints", made), ("hardship", asked)):
        [row] = served.get(f"/v1/users/{user}/{what}").json()["data"]
        fits(shapes.Page, {"data": [row], "next": None})
        assert row["case"] == case.json()["case"]
    other = registered(served)
    refused(served.post(f"/v1/users/{other}/hardship", {"loan": loan["loan"]}), 404, "not_found")


def test_a_plan_is_offered_and_declined_and_none_is_beyond_its_rules(served: Served) -> None:
    loan = drawn(served)
    path, body = f"/v1/users/{loan['user']}/plans", {"loan": loan["loan"], "kind": "interest_pause"}
    told = refused(served.post(path, {**body, "pause_days": 93}, "operations"), 422,
                   "plan_not_offered")  # fmt: skip
    assert "1 to 92" in told["message"]
    made = served.post(path, {**body, "pause_days": 30}, "operations")
    assert made.status_code == 201
    plan = made.json()
    shapes.Plan.model_validate(plan)
    assert plan["added_cost_minor"] < 0
    answered = served.post(f"/v1/plans/{plan['plan']}/answer", {"accepted": False})
    assert answered.json()["state"] == "declined", answered.text
    refused(served.post(f"/v1/plans/{plan['plan']}/answer", {"accepted": True}), 409, "wrong_state")
    assert [each["state"] for each in served.get(path).json()["data"]] == ["declined"]


def test_there_is_no_withdrawal_where_the_law_knows_none(served: Served) -> None:
    loan = drawn(served)["loan"]
    refused(served.post(f"/v1/loans/{loan}/withdrawal-quote", {}), 422, "withdrawal_over")
