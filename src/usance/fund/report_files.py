"""The investor report as a PDF and as a workbook with live formulas, and the tape of its loans.

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
from datetime import UTC, datetime
from hashlib import blake2b
from io import BytesIO, StringIO
from typing import Any

from usance.base.money import Money
from usance.fund.deal import Deal
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PoolError
from usance.fund.payment_date import Distribution
from usance.fund.pool_columns import COLUMNS, PoolColumns
from usance.fund.report_tables import InvestorReport, Texts
from usance.service.documents.letters import FOLDER

MIN_KEY_BYTES = 16
_PAGE = """\
#set document(title: {title}, date: none)
#set page(paper: "a4", flipped: true, margin: 16mm)
#set text(size: 8pt, lang: {language}, font: ("Libertinus Serif", "Droid Sans Fallback"))
#show heading: set text(fill: rgb("#0b5c6b"))
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
        cells = [*table.headings, *(cell for row in table.rows for cell in row)]
        lines.append(_table(len(table.headings), cells))
    return "\n".join(lines) + "\n"


def _table(columns: int, cells: Sequence[str]) -> str:
    quoted = ", ".join(_quoted(cell) for cell in cells)
    align = "(x, y) => if x == 0 { left } else { right }"
    return f"#table(columns: {columns}, stroke: none, inset: 3pt, align: {align}, {quoted},)"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def report_workbook(
    deal: Deal, terms: DealTerms, distributions: Sequence[Distribution], *, language: str = "both"
) -> bytes:
    """A sheet for each class and one for the money, whose derived figures are formulas."""
    import xlsxwriter

    out, texts = BytesIO(), Texts(language)
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    last = distributions[-1].paid_on
    created = datetime(last.year, last.month, last.day, tzinfo=UTC)
    book.set_properties({"title": f"{deal.name} {last}", "created": created})
    money = book.add_format({"num_format": "#,##0.00"})
    for each in deal.classes:
        _class_sheet(book, money, deal, terms, distributions, each.name, texts)
    _money_sheet(book, money, deal, terms, distributions, texts)
    book.close()
    return out.getvalue()


def _class_sheet(
    book: Any, money: Any, deal: Deal, terms: DealTerms, rows: Sequence[Distribution], name: str,
    texts: Texts,
) -> None:  # fmt: skip
    sheet = book.add_worksheet(name)
    keys = ("payment_date", "opening", "interest", "residual", "principal", "closing", "unpaid")
    for column, key in enumerate(keys):
        sheet.write(0, column, texts[key])
    before = deal.class_named(name).balance_minor
    for number, row in enumerate(rows, start=1):
        paid, line = row.classes[name], number + 1
        sheet.write(number, 0, row.paid_on.isoformat())
        if number == 1:
            sheet.write_number(number, 1, _number(before, terms), money)
        else:
            value = _number(paid.balance_minor + paid.principal_minor, terms)
            sheet.write_formula(number, 1, f"=F{line - 1}", money, value)
        for column, minor in ((2, paid.interest_minor), (3, paid.residual_minor),
                              (4, paid.principal_minor), (6, paid.unpaid_minor)):  # fmt: skip
            sheet.write_number(number, column, _number(minor, terms), money)
        closing = _number(paid.balance_minor, terms)
        sheet.write_formula(number, 5, f"=ROUND(B{line}-E{line},2)", money, closing)
    end = len(rows) + 1
    sheet.write(end, 0, texts["total"])
    for column, letter in ((2, "C"), (3, "D"), (4, "E")):
        parts = [(p.interest_minor, p.residual_minor, p.principal_minor)[column - 2]
                 for p in (row.classes[name] for row in rows)]  # fmt: skip
        value = _number(sum(parts), terms)
        sheet.write_formula(end, column, f"=SUM({letter}2:{letter}{end})", money, value)


def _money_sheet(
    book: Any, money: Any, deal: Deal, terms: DealTerms, rows: Sequence[Distribution], texts: Texts
) -> None:
    """Accounts before, collected, paid, accounts after: the last is a formula of the others."""
    sheet = book.add_worksheet(texts["accounts"][:31])
    headings = ("payment_date", "opening", "collections", "amount", "closing")
    for column, key in enumerate(headings):
        sheet.write(0, column, texts[key])
    held = sum(deal.accounts.values())
    for number, row in enumerate(rows, start=1):
        line = number + 1
        sheet.write(number, 0, row.paid_on.isoformat())
        if number == 1:
            sheet.write_number(number, 1, _number(held, terms), money)
        else:
            sheet.write_formula(number, 1, f"=E{line - 1}", money, _number(held, terms))
        sheet.write_number(number, 2, _number(row.collected_minor, terms), money)
        sheet.write_number(number, 3, _number(row.paid_minor, terms), money)
        held = sum((row.accounts or {}).values())
        formula = f"=ROUND(B{line}+C{line}-D{line},2)"
        sheet.write_formula(number, 4, formula, money, _number(held, terms))


def _number(minor: int, terms: DealTerms) -> float:
    """An amount as a workbook holds it; sums are rounded there to the minor unit."""
    return float(Money(minor, terms.currency).number)


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
