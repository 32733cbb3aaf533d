"""JSON without surprises: one object, each key once, no NaN, numbers and texts that can be kept.

>>> parse(b'{"a": 1}')
{'a': 1}
>>> parse(b'{"a": 1, "a": 2}')
Traceback (most recent call last):
usance.platform.api.errors.RequestError: a: is there twice. Give each field once.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from usance.platform.api.errors import RequestError

MAX_DIGITS = 19
"""A number of more digits fits in no column and in few programs."""


def parse(body: bytes) -> dict[str, Any]:
    """The object of a body."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer,
            parse_float=_number,
        )  # fmt: skip
    except UnicodeDecodeError as error:
        raise RequestError("invalid_json", "the body is not UTF-8", param="body") from error
    except RecursionError as error:
        raise RequestError("invalid_json", "the body is too deep", param="body") from error
    except json.JSONDecodeError as error:
        what = f"the body is no JSON at line {error.lineno}, column {error.colno}"
        raise RequestError("invalid_json", what, param="body") from error
    if not isinstance(value, dict):
        raise RequestError("invalid_json", "the body is no object", param="body")
    if "\\u" in text:
        _check_text(value, "body")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RequestError("duplicate_key", "is there twice", param=_shown(twice))
    return found


def _constant(name: str) -> NoReturn:
    raise RequestError("not_a_number", f"the body has {name}", param="body")


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise RequestError("number_too_large", f"a number has {len(text)} digits", param="body")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise RequestError("number_too_large", f"{_shown(text)} is beyond sense", param="body")
    return value


def _check_text(value: Any, path: str) -> None:
    """Refuse texts that UTF-8 or the database cannot hold; only escapes can write them."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise RequestError("invalid_text", "has a character that is none", param=path)
    elif isinstance(value, dict):
        for name, each in value.items():
            _check_text(name, path)
            _check_text(each, f"{path}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _check_text(each, f"{path}[{number}]")


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
