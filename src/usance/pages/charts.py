"""Small drawings as SVG inside a page: sparks, lines and stacked columns.

Colours are classes of the style sheet, so print and screen may differ. Positions are floats: they
are drawn, never added up.

>>> spark([1, 3, 2]).startswith('<svg viewBox="0 0 160 32"')
True
>>> ticks(0.0, 0.031)
[0.0, 0.01, 0.02, 0.03, 0.04]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from usance.pages.markup import Html, joined, tag

WIDTH, HEIGHT = 560, 230
RIGHT, TOP, BOTTOM = 24, 10, 24
LETTER, GAP = 6.6, 7
COLOURS = 10
Format = Callable[[float], str]


def spark(values: Sequence[float]) -> Html:
    """A line without axes."""
    low, high = min(values, default=0), max(values, default=0)
    reach = (high - low) or 1
    step = 156 / max(len(values) - 1, 1)
    points = [(2 + step * at, 28 - 24 * (value - low) / reach) for at, value in enumerate(values)]
    end = points[-1] if points else (2, 28)
    return tag(
        "svg", _path(points), tag("circle", cx=_at(end[0]), cy=_at(end[1]), r="2.4"),
        viewBox="0 0 160 32", class_="s0", preserveAspectRatio="xMinYMid", aria_hidden="true",
    )  # fmt: skip


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]], *, format_y: Format, format_x: Format,
    caption: str, note: str = "",
) -> Html:  # fmt: skip
    """Curves over a number, with a legend."""
    points = [point for curve in series.values() for point in curve]
    if not points:
        return Html("")
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    scale = _Scale(min(0.0, *(y for _, y in points)), max(y for _, y in points), format_y)
    wide = scale.wide / ((last - first) or 1)
    drawn = []
    for place, (name, curve) in enumerate(series.items()):
        at = [(scale.left + wide * (x - first), scale.y(y)) for x, y in curve]
        title = tag("title", f"{name}: {format_x(curve[-1][0])}, {format_y(curve[-1][1])}")
        mark = tag("circle", title, cx=_at(at[-1][0]), cy=_at(at[-1][1]), r="2.6")
        drawn.append(tag("g", _path(at), mark, class_=_colour(place)))
    below = joined(
        _label(scale.left + wide * (x - first), format_x(x)) for x in _marks(first, last)
    )
    return _figure(joined([scale.grid(), *drawn, below]), list(series), caption, note)


def columns(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, format_y: Format, caption: str,
    note: str = "",
) -> Html:  # fmt: skip
    """Stacked columns; what is below zero hangs."""
    if not labels or not series:
        return Html("")
    ups = [sum(max(v[at], 0) for v in series.values()) for at in range(len(labels))]
    downs = [sum(min(v[at], 0) for v in series.values()) for at in range(len(labels))]
    scale = _Scale(min(0.0, *downs), max(0.0, *ups), format_y)
    wide = scale.wide / len(labels)
    stacks = [[0.0, 0.0] for _ in labels]
    bars = []
    for place, (name, values) in enumerate(series.items()):
        for at, value in enumerate(values):
            stack = stacks[at]
            side = 0 if value >= 0 else 1
            top, foot = sorted((scale.y(stack[side]), scale.y(stack[side] + value)))
            stack[side] += value
            if foot - top >= 0.05:  # thinner than any screen shows
                title = tag("title", f"{name}, {labels[at]}: {format_y(value)}")
                bars.append(tag(
                    "rect", title, class_=f"bar {_colour(place)}", height=_at(foot - top),
                    width=_at(wide * 0.72), x=_at(scale.left + wide * (at + 0.14)), y=_at(top),
                ))  # fmt: skip
    every = math.ceil(len(labels) / 9)
    below = joined(
        _label(scale.left + wide * (at + 0.5), label)
        for at, label in enumerate(labels)
        if (len(labels) - 1 - at) % every == 0
    )
    zero = scale.rule(0, "base")
    return _figure(joined([scale.grid(), *bars, zero, below]), list(series), caption, note)


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers from at most the lowest to at least the highest value."""
    reach = (high - low) or abs(high) or 1.0
    size = 10.0 ** math.floor(math.log10(reach / wanted))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if reach / (size * n) <= wanted)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [round(step * n, 12) for n in range(first, max(last, first + 1) + 1)]


class _Scale:
    """From values to heights, right of the words that name them."""

    def __init__(self, low: float, high: float, format_y: Format) -> None:
        self.ticks = ticks(low, high)
        self.low, self.high = self.ticks[0], self.ticks[-1]
        self.words = [format_y(each) for each in self.ticks]
        self.left = max(RIGHT, GAP + math.ceil(LETTER * max(map(len, self.words))))
        self.wide = WIDTH - self.left - RIGHT

    def y(self, value: float) -> float:
        reach = HEIGHT - TOP - BOTTOM
        return TOP + reach * (self.high - value) / (self.high - self.low)

    def rule(self, value: float, kind: str) -> Html:
        y = _at(self.y(value))
        return tag("line", x1=self.left, x2=WIDTH - RIGHT, y1=y, y2=y, class_=kind)

    def grid(self) -> Html:
        return joined(
            joined((
                self.rule(each, "grid"),
                tag("text", word, x=self.left - GAP, y=_at(self.y(each) + 3.5), text_anchor="end"),
            ))
            for each, word in zip(self.ticks, self.words, strict=True)
        )  # fmt: skip


def _figure(drawn: Html, names: Sequence[str], caption: str, note: str) -> Html:
    legend = joined(
        tag("li", tag("i", "", class_=_colour(place)), name) for place, name in enumerate(names)
    )
    told = tag("span", f" {note}", class_="note") if note else None
    return tag(
        "figure",
        tag("figcaption", caption, told),
        tag("svg", drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=caption),
        tag("ul", legend, class_="legend") if len(names) > 1 else None,
    )


def _path(points: Sequence[tuple[float, float]]) -> Html:
    steps = "L".join(f"{_at(x)},{_at(y)}" for x, y in points)
    return tag("path", d=f"M{steps}" if steps else "M0,0", class_="line")


def _label(x: float, text: str) -> Html:
    return tag("text", text, x=_at(x), y=HEIGHT - 6, text_anchor="middle")


def _marks(first: float, last: float) -> list[float]:
    """Whole numbers format_x the bottom, eight at most."""
    step = max(1, math.ceil((last - first) / 8))
    return [float(n) for n in range(math.ceil(first), math.floor(last) + 1, step)]


def _colour(place: int) -> str:
    return f"s{place % COLOURS}"


def _at(position: float) -> str:
    return f"{position:.1f}".removesuffix(".0")
