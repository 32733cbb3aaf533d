r"""A file of worked examples, read strictly: every problem is kept with its line.

>>> text = '{"examples": [{"id": "a", "inputs": {"ecl": 7},\n "expected": {"liability": "x"}}]}'
>>> read_examples(text, where="cases.json")
Traceback (most recent call last):
usance.base.errors.DocumentError: cases.json line 2, ...: 'x' is no answer. Give a number, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from usance.base.documents import parse_json
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, Path, document_places, text
from usance.base.money import is_plain


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example: what is given, and the answer or its shape."""

    id: str
    title: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    where: str
    """Its place in the file, for a message."""


def read_examples(content: str, *, where: str) -> list[Example]:
    """Every example of a text; all that is wrong with it is one error."""
    problems: list[UsanceError] = []
    places = document_places(where, lambda: content)
    document = Fields(parse_json(content, where=where), places, problems)
    read = [_example(each) for each in document.each("examples")]
    if not read and not problems:
        document.wrong("there are no examples", 'Give {"examples": [...]} with at least one')
    found = [example for example in read if example]
    problems += _repeated(found)
    raise_all(problems, where=where)
    return found


def _repeated(examples: list[Example]) -> Iterator[DocumentError]:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            what, fix = f"{example.id!r} is there twice", "Give each example an id of its own"
            yield DocumentError(what, where=example.where, fix=fix)
        seen.add(example.id)


def _example(fields: Fields) -> Example | None:
    name = fields.need("id", text)
    inputs = fields.need("inputs", _mapping)
    expected = fields.need_or_none("expected", _mapping)
    title = fields.take("title", text)
    if expected is not None:
        for path, value in _leaves(expected, ("expected",)):
            if value is not None and type(value) is not int and not is_plain(value):
                fix = "Give a number, or null where there is none yet"
                fields.wrong(f"{value!r} is no answer", fix, *path)
    if not fields.has_needed or expected is None:
        return None
    return Example(name, title or "", inputs, expected, fields.where("id"))


def _mapping(given: Any, where: str) -> dict[str, Any]:
    if isinstance(given, dict) and given:
        return given
    raise DocumentError("no values by name", where=where, fix='Give {"name": value, ...}')


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, (*path, number))
    else:
        yield path, value
