"""The investor report as a workbook: amounts are numbers, what follows from them is formulas.

A sheet for each class, then the pool, the fees, the money and the cover, a row for each payment
date. It carries no clock: the same dates give the same content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from usance.base.money import Money
from usance.base.rates import PPM
from usance.fund.deal import Deal
from usance.fund.deal_terms import DealTerms
from usance.fund.payment_date import Distribution
from usance.fund.report_tables import Texts

MAX_NAME = 31
_FORBIDDEN = str.maketrans(dict.fromkeys("[]:*?/\\'", "-"))
WIDTH = 17
SHEETS = ("pool", "fees", "accounts", "tests")
"""Sheets beside those of the classes, by the key of their title."""


@dataclass(frozen=True)
class Value:
    """A cell that is worked out: its formula, and the value written beside it."""

    formula: str
    value: float | None


Cells = Sequence[int | Value]
"""Cells of a row after its day: amounts in minor units, and formulas."""


def report_workbook(
    deal: Deal, terms: DealTerms, distributions: Sequence[Distribution], *, language: str = "both"
) -> bytes:
    """The workbook of the payment dates so far."""
    made = _Report(deal, terms, distributions, Texts(language))
    return made.content()


@dataclass
class _Report:
    """A workbook on its way; sheets name cells of others by `place`."""

    deal: Deal
    terms: DealTerms
    rows: Sequence[Distribution]
    texts: Texts
    names: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        import xlsxwriter

        out, last = BytesIO(), self.rows[-1].paid_on
        self.book = xlsxwriter.Workbook(out, {"in_memory": True})
        created = datetime(last.year, last.month, last.day, tzinfo=UTC)
        self.book.set_properties({"title": f"{self.deal.name} {last}", "created": created})
        self.money = self.book.add_format({"num_format": "#,##0.00"})
        self.ratio = self.book.add_format({"num_format": "0.0000%"})
        self.day = self.book.add_format({"num_format": "yyyy-mm-dd", "align": "left"})
        self.head = self.book.add_format({"bold": True, "text_wrap": True, "bottom": 1})
        for each in self.deal.classes:
            self.names[_of_class(each.name)] = self._free_name(each.name)
        for key in SHEETS:
            self.names[key] = self._free_name(self.texts[key])
        for each in self.deal.classes:
            self.class_sheet(each.name)
        self.pool_sheet()
        self.fee_sheet()
        self.money_sheet()
        self.cover_sheet()
        self.book.close()
        return out.getvalue()

    def _free_name(self, wanted: str) -> str:
        """A name for a sheet that no other has, of the signs and the length a workbook allows."""
        plain = wanted.translate(_FORBIDDEN)[:MAX_NAME]
        taken = {name.lower() for name in self.names.values()}
        number = 2
        found = plain
        while found.lower() in taken:
            found = f"{plain[: MAX_NAME - 4]} {number}"
            number += 1
        return found

    def place(self, sheet: str, cell: str) -> str:
        """A cell of another sheet."""
        return f"'{self.names[sheet]}'!{cell}"

    def sheet(
        self, name: str, headings: Sequence[str], lines: Sequence[Cells], shape: Any = None
    ) -> Any:
        """A sheet with a row for each date."""
        sheet = self.book.add_worksheet(self.names[name])
        sheet.set_column(0, len(headings), WIDTH)
        sheet.freeze_panes(1, 1)
        for column, heading in enumerate([self.texts["payment_date"], *headings]):
            sheet.write_string(0, column, heading, self.head)
        for number, (row, cells) in enumerate(zip(self.rows, lines, strict=True), start=1):
            sheet.write_datetime(number, 0, row.paid_on, self.day)
            for column, cell in enumerate(cells, start=1):
                self._write(sheet, number, column, cell, shape or self.money)
        return sheet

    def _write(self, sheet: Any, line: int, column: int, cell: int | Value, shape: Any) -> None:
        if isinstance(cell, Value):
            value = "" if cell.value is None else cell.value
            sheet.write_formula(line, column, f"={cell.formula}", shape, value)
        else:
            sheet.write_number(line, column, self.number(cell), shape)

    def number(self, minor: int) -> float:
        """An amount as a workbook holds it; sums are rounded there to the minor unit."""
        return float(Money(minor, self.terms.currency).number)

    def total(self, formula: str, minor: int) -> Value:
        """An amount that is worked out."""
        return Value(f"ROUND({formula},2)", self.number(minor))

    def class_sheet(self, name: str) -> None:
        """Balances and payments of a class: C to E, then G, are given."""
        keys = ("opening", "interest", "residual", "principal", "closing", "unpaid")
        lines: list[Cells] = []
        before = self.deal.class_named(name).balance_minor
        for line, row in enumerate(self.rows, start=2):
            paid = row.classes[name]
            opening: int | Value = before
            if line > 2:
                opening = Value(f"F{line - 1}", self.number(before))
            lines.append([
                opening, paid.interest_minor, paid.residual_minor, paid.principal_minor,
                self.total(f"B{line}-E{line}", paid.balance_minor), paid.unpaid_minor,
            ])  # fmt: skip
            before = paid.balance_minor
        sheet = self.sheet(_of_class(name), [self.texts[key] for key in keys], lines)
        end = len(self.rows) + 1
        sheet.write(end, 0, self.texts["total"], self.head)
        parts = [row.classes[name] for row in self.rows]
        for column, letter, minor in (
            (2, "C", sum(part.interest_minor for part in parts)),
            (3, "D", sum(part.residual_minor for part in parts)),
            (4, "E", sum(part.principal_minor for part in parts)),
        ):
            value = self.total(f"SUM({letter}2:{letter}{end})", minor)
            self._write(sheet, end, column, value, self.money)

    def pool_sheet(self) -> None:
        """The performing principal and what the loans brought."""
        keys = ("pool_start", "interest", "principal", "recovered", "defaulted_in_period",
                "bought", "called_principal", "other", "pool_end", "called", "collected",
                )  # fmt: skip
        lines: list[Cells] = []
        before = self.deal.pool.balance_minor
        for line, row in enumerate(self.rows, start=2):
            flows, end = row.flows, row.pool_end_minor
            left = before - flows.principal_minor - flows.defaulted_minor + row.bought_minor
            is_called = bool(row.called_minor) and not end
            start: int | Value = before
            if line > 2:
                start = Value(f"J{line - 1}", self.number(before))
            lines.append([
                start, flows.interest_minor, flows.principal_minor, flows.recovered_minor,
                flows.defaulted_minor, row.bought_minor, left if is_called else 0,
                0 if is_called else end - left,
                self.total(f"B{line}-D{line}-F{line}+G{line}-H{line}+I{line}", end),
                row.called_minor,
                self.total(f"C{line}+D{line}+E{line}+K{line}", row.collected_minor),
            ])  # fmt: skip
            before = end
        self.sheet("pool", [self.texts[key] for key in keys], lines)

    def fee_sheet(self) -> None:
        """Each fee, and all of them in column B."""
        names = [fee.name for fee in self.deal.fees]
        lines: list[Cells] = [
            [self.total(_sum_of(line, 2, len(names)), sum(row.fees.values())),
             *(row.fees[name] for name in names)]
            for line, row in enumerate(self.rows, start=2)
        ]  # fmt: skip
        self.sheet("fees", [self.texts["total"], *names], lines)

    def money_sheet(self) -> None:
        """All accounts together, from what came in and went out, and each by itself."""
        keys = ("opening", "collected", "fees", "classes", "cost", "closing", "check")
        lines: list[Cells] = []
        held = sum(self.deal.accounts.values())
        names = list(self.rows[0].accounts or {})
        for line, row in enumerate(self.rows, start=2):
            paid = [self.place(_of_class(each.name), f"{letter}{line}")
                    for each in self.deal.classes for letter in "CDE"]  # fmt: skip
            fees = sum(row.fees.values())
            opening: int | Value = held
            if line > 2:
                opening = Value(f"G{line - 1}", self.number(held))
            accounts = row.accounts or {}
            held = sum(accounts.values())
            lines.append([
                opening,
                Value(self.place("pool", f"L{line}"), self.number(row.collected_minor)),
                Value(self.place("fees", f"B{line}"), self.number(fees)),
                self.total("+".join(paid), row.paid_minor - fees - row.cost_minor),
                row.cost_minor, self.total(f"B{line}+C{line}-D{line}-E{line}-F{line}", held),
                self.total(f"G{line}-({_sum_of(line, 8, len(names))})", 0),
                *(accounts[name] for name in names),
            ])  # fmt: skip
        self.sheet("accounts", [*(self.texts[key] for key in keys), *names], lines)

    def cover_sheet(self) -> None:
        """Over-collateralisation and interest cover of each class down to it."""
        names = [each.name for each in self.deal.classes]
        headings = [f"{name} {self.texts[key]}" for name in names for key in ("oc", "ic")]
        lines: list[Cells] = []
        for line, row in enumerate(self.rows, start=2):
            pool, fees, held = (self.place(key, f"{letter}{line}") for key, letter in
                                (("pool", "J"), ("fees", "B"), ("accounts", "G")))  # fmt: skip
            income = f"{self.place('pool', f'C{line}')}-{fees}"
            cells: list[Value] = []
            for number, name in enumerate(names, start=1):
                down = names[:number]
                balances = "+".join(self.place(_of_class(each), f"F{line}") for each in down)
                dues = "+".join(self.place(_of_class(each), f"{letter}{line}")
                                for each in down for letter in "CG")  # fmt: skip
                paid = row.classes[name]
                cells += [_ratio(f"{pool}+{held}", balances, paid.oc_ppm),
                          _ratio(income, dues, paid.ic_ppm)]  # fmt: skip
            lines.append(cells)
        self.sheet("tests", headings, lines, self.ratio)


def _of_class(name: str) -> str:
    return f"class {name}"


def _ratio(above: str, below: str, ppm: int | None) -> Value:
    """A ratio rounded as the engine does, empty over nothing."""
    value = None if ppm is None else ppm / PPM
    return Value(f'IF(ROUND({below},2)=0,"",ROUND(({above})/({below}),6))', value)


def _sum_of(line: int, first: int, count: int) -> str:
    """The sum of columns of a line, counted from 0; zero of none."""
    from xlsxwriter.utility import xl_col_to_name

    return "+".join(f"{xl_col_to_name(first + n)}{line}" for n in range(count)) or "0"
