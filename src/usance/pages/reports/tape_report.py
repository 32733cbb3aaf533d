"""Report of a loan tape: its charts as SVG files, and one page with charts and tables.

Metrics that run along months on book are drawn as curves, in SVG files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from usance.measure.metrics import AS_REPORTED, Result
from usance.measure.tape.report import TapeReport
from usance.pages import charts
from usance.pages.charts import Figure
from usance.pages.components import text_table
from usance.pages.numbers import percent as per_cent
from usance.pages.rendering import render

MAX_LINES = 12
"""Lines that can be told apart in one chart; of more cohorts the youngest are drawn."""
_MONTHS_ON_BOOK = (0, 3, 6, 9, 12, 18, 24, 36, 48, 60)
_FLOWS = ("new", "drawn", "returned", "repaid", "charged_off", "gone")
_MAX_FINDINGS = 200


def tape_files(report: TapeReport) -> dict[str, str]:
    """Every chart there are data for, and the page `index.html`, by file name."""
    drawn = tape_charts(report)
    files = {f"{name}.svg": each.file() for name, each in drawn.items()}
    return {**files, "index.html": _page(report, drawn)}


def tape_charts(report: TapeReport) -> dict[str, Figure]:
    """Every chart there are data for, by name."""
    made = {
        **{f"vintage_{days}": _vintage(report, days) for days in report.mapping.vintages},
        **{f"ever_{days}": _ever(report, days) for days in report.mapping.ever},
        "roll_rates": _rolls(report),
        "matrix": _matrix(report),
        "waterfall": _waterfall(report),
    }
    return {name: each for name, each in made.items() if each is not None}


def rate_curves(
    rows: Iterable[tuple[str, int, float]], *, caption: str, note: str
) -> Figure | None:
    """Curves of a rate by month on book, one for each cohort: name, month and rate."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, month, rate in rows:
        curves.setdefault(name, []).append((float(month), rate))
    kept = dict(list(curves.items())[-MAX_LINES:])
    return charts.lines(kept, format_y=_rate, format_x=lambda x: f"{x:.0f}", caption=caption,
                        note=note)  # fmt: skip


def percent(rate: float | None) -> str:
    """A rate for people; a share of nothing has no data.

    >>> percent(0.01042), percent(None)
    ('1.04%', 'no data')
    """
    return "no data" if rate is None else f"{rate:.2%}"


def _rate(value: float) -> str:
    return per_cent(value, 1)


def _vintage(report: TapeReport, days: int) -> Figure | None:
    rows = [
        (report.cohort(row["cohort"]), row["mob"], row["rate"])
        for row in report.records("vintages")
        if not row["segment"] and row["days"] == days and row["complete"]
        and row["rate"] is not None
    ]  # fmt: skip
    caption = f"More than {days} days past due, by cohort"
    return rate_curves(rows, caption=caption, note="share of principal, by month on book")


def _ever(report: TapeReport, days: int) -> Figure | None:
    rows = [
        (report.cohort(row["cohort"]), row["mob"], row["rate"])
        for row in report.records("ever")
        if not row["segment"] and row["days"] == days and row["rate"] is not None
    ]
    caption = f"Ever more than {days} days past due, by cohort"
    return rate_curves(rows, caption=caption, note="share of loans, by month on book")


def _rolls(report: TapeReport) -> Figure | None:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in report.records("roll_rates"):
        if not row["segment"] and row["rate_of_balance"] is not None:
            name = f"{row['from']} to {row['to']}"
            curves.setdefault(name, []).append((row["month"], row["rate_of_balance"]))
    return charts.lines(
        dict(list(curves.items())[-MAX_LINES:]), format_y=_rate,
        format_x=lambda x: report.month(round(x)), caption="Roll rates by month",
        note="balance over the balance a bucket earlier",
    )  # fmt: skip


def _matrix(report: TapeReport) -> Figure | None:
    values = {
        (row["from"], row["to"]): row["share_of_loans"]
        for row in report.records("matrix")
        if not row["segment"] and row["share_of_loans"] is not None
    }
    labels = [state.label for state in report.mapping.states]
    down = [each for each in labels if any(first == each for first, _ in values)]
    return charts.heat_map(down, labels, values, format_value=_rate, caption="Transitions",
                           note="from a month earlier, down, to the month end, across")  # fmt: skip


def _waterfall(report: TapeReport) -> Figure | None:
    rows = [row for row in report.records("waterfall") if not row["segment"]][1:]
    size = 10**report.mapping.currency.exponent * 1_000_000 if report.has_money else 1
    unit = f"million {report.mapping.currency.label}" if report.has_money else "accounts"
    series = {
        flow.replace("_", " "): [row[flow] / size for row in rows]
        for flow in _FLOWS if any(row[flow] for row in rows)
    }  # fmt: skip
    return charts.columns([report.month(row["month"]) for row in rows], series,
                          format_y=lambda y: f"{y:,.6g}", caption="Movements of the balance",
                          note=unit)  # fmt: skip


def _page(report: TapeReport, drawn: Mapping[str, Figure]) -> str:
    return render(
        "reports/tape_report.html.j2", title=report.mapping.title, tiles=_tiles(report),
        drawn=drawn,
        vintages=[(days, _by_age(report, "vintages", days)) for days in report.mapping.vintages],
        ever=[(days, _by_age(report, "ever", days)) for days in report.mapping.ever],
        matrix=_by_balance(report), cohorts=_cohorts(report), waterfall=_months(report),
        findings=_findings(report),
    )  # fmt: skip


def _tiles(report: TapeReport) -> list[tuple[str, str]]:
    months = [row["month"] for row in report.records("waterfall") if not row["segment"]]
    return [
        ("loans", f"{report.loans:,}"),
        ("loan-months", f"{report.rows:,}"),
        ("months", f"{report.month(min(months))} to {report.month(max(months))}"),
        *((f"ever more than {days} days past due", f"{count:,}")
          for days, count in report.ever.items()),
        ("gaps", f"{report.tables['gaps'].num_rows:,}"),
        ("rows not used", f"{report.unused:,}"),
    ]  # fmt: skip


def _by_age(report: TapeReport, name: str, days: int) -> Markup:
    """Rates of cohorts by month on book, as far as all of a cohort has come."""
    rows = [
        row for row in report.records(name)
        if not row["segment"] and row["days"] == days
        and (row["complete"] if name == "vintages" else row["rate"] is not None)
    ]  # fmt: skip
    cells = {(row["cohort"], row["mob"]): percent(row["rate"]) for row in rows}
    sizes = {row["cohort"]: f"{row['loans']:,}" for row in rows}
    ages = [mob for mob in _MONTHS_ON_BOOK if any(age == mob for _, age in cells)]
    return text_table(
        ["cohort", "loans", *(f"month {mob}" for mob in ages)],
        [[report.cohort(cohort), sizes[cohort], *(cells.get((cohort, mob), "") for mob in ages)]
         for cohort in sizes],
    )  # fmt: skip


def _by_balance(report: TapeReport) -> Markup:
    labels = [state.label for state in report.mapping.states]
    shares = {(row["from"], row["to"]): row for row in report.records("matrix")
              if not row["segment"]}  # fmt: skip
    rows = [
        [one, *(percent(shares[one, other]["share_of_balance"]) for other in labels)]
        for one in labels
        if (one, labels[0]) in shares
    ]
    return text_table(["from", *labels], rows)


def _cohorts(report: TapeReport) -> Markup:
    money = ("principal", "balance") if report.has_money else ()
    rows = [
        [report.cohort(row["cohort"]), row["status"], f"{row['loans']:,}",
         *(report.amount(row[name]) for name in money)]
        for row in report.records("cohorts") if not row["segment"]
    ]  # fmt: skip
    return text_table(["cohort", "last status", "loans", *money], rows, numbers=2)


def _months(report: TapeReport) -> Markup:
    names = ["opening", *_FLOWS, "closing"]
    rows = [
        [report.month(row["month"]), *(report.amount(row[name]) for name in names)]
        for row in report.records("waterfall")
        if not row["segment"]
    ]
    return text_table(["month", *(name.replace("_", " ") for name in names)], rows)


def _findings(report: TapeReport) -> list[str]:
    gaps = [
        f"row {row['row']}: loan {row['loan']} has no row between "
        f"{report.month(row['after_month'])} and {report.month(row['before_month'])}"
        for row in report.tables["gaps"].slice(0, _MAX_FINDINGS).to_pylist()
    ]
    return [*map(str, report.findings[:_MAX_FINDINGS]), *gaps]


def write_metric_charts(results: Sequence[Result], folder: Path) -> list[str]:
    """Draw every metric that runs along months on book, a file for each segment; their names."""
    curves: dict[str, list[tuple[str, int, float]]] = {}
    for each in results:
        keys = dict(each.dimensions)
        if each.series == AS_REPORTED and "mob" in keys and each.complete:
            rest = [f"-{keys[name]}" for name in keys if name not in ("cohort", "mob")]
            rows = curves.setdefault(each.definition.name + "".join(rest), [])
            if each.value is not None:
                rows.append((str(keys["cohort"]), int(keys["mob"]), each.value))
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in curves.items():
        made = rate_curves(rows, caption=name, note="share of principal, by month on book")
        if made is not None:
            (folder / f"{name}.svg").write_text(made.file(), encoding="utf-8")
    return [f"{name}.svg" for name in curves]
