"""The pack as one page of HTML: printable, complete in itself, asking no other host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from string import Template

from usance.measure.tape.report import TapeReport

_CHARTS = {
    "roll_rates": "Roll rates: the balance of a bucket over that of the bucket before, a month "
    "earlier.",
    "matrix": "Where loans were a month later, as a share of those in the row. Only loans with "
    "both months count.",
    "waterfall": "What moved the balance each month.",
}
_MAX_MONTHS = (0, 3, 6, 9, 12, 18, 24, 36, 48, 60)


def page(pack: TapeReport, charts: Mapping[str, str]) -> str:
    """The whole page."""
    sections = [
        *(_vintages(pack, days, charts) for days in pack.mapping.vintages),
        *(_ever(pack, days, charts) for days in pack.mapping.ever),
        *(_charted(name, charts) for name in _CHARTS if name in charts),
        _matrix(pack),
        _cohorts(pack),
        _waterfall(pack),
        _findings(pack),
    ]
    return _PAGE.substitute(
        title=escape(pack.mapping.title), facts=_facts(pack), sections="\n".join(sections)
    )


def percent(rate: float | None) -> str:
    """A rate for people; what has nothing to be a share of has no data.

    >>> percent(0.01042), percent(None)
    ('1.04%', 'no data')
    """
    return "no data" if rate is None else f"{rate:.2%}"


def _facts(pack: TapeReport) -> str:
    months = [row["month"] for row in pack.records("waterfall") if not row["segment"]]
    pairs = [
        ("loans", f"{pack.loans:,}"),
        ("loan-months", f"{pack.rows:,}"),
        ("months", f"{pack.month(min(months))} to {pack.month(max(months))}"),
        *((f"ever more than {days} days past due", f"{count:,}")
          for days, count in pack.ever.items()),
        ("gaps", f"{pack.tables['gaps'].num_rows:,}"),
        ("rows not used", f"{pack.unused:,}"),
    ]  # fmt: skip
    return "".join(f"<div><b>{escape(v)}</b><span>{escape(k)}</span></div>" for k, v in pairs)


def _charted(name: str, charts: Mapping[str, str]) -> str:
    heading = name.replace("_", " ").capitalize()
    return f"<section><h2>{heading}</h2><p>{_CHARTS[name]}</p>{charts[name]}</section>"


def _vintages(pack: TapeReport, days: int, charts: Mapping[str, str]) -> str:
    rows = [
        row for row in pack.records("vintages")
        if not row["segment"] and row["days"] == days and row["complete"]
    ]  # fmt: skip
    note = (
        f"Once a loan has been more than {days} days past due, its whole unpaid principal counts "
        "while it is past due or charged off, and none when it is brought current; over the "
        "original principal of its cohort."
    )
    cells = {(row["cohort"], row["mob"]): percent(row["rate"]) for row in rows}
    sizes = {row["cohort"]: f"{row['loans']:,}" for row in rows}
    return _by_age(pack, f"Vintage {days}+", note, cells, sizes, charts.get(f"vintage_{days}", ""))


def _ever(pack: TapeReport, days: int, charts: Mapping[str, str]) -> str:
    rows = [
        row for row in pack.records("ever")
        if not row["segment"] and row["days"] == days and row["rate"] is not None
    ]  # fmt: skip
    note = (
        f"Of the loans seen up to a month on book, those that had been more than {days} days "
        "past due by then."
    )
    cells = {(row["cohort"], row["mob"]): percent(row["rate"]) for row in rows}
    sizes = {row["cohort"]: f"{row['loans']:,}" for row in rows}
    return _by_age(pack, f"Ever {days}+", note, cells, sizes, charts.get(f"ever_{days}", ""))


def _by_age(
    pack: TapeReport, heading: str, note: str, cells: Mapping[tuple[int, int], str],
    sizes: Mapping[int, str], chart: str,
) -> str:  # fmt: skip
    ages = [mob for mob in _MAX_MONTHS if any(age == mob for _, age in cells)]
    header = ["cohort", "loans", *(f"month {mob}" for mob in ages)]
    rows = [
        [pack.cohort(cohort), sizes[cohort], *(cells.get((cohort, mob), "") for mob in ages)]
        for cohort in sizes
    ]
    return f"<section><h2>{heading}</h2><p>{note}</p>{chart}{_table(header, rows)}</section>"


def _matrix(pack: TapeReport) -> str:
    rows = [row for row in pack.records("matrix") if not row["segment"]]
    labels = [state.label for state in pack.mapping.states]
    shares = {(row["from"], row["to"]): row for row in rows}
    lines = [
        [one, *(percent(shares[one, other]["share_of_balance"]) for other in labels)]
        for one in labels
        if (one, labels[0]) in shares
    ]
    note = "The same by the balance a month earlier."
    return (
        f"<section><h2>Transitions by balance</h2><p>{note}</p>"
        f"{_table(['from', *labels], lines)}</section>"
    )


def _cohorts(pack: TapeReport) -> str:
    rows = [
        [pack.cohort(row["cohort"]), row["status"], f"{row['loans']:,}",
         *([pack.amount(row["principal"]), pack.amount(row["balance"])] if pack.has_money else [])]
        for row in pack.records("cohorts") if not row["segment"]
    ]  # fmt: skip
    header = ["cohort", "last status", "loans"]
    header += ["principal", "balance"] if pack.has_money else []
    return f"<section><h2>Cohorts at their last month</h2>{_table(header, rows)}</section>"


def _waterfall(pack: TapeReport) -> str:
    names = ["opening", "new", "drawn", "returned", "repaid", "charged_off", "gone", "closing"]
    rows = [
        [pack.month(row["month"]), *(pack.amount(row[name]) for name in names)]
        for row in pack.records("waterfall")
        if not row["segment"]
    ]
    header = ["month", *(name.replace("_", " ") for name in names)]
    note = (
        "New is what was lent that month, or first seen; returned came back after a gap or a "
        "charge-off; gone has no further row."
    )
    return f"<section><h2>Balance by month</h2><p>{note}</p>{_table(header, rows)}</section>"


def _findings(pack: TapeReport) -> str:
    gaps = [
        f"row {row['row']}: loan {row['loan']} has no row between {pack.month(row['after_month'])} "
        f"and {pack.month(row['before_month'])}"
        for row in pack.tables["gaps"].slice(0, 200).to_pylist()
    ]
    lines = [*map(str, pack.left_out[:200]), *gaps]
    if not lines:
        return "<section><h2>Findings</h2><p>No gaps, no duplicates, no row left out.</p></section>"
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    more = "The first 200 of each kind; all are in findings.csv and gaps.csv."
    return f"<section><h2>Findings</h2><p>{more}</p><ul>{items}</ul></section>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light; }
body { font: 15px/1.5 Georgia, "Times New Roman", serif; color: #222; background: #fbfaf6;
  max-width: 60rem; margin: 2.5rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.9rem; font-weight: normal; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; font-weight: normal; color: #14506b; margin: 2.2rem 0 .3rem;
  border-bottom: 1px solid #d8d6cc; }
p { margin: .3rem 0 .8rem; color: #555; max-width: 44rem; }
.facts { display: flex; flex-wrap: wrap; gap: 1.6rem; }
.facts b { display: block; font-size: 1.15rem; font-weight: normal; }
.facts span { font-size: .8rem; color: #666; }
svg { max-width: 100%; height: auto; display: block; margin: .6rem 0; }
table { border-collapse: collapse; font: 12px/1.35 "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; margin: .4rem 0; width: 100%; }
th { text-align: right; font-weight: 600; color: #555; border-bottom: 1px solid #999; }
td { text-align: right; border-bottom: 1px solid #ebe9e0; }
th, td { padding: .18rem .45rem; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
section { break-inside: auto; overflow-x: auto; }
li { font-size: .85rem; }
@media print { body { background: none; margin: 0; max-width: none; font-size: 11px; }
  section { break-inside: auto; overflow: visible; } svg, tr, h2 { break-inside: avoid; }
  h2 { break-after: avoid; } @page { size: A4 landscape; margin: 14mm; } }
</style></head>
<body><h1>$title</h1><div class="facts">$facts</div>
$sections
</body></html>
""")
