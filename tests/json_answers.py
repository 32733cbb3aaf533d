"""The JSON of every command is held to its schema, whichever test asks for it.

`watch` puts a check in front of the one function that writes JSON, so that every answer of every
test is compared with the file of its command in `docs/reference/schemas`. With
`USANCE_RENEW_SCHEMAS=1` the files learn what the answers hold instead.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from typer._click.globals import get_current_context

from usance.base import command_line

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "schemas"
AGREED = re.compile(
    r"conform .*|disclose (check|rebuild)|assess (train|retrain|evaluate)|measure tape"
    r"|twin compare|people create|keys create"
)
"""Commands whose JSON was agreed with others before there was one form."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_UNITS = ("_minor", "_ppm", "_ppb")


def watch() -> None:
    """Hold every JSON answer of this process to the schema of its command."""
    write = command_line.print_json

    def checked(value: object) -> None:
        write(value)
        context = get_current_context(silent=True)
        is_error = isinstance(value, dict) and "error" in value
        words = (
            context.command_path.split() if context else ["usance", "error"] if is_error else [""]
        )
        if words[0] == "usance":  # a test may call a group, or the function, by itself
            text = json.dumps(value, default=command_line._plain)
            check(" ".join(words[1:]), json.loads(text))

    command_line.print_json = checked


def check(command: str, answer: Any) -> None:
    """Compare an answer with the schema, and with what holds for all of them."""
    path = schema_path(command)
    if os.environ.get("USANCE_RENEW_SCHEMAS"):
        _renew(path, command, answer)
    if not path.exists():  # a command without a schema is the finding of `test_json_form`
        return
    problems = [
        f"{'/'.join(map(str, each.instance_path))}: {each.message}"
        for each in _validator(path, path.stat().st_mtime_ns).iter_errors(answer)
    ]
    if command != "error" and not AGREED.fullmatch(command):
        problems += rules_broken(answer)
    assert not problems, f"usance {command} --json: {problems[:5]}"


def schema_path(command: str) -> Path:
    """The file of a command's schema."""
    return FOLDER / f"{command.replace(' ', '-')}.json"


def rules_broken(answer: Any) -> list[str]:
    """Rules of the one form that an answer breaks.

    >>> rules_broken({"data": {"a": None, "b_minor": "3"}, "notes": []})
    ['a is null without a reason', "b_minor is '3'"]
    """
    if not isinstance(answer, dict) or set(answer) != {"data", "notes"}:
        return ["is not {data, notes}"]
    reasons = {note.partition(":")[0] for note in answer["notes"]}
    missing = sorted(command_line.null_names(answer["data"]) - reasons)
    found = [f"{name} is null without a reason" for name in missing]
    return found + [
        f"{name} is {value!r}"
        for name, value in _leaves(answer["data"])
        if name.endswith(_UNITS) and not isinstance(value, int | None)
    ]


def _leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in _leaves(each, key)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each, name)]
    return [(name, value)]


@cache
def _validator(path: Path, _written: int) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def _renew(path: Path, command: str, answer: Any) -> None:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "an error of any command" if command == "error" else f"usance {command} --json",
    }
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    body = {k: v for k, v in known.items() if k not in head} if known else None
    path.write_text(json.dumps(head | joined(body, shape(answer)), indent=1) + "\n", "utf-8")


def shape(value: Any) -> dict[str, Any]:
    """The schema of one value."""
    if isinstance(value, dict):
        if any(not _NAME.fullmatch(key) for key in value):
            return {"type": ["object"], "additionalProperties": _all(value.values())}
        return {
            "type": ["object"],
            "properties": {key: shape(each) for key, each in value.items()},
            "required": sorted(value),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return {"type": ["array"], "items": _all(value)}
    if isinstance(value, str):
        day = {"format": "date"} if _DAY.fullmatch(value) else {}
        return {"type": ["string"], **day}
    kinds = {bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return {"type": [kinds[type(value)]]}


def _all(values: Any) -> dict[str, Any]:
    found: dict[str, Any] | None = None
    for each in values:
        found = joined(found, shape(each))
    return found or {}


def joined(first: dict[str, Any] | None, second: dict[str, Any]) -> dict[str, Any]:
    """A schema for what either of two allows."""
    if not first or not second:
        return first or second
    types = sorted({*first["type"], *second["type"]})
    if "number" in types and "integer" in types:
        types.remove("integer")
    made: dict[str, Any] = {"type": types}
    if "object" in types:
        made |= _joined_objects(first, second)
    if "array" in types:
        made["items"] = joined(first.get("items"), second.get("items") or {}) or {}
    strings = [each for each in (first, second) if "string" in each["type"]]
    if strings and all(each.get("format") for each in strings):
        made["format"] = "date"
    return made


def _joined_objects(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    objects = [each for each in (first, second) if "object" in each["type"]]
    if any(each["additionalProperties"] is not False for each in objects):  # a map of names
        values: dict[str, Any] | None = None
        for each in objects:
            inner = each["additionalProperties"] or None
            for value in [*each.get("properties", {}).values(), *([inner] if inner else [])]:
                values = joined(values, value)
        return {"additionalProperties": values or {}}
    names = {key: None for each in objects for key in each["properties"]}
    return {
        "properties": {
            key: joined(objects[0]["properties"].get(key), objects[-1]["properties"].get(key) or {})
            for key in names
        },
        "required": sorted(set.intersection(*(set(each["required"]) for each in objects))),
        "additionalProperties": False,
    }
