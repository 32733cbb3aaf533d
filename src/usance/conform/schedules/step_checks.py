"""The steps of a case before they are played: what each kind needs, and what its fields can be."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from usance.base.errors import unknown
from usance.conform.schedules.cells import DISBURSEMENT_CELLS, INSTALMENT_CELLS, TOTALS
from usance.conform.schedules.steps import AGEING_INTEREST, CHECK, PAYMENTS, Step
from usance.conform.schedules.terms import FUTURE, CaseReader
from usance.loan.convention import PeriodUnit
from usance.migration.bounds import (
    MAX_EVERY,
    MAX_INSTALMENTS,
    MAX_RATE_PCT,
    MAX_STEPS,
    minor,
    plain_decimal,
    whole,
)

_NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PAYMENTS, ("date", "amount")),
    "disburse": ("date", "amount"),
    "business_date": ("date",),
    "add_charge": ("charge", "due_date", "amount"),
    "chargeback": ("amount",),
    "credit_balance_refund": ("amount",),
    "reverse": ("transaction", "date"),
    "reschedule": ("data",),
    "re_age": ("data",),
    "set_future_instalment_rule": ("transaction_type", "rule"),
    CHECK: ("rows", "totals"),
}
_DATA_NEEDS = {
    "reschedule": ("rescheduleFromDate",),
    "interest_pause": ("startDate", "endDate"),
    "re_age": ("startDate", "numberOfInstallments"),
}
_CHOICES: dict[str, list[str]] = {
    "rule": list(FUTURE),
    "frequencyType": [unit.name for unit in PeriodUnit],
    "reAgeInterestHandling": list(AGEING_INTEREST),
}
_COUNTS = {
    "numberOfInstallments": MAX_INSTALMENTS,
    "frequencyNumber": MAX_EVERY,
    "extraTerms": MAX_INSTALMENTS,
    "nth": MAX_STEPS,
}


def check_step(reader: CaseReader, number: int, step: Step, decimals: int) -> None:
    """Note all that is wrong with one step."""
    place, name = f"step {number}", step["type"]
    _need(reader, place, step, _NEEDS.get(name, ()))
    _check_fields(reader, place, step)
    if "amount" in step:
        check_amount(reader, f"{place}, amount", step["amount"], decimals)
    data = step.get("data", step if name == "interest_pause" else None)
    if isinstance(data, dict):
        _need(reader, place, data, _DATA_NEEDS.get(name, ()))
        if data is not step:
            _check_fields(reader, place, data)
    elif data is not None:
        reader.problem(f"{place}, data", "is no object", "Give an object")
    if name == CHECK:
        _check_check(reader, place, step)


def check_amount(reader: CaseReader, place: str, amount: Any, decimals: int) -> int:
    """An amount in minor units; what cannot be one is a problem."""
    if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
        reader.problem(place, f"is {amount!r}", "Give a number")
        return 0
    try:
        return minor(Decimal(amount), decimals)
    except ValueError as error:
        reader.problem(place, str(error), "Give an amount in whole minor units")
        return 0


def _need(reader: CaseReader, place: str, found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if found.get(name) is None:
            reader.problem(f"{place}, {name}", "is missing", "Give it")


def _check_fields(reader: CaseReader, place: str, found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        where = f"{place}, {name}"
        if value is None:
            if name in _CHOICES or name in _COUNTS or name == "newInterestRate":
                reader.problem(where, "is empty", "Give it, or leave it out")
        elif name in ("date", "due_date") or name.endswith("Date"):
            reader.as_day(value, where)
        elif name in _CHOICES:
            if value not in _CHOICES[name]:
                error = unknown(name, str(value), _CHOICES[name], where=f"{reader.where}, {where}")
                reader.problems.append(error)
        elif name in _COUNTS:
            _check_number(reader, where, value, 1, _COUNTS[name], is_whole=True)
        elif name == "newInterestRate":
            _check_number(reader, where, value, 0, MAX_RATE_PCT)


def _check_number(
    reader: CaseReader, where: str, value: Any, least: int, most: int, *, is_whole: bool = False
) -> None:
    kind = "whole number" if is_whole else "number"
    try:
        number = value if isinstance(value, Decimal) else plain_decimal(str(value))
        if is_whole:
            whole(number, least, most)
        if not least <= number <= most:
            raise ValueError(value)
    except ValueError:
        reader.problem(where, f"is {value!r}", f"Give a {kind} within {least} and {most}")


def _check_check(reader: CaseReader, place: str, step: Step) -> None:
    rows, totals = step.get("rows"), step.get("totals")
    if rows is not None:
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            reader.problem(f"{place}, rows", "is no list of objects", "Give one")
        else:
            _check_rows(reader, place, rows)
    if isinstance(totals, dict):
        _check_cells(reader, f"{place}, totals", totals, TOTALS)
    elif totals is not None:
        reader.problem(f"{place}, totals", "is no object", "Give an object")


def _check_rows(reader: CaseReader, place: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        reader.problem(f"{place}, rows", "is empty", "Give the rows of the schedule")
    for number, row in enumerate(rows, start=1):
        where = f"{place}, row {number}"
        if "disbursement_date" in row:
            _need(reader, where, row, ("disbursement_date", "balance"))
            _check_cells(reader, where, row, DISBURSEMENT_CELLS)
            continue
        if row.get("due_date") is None and row.get("nr") is None:
            reader.problem(where, "has neither due_date nor nr", "Give one of them")
        _need(reader, where, row, ("principal", "interest"))
        _check_cells(reader, where, row, INSTALMENT_CELLS)


def _check_cells(
    reader: CaseReader, where: str, cells: Mapping[str, Any], known: tuple[str, ...]
) -> None:
    for name, value in cells.items():
        if name not in known:
            reader.problems.append(unknown("cell", name, known, where=f"{reader.where}, {where}"))
        elif value is None:
            continue
        elif name.endswith("date"):
            reader.as_day(value, f"{where}, {name}")
        elif isinstance(value, bool) or not _is_number(value):
            reader.problem(f"{where}, {name}", f"is {value!r}", "Give a number")


def _is_number(value: Any) -> bool:
    if isinstance(value, int | Decimal):
        return True
    try:
        plain_decimal(value)
    except (TypeError, ValueError):
        return False
    return True
