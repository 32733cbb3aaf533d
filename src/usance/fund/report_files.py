"""The investor report as a PDF, and the tape of its loans.

Neither carries a clock: the same dates give the same content. The tape names no borrower: a loan's
name in it is a keyed hash of its id, so only who has the key can find the loan.

>>> from usance.fund.pool_columns import pool_of_rows
>>> pool = pool_of_rows([{"loan_id": 16385, "principal_minor": 500_000}])
>>> print(investor_tape(pool, b"a key of sixteen bytes").split()[1].partition(",")[0])
9a54f239abfb51b0
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from hashlib import blake2b
from io import StringIO
from typing import Any

from usance.fund.errors import PoolError
from usance.fund.pool_columns import COLUMNS, PoolColumns
from usance.fund.report_tables import InvestorReport
from usance.service.documents.letters import FOLDER

MIN_KEY_BYTES = 16
_PAGE = """\
#set document(title: {title}, date: none)
#set page(paper: "a4", flipped: true, margin: 16mm, numbering: "1 / 1", footer-descent: 6mm)
#set text(size: 8pt, lang: {language}, font: ("Libertinus Serif", "Droid Sans Fallback"))
#show heading: set text(fill: rgb("#0b5c6b"))
#show heading.where(level: 2): set block(above: 14pt, below: 6pt, sticky: true)
#show table.cell.where(y: 0): set text(weight: "bold")
#let rule = 0.4pt + rgb("#9aa7ad")
"""


def report_pdf(report: InvestorReport) -> bytes:
    """The report as a PDF, with shipped fonts alone: the same bytes on every machine."""
    import typst

    fonts: Any = [FOLDER / "fonts"]
    source = report_source(report).encode()
    made: bytes = typst.compile(source, font_paths=fonts, ignore_system_fonts=True)
    return made


def report_source(report: InvestorReport) -> str:
    """The report in typst's language; every word of it is quoted, so none can be read as code."""
    language = "zh" if report.language == "zh" else "en"
    lines = [_PAGE.format(title=_quoted(report.title), language=_quoted(language))]
    lines.append(f"#heading(level: 1, {_quoted(report.title)})")
    lines.append(_table(2, [part for pair in report.facts for part in pair]))
    for table in report.tables:
        lines.append(f"#heading(level: 2, {_quoted(table.title)})")
        cells = [cell for row in table.rows for cell in row]
        lines.append(_table(len(table.headings), cells, table.headings, table.numbers))
    return "\n".join(lines) + "\n"


def _table(
    columns: int, cells: Sequence[str], headings: Sequence[str] = (), numbers: Sequence[int] = ()
) -> str:
    """A table over the width of the page whose headings stand on every page; facts have none."""
    if not headings:
        listed = ", ".join(f'[#text(weight: "regular", {_quoted(each)})]' for each in cells)
        return f"#table(columns: {columns}, stroke: none, inset: 3pt, align: left, {listed},)"
    head, body = (", ".join(map(_quoted, each)) for each in (headings, cells))
    sides = ", ".join("right" if at in numbers else "left" for at in range(columns))
    widths = "1.4fr, " + "1fr, " * (columns - 1)
    return (f"#table(columns: ({widths}), inset: 3pt, align: ({sides}), stroke: (x, y) => "
            f"(bottom: rule), table.header({head}), {body},)")  # fmt: skip


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def investor_tape(pool: PoolColumns, key: bytes) -> str:
    """A CSV of the loans without personal data: no id of a borrower, none of a loan."""
    if len(key) < MIN_KEY_BYTES:
        fix = f"Give a key of at least {MIN_KEY_BYTES} random bytes, and keep it"
        raise PoolError("the key of the tape is too short", where="--key", fix=fix)
    names = [name for name in COLUMNS if name not in ("loan_id", "borrower_minor")]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["loan", *names])
    secret = key[: blake2b.MAX_KEY_SIZE]
    columns = [pool[name].tolist() for name in names]
    rows = [
        (blake2b(str(loan).encode(), digest_size=8, key=secret).hexdigest(), *values)
        for loan, *values in zip(pool["loan_id"].tolist(), *columns, strict=True)
    ]
    writer.writerows(sorted(rows))
    return out.getvalue()
