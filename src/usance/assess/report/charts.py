"""Small charts as SVG text: nothing to load, sharp on paper.

>>> bars([1, 2], [2, 1], ["500", "520"]).count("<rect")
4
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

WIDTH, HEIGHT, MARGIN = 460, 240, 34
GOOD, BAD, INK, SOFT, GRID = "#2a7f78", "#c8553d", "#44505c", "#9aa5ad", "#e9edef"


def calibration(points: Sequence[tuple[float, float]]) -> str:
    """Stated against observed bad rates; a true model lies on the diagonal."""
    most = max(0.01, *(max(pair) for pair in points)) * 1.05
    marks = ticks(most)
    place = [(_x(said / most), _y(seen / most)) for said, seen in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in place)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{GOOD}"/>' for x, y in place)
    diagonal = _line((_x(0), _y(0)), (_x(1), _y(1)), SOFT, 1)
    across = "".join(_text(_x(mark / most), HEIGHT - 12, _share(mark)) for mark in marks)
    path = f'<polyline points="{line}" fill="none" stroke="{GOOD}" stroke-width="2"/>'
    return _svg(_grid(most) + _axes() + diagonal + path + dots + across, "Stated and observed")


def bars(goods: Sequence[int], bads: Sequence[int], labels: Sequence[str]) -> str:
    """Two distributions over the same bands, each as shares of its own."""
    shares = [[each / max(1, sum(side)) for each in side] for side in (goods, bads)]
    most = max(0.01, *(max(side) for side in shares))
    step = (WIDTH - 2 * MARGIN) / len(goods)
    drawn = ""
    for side, colour in zip(shares, (GOOD, BAD), strict=True):
        for at, share in enumerate(side):
            tall = (HEIGHT - 2 * MARGIN) * share / most
            drawn += (
                f'<rect x="{MARGIN + at * step:.1f}" y="{HEIGHT - MARGIN - tall:.1f}" '
                f'width="{step * 0.92:.1f}" height="{tall:.1f}" fill="{colour}" '
                'fill-opacity="0.55"/>'
            )
    every = max(1, len(labels) // 6)
    below = "".join(
        _text(MARGIN + at * step, HEIGHT - 12, label)
        for at, label in enumerate(labels)
        if at % every == 0
    )
    return _svg(_grid(most) + drawn + _axes() + below, "Scores of goods and bads")


def lines(series: Sequence[tuple[str, Sequence[float]]], labels: Sequence[str]) -> str:
    """One or two series over months."""
    most = max(0.01, *(max(values) for _, values in series)) * 1.1
    drawn = ""
    for (_, values), colour in zip(series, (GOOD, BAD), strict=False):
        last = max(1, len(values) - 1)
        dots = [(_x(at / last), _y(value / most)) for at, value in enumerate(values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        drawn += f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    every = max(1, len(labels) // 5)
    last = max(1, len(labels) - 1)
    below = "".join(
        _text(_x(at / last), HEIGHT - 12, label)
        for at, label in enumerate(labels)
        if at % every == 0
    )
    return _svg(_grid(most) + _axes() + drawn + below, "By month")


def ticks(most: float) -> list[float]:
    """Three to six round marks up to a value.

    >>> ticks(0.69), ticks(0.042)
    ([0.2, 0.4, 0.6], [0.01, 0.02, 0.03, 0.04])
    """
    size = 10.0 ** floor(log10(most))
    step = next(unit * size for unit in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (unit * size) <= 6)
    return [round(at * step, 6) for at in range(1, int(most / step + 1e-9) + 1)]


def _share(value: float) -> str:
    return f"{value:.3g}%" if (value := value * 100) < 1 else f"{value:.0f}%"


def _grid(most: float) -> str:
    """Faint lines across with their shares at the left."""
    return "".join(
        _line((MARGIN, _y(mark / most)), (WIDTH - MARGIN, _y(mark / most)), GRID, 1)
        + _text(MARGIN - 5, _y(mark / most) + 4, _share(mark), "end")
        for mark in ticks(most)
    )


def _svg(inside: str, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
        f"<title>{title}</title>{inside}</svg>"
    )


def _axes() -> str:
    floor, left = HEIGHT - MARGIN, MARGIN
    return _line((left, floor), (WIDTH - MARGIN, floor), INK, 1) + _line(
        (left, MARGIN / 2), (left, floor), INK, 1
    )


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, wide: int) -> str:
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{wide}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{INK}" text-anchor="{anchor}">'
        f"{text}</text>"
    )


def _x(share: float) -> float:
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def _y(share: float) -> float:
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)
