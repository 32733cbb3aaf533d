"""Bodies of requests as JSON Schema, made from the commands that they are read into.

>>> from usance.platform.commands.people.users import RegisterUser
>>> schema_of(RegisterUser)["required"]
['client_ref', 'region']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime
from typing import Any, get_type_hints

from usance.platform.api.parameters import PATH_IDS, id_schema

_SIMPLE: dict[Any, dict[str, Any]] = {
    int: {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
    str: {"type": "string", "maxLength": 20_000},
    bool: {"type": "boolean"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
    Mapping: {"type": "object"},
    tuple: {"type": "array"},
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "RegisterUser": {"client_ref": "anna", "region": 3, "kind": "consumer"},
    "SetPerson": {"name": "Ada Lin", "national_id": "11010519491231002X",
                  "phone": "+8613800000000", "email": "ada@example.org"},
    "AddAccount": {"bank": "sandbox bank", "number": "6222020000000001", "holder": "Ada Lin",
                   "debit": False},
    "GiveConsent": {"purpose": "credit_check", "text_version": "2024-01", "granted": True},
}  # fmt: skip
"""Examples of bodies, by the command that takes them; a test sends each of them."""


def schema_of(command: type, without: Iterable[str] = ()) -> dict[str, Any]:
    """The body of a command, without the fields that its address has."""
    types, left_out = get_type_hints(command), set(without)
    own = [each for each in fields(command) if each.name not in left_out]
    properties = {each.name: _schema(each.name, types[each.name]) for each in own}
    needed = [
        each.name for each in own
        if each.default is MISSING and each.default_factory is MISSING
    ]  # fmt: skip
    schema: dict[str, Any] = {
        "type": "object", "title": command.__name__, "properties": properties,
        "additionalProperties": False,
    }  # fmt: skip
    if needed:
        schema["required"] = needed
    if command.__name__ in EXAMPLES:
        schema["examples"] = [EXAMPLES[command.__name__]]
    return schema


def _schema(name: str, kind: Any) -> dict[str, Any]:
    choices = getattr(kind, "__args__", ())
    if type(None) in choices:
        inner = next(each for each in choices if each is not type(None))
        own = _schema(name, inner)
        return {**own, "type": [own["type"], "null"]} if "type" in own else own
    if kind is str and name in PATH_IDS:
        return id_schema(PATH_IDS[name])
    return dict(_SIMPLE.get(getattr(kind, "__origin__", kind), {}))
