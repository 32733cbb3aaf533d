"""The disclose room: a check of four filings, and their rebuilding."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import Report, best_seconds
from usance.disclose import check, rebuild

SHARED = Path(__file__).resolve().parents[2] / "shared" / "filings"
HEADER = "document,statement,line,parent_line,period_or_date,currency,unit,value,is_total"


def run(report: Report) -> None:
    """Real filings where they are at hand, else four made-up ones of the same size."""
    real = sorted(SHARED.glob("00*.csv"))
    with tempfile.TemporaryDirectory() as folder:
        files = real or [made_up(Path(folder), number) for number in range(4)]
        kind = "real" if real else "made-up"
        report.section(f"disclose: {len(files)} {kind} filings")
        seconds = best_seconds(lambda: check(files), 5)
        report.at_most("check of all together", seconds, 5, "s")
        start = "from usance.cli import main; raise SystemExit(main())"
        words = ["disclose", "check", *map(str, files), "--json"]
        command = [sys.executable, "-c", start, *words]
        whole = best_seconds(lambda: subprocess.run(command, check=True, capture_output=True), 3)
        report.at_most("the same as a command, with its start-up", whole, 5, "s")
        largest = max(files, key=lambda file: file.stat().st_size)
        report.line("rebuild of the largest", f"{best_seconds(lambda: rebuild(largest), 5):.2f} s")


def made_up(folder: Path, number: int) -> Path:
    """A table of about 750 facts: 25 totals of nine lines, in three columns."""
    rows = [HEADER, f"D{number},convenience_translation,Rate,,2024-03-31,RMB,rmb_per_usd,7.0000,0"]
    for column in ("2023-12-31,RMB", "2024-03-31,RMB", "2024-03-31,USD"):
        size = 1 if column.endswith("USD") else 7
        for total in range(25):
            place = f"D{number},balance_sheet"
            rows += [
                f"{place},Line {total}.{line},Total {total},{column},thousand,{size * line},0"
                for line in range(1, 10)
            ]
            rows.append(f"{place},Total {total},,{column},thousand,{size * 45},1")
    file = folder / f"{number}.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file
