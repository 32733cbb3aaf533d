"""Drawings: every word of an axis stays inside its picture, however long the figures are."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from usance.pages.charts import HEIGHT, LETTER, WIDTH, Figure, columns, heat, heat_map, lines, spark
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


def test_a_chart_is_also_a_file_of_its_own() -> None:
    curves = {f"<{year}>": [(0.0, 0.0), (1.0, 0.02)] for year in (2023, 2024)}
    drawn = lines(curves, format_y=lambda y: f"{y:.0%}", format_x=lambda x: f"{x:.0f}",
                  caption="A & B", dots=True)  # fmt: skip
    assert drawn
    text = drawn.file()
    assert "var(" not in text
    tree = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert tree.findtext(f"{space}title") == "A & B"
    assert [each.text for each in tree.iter(f"{space}text")][-2:] == ["<2023>", "<2024>"]
    assert len(list(tree.iter(f"{space}circle"))) == 4


def test_a_heat_map_has_a_cell_for_every_share() -> None:
    shares = {("a", "a"): 0.0, ("a", "b"): 1.0, ("b", "b"): 0.25}
    drawn = heat_map(["a", "b"], ["a", "b"], shares, format_value=lambda y: f"{y:.0%}", caption="x")
    assert drawn
    cells = list(ElementTree.fromstring(drawn.__html__()).iter("rect"))
    assert [each.attrib["class"] for each in cells] == ["bar h0", "bar h10", "bar h5"]
    assert [each.findtext("title") for each in cells] == ["a, a: 0%", "a, b: 100%", "b, b: 25%"]
    assert heat(-1) == "h0"
    assert heat(7) == "h10"


def test_nothing_to_draw_is_no_chart() -> None:
    assert heat_map([], [], {}, format_value=str, caption="x") is None
    assert lines({}, format_y=str, format_x=str, caption="x") is None
    assert columns([], {}, format_y=str, caption="x") is None
    assert spark([1.0]) == ""


def test_columns_side_by_side_share_their_base() -> None:
    series = {"goods": [1.0, 2.0], "bads": [2.0, 1.0]}
    for stacked, high in ((True, "3"), (False, "2")):
        drawn = columns(
            ["x", "y"], series, format_y=lambda y: f"{y:g}", caption="s", stacked=stacked
        )
        assert drawn
        words = [each[3] for each in drawn.plot.texts]
        assert high in words
        assert ("3" in words) is stacked
        assert len(drawn.plot.bars) == 4
