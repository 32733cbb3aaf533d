"""Control over HTTP: proposals, people who agree, keys, what is masked and what is logged."""

from __future__ import annotations

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served, new_ref, refused
from usance.platform.commands.registry import COMMANDS
from usance.platform.security.roles import Roles


def test_every_command_is_in_the_file_of_roles() -> None:
    assert Roles.load().gaps(COMMANDS) == []
    assert Roles.load().gaps([*COMMANDS, "loan.forget"]) == ["loan.forget"]


def test_a_change_waits_for_two_people_and_a_key_is_none(served: Served) -> None:
    first, second = served.session(0), served.session(1)
    value = {"name": "servicing.late_fee", "value": "1%", "valid_from": "2030-01-01", "source": "x"}
    bad = {**value, "name": "servicing.nothing"}
    refused(served.post("/v1/parameters", bad, "control"), 400, "invalid_field")
    proposed = served.post("/v1/parameters", value, "control")
    if proposed.status_code == 400:  # the unit of this parameter is another
        value["value"] = "25"
        proposed = served.post("/v1/parameters", value, "control")
    assert proposed.status_code == 202, proposed.text
    path = f"/v1/approvals/{proposed.json()['approval']}"
    assert served.get(path, "control").json()["state"] == "pending"
    refused(served.post(f"{path}/approve", {}, "control"), 403, "session_needed")
    assert served.post(f"{path}/approve", {}, first).json()["given"] == 1
    refused(served.post(f"{path}/approve", {}, first), 422, "approval_same_person")
    done = served.post(f"{path}/approve", {}, second).json()
    assert (done["state"], done["given"]) == ("approved", 2)
    refused(served.post(f"{path}/reject", {}, first), 409, "wrong_state")


def test_a_key_is_made_by_two_told_once_rotated_and_ended(served: Served) -> None:
    first, second = served.session(0), served.session(1)
    body = {"kind": "channel", "party": f"shop-{new_ref()}", "scopes": ["channel"]}
    refused(served.post("/v1/keys", {**body, "scopes": ["control"]}, first), 400, "invalid_field")
    proposed = served.post("/v1/keys", body, first).json()
    path = f"/v1/approvals/{proposed['approval']}/approve"
    made = served.post(path, {}, second, key=f"approve-{body['party']}").json()
    again = served.post(path, {}, second, key=f"approve-{body['party']}").json()
    assert made["key"].startswith("usk_test_")
    assert "key" not in again
    assert served.get("/v1/clock", made["key"]).status_code == 200
    mine = served.get("/v1/keys", made["key"])
    refused(mine, 403, "forbidden")
    number = made["answer"]["id"]
    rotated = served.post(f"/v1/keys/{number}/rotate", {}, "control").json()
    for key in (made["key"], rotated["key"]):
        assert served.get("/v1/clock", key).status_code == 200
    assert served.ask("DELETE", f"/v1/keys/{number}", "control").json()["state"] == "ended"
    refused(served.get("/v1/clock", made["key"]), 401, "unknown_principal")
    assert served.get("/v1/clock", rotated["key"]).status_code == 200


def test_what_is_masked_is_shown_to_people_who_say_why(served: Served) -> None:
    user = registered(served)
    body = {"name": "Canary Bird", "national_id": f"ID{new_ref()}", "phone": "+8613800001234"}
    masked = served.ask("PUT", f"/v1/users/{user}/person", json=body).json()
    assert "Canary Bird" not in str(masked)
    path = f"/v1/users/{user}/reveal"
    asked = {"field": "name", "reason": "the borrower called us"}
    refused(served.post(path, asked, "control"), 403, "session_needed")
    session = served.session()
    refused(served.post(path, {**asked, "reason": " "}, session), 400, "invalid_field")
    assert served.post(path, asked, session, key=f"r-{user}").json()["value"] == "Canary Bird"
    assert "value" not in served.post(path, asked, session, key=f"r-{user}").json()
    for where in ("/v1/events?limit=200", "/v1/audit?limit=200", "/v1/requests?limit=200"):
        assert "Canary Bird" not in served.get(where, "control").text


def test_a_proposal_names_the_record_it_is_about(served: Served) -> None:
    loan = drawn(served)["loan"]
    told = served.post(f"/v1/loans/{loan}/charge-off", {}, "operations").json()
    assert told["subject"] == loan
    assert served.get(f"/v1/approvals/{told['approval']}", "control").json()["subject"] == loan


def test_requests_are_found_by_their_key(served: Served) -> None:
    import time

    key = f"look-{new_ref()}"
    answer = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}, key=key)
    for _ in range(50):
        found = served.get(f"/v1/requests?idempotency_key={key}", "control").json()["data"]
        if found:
            break
        time.sleep(0.1)
    assert found[0]["request"] == answer.headers["request-id"]
    assert (found[0]["status"], found[0]["path"]) == (201, "/v1/users")
    assert served.get(f"/v1/requests?idempotency_key={key}", "channel_2").json()["data"] == []


def test_the_audit_is_sealed(served: Served) -> None:
    drawn(served)
    told = served.get("/v1/audit/verify", "control").json()
    assert told["verified"] is True
    assert told["seals"] > 0


def test_a_person_is_told_everything_and_then_forgotten(served: Served) -> None:
    loan = drawn(served)
    user = loan["user"]
    person = {"name": "Forgotten Fox", "national_id": f"ID{new_ref()}", "phone": "+8613800005678"}
    served.ask("PUT", f"/v1/users/{user}/person", json=person)
    told = served.post(f"/v1/users/{user}/export", {}, key=f"export-{user}").json()
    assert told["data"]["person"]["name"] == "Forgotten Fox"
    assert [each["loan"] for each in told["data"]["loans"]] == [loan["loan"]]
    again = served.post(f"/v1/users/{user}/export", {}, key=f"export-{user}").json()
    assert "data" not in again
    refused(served.post(f"/v1/users/{user}/erasure", {}, "channel_2"), 404, "not_found")
    assert served.post(f"/v1/users/{user}/erasure", {}).json()["state"] == "done"
    refused(served.post(f"/v1/users/{user}/erasure", {}), 409, "wrong_state")
    asked = {"field": "name", "reason": "the borrower called us"}
    refused(served.post(f"/v1/users/{user}/reveal", asked, served.session()), 404, "not_found")
    refused(served.ask("PUT", f"/v1/users/{user}/person", json=person), 404, "not_found")
    assert served.get(f"/v1/loans/{loan['loan']}").status_code == 200  # the books go on
    other = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}).json()["user"]
    same = served.ask("PUT", f"/v1/users/{other}/person", json=person)
    assert same.status_code == 200  # the blind index has forgotten them too
