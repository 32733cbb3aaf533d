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
usance.base.errors.CodeError: bank.yaml line 2, columns[1].name: unknown column 'laon'.
Did you mean 'loan'? Choices: loan, day, kind, correction, amount.
"""  # fmt: skip

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any
from xml.sax.saxutils import escape

from usance.base.errors import raise_all, unknown
from usance.base.fields import Fields, fields_of, whole_of
from usance.base.fields import text as read_text
from usance.base.ids import print_id
from usance.service.errors import LayoutError
from usance.service.settlement.batch import SettlementLine

FORMATS = ("csv", "fixed", "xml")
NAMES = ("loan", "day", "kind", "correction", "amount")
SIDES = ("left", "right")
MAX_WIDTH = 1_000


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
    """A layout from YAML, or everything that is wrong with it."""
    given = fields_of(text, where)
    form = given.need("format", partial(_one_of, "format", FORMATS))
    columns = tuple(_column(each, form) for each in given.each("columns"))
    if given.is_mapping and not columns:
        given.wrong("has no columns", f"Name some of {', '.join(NAMES)}", "columns")
    given.close()
    raise_all(given.problems, where=where)
    return SettlementLayout(form, columns)


def _column(given: Fields, form: str | None) -> LayoutColumn:
    name = given.need("name", partial(_one_of, "column", NAMES))
    title = given.take("title", _title if form == "xml" else read_text)
    made = LayoutColumn(
        name, title or name, given.take("width", whole_of(1, MAX_WIDTH)) or 0,
        given.take("pad", _character) or " ",
        given.take("side", partial(_one_of, "side", SIDES)) or "left",
    )  # fmt: skip
    if form == "fixed" and "width" not in given:
        given.wrong(f"column {name} has no width", "Give a width above zero")
    given.close()
    return made


def _one_of(what: str, choices: tuple[str, ...], given: Any, where: str) -> str:
    if given not in choices:
        raise unknown(what, str(given), choices, where=where)
    return str(given)


def _character(given: Any, where: str) -> str:
    if isinstance(given, bool) or len(str(given)) != 1:
        raise LayoutError(
            f"{given!r} is not one character", where=where, fix="Write one, in quotes"
        )
    return str(given)


def _title(given: Any, where: str) -> str:
    """The name of an element."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", str(given)):
        fix = "Use letters, digits, dots and dashes, a letter first"
        raise LayoutError(f"{given!r} is no name of an element", where=where, fix=fix)
    return str(given)


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
