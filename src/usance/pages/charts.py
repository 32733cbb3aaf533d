"""Charts as SVG: sparks, curves, stacked columns and heat maps, without a script.

A chart is worked out here as positions, and written by the macros of `charts.html.j2`. Colours are
classes of `charts.css`, so screen, dark screen and print may differ. Positions are floats: they
are drawn, never added up.

>>> spark([1, 3, 2]).startswith('<svg viewBox="0 0 160 32"')
True
>>> ticks(0.0, 0.031)
[0.0, 0.01, 0.02, 0.03, 0.04]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markupsafe import Markup

from usance.pages.rendering import macro

WIDTH, HEIGHT = 560, 230
RIGHT, TOP, BOTTOM = 24, 10, 24
LETTER, GAP = 6.6, 7
COLOURS = 12
Format = Callable[[float], str]
Points = Sequence[tuple[float, float]]
_CHARTS = "charts.html.j2"
_VARIABLE = re.compile(r"var\((--\w+)\)")
_LEGEND, _LINE = 120, 16
"""Width of the legend of a file, and height of its lines."""


@dataclass
class Plot:
    """The marks of a chart by kind, in the order they are drawn."""

    width: int = WIDTH
    height: int = HEIGHT
    rules: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    bars: list[tuple[str, str, str, str, str, str]] = field(default_factory=list)
    axes: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    curves: list[tuple[str, str, list[tuple[str, str, str, str]]]] = field(default_factory=list)
    texts: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def label(self, x: float, text: str) -> None:
        """Write a word below the chart."""
        self.texts.append((_at(x), str(self.height - 6), "middle", text, ""))

    def bar(self, x: float, y: float, size: tuple[float, float], kind: str, title: str) -> None:
        """Draw a rectangle."""
        self.bars.append((_at(x), _at(y), _at(size[0]), _at(size[1]), kind, title))


@dataclass(frozen=True)
class Figure:
    """A chart with its caption and the names of its series."""

    plot: Plot
    caption: str
    note: str = ""
    names: tuple[str, ...] = ()

    def __html__(self) -> str:
        """The figure inside a page."""
        made: str = macro(_CHARTS, "figure")(self)
        return made

    def file(self) -> str:
        """The chart as an SVG file of its own: colours and legend are inside."""
        made: str = macro(_CHARTS, "file")(self, _LEGEND, _LINE, _plain_style())
        return f"{made}\n"


def spark(values: Sequence[float]) -> Markup:
    """A line without axes; nothing for fewer than two values."""
    if len(values) < 2:
        return Markup("")
    low, high = min(values), max(values)
    reach = (high - low) or 1
    step = 156 / (len(values) - 1)
    points = [(2 + step * at, 28 - 24 * (value - low) / reach) for at, value in enumerate(values)]
    made: Markup = macro(_CHARTS, "spark")(_path(points), *map(_at, points[-1]))
    return made


def lines(
    series: Mapping[str, Points], *, format_y: Format, format_x: Format, caption: str,
    note: str = "", marks: Sequence[float] | None = None, dots: bool = False,
) -> Figure | None:  # fmt: skip
    """Curves over a number; each ends in a dot, or has one at every point."""
    points = [point for curve in series.values() for point in curve]
    if not points:
        return None
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    plot = Plot()
    scale = _Scale(min(0.0, *(y for _, y in points)), max(y for _, y in points), format_y)
    scale.grid(plot)
    wide = scale.wide / ((last - first) or 1)
    for place, (name, curve) in enumerate(series.items()):
        at = [(scale.left + wide * (x - first), scale.y(y)) for x, y in curve]
        ends = [
            (_at(spot[0]), _at(spot[1]), "2.6", f"{name}: {format_x(x)}, {format_y(y)}")
            for spot, (x, y) in zip(at, curve, strict=True)
        ]
        plot.curves.append((_path(at), _colour(place), ends if dots else ends[-1:]))
    for x in _marks(first, last) if marks is None else marks:
        plot.label(scale.left + wide * (x - first), format_x(x))
    return Figure(plot, caption, note, tuple(series))


def columns(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, format_y: Format,
    caption: str, note: str = "", stacked: bool = True,
) -> Figure | None:  # fmt: skip
    """Columns on one another, those below zero hanging; or all on the base, seen through."""
    if not labels or not series:
        return None
    join = sum if stacked else max
    ups = [join(max(v[at], 0) for v in series.values()) for at in range(len(labels))]
    downs = [-join(max(-v[at], 0) for v in series.values()) for at in range(len(labels))]
    plot, scale = Plot(), _Scale(min(0.0, *downs), max(0.0, *ups), format_y)
    scale.grid(plot)
    wide = scale.wide / len(labels)
    stacks = [[0.0, 0.0] for _ in labels]
    for place, (name, values) in enumerate(series.items()):
        kind = _colour(place) if stacked else f"{_colour(place)} through"
        for at, value in enumerate(values):
            stack = stacks[at] if stacked else [0.0, 0.0]
            side = 0 if value >= 0 else 1
            top, foot = sorted((scale.y(stack[side]), scale.y(stack[side] + value)))
            stack[side] += value
            if foot - top >= 0.05:  # thinner than any screen shows
                title = f"{name}, {labels[at]}: {format_y(value)}"
                plot.bar(scale.left + wide * (at + 0.14), top, (wide * 0.72, foot - top), kind,
                         title)  # fmt: skip
    plot.axes.append(scale.rule(0, "base"))
    every = math.ceil(len(labels) / 9)
    for at, label in enumerate(labels):
        if (len(labels) - 1 - at) % every == 0:
            plot.label(scale.left + wide * (at + 0.5), label)
    return Figure(plot, caption, note, tuple(series))


def heat_map(
    down: Sequence[str], across: Sequence[str], values: Mapping[tuple[str, str], float], *,
    format_value: Format, caption: str, note: str = "",
) -> Figure | None:  # fmt: skip
    """Shares as shaded cells with their figures, rows down and columns across."""
    if not values:
        return None
    left = GAP + math.ceil(LETTER * max(map(len, down)))
    wide, tall = (WIDTH - left - GAP) / len(across), 26
    plot = Plot(height=tall * (len(down) + 1) + GAP)
    for place, name in enumerate(across):
        plot.texts.append((_at(left + wide * (place + 0.5)), _at(tall - 9), "middle", name, ""))
    for line, name in enumerate(down):
        top = tall * (line + 1)
        plot.texts.append((_at(left - GAP), _at(top + 17), "end", name, ""))
        for place, other in enumerate(across):
            if (name, other) in values:
                depth = heat(math.sqrt(max(values[name, other], 0.0)))
                text, x = format_value(values[name, other]), left + wide * place
                plot.bar(x, top, (wide - 1, tall - 1), depth, f"{name}, {other}: {text}")
                ink = "light" if depth in ("h8", "h9", "h10") else "dark"
                plot.texts.append((_at(x + wide / 2), _at(top + 17), "middle", text, ink))
    return Figure(plot, caption, note)


def heat(share: float) -> str:
    """The class of the shade of a share, in eleven steps."""
    return f"h{round(10 * min(max(share, 0.0), 1.0))}"


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers from at most the lowest to at least the highest value."""
    reach = (high - low) or abs(high) or 1.0
    size = 10.0 ** math.floor(math.log10(reach / wanted))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if reach / (size * n) <= wanted)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [round(step * n, 12) for n in range(first, max(last, first + 1) + 1)]


class _Scale:
    """Heights of values, right of the words that name them."""

    def __init__(self, low: float, high: float, format_y: Format) -> None:
        self.ticks = ticks(low, high)
        self.low, self.high = self.ticks[0], self.ticks[-1]
        self.words = [format_y(each) for each in self.ticks]
        self.left = max(RIGHT, GAP + math.ceil(LETTER * max(map(len, self.words))))
        self.wide = WIDTH - self.left - RIGHT

    def y(self, value: float) -> float:
        reach = HEIGHT - TOP - BOTTOM
        return TOP + reach * (self.high - value) / (self.high - self.low)

    def rule(self, value: float, kind: str) -> tuple[str, str, str, str, str]:
        y = _at(self.y(value))
        return str(self.left), y, str(WIDTH - RIGHT), y, kind

    def grid(self, plot: Plot) -> None:
        for each, word in zip(self.ticks, self.words, strict=True):
            plot.rules.append(self.rule(each, "grid"))
            y = _at(self.y(each) + 3.5)
            plot.texts.append((str(self.left - GAP), y, "end", word, ""))


@cache
def _plain_style() -> Markup:
    """The style of charts for a file: variables replaced by their values on white paper."""
    home = Path(__file__).parent
    root = (home / "style.css").read_text("utf-8").partition("}")[0]
    values = dict(re.findall(r"(--\w+):\s*([^;]+);", root))
    rules = (home / "charts.css").read_text("utf-8")
    return Markup(_VARIABLE.sub(lambda found: values[found[1]], rules))  # noqa: S704 -- our own file


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_at(x)},{_at(y)}" for x, y in points)


def _marks(first: float, last: float) -> list[float]:
    """Whole numbers along the bottom, eight at most."""
    step = max(1, math.ceil((last - first) / 8))
    return [float(n) for n in range(math.ceil(first), math.floor(last) + 1, step)]


def _colour(place: int) -> str:
    return f"s{place % COLOURS}"


def _at(position: float) -> str:
    return f"{position:.1f}".removesuffix(".0")
