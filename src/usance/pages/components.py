"""Tables of the pages: words to the left, numbers to the right, every number a link where it can.

>>> row = [cell("interest_earned"), number("675", to="/journals/x.html", minor=67500)]
>>> table(["amount", "2024Q1"], [tr(row)], numbers=1).count("<td")
2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from usance.pages.markup import Html, joined, link, tag


def cell(text: str | int, depth: int = 0, class_: str | None = None) -> Html:
    """A cell of words."""
    return tag("td", text, class_=f"in{depth}" if depth else class_)


def number(
    text: str, *, to: str | None = None, minor: int | None = None, title: str | None = None
) -> Html:
    """A cell with a number; `minor` keeps the exact amount beside what is shown."""
    shown = link(text, to, title=title) if to else text
    return tag(
        "td", shown, class_="n", data_minor=minor, title=None if to else title,
    )  # fmt: skip


def tr(cells: Iterable[Html], *, total: bool = False, name: str | None = None) -> Html:
    """A row; `name` is its anchor."""
    return tag("tr", joined(cells), class_="total" if total else None, id=name)


def section(text: str | Html, width: int) -> Html:
    """A row that heads those after it."""
    return tag("tr", tag("th", text, colspan=width), class_="section")


def table(
    headings: Sequence[str | Html], rows: Iterable[Html], *, numbers: int | Sequence[int] = (),
    caption: str | Html | None = None, class_: str | None = None,
) -> Html:  # fmt: skip
    """A table; `numbers` names the columns of numbers, or from which on all are."""
    right = range(numbers, len(headings)) if isinstance(numbers, int) else numbers
    heads = (
        tag("th", text, class_="n" if place in right else None, scope="col")
        for place, text in enumerate(headings)
    )
    made = tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", tag("tr", joined(heads))),
        tag("tbody", joined(rows, "\n")),
        class_=class_,
    )
    return tag("div", made, class_="wide across" if len(headings) > 7 else "wide")


def pairs(given: Iterable[tuple[str, str | Html]]) -> Html:
    """Names and values."""
    listed = joined(joined((tag("dt", name), tag("dd", value))) for name, value in given)
    return tag("dl", listed, class_="facts")
