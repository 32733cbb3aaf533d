r"""Components of the pages: tables, definition lists, time lines.

Rows and cells are values; the macros of `components.html.j2` write and escape them.

>>> cells = [cell("interest_earned"), number("675", to="/journals/x.html", minor=67500)]
>>> table(["amount", "2024Q1"], [table_row(cells)], numbers=1).count("<td")
2
>>> definitions([("from", "A & B")])
Markup('<dl class="facts"><dt>from</dt><dd>A &amp; B</dd></dl>\n')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from usance.pages.rendering import macro

_COMPONENTS = "components.html.j2"
Text = str | int


class Cell(NamedTuple):
    """A cell of a table: its text, its style class, and the page it leads to."""

    text: Text
    kind: str = ""
    to: str | None = None
    minor: int | None = None
    """The exact amount, where the text is a rounded one."""
    title: str | None = None


class Row(NamedTuple):
    """A row of a table; one with a heading heads those after it."""

    cells: Iterable[Cell]
    kind: str = ""
    anchor: str | None = None
    heading: str = ""


def cell(text: Text, *, to: str | None = None, depth: int = 0, kind: str = "") -> Cell:
    """A cell of words, set in by its depth."""
    return Cell(text, f"in{depth}" if depth else kind, to)


def number(
    text: str, *, to: str | None = None, minor: int | None = None, title: str | None = None
) -> Cell:
    """A cell with a number; `minor` keeps the exact amount."""
    return Cell(text, "n", to, minor, title)


def table_row(cells: Iterable[Cell], *, total: bool = False, anchor: str | None = None) -> Row:
    """A row of cells."""
    return Row(cells, "total" if total else "", anchor)


def section(heading: str) -> Row:
    """A row that heads those after it."""
    return Row((), "section", None, heading)


def table(
    headings: Sequence[str], rows: Iterable[Row], *, numbers: int | Sequence[int] = (),
    caption: str = "", kind: str = "",
) -> Markup:  # fmt: skip
    """A table; `numbers` names the columns of numbers, or the first from which on all are."""
    right = range(numbers, len(headings)) if isinstance(numbers, int) else numbers
    made: Markup = macro(_COMPONENTS, "table")(headings, rows, right, caption, kind)
    return made


def text_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int | Sequence[int] = 1
) -> Markup:
    """A table of texts; its columns of numbers stand to the right."""
    right = range(numbers, len(headings)) if isinstance(numbers, int) else numbers
    made = [
        Row([number(text) if at in right else cell(text) for at, text in enumerate(texts)])
        for texts in rows
    ]
    return table(headings, made, numbers=right)


def definitions(pairs: Iterable[tuple[str, Text]]) -> Markup:
    """Names and their values."""
    made: Markup = macro(_COMPONENTS, "definitions")(pairs)
    return made


def missing(text: str) -> Markup:
    """The plain statement that a book lacks a part."""
    made: Markup = macro(_COMPONENTS, "missing")(text)
    return made


def code(text: str) -> Markup:
    """Text as it is typed or computed, such as a digest."""
    return Markup("<code>{}</code>").format(text)


class Event(NamedTuple):
    """An event of a time line."""

    day: str
    title: str
    text: str
    kind: str = ""


def time_line(events: Iterable[Event]) -> Markup:
    """Events in order, each with its day."""
    made: Markup = macro(_COMPONENTS, "time_line")(events)
    return made


def paragraph(text: str) -> Markup:
    """A sentence or more between other components."""
    return Markup("<p>{}</p>").format(text)
