"""An account as the cells of a published schedule, and the first cell that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.terms import FEE, PENALTY

Cells = dict[str, object]
DISBURSEMENT_CELLS = ("disbursement_date", "balance")
INSTALMENT_CELLS = (
    "nr", "days", "due_date", "principal", "interest", "fees", "penalties", "total", "balance",
    "paid", "paid_date", "in_advance", "late", "outstanding",
)  # fmt: skip
TOTALS = (
    "Principal due", "Interest", "Fees", "Penalties", "Due", "Paid", "In advance", "Late",
    "Outstanding",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """One cell that is not as published."""

    row: str
    cell: str
    expected: str
    found: str
    place: int = 0
    size: Decimal = Decimal(0)

    def __str__(self) -> str:
        return f"{self.row}, {self.cell}: {self.expected} published, {self.found} computed"


def rows(account: Account) -> list[Cells]:
    """Disbursements and instalments in the order of a published schedule."""
    found: list[Cells] = []
    drawn, balance = sorted([*account.drawn, *account.announced]), 0
    for number, row in enumerate(account.rows, start=1):
        while drawn and _comes_first(drawn[0][0], row):
            day, amount = drawn.pop(0)
            balance += amount
            found.append({"disbursement_date": day, "balance": amount})
        balance += row.credited - row.due[PRINCIPAL]
        found.append(_instalment(number, row, balance))
    found.extend({"disbursement_date": day, "balance": amount} for day, amount in drawn)
    return found


def _comes_first(day: date, row: Instalment) -> bool:
    return day < row.end or (day == row.end and row.origin is not InstalmentOrigin.REGULAR)


def _instalment(number: int, row: Instalment, balance: int) -> Cells:
    return {
        "nr": number,
        "days": (row.end - row.start).days,
        "due_date": row.end,
        "principal": row.due[PRINCIPAL],
        "interest": row.due[INTEREST],
        "fees": row.due[FEE],
        "penalties": row.due[PENALTY],
        "total": row.total,
        "balance": max(0, balance),
        "paid": row.total_paid,
        "paid_date": row.settled_on,
        "in_advance": row.in_advance,
        "late": row.late,
        "outstanding": row.outstanding,
    }


def totals(account: Account) -> Cells:
    """The sums under a published schedule."""
    instalments = account.rows
    return {
        "Principal due": sum(row.due[PRINCIPAL] for row in instalments),
        "Interest": sum(row.due[INTEREST] for row in instalments),
        "Fees": sum(row.due[FEE] for row in instalments),
        "Penalties": sum(row.due[PENALTY] for row in instalments),
        "Due": sum(row.total for row in instalments),
        "Paid": sum(row.total_paid for row in instalments),
        "In advance": sum(row.in_advance for row in instalments),
        "Late": sum(row.late for row in instalments),
        "Outstanding": sum(row.outstanding for row in instalments),
    }


_COUNTS = ("nr", "days")


def first_difference(
    account: Account, wanted_rows: Sequence[Mapping[str, Any]], wanted_totals: Mapping[str, Any]
) -> Difference | None:
    """The first published cell that the account does not show."""
    unit = Decimal(10) ** account.terms.decimals
    found = rows(account)
    has_disbursements = any("disbursement_date" in row for row in wanted_rows)
    if not has_disbursements:
        found = [row for row in found if "nr" in row]
    for place, (wanted, row) in enumerate(zip(wanted_rows, found, strict=False), start=1):
        difference = _differs(f"row {place}", wanted, row, unit, place)
        if difference:
            return difference
    if len(wanted_rows) != len(found):
        counts = str(len(wanted_rows)), str(len(found))
        return Difference("the schedule", "rows", *counts, place=len(wanted_rows) + 1)
    return _differs("totals", wanted_totals, totals(account), unit, len(found) + 2)


def _differs(
    row: str, wanted: Mapping[str, Any], found: Mapping[str, object], unit: Decimal, place: int
) -> Difference | None:
    for cell, value in wanted.items():
        expected = _written(cell, value)
        actual = _shown(cell, found.get(cell), unit)
        if expected != actual:
            size = Decimal(0)
            if isinstance(expected, Decimal) and isinstance(actual, Decimal):
                size = abs(expected - actual)
            return Difference(row, cell, _text(expected), _text(actual), place, size)
    return None


def _written(cell: str, value: Any) -> object:
    if value is None or cell.endswith("date"):
        return value
    try:
        return Decimal(str(value))
    except ArithmeticError:
        return value


def _shown(cell: str, value: object, unit: Decimal) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int):
        return Decimal(value) if cell in _COUNTS else Decimal(value) / unit
    return value


def _text(value: object) -> str:
    return "nothing" if value is None else str(value)
