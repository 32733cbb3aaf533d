"""The configuration of a lender as a document: what is in force, and how another one differs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.platform.commands.command import Decided, Moment
from usance.platform.commands.control.in_force import (
    PutFlow,
    PutMandates,
    PutModel,
    PutParameter,
    put_flow,
    put_mandates,
    put_model,
    put_parameter,
)
from usance.platform.commands.loans.plan_rules import PLAN_RULES, PutPlanRules, put_plan_rules
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

FORM = "usance configuration 1"
KINDS = ("mandates", "parameter", "flow", "model", "plan_rules")


@dataclass(frozen=True)
class PutConfiguration:
    """Several settings in force together: rows of kind, name, valid_from and document."""

    settings: tuple[Mapping[str, Any], ...]


async def exported(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """The latest version of every setting, by kind, name and first day."""
    rows = await transaction.fetch(
        "select distinct on (kind, name, valid_from) kind, name, valid_from, document "
        "from usance.settings where kind = any($1) "
        "order by kind, name, valid_from, version desc", list(KINDS),
    )  # fmt: skip
    return [
        {"kind": row["kind"], "name": row["name"], "valid_from": row["valid_from"].isoformat(),
         "document": parse_json(row["document"])}
        for row in rows
    ]  # fmt: skip


def read_configuration(document: Any, where: str) -> list[dict[str, Any]]:
    """The settings of a file of configuration."""
    if not isinstance(document, Mapping) or document.get("form") != FORM:
        raise InvalidField(f"is no file of the form {FORM!r}", where=where,
                           fix="Give a file that 'usance config export' wrote")  # fmt: skip
    rows = document.get("settings")
    if not isinstance(rows, list):
        raise InvalidField("has no list of settings", where=where, fix="Export it again")
    return [_checked(row, f"{where}: settings[{n}]") for n, row in enumerate(rows)]


def differences(
    here: Sequence[Mapping[str, Any]], given: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The settings of a file that are new here, or other than here.

    >>> row = {"kind": "flow", "name": "a", "valid_from": "2024-01-01", "document": {}}
    >>> [each["change"] for each in differences([row], [row, {**row, "name": "b"}])]
    ['new']
    """
    known = {_key(row): row["document"] for row in here}
    return [
        {"change": "changed" if _key(row) in known else "new", **row}
        for row in given
        if known.get(_key(row)) != row["document"]
    ]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["kind"], row["name"], row["valid_from"]


def _checked(row: Any, where: str) -> dict[str, Any]:
    fields = {"kind": str, "name": str, "valid_from": str, "document": Mapping}
    if not isinstance(row, Mapping) or set(row) != set(fields):
        raise InvalidField("is no setting", where=where, fix=f"Give {', '.join(fields)}")
    for name, kind in fields.items():
        if not isinstance(row[name], kind):
            raise InvalidField("is of another form", where=f"{where}.{name}", fix="Export it again")
    if row["kind"] not in KINDS:
        raise InvalidField(f"{row['kind']!r} is no kind of setting", where=f"{where}.kind",
                           fix=f"Give {', '.join(KINDS)}")  # fmt: skip
    return dict(row)


async def put_configuration(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment,
    command: PutConfiguration,
) -> Decided:  # fmt: skip
    """Put settings in force together, each checked as if it came alone."""
    changes, seen = WriteSet(changes_configuration=True), Counter[tuple[str, str]]()
    done: list[dict[str, Any]] = []
    for n, given in enumerate(command.settings):
        row = _checked(given, f"body.settings[{n}]")
        one = await _put(transaction, principal, moment, row, f"body.settings[{n}]")
        own = (row["kind"], row["name"])
        for each in one.changes.live_rows:
            data = json.loads(each.data)
            if each.table == "settings":
                data["version"] += seen[own]
            changes.live_rows.append(each._replace(data=json.dumps(data)))
        seen[own] += 1
        done.append({"kind": row["kind"], "name": row["name"], "valid_from": row["valid_from"]})
    answer = {"settings": done}
    return Decided(answer, "configuration", 0, changes, as_platform=True)


async def _put(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, row: Mapping[str, Any],
    where: str,
) -> Decided:  # fmt: skip
    name, document = row["name"], row["document"]
    try:
        first = date.fromisoformat(row["valid_from"])
        if row["kind"] == "mandates":
            put = PutMandates(document["text"], first)
            return await put_mandates(transaction, principal, moment, put)
        if row["kind"] == "parameter":
            value = PutParameter(name, document["value"], first, document["source"])
            return await put_parameter(transaction, principal, moment, value)
        if row["kind"] == "flow":
            flow = PutFlow(document.get("shipped", name), first, document.get("files"))
            return await put_flow(transaction, principal, moment, flow)
        if row["kind"] == PLAN_RULES:
            rules = PutPlanRules(document["text"])
            return await put_plan_rules(transaction, principal, moment, rules)
        model = PutModel(name, first, document["sha256"])
        return await put_model(transaction, principal, moment, model)
    except (KeyError, ValueError) as error:
        raise InvalidField(f"is no {row['kind']}: {error}", where=where,
                           fix="Export it again") from error  # fmt: skip
