"""Pre-loan investigation report: one page an institution reads before it decides on a loan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from usance.base.command_line import number as print_amount
from usance.pages.components import cell, number, table, table_row, text_table
from usance.pages.rendering import render


def pre_loan_report(report: Mapping[str, Any]) -> str:
    """The whole page."""
    currency, versions = report["currency"], report["versions"]
    flow = versions["flow"]
    used = {"flow": f"{flow['name']} {flow['number']}", "content": flow["sha256"],
            "in force from": versions["valid_from"],
            "model": versions["model_no"] or "none"}  # fmt: skip
    path = [dict(zip(("stage", "table", "rule"), step, strict=True)) for step in report["path"]]
    before = [("Assessment", _pairs(report["assessment"], currency)),
              ("Suggested", _pairs(report["suggested"], currency))]  # fmt: skip
    after = [
        ("Capacity", _pairs(report["capacity"], currency)),
        *((_title(name), _section(figures, currency))
          for name, figures in report["sections"].items()),
        ("Consent", _rows(report["consents"])), ("Versions", _pairs(used, "")),
        ("Path", _rows(path)),
    ]  # fmt: skip
    about = ", ".join((report["user"], f"decision {report['decision']}",
                       f"made {report['made_at']}"))  # fmt: skip
    return render(
        "reports/pre_loan_report.html.j2", title="Pre-loan investigation report", about=about,
        warnings=report["warnings"], before=before, reasons=report["reasons"], after=after,
    )  # fmt: skip


def report_rows(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """Every figure of the page as one row: its part, name, value and source."""
    currency = report["currency"]
    parts = {"Assessment": report["assessment"], "Suggested": report["suggested"],
             "Capacity": report["capacity"]}  # fmt: skip
    rows = [
        {"part": part, "name": _title(name), "value": _value(name, value, currency), "source": ""}
        for part, pairs in parts.items() for name, value in pairs.items()
    ]  # fmt: skip
    rows += [
        {"part": _title(section), "name": _title(each["name"]), "source": _origin(each),
         "value": str(each["means"] or _value(each["name"], each["value"], currency))}
        for section, figures in report["sections"].items() for each in figures
    ]  # fmt: skip
    return rows + [
        {"part": "Consent", "name": _text(each["purpose"]), "value": _text(each["since"]),
         "source": _text(each["text_version"])}
        for each in report["consents"]
    ]  # fmt: skip


def _title(name: str) -> str:
    plain = name.removesuffix("_minor").removesuffix("_ppm").replace("_", " ")
    return "Probability of default" if plain == "pd" else plain.capitalize()


def _text(value: Any) -> str:
    return "not known" if value is None else str(value)


def _value(name: str, value: Any, currency: str) -> str:
    """A figure as people read it: amounts in major units, parts per million in percent."""
    if type(value) is bool:
        return "yes" if value else "no"
    if type(value) is int and name.endswith("_minor"):
        return f"{print_amount(value, currency)} {currency}"
    if type(value) is int and name.endswith("_ppm"):
        return f"{value // 10_000}.{value // 100 % 100:02} %"
    return _text(value)


def _pairs(pairs: Mapping[str, Any], currency: str) -> Markup:
    rows = [(_title(name), _value(name, value, currency)) for name, value in pairs.items()]
    return text_table(["", ""], rows)


def _section(figures: Sequence[Mapping[str, Any]], currency: str) -> Markup:
    rows = [
        table_row([
            cell(_title(each["name"])),
            number(each["means"] or _value(each["name"], each["value"], currency)),
            cell(_origin(each), kind="quiet"),
        ])
        for each in figures
    ]  # fmt: skip
    return table(["", "", "source"], rows, numbers=[1])


def _origin(figure: Mapping[str, Any]) -> str:
    parts = [str(figure["source"])]
    if "records" in figure:
        count = figure["records"]
        parts.append(f"{count} record{'' if count == 1 else 's'}")
    if figure.get("last_booked_at"):
        parts.append(f"booked {figure['last_booked_at']}")
    parts += [", ".join(figure["from"])] if figure.get("from") else []
    return "; ".join(parts)


def _rows(rows: Sequence[Mapping[str, Any]]) -> Markup:
    headings = [_title(name) for name in (rows[0] if rows else {})]
    return text_table(headings, [[_text(each) for each in row.values()] for row in rows],
                      numbers=())  # fmt: skip
