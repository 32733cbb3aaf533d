"""Lists: pages by cursor, filters and order in the address, and the same rows as CSV or XLSX.

A page function gives a `ListPage`; whoever asked gets it as a page or a file, an export as rows.
"""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from usance.platform.console.frame import HOME, Visit
from usance.platform.errors import InvalidField

PAGE, SORTED, EXPORT, MAX_TEXT = 50, 1_000, 10_000, 200
"""Rows of a page, those that a chosen order covers, those of a file made at once; letters typed."""
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
    sort: str = ""
    """The column that rows are ordered by, with a minus for the largest first."""
    start: int = 0
    """The place of the page among rows in a chosen order."""

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
        before, sort = given.get("before", ""), given.get("sort", "")[:MAX_TEXT]
        if not sort:
            return cls(filters, choices, texts, before, wanted)
        if before and not (before.isascii() and before.isdigit() and len(before) < 6):
            raise InvalidField("is no place in an order", where="before", fix="Use the links")
        return cls(filters, choices, texts, "", wanted, sort, int(before or 0))

    @property
    def limit(self) -> int:
        """Rows of a page, of a chosen order, or of a file."""
        return EXPORT if self.format else SORTED if self.sort else PAGE

    def address(self, **more: str) -> str:
        """The same list with other values."""
        sort = {"sort": self.sort} if self.sort else {}
        return "?" + urlencode({**self.filters, **self.texts, **sort, **more})

    def sorting(self, name: str) -> str:
        """The address of the order by a column; asked again, of the other way round."""
        return self.address(sort=f"-{name}" if self.sort == name else name)

    def direction(self, name: str) -> str:
        """The order of a column as `aria-sort` says it."""
        return {name: "ascending", f"-{name}": "descending"}.get(self.sort, "")


@dataclass(frozen=True)
class ListPage:
    """Rows of a list, one more than the limit if there are more, with what its page needs."""

    screen: str
    asked: ListState
    rows: Sequence[Mapping[str, Any]]
    key: str
    """The column whose value is the cursor."""
    links: Mapping[str, str]
    title: str = ""
    numbers: Sequence[str] = ()
    parts: Sequence[tuple[str, str]] = ()
    tasks: Sequence[tuple[str, str]] = ()
    """Buttons of what can be done from the list."""

    @property
    def has_more(self) -> bool:
        """True if there are more rows than were to be shown."""
        return len(self.rows) > self.asked.limit

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.rows[0]) if self.rows else []

    @property
    def shown(self) -> Sequence[Mapping[str, Any]]:
        """The rows up to the limit, in the order that was asked for."""
        return ordered(self.rows[: self.asked.limit], self.names, self.asked.sort)

    def response(self, visit: Visit) -> Response:
        """A page of the rows, a file of them, or the way to a file that a job makes."""
        asked, rows = self.asked, self.shown
        if asked.format and self.has_more:
            return visit.page(
                self.screen, "export", visit.texts["export"], asked=asked, most=f"{EXPORT:,}",
                path=visit.request.url.path.removeprefix(HOME), key=secrets.token_urlsafe(18),
            )  # fmt: skip
        if asked.format:
            return file_of(self.screen, self.names, rows, asked.format)
        after = ""
        if asked.sort:
            last = asked.start + PAGE
            after = asked.address(before=str(last)) if len(rows) > last else ""
            rows = rows[asked.start : last]
        elif self.has_more:
            after = asked.address(before=str(rows[-1][self.key]))
        return visit.page(
            self.screen, "list", self.title or visit.texts[self.screen], rows=rows,
            names=self.names, asked=asked, after=after, links=self.links, numbers=self.numbers,
            orders={each: (asked.sorting(each), asked.direction(each)) for each in self.names},
            parts_of=self.parts, tasks=self.tasks,
            is_part=bool(asked.sort) and self.has_more, most=f"{SORTED:,}",
        )  # fmt: skip


def ordered(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], sort: str
) -> Sequence[Mapping[str, Any]]:
    """Rows in the order of a column; numbers by value, what is empty last.

    >>> rows = [{"a": "1,200.00"}, {"a": ""}, {"a": "\N{MINUS SIGN}3.50"}, {"a": "20.00"}]
    >>> [each["a"] for each in ordered(rows, ["a"], "-a")]
    ['1,200.00', '20.00', '−3.50', '']
    """
    name = sort.removeprefix("-")
    if not sort or not rows:
        return rows
    if name not in names:
        raise InvalidField(f"{name[:20]!r} is no column", where="sort",
                           fix=f"Give one of {', '.join(names)}")  # fmt: skip
    full = [row for row in rows if row[name] not in (None, "")]
    empty = [row for row in rows if row[name] in (None, "")]
    full.sort(key=lambda row: _rank(row[name]), reverse=sort.startswith("-"))
    return full + empty


def _rank(value: Any) -> tuple[int, Decimal, str]:
    """A number before a text, each among its own."""
    text = str(value)
    try:
        return 0, Decimal(text.replace(",", "").replace("\N{MINUS SIGN}", "-")), ""
    except InvalidOperation:
        return 1, Decimal(0), text.casefold()


def file_of(
    name: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]], kind: str
) -> Response:
    """Rows as a file; no cell is ever a formula."""
    content = table_file([list(names), *cells(names, rows)], kind)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, 200, headers, FORMATS[kind])


def cells(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[list[str | int]]:
    """The cells of rows as they stand in a file."""
    return [[_plain(row[each]) for each in names] for row in rows]


def table_file(table: Sequence[Sequence[str | int]], kind: str) -> bytes:
    """The content of a file of cells."""
    return _csv(table) if kind == "csv" else _xlsx(table)


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
