"""The contract by its letter: order of checks, answers once for a key, ids in cursors, forms."""

from __future__ import annotations

import base64
import json
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.platform.api.borrowers import WANTED, drawn, paying, today, with_line
from tests.platform.api.served import Served, error_of, new_ref, refused
from tests.platform.api.test_matrix import filled, operations
from usance.platform.commands.registry import EVENTS
from usance.platform.security.sessions import create_operator
from usance.platform.terminal.homes import on_platform

NOWHERE = "ln_0000ZZZZZZZ"
PASSWORD = "correct horse battery staple"
Tokens = dict[str, str]


@pytest.fixture(scope="module")
def tokens(served: Served) -> Tokens:
    """A session for each of some roles."""
    people = {
        role: f"{role}@strict.example"
        for role in ("auditor", "collector", "credit_officer", "developer")
    }

    async def work(platform: Any) -> None:
        async with platform.database.transaction(0) as transaction:
            for role, email in people.items():
                await create_operator(transaction, email, role, PASSWORD)

    on_platform(served.home, work)
    bodies = {role: {"email": email, "password": PASSWORD} for role, email in people.items()}
    return {role: str(served.post("/v1/sessions", body, "").json()["token"])
            for role, body in bodies.items()}  # fmt: skip


def everything(served: Served, path: str, who: str, size: int, **query: Any) -> list[Any]:
    """All rows of a list, page by page, with the cursor of each page."""
    rows: list[Any] = []
    after: dict[str, str] = {}
    for _ in range(1_000):
        page = served.get(path, who, params={"limit": size, **query, **after}).json()
        rows += page["data"]
        if page["next"] is None:
            return rows
        after = {"after": page["next"]}
    raise AssertionError("a list does not end")


def test_every_post_refuses_what_it_does_not_read(served: Served) -> None:
    who_of = {"agency": None, "review": served.session(), "approve": served.session(),
              "reveal": served.session(), "screening": served.session()}  # fmt: skip
    for method, path, operation in operations(served):
        scopes = operation["x-scopes"]
        who = next((each for each in scopes if each in served.keys), None)
        who = who or (who_of[scopes[0]] if scopes else "" if path == "/v1/sessions" else
                      who_of["review"])  # fmt: skip
        if method != "POST" or who is None:
            continue
        malformed = filled(path).replace("0000ZZZZZZZ", "X")
        for address in (filled(path), malformed):
            answer = served.post(address, {"colour": "red"}, who)
            assert error_of(answer)["code"] == "unknown_field", (address, answer.text)
            assert error_of(answer)["param"] == "body.colour", path
        refused(
            served.ask(
                "POST",
                filled(path),
                who,
                content=b"[]",
                headers={"Content-Type": "application/json"},
            ),
            400,
            "invalid_json",
        )


def test_whoever_may_not_is_told_before_anything_is_read(served: Served, tokens: Tokens) -> None:
    broken: Any = {"content": b"{", "headers": {"Content-Type": "application/json"}, "key": None}
    for path in ("/v1/users", f"/v1/loans/{NOWHERE}/fees", "/v1/jobs/jb_00000000001/cancel",
                 "/v1/mandates/try", "/v1/provider/notices"):  # fmt: skip
        refused(served.ask("POST", path, tokens["auditor"], **broken), 403, "forbidden")
    refused(served.post("/v1/users", {}, "finance"), 403, "forbidden")
    entries = everything(served, "/v1/audit", "control", 200)
    ended = [(each["principal"], each["command"], each["outcome"]) for each in entries]
    assert ("auditor@strict.example", "job.cancel", "platform.forbidden") in ended
    assert ("finance", "user.register", "platform.forbidden") in ended


@pytest.mark.parametrize(("role", "closed", "open_"), [
    ("developer", ["/v1/ledger/trial-balance", "/v1/orders", "/v1/cases", "/v1/offers"],
     ["/v1/audit", "/v1/clock"]),
    ("collector", ["/v1/ledger/balances", "/v1/offers"], ["/v1/cases", "/v1/clock"]),
    ("auditor", [], ["/v1/ledger/balances", "/v1/orders", "/v1/cases", "/v1/audit"]),
])  # fmt: skip
def test_a_session_reads_what_its_role_does(
    served: Served, tokens: Tokens, role: str, closed: list[str], open_: list[str]
) -> None:
    for path in closed:
        refused(served.get(path, tokens[role]), 403, "forbidden")
    for path in open_:
        assert served.get(path, tokens[role]).status_code == 200, path


def test_a_post_that_only_tells_is_answered_once_for_its_key_too(served: Served) -> None:
    loan, day = drawn(served)["loan"], today(served)
    path = f"/v1/loans/{loan}/settlement-quote"
    key = f"settle-{loan}"
    first = served.post(path, {"on": day}, key=key)
    served.post("/v1/payments", paying(served, loan, 200_000), "provider")
    again = served.post(path, {"on": day}, key=key)
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replay"] == "true"
    refused(served.post(path, {}, key=key), 409, "idempotency_mismatch")
    assert served.post(path, {"on": day}).json()["amount_minor"] < first.json()["amount_minor"]


def test_a_batch_under_a_used_key_books_nothing(served: Served) -> None:
    loan = drawn(served)["loan"]
    line = {name: value for name, value in paying(served, loan, 700).items() if name != "provider"}
    batch = {"provider": "psp_a", "lines": [line]}
    dry = served.post("/v1/provider/notices?dry_run=true", batch, "provider", key=None).json()
    assert [each["result"] for each in dry["lines"]] == ["booked"]
    assert len(dry["would"]["facts"]) == 1
    assert dry["would"]["postings"]
    key = f"batch-{loan}"
    first = served.post("/v1/provider/notices", batch, "provider", key=key)
    again = served.post("/v1/provider/notices", batch, "provider", key=key)
    assert again.content == first.content
    assert again.headers["idempotent-replay"] == "true"
    other = {"provider": "psp_a", "lines": [{**line, "ref": new_ref()}]}
    refused(served.post("/v1/provider/notices", other, "provider", key=key), 409,
            "idempotency_mismatch")  # fmt: skip
    facts = served.get(f"/v1/loans/{loan}/facts").json()["data"]
    assert [each["kind"] for each in facts] == ["disbursed", "paid"]


def test_a_dry_run_opens_no_session(served: Served) -> None:
    token = served.session()
    before = served.get("/v1/sessions", token).json()["data"]
    path = "/v1/sessions?dry_run=true"
    dry = served.post(path, served.operators[0], "", key=None)
    assert (dry.status_code, dry.json()["token"]) == (200, None)
    assert served.get("/v1/sessions", token).json()["data"] == before
    wrong = {**served.operators[0], "password": "no password of anybody"}
    refused(served.post(path, wrong, "", key=None), 401, "sign_in_failed")


@pytest.mark.parametrize(("path", "name"), [("/v1/offers", "offer"),
                                            ("/v1/institution/loans", "loan")])  # fmt: skip
def test_cursors_of_an_institution_are_of_its_own_ids(served: Served, path: str, name: str) -> None:
    for _ in range(3):
        drawn(served, 9)
        offer = served.get("/v1/offers?state=open", "institution").json()["data"][-1]["offer"]
        served.post(f"/v1/offers/{offer}/answer", {"approved": True, "reason": ""}, "institution")
    whole = [each[name] for each in everything(served, path, "institution", 200)]
    assert len(whole) >= 3
    assert [each[name] for each in everything(served, path, "institution", 1)] == whole
    cursor = served.get(path, "institution", params={"limit": 2}).json()["next"]
    told = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    assert told == whole[1:2]


def test_pages_of_deliveries_skip_none_where_an_event_goes_to_two(served: Served) -> None:
    hooks = [
        served.post("/v1/webhooks", {"url": "http://127.0.0.1:9/", "names": ["user.registered"]},
                    "operations").json()["webhook"]
        for _ in range(2)
    ]  # fmt: skip
    users = [served.post("/v1/users", {"client_ref": new_ref(), "region": 3}).json()["user"]
             for _ in range(2)]  # fmt: skip

    def told() -> list[Any]:
        rows = everything(served, "/v1/webhooks/deliveries", "operations", 1)
        return [(each["subject"], each["webhook"]) for each in rows if each["webhook"] in hooks]

    for _ in range(100):
        if len(told()) == len(users) * len(hooks):
            break
        time.sleep(0.05)
    assert told() == [(user, hook) for user in users for hook in hooks]
    for hook in hooks:
        served.ask("DELETE", f"/v1/webhooks/{hook}", "operations")


def test_names_of_events_are_those_that_there_are(served: Served) -> None:
    body = {"url": "http://127.0.0.1:9/", "names": ["loan.overdue", "payment.boked"]}
    error = refused(served.post("/v1/webhooks", body), 400, "invalid_field")
    assert error["param"] == "body.names[1]"
    assert "payment.booked" in error["message"]
    names = {each["name"] for each in everything(served, "/v1/events", "control", 200)}
    assert names <= EVENTS


def test_what_is_waived_stands_apart_from_what_was_paid(served: Served) -> None:
    loan = drawn(served)["loan"]
    later = datetime.fromisoformat(served.get("/v1/clock").json()["now"]) + timedelta(days=40)
    monday = later + timedelta(days=-later.weekday() % 7)  # other tests count business days
    to = monday.strftime("%Y-%m-%dT01:00:00Z")
    assert served.post("/v1/clock/advance", {"to": to}, "control").status_code == 200
    overdue = [each for each in everything(served, "/v1/events", "channel", 200)
               if (each["name"], each["subject"]) == ("loan.overdue", loan)]  # fmt: skip
    assert [each["data"]["days_past_due"] for each in overdue] == [1]
    body = {"component": "interest", "amount_minor": 300}
    assert served.post(f"/v1/loans/{loan}/waivers", body, "operations").status_code == 201
    rows = served.get(f"/v1/loans/{loan}/schedule").json()["data"]
    assert [each["waived"]["total_minor"] for each in rows] == [300, 0, 0, 0, 0, 0]
    served.post("/v1/payments", paying(served, loan, 5_000), "provider")
    rows = served.get(f"/v1/loans/{loan}/schedule").json()["data"]
    assert sum(each["waived"]["total_minor"] for each in rows) == 300
    paid = sum(each["paid"]["total_minor"] for each in rows)
    assert paid == served.get(f"/v1/loans/{loan}").json()["paid"]["total_minor"]
    for row in rows:
        for name in row["due"]:
            parts = row["paid"][name] + row["waived"][name] + row["outstanding"][name]
            assert row["due"][name] == parts


def test_a_fact_of_a_provider_keeps_its_reference(served: Served) -> None:
    loan = drawn(served)["loan"]
    served.post("/v1/payments", paying(served, loan, 50_000), "provider")
    body = {"loan": loan, "amount_minor": 100, "effective_on": today(served), "provider": "psp_a",
            "ref": new_ref()}  # fmt: skip
    made = served.post("/v1/chargebacks", body, "operations")
    assert (made.status_code, made.json()["fact"]["provider_ref"]) == (201, body["ref"])
    assert made.json()["loan"]["known_at"] is not None
    [kept] = [each for each in served.get(f"/v1/loans/{loan}/facts").json()["data"]
              if each["kind"] == "charged_back"]  # fmt: skip
    assert kept == made.json()["fact"]
    again = served.post("/v1/chargebacks", body, "operations")
    assert (again.status_code, again.json()["fact"]) == (200, kept)


@pytest.mark.parametrize("path", ["/v1/refunds", "/v1/chargebacks"])
@pytest.mark.parametrize("wrong", [{"ref": ""}, {"ref": "r" * 256}, {"amount_minor": 0},
                                   {"amount_minor": 2**52}])  # fmt: skip
def test_the_form_of_a_movement_is_looked_at_first(
    served: Served, path: str, wrong: dict[str, Any]
) -> None:
    body = {"loan": NOWHERE, "amount_minor": 100, "effective_on": today(served),
            "provider": "psp_a", "ref": "r", **wrong}  # fmt: skip
    assert served.post(path, body, "operations").status_code == 400


def test_a_loan_that_is_not_there_comes_before_its_currency(served: Served) -> None:
    refused(served.post("/v1/payments", paying(served, NOWHERE, 5, currency="USD"), "provider"),
            404, "not_found")  # fmt: skip
    user = with_line(served)
    body = {"user": user, **WANTED, "months": 5, "quote": "qu_0000ZZZZZZZ"}
    refused(served.post("/v1/drawdowns", body), 404, "not_found")


@pytest.mark.parametrize("amount_minor", [2_000_000_001, 10**10 + 1, 10**15])
def test_more_than_any_line_is_declined_like_any_other(served: Served, amount_minor: int) -> None:
    made = drawn(served, amount_minor=amount_minor)
    assert (made["state"], made["amount_minor"]) == ("declined", amount_minor)
    assert made["reasons"]
    body = {"user": made["user"], **WANTED, "amount_minor": 10**15 + 1}
    refused(served.post("/v1/drawdowns", body), 400, "invalid_field")


def test_a_drawdown_without_a_source_says_so(served: Served) -> None:
    made = drawn(served, 10)
    assert (made["state"], made["reasons"][0]["code"]) == ("no_source", "no_source")
    assert served.get(f"/v1/drawdowns/{made['loan']}").json() == made


def test_what_takes_two_people_is_proposed_by_name(served: Served) -> None:
    value = {"name": "accounting.charge_off", "value": "181", "valid_from": "2030-01-01",
             "source": "a test"}  # fmt: skip
    asked = served.post("/v1/approvals", {"command": "parameter.put", "payload": value}, "control")
    direct = served.post("/v1/parameters", {**value, "value": 181}, "control")
    for answer in (asked, direct):
        assert (answer.status_code, answer.json()["state"]) == (202, "pending")
        assert answer.json()["subject"] == "accounting.charge_off"
        path = f"/v1/approvals/{answer.json()['approval']}/reject"
        assert served.post(path, {"reason": "a test"}, served.session()).status_code == 200
    body = {"command": "user.register", "payload": {}}
    refused(served.post("/v1/approvals", body, "control"), 400, "invalid_field")
    body = {"command": "group_fact.state", "payload": {}}
    refused(served.post("/v1/approvals", body, "control"), 403, "forbidden")


FACT = {"entity": 2, "kind": "cost_incurred", "effective_on": "2024-07-01", "amount_minor": 1_000,
        "currency": "CNY", "detail": {"function": "marketing"}}  # fmt: skip


def test_a_fact_of_the_group_has_a_name_and_can_be_read_by_a_close(served: Served) -> None:
    asked = served.post("/v1/group-facts?dry_run=true", FACT, "finance", key=None)
    assert (asked.status_code, asked.json()["state"]) == (200, "pending")
    wrongs: list[dict[str, Any]] = [
        {"kind": "costs"}, {"kind": 999}, {"kind": None}, {"currency": "ABC"},
        {"detail": {"colour": 1}}, {"detail": {}},
    ]  # fmt: skip
    for wrong in wrongs:
        error = error_of(served.post("/v1/group-facts", {**FACT, **wrong}, "finance"))
        assert (error["code"], error["type"]) == ("invalid_field", "invalid_request"), wrong


def test_journals_and_statements_are_told_as_they_were_known(served: Served) -> None:
    loan = drawn(served)["loan"]
    path, own = "/v1/ledger/journals", {"loan": loan}
    then = served.get(path, "finance", params=own).json()
    day = today(served)
    served.post("/v1/payments", paying(served, loan, 50_000), "provider")
    now = served.get(path, "finance", params=own).json()
    assert len(now["data"]) > len(then["data"]) > 0
    again = served.get(path, "finance", params={**own, "known_at": then["known_at"]}).json()
    assert again == {**then, "as_of": day}
    before = (datetime.fromisoformat(day) - timedelta(days=1)).date().isoformat()
    earlier = served.get(path, "finance", params={**own, "as_of": before}).json()
    assert (earlier["data"], earlier["as_of"]) == ([], before)
    known = {"known_at": then["known_at"]}
    statement = served.get(f"/v1/loans/{loan}/statement", params=known).json()
    assert [each["kind"] for each in statement["facts"]] == ["disbursed"]
    assert statement["loan"]["known_at"] == then["known_at"]
    refused(served.get(path, "finance", params={**own, "known_at": "2199-01-01T00:00:00Z"}),
            422, "date_in_future")  # fmt: skip


def test_a_dry_run_tells_every_instalment_as_it_would_be(served: Served) -> None:
    user, loan = with_line(served), drawn(served)["loan"]
    quote = served.post("/v1/quotes", {**WANTED, "user": user}).json()
    path = "/v1/drawdowns?dry_run=true"
    would = served.post(path, {**WANTED, "user": user}, key=None).json()["would"]
    assert [each["due"] for each in would["schedule"]] == [
        each["due"] for each in quote["schedule"]
    ]
    path = "/v1/payments?dry_run=true"
    body = paying(served, loan, 50_000)
    would = served.post(path, body, "operations", key=None).json()["would"]
    assert sum(each["paid"]["total_minor"] for each in would["schedule"]) == 50_000
    assert {each["loan"] for each in would["schedule"]} == {loan}
    would = served.post(path, body, "provider", key=None).json()["would"]
    assert (len(would["facts"]), would["schedule"]) == (1, [])  # it does not read the loan
    path = f"/v1/loans/{loan}/charge-off?dry_run=true"  # takes two, and tells what it would do
    asked = served.post(path, {"reason": "fraud"}, "operations", key=None).json()
    assert [each["kind"] for each in asked["would"]["facts"]] == ["charged_off"]
    assert asked["would"]["postings"]
    assert served.get(f"/v1/loans/{loan}").json()["status"] == "active"


def test_who_is_there_already_is_not_invited(served: Served) -> None:
    person = {"email": served.operators[1]["email"], "role": "auditor"}
    error = refused(served.post("/v1/people", person, served.session()), 409, "name_taken")
    assert error["param"] == "body.email"
    key = {"kind": "service", "party": "administrator", "scopes": ["finance"]}
    error = refused(served.post("/v1/keys", key, served.session()), 409, "name_taken")
    assert error["param"] == "body.party"


@pytest.mark.parametrize(("path", "who", "body", "param"), [
    ("/v1/keys", "", {"per_minute": 0}, "per_minute"),
    ("/v1/keys", "", {"per_minute": 2**31}, "per_minute"),
    ("/v1/keys", "", {"days": 0}, "days"),  # not for ever
    ("/v1/group-facts", "finance", {"entity": 2**31}, "entity"),
    ("/v1/group-facts", "finance", {"party": -1}, "party"),
])  # fmt: skip
def test_numbers_that_nothing_can_keep(
    served: Served, path: str, who: str, body: dict[str, Any], param: str
) -> None:
    whole = FACT if who else {"kind": "channel", "party": "channel", "scopes": ["channel"]}
    error = refused(served.post(path, {**whole, **body}, who or served.session()), 400,
                    "invalid_field")  # fmt: skip
    assert error["param"] == f"body.{param}"


def test_a_refusal_says_little_of_what_was_sent(served: Served) -> None:
    for wrong in ("x" * 70_000, ["x"] * 3_000):
        for path, body, who in (
            ("/v1/payments", {**paying(served, NOWHERE, 1), "effective_on": wrong}, "provider"),
            ("/v1/group-facts", {**FACT, "kind": wrong}, "finance"),
        ):
            answer = served.post(path, body, who)
            assert answer.status_code == 400
            assert len(answer.content) < 2_000


def test_a_person_decides_on_what_their_role_does(served: Served, tokens: Tokens) -> None:
    asked = served.post("/v1/group-facts", FACT, "finance").json()["approval"]
    path = f"/v1/approvals/{asked}"
    for word in ("approve", "reject"):
        answer = served.post(f"{path}/{word}", {}, tokens["credit_officer"])
        refused(answer, 403, "forbidden")
    found = served.get(path, "control").json()
    assert (found["state"], found["given"]) == ("pending", 0)
    assert served.post(f"{path}/reject", {}, served.session()).status_code == 200


def test_words_about_people_are_read_by_those_who_answer_them(
    served: Served, tokens: Tokens
) -> None:
    user = with_line(served)
    told = {"subject": "other", "text": "they rang at night"}
    assert served.post(f"/v1/users/{user}/complaints", told).status_code == 201
    path = f"/v1/users/{user}"
    for part in ("complaints", "hardship", "data-requests"):
        for role in ("auditor", "developer"):
            refused(served.get(f"{path}/{part}", tokens[role]), 403, "forbidden")
        for who in ("channel", tokens["collector"], served.session()):
            assert served.get(f"{path}/{part}", who).status_code == 200
    for role in ("auditor", "developer"):
        refused(served.get("/v1/screening/hits", tokens[role]), 403, "forbidden")
