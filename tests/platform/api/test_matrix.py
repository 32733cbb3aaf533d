"""Every route of the description, as everyone: who comes in, and what no text can break."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.platform.api.served import Served, error_of

PARTIES = ("channel", "channel_2", "institution", "provider", "operations", "finance", "control")
SCOPE = {"channel_2": "channel"}
HOSTILE = (
    "' or 1=1 --", "{{7*7}}", "${jndi:ldap://x}", "../../etc/passwd", "%2e%2e%2f", "\u202e\u0000",
    "a\r\nSet-Cookie: x=1", "<script>alert(1)</script>", "\U0001d54c\u0301\U0001f4a9",
    "us_" + "Z" * 11, "9" * 30,
    "-1", "NaN", "1e309", "null", "[]", "{}", "true", "0x10", "2024-02-30", "9999-12-31",
)  # fmt: skip
"""Texts that have broken others: SQL, templates, headers, paths, Unicode, numbers, days."""


def operations(served: Served) -> list[tuple[str, str, dict[str, Any]]]:
    told = served.get("/v1/openapi.json", "").json()
    return [
        (method.upper(), path, operation)
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    ]


def filled(path: str) -> str:
    """An address with ids that nobody has."""

    def one(found: re.Match[str]) -> str:
        prefixes = {"user": "us", "decision": "de", "loan": "ln", "payment": "pm", "offer": "of",
                    "approval": "ap", "journal": "jr", "job": "jb", "webhook": "wh",
                    "event": "ev", "order": "or", "unallocated": "un",
                    "break_id": "br", "complaint": "cp", "request": "ha", "plan": "pl",
                    "case": "ca", "contact": "ct", "stop": "st",
                    "settlement": "se", "claim": "cl"}  # fmt: skip
        return f"{prefixes[found[1]]}_0000ZZZZZZZ" if found[1] in prefixes else "9999"

    return re.sub(r"{(\w+)}", one, path)


def is_declared(operation: dict[str, Any], status: int) -> bool:
    return str(status) in operation["responses"]


def test_nobody_passes_any_route_without_a_key(served: Served) -> None:
    for method, path, operation in operations(served):
        if "security" not in operation:
            continue
        answer = served.ask(method, filled(path), "", content=b"{")
        assert (answer.status_code, error_of(answer)["code"]) == (401, "unauthenticated"), path


@pytest.mark.parametrize("who", PARTIES)
def test_a_key_passes_the_routes_of_its_scope_alone(served: Served, who: str) -> None:
    for method, path, operation in operations(served):
        if "security" not in operation or path == "/v1/clock/advance":
            continue
        allowed = SCOPE.get(who, who) in operation["x-scopes"]
        answer = served.ask(method, filled(path), who, json={} if method != "GET" else None)
        assert answer.status_code < 500, (path, answer.text)
        assert (answer.status_code == 403) is not allowed, (method, path, answer.text)
        assert is_declared(operation, answer.status_code), (method, path, answer.status_code)


def test_unknown_ids_are_unknown_on_every_route(served: Served) -> None:
    for method, path, operation in operations(served):
        scopes = operation["x-scopes"]
        if method != "GET" or "{" not in path or not scopes:
            continue
        who = next(each for each in scopes if each in served.keys)
        answer = served.ask(method, filled(path), who)
        assert answer.status_code == 404, (path, answer.text)


def test_no_text_breaks_a_route(served: Served) -> None:
    for method, path, operation in operations(served):
        scopes = operation["x-scopes"]
        if not scopes or path == "/v1/clock/advance":
            continue
        who = next((each for each in scopes if each in served.keys), scopes[0])
        names = [each["name"] for each in operation["parameters"] if each["in"] == "query"]
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        fields = schema.get("schema", {}).get("properties", {})
        for number, text in enumerate(HOSTILE):
            query = {names[number % len(names)]: text} if names else {}
            body = dict.fromkeys(fields, text) if number % 2 else {
                name: json.loads(text) if text in ("null", "[]", "{}", "true", "-1") else [text]
                for name in fields
            }  # fmt: skip
            answer = served.ask(
                method, filled(path), who, params=query,
                json=body if method in ("POST", "PUT") else None,
            )  # fmt: skip
            assert answer.status_code < 500, (method, path, text, answer.text)
            assert is_declared(operation, answer.status_code), (method, path, answer.status_code)


def test_hostile_ids_and_headers(served: Served) -> None:
    for text in HOSTILE:
        escaped = "".join(f"%{byte:02X}" for byte in text.encode())
        answer = served.get(f"/v1/users/{escaped}")
        assert answer.status_code in (400, 404), (text, answer.text)
        error_of(answer)
        raw = text.encode().replace(b"\r\n", b" ").replace(b"\x00", b"")
        answer = served.get("/v1/clock", "", headers={b"Authorization": b"Bearer " + raw})
        assert answer.status_code == 401


@pytest.mark.parametrize("text", ["%00", "%1B", "%C2%85", "x" * 256])
def test_names_that_are_no_text_are_unknown_on_every_route(served: Served, text: str) -> None:
    asked = 0
    for method, path, operation in operations(served):
        names = re.findall(r"{(\w+)}", path)
        if method != "GET" or not names:
            continue
        for name in names:
            address = filled(path.replace(f"{{{name}}}", text))
            who = next((each for each in operation["x-scopes"] if each in served.keys), "control")
            answer, asked = served.get(address, who), asked + 1
            assert answer.status_code in (403, 404), (path, answer.text)
    assert asked > 30


def test_every_route_of_the_contract_is_described(served: Served, shared: Any) -> None:
    text = (shared / "spec" / "api.md").read_text(encoding="utf-8")
    table = text.partition("## Channels")[2].partition("## Events and webhooks")[0]
    wanted = set()
    for line in table.splitlines():
        for found in re.finditer(r"(GET|POST|PUT) (/v1/[\w/{}-]+)", line):
            wanted.add((found[1], re.sub(r"{\w+}", "{}", found[2]).rstrip("/")))
    known = {(method, re.sub(r"{\w+}", "{}", path)) for method, path, _ in operations(served)}
    assert not wanted - known, sorted(wanted - known)
