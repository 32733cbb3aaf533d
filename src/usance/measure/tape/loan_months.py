"""Loan-months of a tape: its text as numbers by loan and month; every wrong cell with its row.

Loan-month files are taken as they are. Loan files are projected, month end by month end, from
their dates and payments: payments cover the oldest due first, and days past due run from the
oldest due that is not covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from usance.base.amount_notations import AMOUNTS, plain_amounts
from usance.base.csv_lines import row_word
from usance.base.dates import from_day, to_month
from usance.base.errors import UsanceError, raise_all
from usance.measure.duckdb_connection import connect
from usance.measure.errors import TapeError
from usance.measure.tape.file import read_rows
from usance.measure.tape.loan_month_sql import (
    LOAN_CELLS,
    LOAN_MONTH_CELLS,
    LOAN_MONTH_ROWS,
    LOAN_PROBLEMS,
    LOAN_ROWS,
    MONTH_PROBLEMS,
    PAYMENT_CELLS,
    PAYMENT_PROBLEMS,
    REFS,
    SUMS,
    UNUSED,
)
from usance.measure.tape.loan_states import BY_DAYS
from usance.measure.tape.mapping import LOAN, LOAN_MONTH, PAYMENTS, TapeMapping

_MAX_MONEY = 1 << 62  # minor units, what sums of whole numbers hold with room to spare
_MAX_PROBLEMS = 1_000  # a file with more is of another kind; the rest would not help


@dataclass(frozen=True, slots=True)
class LoanMonths:
    """Clean rows (loan, month, state, balance, principal, cohort), loan names, and problems."""

    table: pa.Table
    refs: pa.Table
    unused: int
    findings: tuple[UsanceError, ...]


def read_loan_months(path: Path | str, mapping: TapeMapping) -> LoanMonths:
    """The loan-months of a file by its mapping; problems are raised, or kept with `leave_out`."""
    with connect() as engine:
        states = [(place, each.label, each.kind) for place, each in enumerate(mapping.states)]
        engine.register("states", _table(states, ("state", "label", "kind")))
        if mapping.rows == "loan_month":
            problems, broken, made = _loan_months(engine, path, mapping)
        else:
            problems, broken, made = _loans(engine, path, mapping)
        if not mapping.leave_out:
            raise_all(problems, where=str(path))
        engine.register("loan_months", made)
        if not made.num_rows:
            fix = "Correct the mapping or the file"
            raise_all([*problems, TapeError("has no row to measure", where=str(path), fix=fix)])
        if (engine.sql(SUMS).fetchall()[0][0] or 0) >= _MAX_MONEY:
            fix = "Give amounts in units of the currency, or a part of the loans"
            raise TapeError("its amounts add up to too much", where=str(path), fix=fix)
        refs = engine.sql(REFS).to_arrow_table()
        unused = engine.sql(UNUSED).fetchall()[0][0]
    return LoanMonths(made, refs, unused + broken, tuple(problems))


_Parsed: TypeAlias = tuple[list[UsanceError], int, pa.Table]
"""The problems, the number of rows that could not be read, and the valid rows."""


def _loan_months(engine: Any, path: Path | str, mapping: TapeMapping) -> _Parsed:
    formats = {"month": mapping.months, "cohort": mapping.months}
    given, broken, problems = read_rows(
        path, mapping.columns, LOAN_MONTH, formats, mapping.places, _points(mapping)
    )
    engine.register("given", _amounts(given, mapping))
    engine.sql(LOAN_MONTH_CELLS, params=_parameters(mapping)).create("cells")
    problems += _problems(engine.sql(MONTH_PROBLEMS, params=_named_columns(mapping)), path)
    rows = engine.sql(LOAN_MONTH_ROWS, params={"by_status": mapping.by_status}).to_arrow_table()
    return problems, broken, rows


def _loans(engine: Any, path: Path | str, mapping: TapeMapping) -> _Parsed:
    formats = dict.fromkeys(LOAN, mapping.dates[0])
    given, broken, problems = read_rows(
        path, mapping.columns, LOAN, formats, mapping.places, _points(mapping)
    )
    engine.register("given", _amounts(given, mapping))
    units = 10**mapping.currency.exponent
    engine.sql(LOAN_CELLS, params={"dates": list(mapping.dates), "units": units}).create("cells")
    problems += _problems(engine.sql(LOAN_PROBLEMS, params=_named_columns(mapping)), path)
    paid = pa.table({name: pa.nulls(0, pa.string()) for name in PAYMENTS} | _NO_ROWS)
    if mapping.payments is not None:
        file = Path(path).parent / mapping.payments.file
        formats = {"paid_on": mapping.dates[0]}
        paid, _, found = read_rows(
            file, mapping.payments.columns, PAYMENTS, formats, {}, _points(mapping)
        )
        problems += found
    engine.register("paid", _amounts(paid, mapping))
    engine.sql(PAYMENT_CELLS, params={"dates": list(mapping.dates), "units": units}).create(
        "payments"
    )
    if mapping.payments is not None:
        problems += _problems(engine.sql(PAYMENT_PROBLEMS), file)
    assert mapping.as_of is not None
    scheduled = mapping.payments is None and "closed_on" not in mapping.columns
    engine.register("days", _month_ends(engine, mapping))
    rows = engine.sql(LOAN_ROWS, params={"as_of": mapping.as_of, "scheduled": scheduled})
    return problems, broken, rows.to_arrow_table()


_MONEY = ("balance", "principal", "total_due", "charged_off", "amount")


def _points(mapping: TapeMapping) -> dict[str, str]:
    """The decimal separator of each column of amounts."""
    return dict.fromkeys(_MONEY, AMOUNTS[mapping.amounts][1])


def _amounts(given: pa.Table, mapping: TapeMapping) -> pa.Table:
    """Each column of amounts also with a point and no groups; null where it has another format."""
    for name in set(_MONEY) & set(given.column_names):
        plain, _ = plain_amounts(given.column(name), mapping.amounts)
        given = given.append_column(f"{name}_plain", plain)
    return given


_NO_ROWS = {"row": pa.nulls(0, pa.int64())}


def _month_ends(engine: Any, mapping: TapeMapping) -> pa.Table:
    """Every month from the first disbursement to `as_of`, with its last day or `as_of`."""
    from usance.base.dates import last_of_month

    assert mapping.as_of is not None
    first = engine.sql(
        "SELECT min(datediff('day', DATE '1970-01-01', disbursed_on)) FROM cells"
    ).fetchall()[0][0]
    last = to_month(mapping.as_of)
    start = last + 1 if first is None else to_month(from_day(first))
    days = [(month, min(last_of_month(month), mapping.as_of)) for month in range(start, last + 1)]
    return _table(days, ("month", "seen_on"), (pa.int32(), pa.date32()))


def _parameters(mapping: TapeMapping) -> dict[str, Any]:
    return {
        "months": "%Y-%m" if mapping.relative else mapping.months,
        "relative": mapping.relative,
        "month": mapping.month,
        "units": 10**mapping.currency.exponent,
        "by_status": mapping.by_status,
        "has_balance": "balance" in mapping.columns,
        "closed": next((n for n, s in enumerate(mapping.states) if s is BY_DAYS[8]), None),
    }


def _named_columns(mapping: TapeMapping) -> dict[str, Any]:
    """Parameters that tell the optional columns of the mapping: only their cells can be wrong."""
    known = LOAN_MONTH if mapping.rows == "loan_month" else LOAN
    wanted = ("cohort", "balance", "principal") if mapping.rows == "loan_month" else (
        "total_due", "due_on", "first_due_on", "instalments",
    )  # fmt: skip
    assert set(wanted) <= known.keys()
    named = {f"has_{name}": name in mapping.columns for name in wanted}
    return named | ({"by_status": mapping.by_status} if mapping.rows == "loan_month" else {})


def _problems(found: Any, path: Path | str) -> list[UsanceError]:
    """Findings from rows of (row, what, fix)."""
    rows, word = found.fetchall(), row_word(path)
    problems: list[UsanceError] = [
        TapeError(what.replace(" of row ", f" of {word} "), where=f"{path} {word} {row}", fix=fix)
        for row, what, fix in rows[:_MAX_PROBLEMS]
    ]
    if len(rows) > _MAX_PROBLEMS:
        what = f"{len(rows) - _MAX_PROBLEMS} more rows are wrong"
        problems.append(TapeError(what, where=str(path), fix="Correct the first ones first"))
    return problems


def _table(
    rows: list[tuple[Any, ...]], names: tuple[str, ...], types: tuple[Any, ...] = ()
) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        {
            name: pa.array(values, types[place] if types else None)
            for place, (name, values) in enumerate(zip(names, columns, strict=True))
        }
    )
