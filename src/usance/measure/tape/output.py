"""Report of a tape as files: every table as CSV, Parquet and JSON, beside its pages and charts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from usance.measure.errors import TapeError
from usance.measure.tape.report import TapeReport

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
