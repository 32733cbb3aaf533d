"""Loans that a deal holds or may take, as columns; no personal data among them.

A pool file is CSV or Parquet with these columns; `borrower_minor` is what the borrower owes on all
loans, `deal` the deal a loan is in already, empty if none.

>>> columns = pool_of_rows([{"loan_id": 16385, "principal_minor": 500_000, "months_left": 6}])
>>> columns["principal_minor"].tolist(), columns["dpd"].tolist(), columns.deal.tolist()
([500000], [0], [''])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64, Bools
from usance.base.encodings import csv_refusal
from usance.base.errors import unknown
from usance.base.formula_types import FormulaType, Span, Truth, TypeRules, type_of
from usance.base.formulas import Formula, Literal, Name
from usance.fund.errors import DealError, PoolError

COLUMNS: Mapping[str, tuple[int, int]] = {
    "loan_id": (1, 2**53),
    "principal_minor": (0, 10**12),
    "rate_ppm": (0, 1_000_000),
    "months_left": (0, 600),
    "instalments_paid": (0, 600),
    "dpd": (0, 10_000),
    "grade": (0, 127),
    "region": (0, 32_767),
    "product": (0, 32_767),
    "pd_ppm": (0, 1_000_000),
    "borrower_minor": (0, 10**13),
}
"""Columns of a pool with their least and largest value; all but the first two may be left out."""
NEEDED = ("loan_id", "principal_minor")
SCOPE: Mapping[str, FormulaType] = {name: Span(*bounds) for name, bounds in COLUMNS.items()}
RULES = TypeRules(limit=2**63 - 1, error=DealError)


@dataclass(frozen=True, eq=False)
class PoolColumns:
    """Loans by column, in order of their ids."""

    values: Mapping[str, I64]
    deal: NDArray[np.str_]

    def __getitem__(self, name: str) -> I64:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.values["loan_id"])

    @property
    def principal_total_minor(self) -> int:
        """The principal of all of them."""
        return int(self["principal_minor"].sum())

    def take(self, rows: NDArray[Any]) -> PoolColumns:
        """Some of the loans."""
        return PoolColumns(
            {name: each[rows] for name, each in self.values.items()}, self.deal[rows]
        )


def read_pool(path: Path | str) -> PoolColumns:
    """The pool of a `.csv` or `.parquet` file."""
    import pyarrow.csv
    import pyarrow.parquet

    file = Path(path)
    try:
        if file.suffix == ".parquet":
            table = pyarrow.parquet.read_table(file)
        else:
            table = pyarrow.csv.read_csv(
                file, convert_options=pyarrow.csv.ConvertOptions(column_types={"deal": pa.string()})
            )
    except FileNotFoundError:
        fix = "Check the name and the folder"
        raise PoolError("no such file", where=str(path), fix=fix) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        fix = "Give a CSV with a header, or Parquet"
        what, fix = csv_refusal(file) or (f"cannot be read: {error}", fix)
        raise PoolError(what, where=str(path), fix=fix) from None
    return pool_of_table(table, str(path))


def pool_of_rows(rows: Iterable[Mapping[str, Any]]) -> PoolColumns:
    """A pool from a mapping for each loan."""
    return pool_of_table(pa.Table.from_pylist(list(map(dict, rows))), "pool")


def pool_of_table(table: pa.Table, where: str) -> PoolColumns:
    """A pool from a table, with its columns checked."""
    for name in NEEDED:
        if name not in table.column_names:
            raise PoolError(f"the column {name} is missing", where=where, fix=f"Give {name}")
    for name in table.column_names:
        if name not in COLUMNS and name != "deal":
            wrong = unknown("column", name, [*COLUMNS, "deal"])
            raise PoolError(wrong.what, where=where, fix=wrong.fix)
    values = {}
    for name, (low, high) in COLUMNS.items():
        if name not in table.column_names:
            values[name] = np.zeros(len(table), np.int64)
            continue
        column = table.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            fix = "Give a whole number in every row"
            raise PoolError(f"{name} is not all whole numbers", where=where, fix=fix)
        values[name] = column.to_numpy().astype(np.int64)
        _check_range(name, values[name], low, high, where)
    if "borrower_minor" not in table.column_names:
        values["borrower_minor"] = values["principal_minor"]
    deal = table.column("deal").to_pylist() if "deal" in table.column_names else [""] * len(table)
    order = np.argsort(values["loan_id"], kind="stable")
    found = PoolColumns(values, np.array([each or "" for each in deal], dtype=np.str_)).take(order)
    twice = np.flatnonzero(np.diff(found["loan_id"]) == 0)
    if len(twice):
        what = f"loan {found['loan_id'][twice[0]]} is there twice"
        raise PoolError(what, where=where, fix="Give each loan one row")
    return found


def _check_range(name: str, values: I64, low: int, high: int, where: str) -> None:
    wrong = np.flatnonzero((values < low) | (values > high))
    if len(wrong):
        what = f"{name} is {values[wrong[0]]} in row {wrong[0] + 1}"
        raise PoolError(what, where=where, fix=f"Give {low} to {high}")


def check_criterion(formula: Formula, where: str) -> None:
    """Refuse a formula over a pool that has unknown names or gives no truth."""
    if not isinstance(type_of(formula, SCOPE, where, RULES), Truth):
        fix = "Write a condition such as dpd == 0"
        raise DealError("the formula does not give true or false", where=where, fix=fix)


def on_columns(formula: Formula, pool: PoolColumns) -> NDArray[Any]:
    """A formula of every loan at once.

    >>> from usance.base.formulas import parse_formula
    >>> pool = pool_of_rows([{"loan_id": n, "principal_minor": 1, "dpd": n} for n in (1, 2, 3)])
    >>> on_columns(parse_formula("dpd >= 2 and not (dpd == 3)"), pool).tolist()
    [False, True, False]
    """
    if isinstance(formula, Literal):
        return np.full(len(pool), formula.value)
    if isinstance(formula, Name):
        return pool[formula.path]
    args = [on_columns(arg, pool) for arg in formula.args]
    if formula.op == "?":
        chosen: NDArray[Any] = np.where(args[0], args[1], args[2])
        return chosen
    if formula.op == "not":
        return ~args[0]
    found = args[0]
    for other in args[1:]:
        found = _WORK[formula.op](found, other)
    return found


_WORK: Mapping[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "floor": np.floor_divide, "min": np.minimum,
    "max": np.maximum, "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def eligible(
    pool: PoolColumns, criteria: Mapping[str, Formula], deal: str
) -> tuple[Bools, dict[str, int]]:
    """Loans that meet every criterion and are in no other deal; how many each criterion refuses."""
    refused: dict[str, int] = {}
    fits: Bools = np.isin(pool.deal, ["", deal])
    refused["in no other deal"] = int((~fits).sum())
    for name, formula in criteria.items():
        meets = on_columns(formula, pool)
        refused[name] = int((~meets).sum())
        fits = fits & meets
    return fits, refused
