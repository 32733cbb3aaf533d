"""Commands read from documents: every field known, of its type and within its bounds.

>>> from usance.platform.commands.people.users import RegisterUser
>>> read_command(RegisterUser, {"client_ref": "anna", "region": 3})
RegisterUser(client_ref='anna', region=3, kind='consumer', registered_at=None)
>>> read_command(RegisterUser, {"client_ref": "anna", "region": 3, "regoin": 4})
Traceback (most recent call last):
usance.platform.errors.UnknownField: body.regoin: there is no field regoin. \
Did you mean 'region'? Give client_ref, region, kind, registered_at.
>>> from usance.platform.commands.lending.quotes import MakeQuote
>>> read_command(MakeQuote, {"amount": 2499})
Traceback (most recent call last):
usance.platform.errors.UnknownField: body.amount: there is no field amount. \
Did you mean 'amount_minor'? Give user, product, amount_minor, months, ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, TypeVar, get_type_hints

from usance.platform.errors import DateOutOfRange, InvalidField, MissingField, UnknownField

Command = TypeVar("Command")
MAX_INTEGER = 2**53 - 1
"""The largest number that JSON carries whole everywhere."""
MAX_TEXT = 20_000
MAX_SHOWN = 60
"""Letters of a wrong value that its refusal says again."""
FIRST_DAY, LAST_DAY = date(1990, 1, 1), date(2199, 12, 31)
"""The days that a document may name."""


def read_command(kind: type[Command], body: Mapping[str, Any]) -> Command:
    """A command from a document, or the first thing that is wrong with it."""
    if not isinstance(body, Mapping):
        raise InvalidField("is no object", where="body", fix="Send a JSON object")
    declared = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    for name in body:
        if name not in declared:
            raise _unknown(str(name), list(declared))
    types = _types(kind)  # type: ignore[arg-type]
    return kind(**{
        name: _value(each, types[name], body) for name, each in declared.items()
        if name in body or _is_needed(each)
    })  # fmt: skip


@cache
def _types(kind: type) -> dict[str, Any]:
    """The types of a command's fields; reading them takes longer than reading the command."""
    return get_type_hints(kind)


def shown(given: Any) -> str:
    """A value that a refusal speaks of, cut where nobody reads on.

    >>> shown("2024-02-30"), shown("x" * 70_000)[-5:]
    ("'2024-02-30'", 'xxxx…')
    """
    text = repr(given[:MAX_SHOWN] if isinstance(given, str | list | tuple) else given)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _is_needed(declared: Field[Any]) -> bool:
    return declared.default is MISSING and declared.default_factory is MISSING


def _unknown(name: str, known: list[str]) -> UnknownField:
    from difflib import get_close_matches

    longer = [each for each in known if each.startswith(f"{name}_")]  # amount for amount_minor
    near = longer or get_close_matches(name, known, n=1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    fix = f"{hint}Give {', '.join(known)}" if known else "Send an empty object"
    return UnknownField(
        f"there is no field {name[:MAX_SHOWN]}", where=f"body.{name[:MAX_SHOWN]}", fix=fix
    )


def _value(declared: Field[Any], kind: Any, body: Mapping[str, Any]) -> Any:
    where = f"body.{declared.name}"
    if declared.name not in body:
        raise MissingField(f"{declared.name} is missing", where=where, fix=f"Give {declared.name}")
    given = body[declared.name]
    choices = getattr(kind, "__args__", ())
    if type(None) in choices:
        if given is None:
            return None
        kind = next(each for each in choices if each is not type(None))
    read = _READERS.get(getattr(kind, "__origin__", kind), _as_it_is)(given, where)
    if getattr(kind, "__origin__", None) is tuple:
        each = _READERS.get(getattr(kind.__args__[0], "__origin__", kind.__args__[0]), _as_it_is)
        return tuple(each(one, f"{where}[{n}]") for n, one in enumerate(read))
    return read


def _integer(given: Any, where: str) -> int:
    if type(given) is not int:
        raise InvalidField(f"{shown(given)} is no whole number", where=where, fix="Give an integer")
    if abs(given) > MAX_INTEGER:
        fix = f"Give -{MAX_INTEGER} to {MAX_INTEGER}"
        raise InvalidField("is beyond what can be kept", where=where, fix=fix)
    return given


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise InvalidField(f"{shown(given)} is no text", where=where, fix="Give a string")
    if len(given) > MAX_TEXT or "\x00" in given:
        fix = f"Give at most {MAX_TEXT} characters, none of them NUL"
        raise InvalidField("is no text that can be kept", where=where, fix=fix)
    return given


def _truth(given: Any, where: str) -> bool:
    if not isinstance(given, bool):
        raise InvalidField(f"{shown(given)} is neither true nor false", where=where, fix="Give one")
    return given


def _day(given: Any, where: str) -> date:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    try:
        day = date.fromisoformat(_day_text(given))
    except ValueError:
        raise InvalidField(
            f"{shown(given)} is no day", where=where, fix="Give YYYY-MM-DD"
        ) from None
    _check_range(day, where)
    return day


def _check_range(day: date, where: str) -> None:
    if not FIRST_DAY <= day <= LAST_DAY:
        fix = f"Give a day between {FIRST_DAY} and {LAST_DAY}"
        raise DateOutOfRange(f"{day} is beyond sense", where=where, fix=fix)


def _day_text(given: Any) -> str:
    if not isinstance(given, str) or len(given) != len("2024-07-01"):
        raise ValueError
    return given


def _moment(given: Any, where: str) -> datetime:
    fix = "Give a moment with its zone, like 2024-07-01T01:00:00Z"
    try:
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidField(f"{shown(given)} is no moment", where=where, fix=fix) from None
    if moment.tzinfo is None:
        raise InvalidField(f"{shown(given)} has no time zone", where=where, fix=fix)
    _check_range(moment.date(), where)
    return moment.astimezone(UTC)


def _mapping(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidField("is no object", where=where, fix="Give an object")
    return given


def _list(given: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise InvalidField("is no list", where=where, fix="Give a list")
    return tuple(given)


def _as_it_is(given: Any, _where: str) -> Any:
    return given


_READERS: dict[Any, Any] = {
    int: _integer, str: _text, bool: _truth, date: _day, datetime: _moment, Mapping: _mapping,
    tuple: _list,
}  # fmt: skip
