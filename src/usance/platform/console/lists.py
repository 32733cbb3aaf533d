"""Lists: pages by cursor, filters in the address, and the same rows as CSV or XLSX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from usance.platform.console.frame import Visit
from usance.platform.errors import InvalidField

PAGE, EXPORT, MAX_TEXT = 50, 10_000, 200
FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_RISKY = ("=", "+", "@", "\t", "\r")


@dataclass(frozen=True)
class ListState:
    """The state of a list, all of it in the address."""

    filters: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    """Words that are typed, not chosen."""
    before: str
    """The id that the page ends before, newest first; empty for the first page."""
    format: str

    @classmethod
    def of(
        cls, request: Request, choices: Mapping[str, Sequence[str]], *, default: str = "",
        typed: Sequence[str] = (),
    ) -> ListState:  # fmt: skip
        """The state that an address says; a value that is not offered is refused."""
        given = request.query_params
        filters = {name: given.get(name, default if default in own else "")
                   for name, own in choices.items()}  # fmt: skip
        for name, value in filters.items():
            if value not in choices[name]:
                raise InvalidField(f"{value[:20]!r} is no choice", where=name,
                                   fix=f"Give one of {', '.join(choices[name])}")  # fmt: skip
        wanted = given.get("format", "")
        if wanted not in ("", *FORMATS):
            raise InvalidField("is no format", where="format", fix="Give csv or xlsx")
        texts = {name: given.get(name, "").strip()[:MAX_TEXT] for name in typed}
        return cls(filters, choices, texts, given.get("before", ""), wanted)

    @property
    def limit(self) -> int:
        """Rows of a page, or of a file."""
        return EXPORT if self.format else PAGE

    def address(self, **more: str) -> str:
        """The same list with other values."""
        return "?" + urlencode({**self.filters, **self.texts, **more})


def listing(
    visit: Visit, screen: str, asked: ListState, rows: Sequence[Mapping[str, Any]], *, key: str,
    links: Mapping[str, str], title: str = "", numbers: Sequence[str] = (),
    parts: Sequence[tuple[str, str]] = (),
) -> Response:  # fmt: skip
    """A page of rows of which one more than the limit was asked for, or a file of them."""
    shown = rows[: asked.limit]
    names = list(rows[0]) if rows else []
    if asked.format:
        return file_of(screen, names, shown, asked.format)
    after = asked.address(before=str(shown[-1][key])) if len(rows) > asked.limit else ""
    return visit.page(
        screen, "list", title or visit.texts[screen], rows=shown, names=names, asked=asked,
        after=after, links=links, numbers=numbers, parts_of=parts,
    )  # fmt: skip


def file_of(
    name: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]], kind: str
) -> Response:
    """Rows as a file; no cell is ever a formula."""
    table = [[_plain(row[each]) for each in names] for row in rows]
    content = _csv([list(names), *table]) if kind == "csv" else _xlsx([list(names), *table])
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, 200, headers, FORMATS[kind])


def _plain(value: Any) -> str | int:
    """A cell as text that no program takes for a formula.

    >>> _plain("=1+1"), _plain(3), _plain(None)
    ("'=1+1", 3, '')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_RISKY) else text


def _csv(table: Sequence[Sequence[str | int]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(table)
    return text.getvalue().encode()


def _xlsx(table: Sequence[Sequence[str | int]]) -> bytes:
    import xlsxwriter

    made = io.BytesIO()
    with xlsxwriter.Workbook(made, {"in_memory": True, "strings_to_formulas": False,
                                    "strings_to_urls": False}) as book:  # fmt: skip
        sheet = book.add_worksheet()
        for at, row in enumerate(table):
            sheet.write_row(at, 0, row)
    return made.getvalue()
