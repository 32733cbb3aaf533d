"""The investigation report as one HTML page: no script, nothing from elsewhere, text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from usance.base.command_line import number

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; color: #1c2b2b; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid #9cc; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .6rem; }
tr:nth-child(even) { background: #f2f7f7; } td.n { text-align: right; }
.warn { background: #fff3d6; padding: .5rem 1rem; } small { color: #566; }
"""


def page(report: Mapping[str, Any]) -> str:
    """The whole page."""
    title, currency = "Pre-loan investigation report", report["currency"]
    body = "".join(
        [
            f"<h1>{title}</h1>",
            _about(report),
            _warnings(report["warnings"]),
            _pairs("Assessment", report["assessment"], currency),
            _pairs("Suggested", report["suggested"], currency),
            _reasons(report["reasons"]),
            _pairs("Capacity", report["capacity"], currency),
            *(_section(name, figures, currency) for name, figures in report["sections"].items()),
            _rows("Consent", report["consents"]),
            _versions(report["versions"]),
            _rows("Path", [dict(zip(("stage", "table", "rule"), s, strict=True))
                           for s in report["path"]]),
        ]
    )  # fmt: skip
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _about(report: Mapping[str, Any]) -> str:
    parts = (report["user"], f"decision {report['decision']}", f"made {report['made_at']}")
    return f"<p>{_t(', '.join(parts))}</p>"


def _t(value: Any) -> str:
    return escape("not known" if value is None else str(value))


def _title(name: str) -> str:
    plain = name.removesuffix("_minor").removesuffix("_ppm").replace("_", " ")
    return escape("Probability of default" if plain == "pd" else plain.capitalize())


def _value(name: str, value: Any, currency: str) -> str:
    """A figure as people read it: amounts in major units, parts per million in percent."""
    if type(value) is bool:
        return "yes" if value else "no"
    if type(value) is int and name.endswith("_minor"):
        return escape(f"{number(value, currency)} {currency}")
    if type(value) is int and name.endswith("_ppm"):
        return f"{value // 10_000}.{value // 100 % 100:02} %"
    return _t(value)


def _warnings(warnings: Iterable[str]) -> str:
    items = "".join(f"<li>{_t(each)}</li>" for each in warnings)
    return f'<div class="warn"><strong>Warnings</strong><ul>{items}</ul></div>' if items else ""


def _pairs(title: str, pairs: Mapping[str, Any], currency: str = "") -> str:
    rows = "".join(
        f'<tr><th>{_title(name)}</th><td class="n">{_value(name, value, currency)}</td></tr>'
        for name, value in pairs.items()
    )
    return f"<h2>{_title(title)}</h2><table>{rows}</table>"


def _reasons(reasons: Iterable[Mapping[str, Any]]) -> str:
    items = "".join(
        f"<li>{_t(each['text'])} <small>{_t(each['advice'])}</small></li>" for each in reasons
    )
    return f"<h2>Reasons</h2><ol>{items}</ol>" if items else ""


def _section(name: str, figures: Iterable[Mapping[str, Any]], currency: str) -> str:
    rows = "".join(
        f'<tr><th>{_title(figure["name"])}</th><td class="n">{_figure(figure, currency)}</td>'
        f"<td><small>{_origin(figure)}</small></td></tr>"
        for figure in figures
    )
    return f"<h2>{_title(name)}</h2><table>{rows}</table>"


def _figure(figure: Mapping[str, Any], currency: str) -> str:
    """The value, or what a special code means."""
    return (
        _t(figure["means"])
        if figure["means"]
        else _value(figure["name"], figure["value"], currency)
    )


def _origin(figure: Mapping[str, Any]) -> str:
    parts = [str(figure["source"])]
    if "records" in figure:
        count = figure["records"]
        parts.append(f"{count} record{'' if count == 1 else 's'}")
    if figure.get("last_booked_at"):
        parts.append(f"booked {figure['last_booked_at']}")
    parts += [", ".join(figure["from"])] if figure.get("from") else []
    return escape("; ".join(parts))


def _rows(title: str, rows: Iterable[Mapping[str, Any]]) -> str:
    listed = list(rows)
    head = "".join(f"<th>{_title(name)}</th>" for name in (listed[0] if listed else {}))
    body = "".join(
        "<tr>" + "".join(f"<td>{_t(value)}</td>" for value in row.values()) + "</tr>"
        for row in listed
    )
    return f"<h2>{_title(title)}</h2><table><tr>{head}</tr>{body}</table>"


def _versions(versions: Mapping[str, Any]) -> str:
    flow = versions["flow"]
    return _pairs(
        "Versions",
        {"flow": f"{flow['name']} {flow['number']}", "content": flow["sha256"],
         "in force from": versions["valid_from"], "model": versions["model_no"] or "none"},
    )  # fmt: skip
