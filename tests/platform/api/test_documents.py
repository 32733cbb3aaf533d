"""Documents as PDF over HTTP: the contract that was agreed to, a statement; whose, in whose ids."""

from __future__ import annotations

import hashlib

from tests.platform.api.borrowers import WANTED, drawn, with_line
from tests.platform.api.served import Served, refused


def agreed(served: Served, user: str, digest: str) -> str:
    """An agreement to a new quote, by the hash of what was shown."""
    quote = served.post("/v1/quotes", {"user": user, **WANTED}).json()["quote"]
    now = served.get("/v1/clock").json()["now"]
    body = {"quote": quote, "document_sha256": digest, "shown_at": now, "accepted_at": now,
            "method": "click"}  # fmt: skip
    made = served.post("/v1/agreements", body)
    assert made.status_code == 201, made.text
    return str(made.json()["agreement"])


def test_the_contract_of_an_agreement_is_given_with_its_hash(served: Served) -> None:
    user = with_line(served)
    name = agreed(served, user, "a" * 64)
    listed = served.get(f"/v1/users/{user}/documents").json()["data"]
    path = next(each["path"] for each in listed if each["document"] == name)
    told = served.get(path)
    assert (told.status_code, told.headers["content-type"]) == (200, "application/pdf")
    assert told.content[:5] == b"%PDF-"
    assert told.headers["document-sha256"] == hashlib.sha256(told.content).hexdigest()
    assert told.headers["document-is-agreed"] == "false"  # the channel showed another one
    assert served.get(path).content == told.content  # the same agreement, the same bytes
    chinese = served.get(f"{path}?language=zh")
    assert chinese.status_code == 200
    assert chinese.content != told.content
    refused(served.get(f"{path}?language=xx"), 400, "invalid_field")
    refused(served.get(path, "channel_2"), 404, "not_found")
    refused(served.get(path, "institution"), 403, "forbidden")


def test_a_document_shown_as_it_is_here_is_the_one_agreed_to(served: Served) -> None:
    user = with_line(served)
    quote = served.post("/v1/quotes", {"user": user, **WANTED}).json()["quote"]
    now = served.get("/v1/clock").json()["now"]
    body = {"quote": quote, "shown_at": now, "accepted_at": now, "method": "click"}
    shown = served.get(f"/v1/quotes/{quote}/document?language=zh")  # before it is agreed to
    digest = hashlib.sha256(shown.content).hexdigest()
    assert (shown.status_code, shown.headers["document-sha256"]) == (200, digest)
    refused(served.get(f"/v1/quotes/{quote}/document", "channel_2"), 404, "not_found")
    second = served.post("/v1/agreements", {**body, "document_sha256": digest}).json()
    told = served.get(f"/v1/agreements/{second['agreement']}/document")
    assert told.headers["document-is-agreed"] == "true"
    assert told.content == shown.content  # in the language that was shown


def test_a_statement_is_json_or_pdf_and_keeps_to_whoever_asks(served: Served) -> None:
    mine = drawn(served)
    path = f"/v1/loans/{mine['loan']}/statement"
    assert served.get(path).json()["loan"]["loan"] == mine["loan"]
    told = served.get(f"{path}?format=pdf")
    assert (told.status_code, told.headers["content-type"]) == (200, "application/pdf")
    assert told.headers["document-sha256"] == hashlib.sha256(told.content).hexdigest()
    assert served.get(f"{path}?format=pdf&language=zh").content[:5] == b"%PDF-"
    refused(served.get(f"{path}?format=doc"), 400, "invalid_field")
    refused(served.get(f"{path}?format=pdf", "channel_2"), 404, "not_found")
    who = {"name": "Ada Lin", "national_id": "11010519491231002X", "phone": "+8613800000000"}
    known = served.ask("PUT", f"/v1/users/{mine['user']}/person", json=who)
    assert known.status_code == 200, known.text
    named = served.get(f"{path}?format=pdf")
    assert named.content != told.content  # to their own channel they have a name
    finance = served.get(f"{path}?format=pdf", "finance")
    assert finance.content == told.content  # the id stands where others see no name


def test_the_letter_of_a_plan_is_given_in_two_languages(served: Served) -> None:
    loan = drawn(served)
    body = {"loan": loan["loan"], "kind": "interest_pause", "pause_days": 30}
    made = served.post(f"/v1/users/{loan['user']}/plans", body, "operations")
    path = f"/v1/plans/{made.json()['plan']}/letter"
    told = served.get(path)
    assert (told.status_code, told.headers["content-type"]) == (200, "application/pdf")
    assert told.headers["document-sha256"] == hashlib.sha256(told.content).hexdigest()
    assert served.get(path).content == told.content
    assert served.get(f"{path}?language=zh").content[:5] == b"%PDF-"
    refused(served.get(path, "channel_2"), 404, "not_found")
    refused(served.get(path, "institution"), 403, "forbidden")
    refused(served.get("/v1/plans/pl_0000ZZZZZZZ/letter"), 404, "not_found")
