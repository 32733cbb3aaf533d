"""Habits of every route: who comes in, keys, bodies, errors, ids."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.platform.api.served import Served, new_ref, refused

ANNA = {"client_ref": "anna", "region": 3}


def test_nobody_comes_in_without_a_key_of_this_mode(served: Served) -> None:
    error = refused(served.get("/v1/clock", ""), 401, "unauthenticated")
    assert error["type"] == "unauthenticated"
    assert served.get("/v1/clock", "").headers["www-authenticate"] == "Bearer"
    refused(served.get("/v1/clock", "usk_test_nobody"), 401, "unknown_principal")
    refused(served.get("/v1/clock", "anything"), 401, "unknown_principal")
    refused(served.get("/v1/clock", "usk_live_" + "a" * 43), 401, "wrong_mode")
    refused(served.get("/v1/clock", "uss_nothing"), 401, "unknown_principal")


def test_who_comes_first_401_403_400(served: Served) -> None:
    broken: dict[str, Any] = {"content": b"{", "headers": {"Content-Type": "application/json"}}
    refused(served.ask("POST", "/v1/users", "", key=None, **broken), 401, "unauthenticated")
    refused(served.ask("POST", "/v1/users", "finance", key=None, **broken), 403, "forbidden")
    refused(served.ask("POST", "/v1/users", key=None, **broken), 400, "idempotency_key_missing")
    refused(served.ask("POST", "/v1/users", **broken), 400, "invalid_json")


def test_a_key_gives_its_first_answer_again(served: Served) -> None:
    body = {"client_ref": new_ref(), "region": 3}
    first = served.post("/v1/users", body, key=f"key-{body['client_ref']}")
    again = served.post("/v1/users", body, key=f"key-{body['client_ref']}")
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert "idempotent-replay" not in first.headers
    assert again.headers["idempotent-replay"] == "true"
    other = served.post("/v1/users", {**body, "region": 4}, key=f"key-{body['client_ref']}")
    assert refused(other, 409, "idempotency_mismatch")["type"] == "conflict"
    mine = served.post("/v1/users", body, "channel_2", key=f"key-{body['client_ref']}")
    assert mine.status_code == 201
    assert mine.json()["user"] != first.json()["user"]


def test_a_refusal_is_the_answer_of_its_key(served: Served) -> None:
    ref = new_ref()
    served.post("/v1/users", {"client_ref": ref, "region": 3})
    first = served.post("/v1/users", {"client_ref": ref, "region": 4}, key=f"again-{ref}")
    again = served.post("/v1/users", {"client_ref": ref, "region": 4}, key=f"again-{ref}")
    for answer in (first, again):
        refused(answer, 409, "client_ref_taken")
    assert again.headers["idempotent-replay"] == "true"
    assert first.content == again.content


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, "schlüssel".encode("latin-1")])
def test_keys_are_visible_characters(served: Served, key: str | bytes) -> None:
    headers = {b"Idempotency-Key": key if isinstance(key, bytes) else key.encode()}
    answer = served.ask("POST", "/v1/users", key=None, json=ANNA, headers=headers)
    refused(answer, 400, "idempotency_key_invalid")


def test_a_body_that_fails_keeps_nothing(served: Served) -> None:
    ref = new_ref()
    bad = served.post("/v1/users", {"client_ref": ref, "regoin": 3}, key=f"bad-{ref}")
    assert refused(bad, 400, "unknown_field")["param"] == "body.regoin"
    good = served.post("/v1/users", {"client_ref": ref, "region": 3}, key=f"bad-{ref}")
    assert good.status_code == 201


def test_a_dry_run_needs_no_key_and_leaves_nothing(served: Served) -> None:
    body = {"client_ref": new_ref(), "region": 3}
    dry = served.post("/v1/users?dry_run=true", body, key=None)
    assert dry.status_code == 200
    assert set(dry.json()["would"]) == {"facts", "schedule", "postings"}
    assert served.get(f"/v1/users?client_ref={body['client_ref']}").json()["data"] == []
    refused(served.post("/v1/users?dry_run=yes", body), 400, "invalid_field")


BODIES: dict[str, list[str | bytes]] = {
    "invalid_json": ['{"client_ref": "a"', "", "[]", "null", '"a"', "{" * 100_000, b"\xff{}",
                     "{}{}"],
    "duplicate_key": ['{"client_ref": "a", "client_ref": "b", "region": 3}'],
    "not_a_number": ['{"client_ref": "a", "region": NaN}',
                     '{"client_ref": "a", "region": -Infinity}'],
    "number_too_large": ['{"client_ref": "a", "region": 99999999999999999999}',
                         '{"client_ref": "a", "region": 1e999}'],
    "invalid_text": ['{"client_ref": "a\\u0000b", "region": 3}',
                     '{"client_ref": "\\ud800", "region": 3}'],
    "missing_field": ['{"client_ref": "a"}', "{}"],
    "unknown_field": ['{"client_ref": "a", "region": 3, "__proto__": {}}'],
    "invalid_field": ['{"client_ref": "a", "region": "3"}', '{"client_ref": "a", "region": 3.0}',
                      '{"client_ref": "a", "region": true}', '{"client_ref": null, "region": 3}',
                      '{"client_ref": "", "region": 3}', '{"client_ref": "a", "region": 40000}',
                      '{"client_ref": "a", "region": 9007199254740993}',
                      '{"client_ref": "a", "region": 3, "kind": "robot"}',
                      '{"client_ref": "a", "region": 3, "registered_at": "yesterday"}'],
}  # fmt: skip


@pytest.mark.parametrize(("code", "body"), [(c, b) for c, each in BODIES.items() for b in each])
def test_bodies_that_are_none(served: Served, code: str, body: str | bytes) -> None:
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    content = body.encode() if isinstance(body, str) else body
    answer = served.ask("POST", "/v1/users", content=iter([content]), headers=headers)
    error = refused(answer, 400, code)
    assert error["type"] == "invalid_request"
    assert error["message"].endswith((".", "?"))


def test_content_types_and_sizes(served: Served) -> None:
    text = json.dumps(ANNA)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
        answer = served.ask("POST", "/v1/users", content=text, headers={"Content-Type": kind})
        refused(answer, 400, "content_type")
    huge = b'{"client_ref": "' + b"a" * (1 << 20) + b'"}'
    plain = {"Content-Type": "application/json"}
    refused(served.ask("POST", "/v1/users", content=huge, headers=plain), 400, "body_too_large")
    chunks = iter([huge[:1000]] + [b"a" * 60_000] * 20)
    refused(served.ask("POST", "/v1/users", content=chunks, headers=plain), 400, "body_too_large")
    fine = {"Content-Type": "application/json; charset=utf-8"}
    assert served.ask("POST", "/v1/users", content=text, headers=fine).status_code in (200, 201)


def test_addresses_that_are_none(served: Served) -> None:
    assert refused(served.get("/v1/nothing"), 404, "not_found")["type"] == "not_found"
    error = refused(served.ask("DELETE", "/v1/users"), 405, "method_not_allowed")
    assert error["type"] == "invalid_request"
    refused(served.get("/v1/users?colour=red"), 400, "unknown_parameter")
    refused(served.get("/v1/users?client_ref=a&client_ref=b"), 400, "repeated_parameter")
    for size in ("0", "201", "-1", "many", "1e2", ""):
        refused(served.get(f"/v1/users?client_ref=a&limit={size}"), 400, "invalid_field")
    refused(served.get("/v1/users?client_ref=a&after=%00"), 400, "invalid_field")
    refused(served.get("/v1/users?client_ref=a&after=abc"), 400, "invalid_cursor")


def test_unknown_and_foreign_ids_are_answered_alike(served: Served) -> None:
    mine = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}).json()["user"]
    answers = [served.get(f"/v1/users/{each}", "channel_2")
               for each in (mine, "us_0000ZZZZZZZ", "us_1", "nobody", "%F0%9F%92%A9")]  # fmt: skip
    errors = [refused(answer, 404, "not_found") for answer in answers]
    assert len({json.dumps({**error, "request_id": ""}) for error in errors}) == 1
    refused(served.get("/v1/users/ln_00000000G01"), 400, "wrong_id_kind")
    refused(served.get(f"/v1/users/{mine}", "provider"), 403, "forbidden")
    assert served.get(f"/v1/users/{mine}", "operations").status_code == 200


def test_many_at_once_with_one_key_are_one_effect(served: Served) -> None:
    body = {"client_ref": new_ref(), "region": 3}

    def once(_: int) -> tuple[int, str]:
        for _ in range(200):
            answer = served.post("/v1/users", body, key=f"storm-{body['client_ref']}")
            if answer.status_code != 409:
                return answer.status_code, answer.json()["user"]
            assert refused(answer, 409, "idempotency_in_flight")
            assert answer.headers["retry-after"] == "1"
        raise AssertionError("a key stayed in flight")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(once, range(24)))) == 1


def test_every_answer_has_an_id_and_headers_that_keep_it_private(served: Served) -> None:
    answers = [
        served.get(path) for path in ("/v1/clock", "/v1/nothing", "/healthz", "/docs/errors")
    ]
    assert len({answer.headers["request-id"] for answer in answers}) == 4
    for answer in answers:
        assert answer.headers["request-id"].startswith("rq_")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_figures_are_for_those_who_run_it(served: Served) -> None:
    refused(served.get("/metrics", ""), 401, "unauthenticated")
    for partner in ("channel", "institution", "provider"):
        refused(served.get("/metrics", partner), 403, "forbidden")
    refused(served.get("/metrics?name=all", "operations"), 400, "unknown_parameter")


def test_those_who_run_it_can_ask(served: Served) -> None:
    assert served.get("/healthz", "").json() == {"status": "ok"}
    assert served.get("/readyz", "").json()["migrations"] is True
    served.get("/v1/users/us_00000000001")
    told_figures = served.get("/metrics", "operations").text
    for line in ("usance_requests_total", "usance_jobs{", "usance_seal_lag_transactions ",
                 "usance_business_date_lag_days 0.0", 'usance_periods{state="open"}'):  # fmt: skip
        assert line in told_figures
    shown = served.get("/docs/errors", "")
    assert "style-src 'self'" in shown.headers["content-security-policy"]
    assert served.get("/console/console.css", "").status_code == 200
    page = shown.text
    assert 'href="/console/console.css"' in page
    for code in ("unknown_field", "idempotency_mismatch", "client_ref_taken", "internal"):
        assert f'id="{code}"' in page
    told = served.get("/v1/openapi.json", "").json()
    assert told["openapi"].startswith("3.1")
    assert told["paths"]["/v1/users"]["post"]["x-scopes"] == ["channel"]
