"""Filings for the tests of this room: a small release that ties out, and the real ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

from usance.disclose import Fact, load_profile, read_facts

HEADER = "document,statement,line,parent_line,period_or_date,currency,unit,value,is_total"
NAMES = ("000", "002", "003")

# Made-up figures of one quarter, at a rate of 7: everything in it ties.
SMALL = f"""\
{HEADER}
A,balance_sheet,Cash,TOTAL ASSETS,2024-03-31,RMB,thousand,700,0
A,balance_sheet,Cash,TOTAL ASSETS,2024-03-31,USD,thousand,100,0
A,balance_sheet,Loans,TOTAL ASSETS,2024-03-31,RMB,thousand,1505,0
A,balance_sheet,Loans,TOTAL ASSETS,2024-03-31,USD,thousand,215,0
A,balance_sheet,TOTAL ASSETS,,2024-03-31,RMB,thousand,2205,1
A,balance_sheet,TOTAL ASSETS,,2024-03-31,USD,thousand,315,1
A,operations,Total net revenue,Income from operations,2024Q1,RMB,thousand,1234,1
A,operations,Total operating costs and expenses,Income from operations,2024Q1,RMB,thousand,1000,1
A,operations,Income from operations,,2024Q1,RMB,thousand,234,1
A,convenience_translation,Rate,,2024-03-31,RMB,rmb_per_usd,7.0000,0
A,business_highlights,Volume,,2024Q1,RMB,million,110,0
A,business_highlights,Volume,,2023Q1,RMB,million,100,0
A,business_highlights,Volume - change vs 2023Q1,Volume,2024Q1,n/a,percent,10.0,0
"""


def read_small(folder: Path, text: str = SMALL, name: str = "a.csv") -> list[Fact]:
    """The facts of a table written down in a test."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_facts([file], load_profile())


def paths(shared: Path, *names: str) -> list[Path]:
    """The fact tables of some filings."""
    return [shared / "filings" / f"{name}.csv" for name in names or NAMES]


def rows_of(path: Path) -> list[list[str]]:
    """The rows of a table, header first."""
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def text_of(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV text."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def table_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a fact table."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
