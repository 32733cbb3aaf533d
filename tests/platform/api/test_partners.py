"""Partners: commissions of channels, files and signed requests of providers, events of banks."""

from __future__ import annotations

import base64
import json
import time
from hashlib import sha256
from typing import Any

import pytest

from tests.platform.api.borrowers import drawn, paying, today
from tests.platform.api.served import Served, new_ref, refused
from tests.platform.api.test_access import usance
from usance.platform.partners.signatures import request_content, sign


def test_a_channel_is_paid_for_first_lines_and_a_share_of_income(served: Served) -> None:
    month = today(served)[:7]

    def earned(who: str) -> dict[str, Any]:
        rows = served.get(f"/v1/commissions/{month}", who).json()["data"]
        return next((each for each in rows if each["channel"] == "channel"), {
            "approved": 0, "income_minor": 0, "commission_minor": 0})  # fmt: skip

    before = earned("channel")
    loan = drawn(served)["loan"]
    paid = served.post("/v1/payments", paying(served, loan, 110_000), "provider").json()
    after = earned("channel")
    income = sum(each["amount_minor"] for each in paid["allocation"]
                 if each["component"] != "principal")  # fmt: skip
    assert income > 0
    assert after["approved"] == before["approved"] + 1
    assert after["income_minor"] == before["income_minor"] + income
    more = after["commission_minor"] - before["commission_minor"]
    assert more == 18_000 + (income * 80_000 + 500_000) // 1_000_000
    assert earned("finance") == after
    others = served.get(f"/v1/commissions/{month}", "channel_2").json()["data"]
    assert "channel" not in [each["channel"] for each in others]
    refused(served.get("/v1/commissions/2024-13"), 404, "not_found")


def test_a_file_is_booked_line_by_line_by_a_job(served: Served) -> None:
    loan, day = drawn(served)["loan"], today(served)
    refs = [new_ref(), new_ref()]
    lines = ["ref,loan,amount_minor,currency,effective_on"]
    lines += [f"{ref},{loan},1000,CNY,{day}" for ref in (*refs, refs[0])]
    lines += [f"{new_ref()},{loan},1000,USD,{day}", f"{new_ref()},ln_0000ZZZZZZZ,1,CNY,{day}"]
    content = "\n".join(lines).encode()
    body = _file(content)
    refused(served.post("/v1/provider/files", {**body, "sha256": "0" * 64}, "provider"),
            400, "invalid_field")  # fmt: skip
    taken = served.post("/v1/provider/files", body, "provider")
    assert taken.status_code == 202
    path = f"/v1/jobs/{taken.json()['job']}"
    refused(served.get(path, "provider_2"), 404, "not_found")
    told = _finished(served, taken.json()["job"])["result"]
    assert (told["booked"], told["duplicate"], told["refused"]) == (2, 1, 2)
    assert [each["code"] for each in told["problems"]] == ["currency_mismatch", "not_found"]
    again = served.post("/v1/provider/files", body, "provider").json()
    assert again["job"] == taken.json()["job"]


@pytest.mark.parametrize("profile", ["../profiles/psp", "profile.yaml", "/etc/passwd", ""])
def test_a_profile_is_one_that_is_shipped(served: Served, profile: str) -> None:
    body = {**_file(b"order_no\n"), "profile": profile}
    told = refused(served.post("/v1/provider/files", body, "provider"), 400, "invalid_field")
    assert told["param"] == "body.profile"


def test_a_statement_comes_in_by_the_same_door(served: Served) -> None:
    ref, day = new_ref(), today(served)
    head = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
    content = f"{head}{ref},{ref},{day},75.00,0.00,B1,,Bo\n".encode()
    body = {**_file(content), "profile": "psp"}
    refused(served.post("/v1/provider/files", {**body, "profile": "unmatched_hash"}, "provider"),
            422, "file_refused")  # fmt: skip
    taken = served.post("/v1/provider/files", body, "provider").json()
    told = _finished(served, taken["job"])["result"]
    assert [each["outcome"] for each in told["statements"]] == ["new"]
    assert told["received"] == 1
    assert ref in str(served.get("/v1/unallocated?limit=200", "operations").json()["data"])
    assert served.post("/v1/provider/files", body, "provider").json()["job"] == taken["job"]


def _file(content: bytes) -> dict[str, Any]:
    return {"name": "day.csv", "sha256": sha256(content).hexdigest(),
            "content": base64.b64encode(content).decode()}  # fmt: skip


def _finished(served: Served, job: str) -> dict[str, Any]:
    for _ in range(100):
        found: dict[str, Any] = served.get(f"/v1/jobs/{job}", "provider").json()
        if found["state"] not in ("waiting", "running"):
            break
        time.sleep(0.1)
    assert found["state"] == "done", found
    return found


def test_a_signature_is_fresh_of_its_content_and_counts_once(served: Served) -> None:
    made = usance(served, "keys", "create", "--kind", "provider", "--party", "psp_signed",
                  "--scope", "provider")  # fmt: skip
    who = json.loads(made.stdout)["key"]
    key, path = "signed-key", "/v1/provider/notices"
    secret = served.post("/v1/signing-secret/rotate", {}, who).json()["secret"]
    body = b'{"provider":"psp_signed","lines":[]}'

    def send(header: str, content: bytes = body) -> Any:
        headers = {"Content-Type": "application/json", "Usance-Signature": header}
        return served.ask("POST", path, who, content=content, key=key, headers=headers)

    now = int(time.time())
    content = request_content("POST", path, body)
    refused(send(sign(content, now, ["whs_wrong"])), 401, "bad_signature")
    refused(send(sign(content, now - 301, [secret])), 401, "bad_signature")
    refused(send(sign(content, now, [secret]), b'{"provider":"psp_a","lines":[]}'), 401,
            "bad_signature")  # fmt: skip
    good = sign(content, now, [secret])
    assert send(good).status_code == 200
    refused(send(good), 401, "bad_signature")
    rotating = request_content("POST", "/v1/signing-secret/rotate", b"{}")
    signed = {"Usance-Signature": sign(rotating, now, [secret]), "Content-Type": "application/json"}
    other = served.ask("POST", "/v1/signing-secret/rotate", who, content=b"{}",
                       headers=signed).json()["secret"]  # fmt: skip
    for number, each in enumerate((secret, other), start=1):  # both while rotating
        assert send(sign(content, now - number, [each])).status_code == 200


def test_a_bank_is_told_of_its_offers_and_loans_under_its_own_ids(served: Served) -> None:
    made = drawn(served, region=9)
    offer = served.get("/v1/offers?state=open", "institution").json()["data"][-1]
    served.post(f"/v1/offers/{offer['offer']}/answer", {"approved": True}, "institution")

    def told(who: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            more = {"after": after} if after else {}
            page = served.get("/v1/events", who, params={"limit": 200, **more}).json()
            found += page["data"]
            after = page["next"]
            if after is None:
                return found

    own = [each for each in told("institution") if each["subject"] == offer["offer"]]
    assert [each["name"] for each in own] == ["offer.made", "offer.answered"]
    assert own[0]["data"]["loan"] == offer["loan"] != made["loan"]
    names = {each["name"] for each in told("institution")}
    assert not names & {"user.registered", "application.decided", "payment.booked"}
    assert offer["offer"] not in str(told("institution_2"))
