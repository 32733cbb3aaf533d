"""Vintage curves drawn as SVG, without a browser and without a network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from usance.disclose.facts import Fact

_NUMBER = re.compile(r"\d+")
COLOURS = (
    "#0b5c6b", "#b5482a", "#6a8532", "#8a6bb0", "#c79a2b", "#3f8f8a", "#8c3b5e", "#5b6b7a",
    "#a3763f", "#2f6d3a", "#c26b8d", "#41528f",
)  # fmt: skip
_STYLE = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {"gridColor": "#e6e9ed", "domainColor": "#98a2b3", "tickColor": "#98a2b3",
             "labelColor": "#475467", "titleColor": "#475467", "labelFontSize": 10,
             "titleFontSize": 11, "titleFontWeight": "normal", "titlePadding": 8},
    "legend": {"labelFontSize": 10, "titleFontSize": 10, "titleFontWeight": "normal",
               "labelColor": "#475467", "titleColor": "#475467", "symbolStrokeWidth": 2.5},
    "range": {"category": list(COLOURS)},
}  # fmt: skip


def chart_of(facts: Sequence[Fact], texts: Mapping[str, Any]) -> str:
    """A curve for each column of a table whose lines end in a month on book."""
    import json

    import vl_convert

    values = [
        {"quarter": fact.statement.partition(":")[2], "month": int(found[0]),
         "share": float(fact.value) / 100}
        for fact in facts
        if fact.is_number and (found := _NUMBER.search(fact.line))
    ]  # fmt: skip
    if not values:
        return ""
    words, numbers = texts["chart"], texts["numbers"]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": _STYLE,
        "width": 620, "height": 280, "padding": 10, "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 1.8, "point": {"size": 14}},
        "encoding": {
            "x": {"field": "month", "type": "quantitative", "title": words["along"],
                  "axis": {"tickMinStep": 1, "grid": False}},
            "y": {"field": "share", "type": "quantitative", "title": words["of"],
                  "axis": {"format": ".1%", "tickCount": 6}},
            "color": {"field": "quarter", "type": "nominal", "sort": None, "title": words["by"]},
        },
    }  # fmt: skip
    locale = {"decimal": numbers["point"], "thousands": numbers["group"], "grouping": [3],
              "currency": ["", ""]}  # fmt: skip
    drawn: str = vl_convert.vegalite_to_svg(json.dumps(spec), format_locale=locale)
    return drawn
