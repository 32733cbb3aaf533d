r"""Files of a settlement in the layout of each institution, as data: CSV, fixed width or XML.

```yaml
format: fixed
columns:
  - {name: loan, width: 14}
  - {name: amount, width: 12, pad: "0", side: right}
```

Names are those of a line: loan, day, kind, correction, amount. Amounts are in minor units.

>>> from datetime import date
>>> from usance.service.settlement.payable import LineKind
>>> line = SettlementLine(16385, date(2024, 7, 1), LineKind.RECEIPT, False, 900)
>>> fixed = parse_layout('format: fixed\ncolumns: [{name: loan, width: 16}, '
...                      '{name: amount, width: 8, pad: "0", side: right}]', "bank.yaml")
>>> write_file([line], fixed)
'ln_00000000G01  00000900\n'
>>> write_file([line], parse_layout("format: xml\ncolumns: [{name: loan}]", "bank.yaml"))
'<settlement><line><loan>ln_00000000G01</loan></line></settlement>\n'
>>> parse_layout("format: csv\ncolumns: [{name: laon}]", "bank.yaml")
Traceback (most recent call last):
usance.base.errors.CodeError: bank.yaml: unknown column 'laon'.
Did you mean 'loan'? Choices: loan, day, kind, correction, amount.
"""  # fmt: skip

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Any
from xml.sax.saxutils import escape

from usance.base.documents import parse_yaml
from usance.base.errors import unknown
from usance.base.ids import print_id
from usance.service.errors import LayoutError
from usance.service.settlement.batch import SettlementLine

FORMATS = ("csv", "fixed", "xml")
NAMES = ("loan", "day", "kind", "correction", "amount")
_KEYS = ("name", "title", "width", "pad", "side")


@dataclass(frozen=True, slots=True)
class LayoutColumn:
    """One column: a field of the line, its heading, and its place in a fixed width."""

    name: str
    title: str
    width: int = 0
    pad: str = " "
    side: str = "left"


@dataclass(frozen=True, slots=True)
class SettlementLayout:
    """The layout of an institution's files."""

    format: str
    columns: tuple[LayoutColumn, ...]

    @property
    def suffix(self) -> str:
        """The ending of its files' names."""
        return "txt" if self.format == "fixed" else self.format


def parse_layout(text: str, where: str) -> SettlementLayout:
    """A layout from YAML."""
    given: Any = parse_yaml(text)
    if given.get("format") not in FORMATS:
        raise unknown("format", str(given.get("format")), FORMATS, where=where)
    columns = tuple(_column(each, given["format"], where) for each in given.get("columns", ()))
    if not columns:
        raise LayoutError("has no columns", where=where, fix=f"Name some of {', '.join(NAMES)}")
    return SettlementLayout(given["format"], columns)


def _column(given: dict[str, Any], form: str, where: str) -> LayoutColumn:
    for key in given.keys() - set(_KEYS):
        raise unknown("key", key, _KEYS, where=where)
    name = str(given.get("name"))
    if name not in NAMES:
        raise unknown("column", name, NAMES, where=where)
    made = LayoutColumn(name, str(given.get("title", name)), int(given.get("width", 0)),
                        str(given.get("pad", " ")), str(given.get("side", "left")))  # fmt: skip
    if form == "fixed" and (made.width <= 0 or len(made.pad) != 1):
        raise LayoutError(f"column {name} has no width", where=where, fix="Give a width above zero")
    return made


def write_file(lines: Iterable[SettlementLine], layout: SettlementLayout) -> str:
    """The file of a batch."""
    rows = [[_cell(line, column) for column in layout.columns] for line in lines]
    if layout.format == "fixed":
        return "".join(f"{''.join(_fixed(layout, row))}\n" for row in rows)
    if layout.format == "xml":
        body = "".join(
            "<line>" + "".join(
                f"<{column.title}>{escape(cell)}</{column.title}>"
                for column, cell in zip(layout.columns, row, strict=True)
            ) + "</line>"
            for row in rows
        )  # fmt: skip
        return f"<settlement>{body}</settlement>\n"
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.title for column in layout.columns])
    writer.writerows(rows)
    return out.getvalue()


def _cell(line: SettlementLine, column: LayoutColumn) -> str:
    return {
        "loan": print_id("ln", line.loan_id), "day": line.day.isoformat(),
        "kind": line.kind.name.lower(), "correction": "yes" if line.is_correction else "no",
        "amount": str(line.amount_minor),
    }[column.name]  # fmt: skip


def _fixed(layout: SettlementLayout, row: list[str]) -> list[str]:
    cells = []
    for column, cell in zip(layout.columns, row, strict=True):
        if len(cell) > column.width:
            raise LayoutError(f"{cell!r} is wider than {column.width}", where=column.name,
                              fix="Widen the column")  # fmt: skip
        side = str.rjust if column.side == "right" else str.ljust
        cells.append(side(cell, column.width, column.pad))
    return cells
