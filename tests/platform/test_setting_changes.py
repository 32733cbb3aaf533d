"""The audit tells settings before and after each change, and of borrowers nothing."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_people import ADA, register
from usance.platform.errors import Forbidden, NotFound
from usance.platform.reads.control.events_and_audit import change_lines

CAP = {"name": "pricing.rate_cap", "valid_from": date(2024, 9, 1), "source": "a court"}


def last_entry(sandbox: Sandbox, command: str) -> Any:
    """The last entry of the audit of a command, with the settings that it changed."""
    entries = [each for each in sandbox.read("control", "audit", 0, 200)
               if each["command"] == command]  # fmt: skip
    return sandbox.read("control", "audit_entry", entries[-1]["id"])


def agreed(sandbox: Sandbox, command: str, body: dict[str, Any]) -> None:
    """A proposal of a key that two people agree to."""
    proposed = sandbox.do("control", command, body).answer["approval"]
    for who in ("administrator", "controller"):
        sandbox.do(who, "approval.approve", {"approval": proposed})


def test_a_parameter_is_told_before_and_after_by_who_agreed_last(sandbox: Sandbox) -> None:
    agreed(sandbox, "parameter.put", {**CAP, "value": "20%"})
    found = last_entry(sandbox, "approval.approve")
    assert (found["principal"], found["changed"]) == ("controller", ["parameter/pricing.rate_cap"])
    [change] = found["changes"]
    # Before the first one by command, that of the country pack held.
    assert change["before"]["document"]["value"] == "24%"
    assert change["before"]["version"] == 0
    assert (change["after"]["version"], change["after"]["document"]["value"]) == (1, "20%")
    agreed(sandbox, "parameter.put", {**CAP, "value": "18%"})
    [again] = last_entry(sandbox, "approval.approve")["changes"]
    assert again["before"] == change["after"]
    assert "-document.value: 20%" in change_lines(again)
    assert "+document.value: 18%" in change_lines(again)


def test_mandates_roles_keys_and_desks_are_told(sandbox: Sandbox) -> None:
    text = sandbox.sql("control", "select document ->> 'text' from usance.settings "
                       "where kind = 'mandates' order by version desc limit 1")  # fmt: skip
    other = text.replace("budget", "budget", 1) + "\n# another\n"
    sandbox.do("system", "mandate.put", {"text": other, "valid_from": date(2024, 9, 1)})
    [change] = last_entry(sandbox, "mandate.put")["changes"]
    assert (change["before"]["document"]["text"], change["after"]["document"]["text"]) == (
        text, other)  # fmt: skip
    assert "+# another" in change_lines(change)
    agreed(sandbox, "person.invite", {"email": "eve@lender.example", "role": "auditor"})
    changes = last_entry(sandbox, "approval.approve")["changes"]
    roles = [each for each in changes if each["name"].startswith("operator/")]
    assert [(each["before"], each["after"]["role"]) for each in roles] == [(None, "auditor")]
    agreed(sandbox, "key.create", {"kind": "service", "party": "robot", "scopes": ["finance"]})
    changes = last_entry(sandbox, "approval.approve")["changes"]
    [key] = [each for each in changes if each["name"].startswith("key/")]
    assert (key["before"], key["after"]["scopes"]) == (None, ["finance"])
    assert "hash" not in json.dumps(changes)
    sandbox.do("system", "key.end", {"key_id": key["name"].removeprefix("key/")})
    [ended] = last_entry(sandbox, "key.end")["changes"]
    assert ended["before"] == key["after"]
    assert ended["after"]["expires_at"] is not None
    sandbox.do("system", "collector.put", {"name": "operations", "slots": 5})
    sandbox.do("system", "collector.put", {"name": "operations", "slots": 9})
    [slots] = last_entry(sandbox, "collector.put")["changes"]
    assert (slots["before"]["slots"], slots["after"]["slots"]) == (5, 9)


def test_of_borrowers_the_audit_keeps_no_value(sandbox: Sandbox) -> None:
    user = register(sandbox)
    before = sandbox.sql("control", "select count(*) from usance.setting_changes")
    sandbox.do("channel", "person.set", {"user": user, **ADA})
    assert last_entry(sandbox, "person.set")["changes"] == []
    assert sandbox.sql("control", "select count(*) from usance.setting_changes") == before
    # Who does not read the audit reads none of this either.
    assert sandbox.sql("channel", "select count(*) from usance.setting_changes") == 0
    with pytest.raises(NotFound):
        sandbox.read("control", "audit_entry", "ev_00000000001")
    with pytest.raises((Forbidden, NotFound)):
        sandbox.read("channel", "audit_entry", last_entry(sandbox, "person.set")["id"])
