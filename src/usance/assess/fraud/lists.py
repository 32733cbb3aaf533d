r"""Lists of people and things not to lend to: dated entries with a source, read from YAML.

>>> text = '''
... - {attribute: device, value: 77, list: block, from: 2024-01-01, booked_at: 2024-01-02T00:00:00Z,
...    source: police notice}
... '''
>>> from datetime import UTC
>>> lists = parse_lists(text)
>>> on, at = date(2024, 6, 30), datetime(2024, 6, 30, tzinfo=UTC)
>>> strongest(lists, {(Attribute.DEVICE, 77)}, on, at).list.label
'block'
>>> strongest(lists, {(Attribute.DEVICE, 77)}, on, datetime(2024, 1, 1, tzinfo=UTC)) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path

from usance.assess.fraud.links import Attribute
from usance.base.codes import Code
from usance.base.documents import parse_yaml, read_document, read_text
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, Places, day, document_places, moment, one_of, text, whole


class ListKind(Code):
    """The action a list asks for; the number is the flow's name of the same place."""

    WATCH = 1
    BLOCK = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: for whom or what, on which list, from when to when, and who says so."""

    attribute: Attribute
    value: int
    list: ListKind
    valid_from: date
    booked_at: datetime
    source: str
    valid_to: date | None = None


def read_lists(path: Path | str) -> tuple[Entry, ...]:
    """The entries of a file, or everything that is wrong with them."""
    places = document_places(str(path), partial(read_text, path))
    return _entries(read_document(path), places, str(path))


def parse_lists(content: str, *, where: str = "lists") -> tuple[Entry, ...]:
    """The entries of a YAML text."""
    places = document_places(where, lambda: content)
    return _entries(parse_yaml(content, where=where), places, where)


def strongest(
    lists: Sequence[Entry], attributes: Collection[tuple[Attribute, int]], on: date, at: datetime
) -> Entry | None:
    """The strongest entry in force on a day for any of someone's attributes, as booked by then."""
    hits = [
        entry
        for entry in lists
        if (entry.attribute, entry.value) in attributes
        and entry.booked_at <= at
        and entry.valid_from <= on
        and (entry.valid_to is None or on <= entry.valid_to)
    ]
    return max(hits, key=lambda entry: entry.list, default=None)


def _entries(content: object, places: Places, where: str) -> tuple[Entry, ...]:
    problems: list[UsanceError] = []
    rows = content if isinstance(content, list) else [content]
    found = [
        _entry(Fields(row, places, problems, (number,))) for number, row in enumerate(rows, start=1)
    ]
    raise_all(problems, where=where)
    return tuple(entry for entry in found if entry is not None)


def _entry(given: Fields) -> Entry | None:
    attribute, value = given.need("attribute", one_of(Attribute)), given.need("value", whole)
    kind, first = given.need("list", one_of(ListKind)), given.need("from", day)
    booked, source = given.need("booked_at", moment), given.need("source", text)
    last = given.take("to", day)
    given.close()
    if not given.has_needed:
        return None
    if last is not None and last < first:
        given.wrong(f"ends on {last}, before it begins", "Give a later day", "to")
        return None
    return Entry(attribute, value, kind, first, booked, source, last)
