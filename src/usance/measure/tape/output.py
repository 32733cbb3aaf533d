"""A pack as files: every table as CSV, Parquet and JSON, every chart as SVG, and one page."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from usance.measure.errors import TapeError
from usance.measure.tape.charts import charts
from usance.measure.tape.page import page
from usance.measure.tape.report import TapeReport

_MONTHS = ("month", "after_month", "before_month")


def summary(pack: TapeReport) -> dict[str, Any]:
    """The pack in a few lines, as `--json` prints it."""
    return {
        "title": pack.mapped.title,
        "rows": pack.rows,
        "loans": pack.loans,
        "gaps": pack.tables["gaps"].num_rows,
        "rows_not_used": pack.unused,
        "findings": [error.as_dict() for error in pack.left_out],
        "statuses": {
            row["status"]: row["loan_months"]
            for row in pack.records("statuses") if not row["segment"]
        },
        "ever": {f"more_than_{days}_days": count for days, count in pack.ever.items()},
    }  # fmt: skip


def write_report(pack: TapeReport, folder: Path) -> list[str]:
    """Write every file; gives their names."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drawn = charts(pack)
        names = [name for each in pack.tables for name in _write_table(pack, each, folder)]
        _write_text(folder / "findings.csv", _findings(pack))
        _write_text(folder / "summary.json", json.dumps(summary(pack), indent=2) + "\n")
        for name, svg in drawn.items():
            _write_text(folder / f"{name}.svg", svg)
        _write_text(folder / "index.html", page(pack, drawn))
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        fix = "Name another folder with --out"
        raise TapeError(what, where=str(folder), fix=fix) from None
    return [*names, "findings.csv", "summary.json", *(f"{n}.svg" for n in drawn), "index.html"]


def _write_table(pack: TapeReport, name: str, folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    rows = [_shown(pack, row) for row in pack.records(name)]
    header = list(rows[0]) if rows else list(pack.tables[name].column_names)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    _write_text(folder / f"{name}.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    made = pa.Table.from_pylist(rows) if rows else pack.tables[name]
    pq.write_table(made, folder / f"{name}.parquet", compression="zstd")
    return [f"{name}.csv", f"{name}.parquet", f"{name}.json"]


def _shown(pack: TapeReport, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with months and cohorts as people write them, and money named as minor units."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if name == "cohort":
            made[name] = pack.cohort(value)
        elif name in _MONTHS:
            made[name] = pack.month(value)
        elif name in _MONEY and pack.has_money:
            made[f"{name}_minor"] = value
        else:
            made[name] = value
    return made


_MONEY = (
    "balance", "balance_from", "balance_before", "past_due", "principal", "opening", "new", "drawn",
    "returned", "repaid", "charged_off", "gone", "closing",
)  # fmt: skip


def _findings(pack: TapeReport) -> str:
    lines = [["where", "what", "fix"], *([e.where, e.what, e.fix] for e in pack.left_out)]
    return "\n".join(",".join(_quoted(cell) for cell in line) for line in lines) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
