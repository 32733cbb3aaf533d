"""Every route with a true id of somebody else: answered as an id that nobody has, and no effect.

Bodies are whole, so that nothing but the id can be what is refused.
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import Any

import pytest

from tests.platform.api.borrowers import WANTED, drawn, paying, today
from tests.platform.api.served import Served, error_of, new_ref
from tests.platform.api.test_matrix import operations
from tests.platform.applicants import GOOD

STRANGERS = {"channel": "channel_2", "institution": "institution_2", "provider": "provider_2"}
"""Another party of each kind; keys of the lender's own people see every row."""
OPEN_TO_ALL = {("provider", "/v1/loans/{loan}/recoveries"), ("institution", "/v1/deals/{deal}")}
"""Money may be told of any loan; deals have names, not ids of borrowers."""
NOBODYS = {"number": "9999999999999999", "key_id": "999999", "close": "2031-01.1"}


class Owned:
    """Something of each kind, each with its owner."""

    def __init__(self, served: Served) -> None:
        self.served = served
        made = drawn(served, 9)
        offer = served.get("/v1/offers?state=open", "institution").json()["data"][-1]
        body = {"approved": True, "reason": ""}
        served.post(f"/v1/offers/{offer['offer']}/answer", body, "institution")
        self.user, self.loan = made["user"], made["loan"]
        paid = served.post("/v1/payments", paying(served, self.loan, 5_000), "provider").json()
        quoted = served.post("/v1/quotes", {"user": self.user, **WANTED}).json()["quote"]
        moment = served.get("/v1/clock").json()["now"]
        agreed = self._make("/v1/agreements", {
            "quote": quoted, "document_sha256": "ab" * 32, "shown_at": moment,
            "accepted_at": moment, "method": "otp"})["agreement"]  # fmt: skip
        account = self._make(f"/v1/users/{self.user}/accounts", {
            "bank": "b", "number": "6222020000000001", "holder": "Ada Lin"})["account"]  # fmt: skip
        hook = self._make("/v1/webhooks", {"url": "http://127.0.0.1:9/", "names": ["user.erased"]})
        opened = self._make(f"/v1/users/{self.user}/virtual-accounts",
                            {"provider": "psp_a", "number": "9900000000017"})  # fmt: skip
        complaint = self._make(f"/v1/users/{self.user}/complaints",
                               {"subject": "other", "text": "words"})["case"]  # fmt: skip
        hardship = self._make(f"/v1/users/{self.user}/hardship", {})["case"]
        wrong = {"field": "name", "text": "words", "value": "Ada"}
        correction = self._make(f"/v1/users/{self.user}/corrections", wrong)["case"]
        seen = served.get(f"/v1/offers/{offer['offer']}", "institution").json()
        self.ids = {
            "channel": {
                "user": self.user, "loan": self.loan, "decision": made["decision"],
                "payment": paid["payment"], "agreement": agreed, "quote": quoted,
                "account": account, "webhook": hook["webhook"], "number": opened["number"],
                "complaint": complaint, "request": hardship, "correction": correction,
            },
            "institution": {"offer": offer["offer"], "loan": seen["loan"]},
            "provider": {"payment": paid["payment"]},
        }  # fmt: skip

    def _make(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.served.post(path, body)
        assert answer.status_code == 201, (path, answer.text)
        return answer.json()

    def state(self) -> Any:
        """What could have changed, as its owner reads it."""
        user, loan = f"/v1/users/{self.user}", f"/v1/loans/{self.loan}"
        paths = (user, f"{user}/lines", f"{user}/consents", f"{user}/complaints",
                 f"{user}/hardship", f"{user}/plans", f"{user}/data-requests",
                 f"{user}/virtual-accounts", f"{loan}/facts", f"{loan}/schedule",
                 "/v1/webhooks")  # fmt: skip
        told = [self.served.get(path).json() for path in paths]
        return [{**each, "known_at": ""} for each in told]


@pytest.fixture(scope="module")
def owned(served: Served) -> Owned:
    return Owned(served)


def value(served: Served, name: str, schema: dict[str, Any]) -> Any:
    """A value of a field that is right by itself."""
    later = (date.fromisoformat(today(served)) + timedelta(days=60)).isoformat()
    known: dict[str, Any] = {
        "product": "instalment", "amount_minor": 1_000, "months": 6, "currency": "CNY",
        "ref": new_ref(), "component": "interest", "instalments": 6, "first_due_on": later,
        "until": later, "subject": "other", "inputs": GOOD, "bank": "b", "holder": "Ada Lin",
        "number": "6222020000000009", "name": "Ada Lin", "national_id": "11010519491231002X",
        "phone": "+8613800000001", "email": "", "granted": True, "approved": True,
        "accepted": False, "kind": "reschedule", "field": "name", "reason": "a good reason",
        "provider": "psp_b", "document_sha256": "ab" * 32, "method": "otp",
        "time_zone": "Asia/Shanghai", "channels": ["sms"], "total_minor": 0,
    }  # fmt: skip
    if name in known:
        return known[name]
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if schema.get("format") == "date":
        return today(served)
    if schema.get("format") == "date-time":
        return served.get("/v1/clock").json()["now"]
    plain: dict[str, Any] = {
        "integer": 1,
        "boolean": True,
        "array": [],
        "object": {},
        "string": "words",
    }
    return plain[kind]


def asked(served: Served, operation: dict[str, Any]) -> dict[str, Any]:
    """A whole body of a route, without the ids that it may name."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    given = {name: value(served, name, schema["properties"][name])
             for name in schema.get("required", [])}  # fmt: skip
    if "value" in schema.get("properties", {}):
        given["value"] = "Ada"
    if "effective_on" in schema.get("properties", {}):
        given["effective_on"] = today(served)
    return given


def unmatched_hash(name: str, own: str) -> str:
    """An id of the same kind that nobody has."""
    return NOBODYS.get(name) or f"{own[:3]}0000ZZZZZZ{own[-1]}"


def told(served: Served, method: str, path: str, who: str, body: Any, gone: str) -> tuple[int, str]:
    """The status and the words of an answer, whatever the id was."""
    answer = served.ask(method, path, who, json=body if method in ("POST", "PUT") else None)
    return answer.status_code, re.sub(r"rq_\w+", "rq", answer.text.replace(gone, "…"))


@pytest.mark.parametrize("kind", STRANGERS)
def test_an_id_of_somebody_else_is_one_that_nobody_has(
    served: Served, owned: Owned, kind: str
) -> None:
    before, looked_at = owned.state(), 0
    for method, path, operation in operations(served):
        names = re.findall(r"{(\w+)}", path)
        if kind not in operation["x-scopes"] or len(names) != 1 or (kind, path) in OPEN_TO_ALL:
            continue
        [name] = names
        own = owned.ids[kind].get(name)
        if own is None:
            continue
        body, looked_at = asked(served, operation), looked_at + 1
        answers = [
            told(served, method, path.replace(f"{{{name}}}", each), STRANGERS[kind], body, each)
            for each in (own, unmatched_hash(name, own))
        ]
        assert answers[0] == answers[1], (method, path)
        assert answers[0][0] == 404, (method, path, answers[0])
    assert looked_at >= {"channel": 35, "institution": 7, "provider": 2}[kind]
    assert owned.state() == before


IN_BODIES = (
    ("channel", "/v1/applications", "user"), ("channel", "/v1/quotes", "user"),
    ("channel", "/v1/drawdowns", "user"), ("channel", "/v1/agreements", "quote"),
)  # fmt: skip


def test_an_id_in_a_body_is_no_other_way_in(served: Served, owned: Owned) -> None:
    routes = {(method, path): operation for method, path, operation in operations(served)}
    before = owned.state()
    for kind, path, name in IN_BODIES:
        whole = asked(served, routes["POST", path])
        own = owned.ids[kind][name]
        answers = [told(served, "POST", path, STRANGERS[kind], {**whole, name: each}, each)
                   for each in (own, unmatched_hash(name, own))]  # fmt: skip
        assert answers[0] == answers[1], path
        assert answers[0][0] == 404, (path, answers[0])
    other = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}, "channel_2").json()
    applied = {"user": other["user"], "product": "instalment", "inputs": GOOD}
    assert served.post("/v1/applications", applied, "channel_2").status_code == 201
    body = {"user": other["user"], **WANTED}
    for name in ("quote", "account"):
        own = owned.ids["channel"][name]
        answers = [
            told(served, "POST", "/v1/drawdowns", "channel_2", {**body, name: each}, each)
            for each in (own, unmatched_hash(name, own))
        ]
        assert answers[0] == answers[1]
        assert answers[0][0] == 404, answers[0]
    assert owned.state() == before


def test_lists_have_own_rows_alone(served: Served, owned: Owned) -> None:
    for kind, path in (
        ("channel", f"/v1/users?client_ref={new_ref()}"), ("channel", "/v1/events"),
        ("channel", "/v1/webhooks"), ("channel", "/v1/webhooks/deliveries"),
        ("channel", "/v1/commissions/2024-07"),
        ("institution", "/v1/offers"), ("institution", "/v1/institution/loans"),
        ("institution", "/v1/settlements"), ("institution", "/v1/claims"),
        ("institution", "/v1/events"), ("provider", "/v1/events"),
    ):  # fmt: skip
        answer = served.get(path, STRANGERS[kind], params={"limit": 200})
        assert answer.status_code == 200, (path, answer.text)
        for own in owned.ids[kind].values():
            assert own not in json.dumps(answer.json()["data"]), path


def test_a_borrowers_session_opens_nothing_here(served: Served, owned: Owned) -> None:
    link = served.post(f"/v1/users/{owned.user}/links", {}).json()["url"]
    opened = served.ask("GET", link.removeprefix(served.url), "", follow_redirects=False)
    tokens = [each for each in opened.cookies.values() if each]
    for token in tokens:
        for path in (f"/v1/users/{owned.user}", f"/v1/loans/{owned.loan}", "/v1/audit"):
            answer = served.get(path, token)
            assert answer.status_code == 401, (path, answer.text)
            assert error_of(answer)["type"] == "unauthenticated"
