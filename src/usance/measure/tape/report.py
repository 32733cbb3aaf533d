"""The report of a loan tape: a file and a mapping in, all its measures out.

A report holds whole numbers by table; a rate is made of two of them when it is written or read.
A rate over zero is no number: it is shown as no data.

Its files are every table as CSV, Parquet and JSON, beside its pages and charts.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from usance.base.dates import format_month
from usance.base.errors import UsanceError
from usance.measure.duckdb_connection import connect
from usance.measure.errors import TapeError
from usance.measure.tape import report_sql
from usance.measure.tape.loan_months import LoanMonths, read_loan_months
from usance.measure.tape.loan_states import State, buckets_of, roll_steps
from usance.measure.tape.mapping import TapeMapping, read_mapping

RATES = {
    "matrix": {"share_of_loans": ("loans", "loans_from"),
               "share_of_balance": ("balance", "balance_from")},
    "roll_rates": {"rate_of_loans": ("loans", "loans_before"),
                   "rate_of_balance": ("balance", "balance_before")},
    "vintages": {"rate": ("past_due", "principal")},
    "ever": {"rate": ("ever", "observed")},
}  # fmt: skip
"""Rates by table: their name, numerator and denominator."""

_QUERIES = {
    "statuses": report_sql.STATUSES,
    "matrix": report_sql.MATRIX,
    "roll_rates": report_sql.ROLLS,
    "vintages": report_sql.VINTAGES,
    "ever": report_sql.EVER,
    "cohorts": report_sql.COHORTS,
    "waterfall": report_sql.WATERFALL,
    "gaps": report_sql.GAPS,
}


@dataclass(frozen=True, slots=True)
class TapeReport:
    """The measures of one loan tape."""

    mapping: TapeMapping
    tables: Mapping[str, pa.Table]
    rows: int
    loans: int
    unused: int
    ever: Mapping[int, int]
    findings: tuple[UsanceError, ...]

    def records(self, name: str) -> list[dict[str, Any]]:
        """A table as rows with its rates; a rate over zero is None."""
        rates = RATES.get(name, {})
        return [
            row | {rate: _rate(row[up], row[down]) for rate, (up, down) in rates.items()}
            for row in self.tables[name].to_pylist()
        ]

    @property
    def has_money(self) -> bool:
        """True if balances are amounts; else every loan that owes counts 1."""
        return self.mapping.has_balance

    def amount(self, value: int) -> str:
        """A balance as people read it: whole major units, or a number of accounts."""
        unit = 10**self.mapping.currency.exponent if self.has_money else 1
        up = (abs(value) * 2 + unit) // (unit * 2)
        return f"{-up if value < 0 else up:,}"

    def month(self, number: int) -> str:
        """A month as people write it; plain numbers where the tape counts months itself."""
        return str(number) if self.mapping.relative else format_month(number)

    def cohort(self, number: int) -> str:
        """A cohort as people write it.

        >>> TapeReport(TapeMapping("loan", {}), {}, 0, 0, 0, {}, ()).cohort(648)
        '2024Q1'
        """
        size = self.mapping.cohort_months
        if self.mapping.relative or size == 1:
            return self.month(number)
        year, part = 1970 + number // 12, number % 12 // size + 1
        return f"{year}{ {3: 'Q', 6: 'H'}[size] }{part}" if size < 12 else str(year)


def measure_tape(path: Path | str, mapping: TapeMapping | Path | str) -> TapeReport:
    """The report of a file by its mapping, or everything that is wrong with either."""
    chosen = mapping if isinstance(mapping, TapeMapping) else read_mapping(mapping)
    return tape_report(read_loan_months(path, chosen), chosen)


def tape_report(rows: LoanMonths, mapping: TapeMapping) -> TapeReport:
    """The report of clean loan-months."""
    with connect() as engine:
        _register(engine, rows, mapping)
        parameters = {
            "has_balance": mapping.has_balance,
            "size": mapping.cohort_months,
            "closed_stay": mapping.closed_stay,
            "by_segment": "segment" in mapping.columns,
        }
        engine.sql(report_sql.PANEL, params=parameters).create("panel")
        tables = {name: engine.sql(query).to_arrow_table() for name, query in _QUERIES.items()}
        ever = dict(engine.sql(report_sql.EVER_TOTAL).fetchall())
    return TapeReport(
        mapping, tables, rows.table.num_rows, rows.refs.num_rows, rows.unused, ever, rows.findings
    )


def _register(engine: Any, rows: LoanMonths, mapping: TapeMapping) -> None:
    engine.register("loan_months", rows.table)
    engine.register("refs", rows.refs)
    engine.register("states", _states(mapping.states))
    steps = roll_steps(mapping.states)
    links = {
        "step": pa.array(range(len(steps)), pa.int32()),
        "from_state": pa.array([one for one, _ in steps], pa.int32()),
        "to_state": pa.array([other for _, other in steps], pa.int32()),
    }
    engine.register("chain", pa.table(links))
    for name, days in (("vintage_days", mapping.vintages), ("ever_days", mapping.ever)):
        engine.register(name, pa.table({"days": pa.array(sorted(set(days)), pa.int32())}))


def _states(states: tuple[State, ...]) -> pa.Table:
    buckets = buckets_of(states)
    named: dict[int, list[str]] = {}
    for state, bucket in zip(states, buckets, strict=True):
        named.setdefault(bucket, []).append(state.label)
    return pa.table(
        {
            "state": pa.array(range(len(states)), pa.int32()),
            "bucket": pa.array(buckets, pa.int32()),
            "bucket_label": [" + ".join(named[bucket]) for bucket in buckets],
            "label": [state.label for state in states],
            "kind": pa.array([int(state.kind) for state in states], pa.int32()),
            "last_day": pa.array([state.last_day for state in states], pa.int32()),
            "is_open": [state.is_open for state in states],
        }
    )


def _rate(numerator: int, denominator: int) -> float | None:
    return numerator / denominator if denominator else None


_MONTHS = ("month", "after_month", "before_month")


def summary(report: TapeReport) -> dict[str, Any]:
    """The report in a few lines, as `--json` prints it."""
    return {
        "title": report.mapping.title,
        "rows": report.rows,
        "loans": report.loans,
        "gaps": report.tables["gaps"].num_rows,
        "rows_not_used": report.unused,
        "findings": [error.as_dict() for error in report.findings],
        "statuses": {
            row["status"]: row["loan_months"]
            for row in report.records("statuses") if not row["segment"]
        },
        "ever": {f"more_than_{days}_days": count for days, count in report.ever.items()},
    }  # fmt: skip


def write_report(
    report: TapeReport, folder: Path, drawn: Callable[[TapeReport], Mapping[str, str]]
) -> list[str]:
    """Write every table, and the pages and charts that `drawn` gives; their names."""
    texts = {
        "findings.csv": _findings(report),
        "summary.json": json.dumps(summary(report), indent=2) + "\n",
        **drawn(report),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = [name for each in report.tables for name in _write_table(report, each, folder)]
        for name, text in texts.items():
            _write_text(folder / name, text)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        fix = "Name another folder with --out"
        raise TapeError(what, where=str(folder), fix=fix) from None
    return [*names, *texts]


def _write_table(report: TapeReport, name: str, folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    rows = [_labelled(report, row) for row in report.records(name)]
    header = list(rows[0]) if rows else list(report.tables[name].column_names)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    _write_text(folder / f"{name}.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    made = pa.Table.from_pylist(rows) if rows else report.tables[name]
    pq.write_table(made, folder / f"{name}.parquet", compression="zstd")
    return [f"{name}.csv", f"{name}.parquet", f"{name}.json"]


def _labelled(report: TapeReport, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with months and cohorts by their labels, and amounts named as minor units."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if name == "cohort":
            made[name] = report.cohort(value)
        elif name in _MONTHS:
            made[name] = report.month(value)
        elif name in _MONEY and report.has_money:
            made[f"{name}_minor"] = value
        else:
            made[name] = value
    return made


_MONEY = (
    "balance", "balance_from", "balance_before", "past_due", "principal", "opening", "new", "drawn",
    "returned", "repaid", "charged_off", "gone", "closing",
)  # fmt: skip


def _findings(report: TapeReport) -> str:
    lines = [["where", "what", "fix"], *([e.where, e.what, e.fix] for e in report.findings)]
    return "\n".join(",".join(_quote(cell) for cell in line) for line in lines) + "\n"


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
