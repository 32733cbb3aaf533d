"""The charts of a pack, as SVG made without a browser and without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from usance.measure.tape.report import TapeReport

WIDTH, HEIGHT = 560, 240
_STYLE = {
    "font": "Georgia, 'Times New Roman', serif",
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {"grid": True, "gridColor": "#e4e4e0", "domainColor": "#777", "tickColor": "#777",
             "labelFontSize": 10, "titleFontSize": 11, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 10, "titleFontSize": 10, "titleFontWeight": "normal"},
    "range": {"category": ["#14506b", "#b5482a", "#6a8532", "#8a6bb0", "#c79a2b", "#3f8f8a",
                           "#8c3b5e", "#5b6b7a", "#a3763f", "#2f6d3a", "#c26b8d", "#41528f"]},
}  # fmt: skip

MAX_LINES = 12
"""Lines that can be told apart in one chart; of more cohorts the youngest are drawn."""


def charts(pack: TapeReport) -> dict[str, str]:
    """Every chart there is data for, by name, as SVG text."""
    specs = {
        **{f"vintage_{days}": _vintage(pack, days) for days in pack.mapping.vintages},
        **{f"ever_{days}": _ever(pack, days) for days in pack.mapping.ever},
        "roll_rates": _rolls(pack),
        "matrix": _matrix(pack),
        "waterfall": _waterfall(pack),
    }
    return {name: svg(spec) for name, spec in specs.items() if spec is not None}


def svg(spec: dict[str, Any]) -> str:
    """A Vega-Lite drawing as SVG."""
    import vl_convert

    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": _STYLE, **spec}
    drawn: str = vl_convert.vegalite_to_svg(json.dumps(whole))
    return drawn


def _vintage(pack: TapeReport, days: int) -> dict[str, Any] | None:
    rows = [
        {"cohort": pack.cohort(row["cohort"]), "month": row["mob"], "rate": row["rate"]}
        for row in pack.records("vintages")
        if not row["segment"]
        and row["days"] == days
        and row["complete"]
        and row["rate"] is not None
    ]
    return lines(rows, "cohort", "month", "month on book", f"more than {days} days, of principal")


def _ever(pack: TapeReport, days: int) -> dict[str, Any] | None:
    rows = [
        {"cohort": pack.cohort(row["cohort"]), "month": row["mob"], "rate": row["rate"]}
        for row in pack.records("ever")
        if not row["segment"] and row["days"] == days and row["rate"] is not None
    ]
    return lines(rows, "cohort", "month", "month on book", f"ever more than {days} days, of loans")


def _rolls(pack: TapeReport) -> dict[str, Any] | None:
    rows = [
        {"roll": f"{row['from']} to {row['to']}", "month": row["month"],
         "shown": pack.month(row["month"]), "rate": row["rate_of_balance"]}
        for row in pack.records("roll_rates")
        if not row["segment"] and row["rate_of_balance"] is not None
    ]  # fmt: skip
    return lines(rows, "roll", "shown", "month", "balance of the balance a bucket earlier")


def lines(
    rows: Sequence[dict[str, Any]], by: str, along: str, x_title: str, y_title: str
) -> dict[str, Any] | None:
    """Lines of a rate, one per cohort or bucket."""
    names = list(dict.fromkeys(row[by] for row in rows))[-MAX_LINES:]
    kept = [row for row in rows if row[by] in names]
    if not kept:
        return None
    ordinal = along == "shown"
    x_axis: dict[str, Any] = {"field": along, "type": "ordinal" if ordinal else "quantitative",
                              "title": x_title}  # fmt: skip
    if ordinal:
        shown = list(dict.fromkeys(row[along] for row in kept))
        step = len(shown) // 10 + 1
        x_axis |= {"sort": None, "axis": {"values": shown[::step], "labelAngle": -40}}
    return {
        "width": WIDTH, "height": HEIGHT, "data": {"values": kept},
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {
            "x": x_axis,
            "y": {"field": "rate", "type": "quantitative", "title": y_title,
                  "axis": {"format": ".1%"}},
            "color": {"field": by, "type": "nominal", "sort": names, "title": by},
        },
    }  # fmt: skip


def _matrix(pack: TapeReport) -> dict[str, Any] | None:
    rows = [
        {"from": row["from"], "to": row["to"], "share": row["share_of_loans"]}
        for row in pack.records("matrix")
        if not row["segment"] and row["share_of_loans"] is not None
    ]
    if not rows:
        return None
    labels = [state.label for state in pack.mapping.states]
    place = {
        "x": {"field": "to", "type": "nominal", "sort": labels, "title": "at the month end",
              "axis": {"labelAngle": -30, "orient": "top", "grid": False}},
        "y": {"field": "from", "type": "nominal", "sort": labels, "title": "a month earlier",
              "axis": {"grid": False}},
    }  # fmt: skip
    shades = {"type": "sqrt", "range": ["#fbfaf6", "#14506b"], "domain": [0, 1]}
    colour = {"field": "share", "type": "quantitative", "legend": None, "scale": shades}
    text = {"field": "share", "type": "quantitative", "format": ".1%"}
    ink = {"condition": {"test": "datum.share > 0.35", "value": "white"}, "value": "#333"}
    return {
        "width": WIDTH, "height": 30 * len(labels), "data": {"values": rows},
        "layer": [
            {"mark": "rect", "encoding": {**place, "color": colour}},
            {"mark": {"type": "text", "fontSize": 9},
             "encoding": {**place, "text": text, "color": ink}},
        ],
    }  # fmt: skip


def _waterfall(pack: TapeReport) -> dict[str, Any] | None:
    rows = [row for row in pack.records("waterfall") if not row["segment"]]
    if len(rows) < 2:
        return None
    values = list(_bars(rows[1:]))
    scale = 10**pack.mapping.currency.exponent if pack.has_money else 1
    unit = f"million {pack.mapping.currency.label}" if pack.has_money else "accounts"
    size = scale * 1_000_000 if pack.has_money else 1
    values = [value | {"amount": value["amount"] / size} for value in values]
    shown = [pack.month(row["month"]) for row in rows]
    return {
        "width": WIDTH, "height": HEIGHT, "data": {"values": [
            value | {"shown": pack.month(value["month"])} for value in values]},
        "mark": "bar",
        "encoding": {
            "x": {"field": "shown", "type": "ordinal", "sort": None, "title": "month",
                  "axis": {"values": shown[:: len(shown) // 10 + 1], "labelAngle": -40}},
            "y": {"field": "amount", "type": "quantitative", "title": unit},
            "color": {"field": "flow", "type": "nominal", "title": "flow"},
        },
    }  # fmt: skip


def _bars(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for row in rows:
        for flow in ("new", "drawn", "returned", "repaid", "charged_off", "gone"):
            if row[flow]:
                yield {"month": row["month"], "flow": flow, "amount": row[flow]}
