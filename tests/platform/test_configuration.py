"""Configuration as a document: what differs is proposed by one and put in force by two."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from usance.platform.commands.control.configuration import (
    FORM,
    differences,
    exported,
    read_configuration,
)
from usance.platform.commands.unit_of_work import Outcome
from usance.platform.errors import InvalidField
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.refusals import WrongState


def rows(sandbox: Sandbox) -> list[dict[str, Any]]:
    async def work(platform: Platform) -> list[dict[str, Any]]:
        async with platform.database.transaction(0) as transaction:
            return await exported(transaction)

    return sandbox.within(work)


def person(sandbox: Sandbox, name: str) -> Principal:
    async def work(platform: Platform) -> Principal:
        pool = await platform.database.pool()
        async with pool.acquire() as connection:
            number = await connection.fetchval(
                "select usance.add_principal($1, 'operator', 0::smallint, 0, $2, $1)", name, []
            )
        scopes = frozenset({"approve", "approval.approve", "control", "config.put"})
        return Principal(number, name, PrincipalKind.OPERATOR, scopes=scopes, human=name)

    return sandbox.within(work)


def approve(sandbox: Sandbox, who: Principal, approval: str) -> Outcome:
    async def work(platform: Platform) -> Outcome:
        return await platform.do(who, "approval.approve", {"approval": approval})

    return sandbox.within(work)


def test_a_file_of_one_lender_is_put_in_force_at_another_by_two(sandbox: Sandbox) -> None:
    here = rows(sandbox)
    assert differences(here, here) == []
    value = {"name": "servicing.late_fee", "value": "4%", "valid_from": "2030-01-01",
             "source": "a test"}  # fmt: skip
    wanted = [*here, {"kind": "parameter", "name": "servicing.late_fee",
                      "valid_from": "2030-01-01", "document": value},
              {"kind": "parameter", "name": "servicing.late_fee", "valid_from": "2031-01-01",
               "document": {**value, "value": "5%", "valid_from": "2031-01-01"}}]  # fmt: skip
    changes = differences(here, read_configuration({"form": FORM, "settings": wanted}, "file"))
    assert [each["change"] for each in changes] == ["new", "new"]
    settings = [{name: each[name] for name in ("kind", "name", "valid_from", "document")}
                for each in changes]  # fmt: skip
    proposed = sandbox.do("control", "config.put", {"settings": settings})
    assert (proposed.status, proposed.answer["needed"]) == (202, 2)
    assert rows(sandbox) == here  # nothing is in force before two agree
    approval = proposed.answer["approval"]
    assert approve(sandbox, person(sandbox, "ada"), approval).answer["state"] == "pending"
    assert approve(sandbox, person(sandbox, "bea"), approval).answer["state"] == "approved"
    assert differences(rows(sandbox), wanted) == []


def test_a_proposal_that_was_edited_is_refused(sandbox: Sandbox) -> None:
    row = rows(sandbox)[0] | {"valid_from": "2031-01-01"}
    proposed = sandbox.do("control", "config.put", {"settings": [row]}).answer["approval"]

    async def edit(platform: Platform) -> None:
        owner = await platform.database.owner()
        await owner.execute("set role usance_writer")
        await owner.execute(
            "update usance.approvals set payload = "
            "jsonb_set(payload, '{settings,0,valid_from}', '\"2030-01-01\"')"
        )
        await owner.close()

    sandbox.within(edit)
    with pytest.raises(WrongState, match="not what was proposed"):
        approve(sandbox, person(sandbox, "ada"), proposed)


@pytest.mark.parametrize(
    "document",
    [[], {"form": "x"}, {"form": FORM}, {"form": FORM, "settings": [{}]},
     {"form": FORM, "settings": [{"kind": "gold", "name": "a", "valid_from": "2024-01-01",
                                  "document": {}}]},
     {"form": FORM, "settings": [{"kind": "flow", "name": 1, "valid_from": "2024-01-01",
                                  "document": {}}]}],
)  # fmt: skip
def test_files_that_are_none(document: object) -> None:
    with pytest.raises(InvalidField):
        read_configuration(document, "file")


@pytest.mark.parametrize(
    ("kind", "document"),
    [("mandates", {}), ("mandates", {"text": "sources: 7"}), ("parameter", {"value": "x"}),
     ("model", {})],
)  # fmt: skip
def test_settings_that_are_wrong_are_not_proposed(
    sandbox: Sandbox, kind: str, document: dict[str, Any]
) -> None:
    row = {"kind": kind, "name": "a", "valid_from": "2030-01-01", "document": document}
    with pytest.raises(InvalidField):
        sandbox.do("control", "config.put", {"settings": [row]})
    row = {"kind": "flow", "name": "a", "valid_from": "soon", "document": {}}
    with pytest.raises(InvalidField):
        sandbox.do("control", "config.put", {"settings": [row]})
