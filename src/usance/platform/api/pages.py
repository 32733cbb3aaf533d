"""Pages of a list: rows in the order of columns that never change, and a cursor to go on from.

>>> page([{"id": "a"}, {"id": "b"}, {"id": "c"}], {"limit": 2}, "id")
{'data': [{'id': 'a'}, {'id': 'b'}], 'next': 'WyJiIl0'}
>>> read_cursor("WyJiIl0", str)
('b',)
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from usance.base.errors import IdError
from usance.base.ids import parse_id
from usance.platform.api.errors import RequestError

DEFAULT_PAGE, MAX_PAGE = 50, 200


def cursor_of(*values: int | str) -> str:
    """The cursor of a page that ended with these values of its order."""
    text = json.dumps(values, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str, *kinds: type) -> tuple[Any, ...]:
    """The values that a cursor was made of."""
    try:
        values = json.loads(base64.b64decode(_padded(text), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or [type(value) for value in values] != list(kinds):
        raise RequestError("invalid_cursor", "this is no cursor", param="query.after")
    if any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
        raise RequestError("invalid_cursor", "this is no cursor", param="query.after")
    return tuple(values)


def read_id_cursor(query: Mapping[str, Any], prefix: str) -> int:
    """The number of the id that a page begins after; 0 for the first page."""
    if "after" not in query:
        return 0
    return number_in(read_cursor(query["after"], str)[0], prefix)


def number_in(text: str, prefix: str) -> int:
    """The number of an id that a cursor was made of."""
    try:
        return parse_id(text, prefix)
    except IdError as error:
        raise RequestError("invalid_cursor", "this is no cursor", param="query.after") from error


def changed_cursor(text: str, change: Callable[[Any], Any]) -> str:
    """A cursor whose values were changed; any other text as it is."""
    try:
        values = json.loads(base64.b64decode(_padded(text), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return text
    return cursor_of(*change(values)) if isinstance(values, list) else text


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def page(
    rows: Sequence[Mapping[str, Any]], query: Mapping[str, Any], *order: str
) -> dict[str, Any]:
    """One page of rows that are all there, by the fields that they are ordered by."""
    limit = query.get("limit", DEFAULT_PAGE)
    if "after" in query:
        last = read_cursor(query["after"], *(type(row) for row in _key(rows, order)))
        rows = [row for row in rows if tuple(row[name] for name in order) > last]
    return cut(rows, limit, *order)


def cut(rows: Sequence[Mapping[str, Any]], limit: int, *order: str) -> dict[str, Any]:
    """One page of rows of which one more than the limit was asked for."""
    shown = list(rows[:limit])
    more = cursor_of(*(shown[-1][name] for name in order)) if len(rows) > limit else None
    return {"data": shown, "next": more}


def _key(rows: Sequence[Mapping[str, Any]], order: Sequence[str]) -> Sequence[Any]:
    return [rows[0][name] for name in order] if rows else [""] * len(order)
