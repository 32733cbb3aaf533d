"""Flows between stages as ribbons: amounts that come from one side and go to another.

>>> flows = {("instalment", "bank"): 60.0, ("instalment", "trust"): 20.0, ("sme", "bank"): 20.0}
>>> chart = sankey([flows], format_value=lambda value: f"{value:.0f}", caption="Flow")
>>> len(chart.ribbons), [text for _, _, _, text, _ in chart.plot.texts]
(3, ['instalment', 'sme', 'bank', 'trust'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from usance.pages.charts import COLOURS, Format, Plot
from usance.pages.rendering import macro

WIDTH, HEIGHT, THICK, GAP, LEFT = 720, 340, 12, 8, 4
ROOM = 150
"""Width of the names at the right end."""
Flows = Mapping[tuple[str, str], float]


class Ribbon(NamedTuple):
    """A flow between two stops."""

    path: str
    kind: str
    title: str


@dataclass(frozen=True)
class Sankey:
    """A chart of flows with its caption, and the same figures as rows."""

    plot: Plot
    ribbons: tuple[Ribbon, ...]
    rows: tuple[tuple[str, str, str], ...]
    caption: str
    note: str = ""

    def __html__(self) -> str:
        """The chart inside a page, with its table behind it."""
        made: str = macro("charts.html.j2", "sankey")(self)
        return made


def sankey(
    stages: Sequence[Flows], *, format_value: Format, caption: str, note: str = ""
) -> Sankey | None:
    """Ribbons from stage to stage; the largest stops stand on top. Nothing for no flow."""
    flows = [{pair: value for pair, value in stage.items() if value > 0} for stage in stages]
    if not any(flows):
        return None
    columns = [_sums(flows[0], 0), *(_sums(stage, 1) for stage in flows)]
    whole = max(sum(column.values()) for column in columns)
    most = max(len(column) for column in columns)
    scale = (HEIGHT - GAP * (most - 1)) / whole
    step = (WIDTH - ROOM - THICK - LEFT) / (len(columns) - 1)
    plot = Plot(WIDTH, HEIGHT)
    tops: list[dict[str, float]] = []
    colours = {name: f"s{at % COLOURS}" for at, name in enumerate(
        dict.fromkeys(name for column in columns for name in column))}  # fmt: skip
    for place, column in enumerate(columns):
        y, x = 0.0, LEFT + step * place
        tops.append({})
        for name, value in column.items():
            tops[-1][name] = y
            tall = value * scale
            title = f"{name}: {format_value(value)}"
            plot.bar(x, y, (THICK, max(tall, 1)), colours[name], title)
            plot.texts.append((_at(x + THICK + 5), _at(y + tall / 2 + 4), "start", name, "dark"))
            y += tall + GAP
    ribbons = [
        ribbon for place, stage in enumerate(flows)
        for ribbon in _ribbons(stage, tops[place : place + 2], scale, colours,
                               (LEFT + step * place + THICK, LEFT + step * (place + 1)),
                               format_value)
    ]  # fmt: skip
    ordered = [sorted(stage.items(), key=lambda each: -each[1]) for stage in flows]
    rows = tuple((*pair, format_value(value)) for stage in ordered for pair, value in stage)
    return Sankey(plot, tuple(ribbons), rows, caption, note)


def _sums(flows: Flows, side: int) -> dict[str, float]:
    """Sums of one side, the largest first."""
    found: dict[str, float] = {}
    for pair, value in flows.items():
        found[pair[side]] = found.get(pair[side], 0.0) + value
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _ribbons(
    flows: Flows, tops: Sequence[Mapping[str, float]], scale: float, colours: Mapping[str, str],
    span: tuple[float, float], format_value: Format,
) -> list[Ribbon]:  # fmt: skip
    used = [dict(tops[0]), dict(tops[1])]
    order = {side: list(tops[side]) for side in (0, 1)}
    made = []
    for (left, right), value in sorted(
        flows.items(), key=lambda each: (order[0].index(each[0][0]), order[1].index(each[0][1]))
    ):
        tall, (x1, x2) = value * scale, span
        y1, y2, middle = used[0][left], used[1][right], (span[0] + span[1]) / 2
        used[0][left] += tall
        used[1][right] += tall
        path = (
            f"M{_at(x1)},{_at(y1)}C{_at(middle)},{_at(y1)} {_at(middle)},{_at(y2)} "
            f"{_at(x2)},{_at(y2)}"
            f"V{_at(y2 + tall)}C{_at(middle)},{_at(y2 + tall)} {_at(middle)},{_at(y1 + tall)} "
            f"{_at(x1)},{_at(y1 + tall)}Z"
        )
        made.append(Ribbon(path, colours[left], f"{left} → {right}: {format_value(value)}"))
    return made


def _at(position: float) -> str:
    return f"{position:.1f}".removesuffix(".0")
