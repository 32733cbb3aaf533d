"""Drawings: every word of an axis stays inside its picture, however long the figures are."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from usance.pages.charts import HEIGHT, LETTER, WIDTH, Figure, columns, lines
from usance.pages.numbers import grouped

MONTHS = [f"20{year}-{month:02}" for year in (22, 23, 24) for month in range(1, 13)]
AMOUNTS = st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=len(MONTHS))


def outside(drawn: Figure | None) -> list[str]:
    """The words that reach over an edge."""
    assert drawn
    found = []
    for text in ElementTree.fromstring(drawn.__html__()).iter("text"):
        wide, x, y = LETTER * len(text.text or ""), float(text.attrib["x"]), text.attrib["y"]
        is_end = text.attrib["text-anchor"] == "end"
        first, last = (x - wide, x) if is_end else (x - wide / 2, x + wide / 2)
        if first < -1 or last > WIDTH + 1 or not 0 < float(y) < HEIGHT:
            found.append(text.text or "")
    return found


@given(AMOUNTS)
def test_words_of_columns_are_inside(amounts: list[int]) -> None:
    labels = MONTHS[: len(amounts)]
    values = [float(each) for each in amounts]
    drawn = columns(labels, {"a": values}, format_y=lambda y: grouped(round(y)), caption="Money")
    assert outside(drawn) == []


@given(AMOUNTS)
def test_words_of_lines_are_inside(amounts: list[int]) -> None:
    curve = [(float(at), float(each)) for at, each in enumerate(amounts)]
    drawn = lines(
        {"a": curve}, format_y=lambda y: grouped(round(y)), format_x=lambda x: MONTHS[round(x)],
        caption="Money",
    )  # fmt: skip
    assert outside(drawn) == []
