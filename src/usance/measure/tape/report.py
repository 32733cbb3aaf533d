"""Bring your own tape: a file and a mapping in, the whole pack of measures out.

A pack holds whole numbers by table; a rate is made of two of them when it is written or asked for.
A share of nothing is no number: it is shown as no data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from usance.base.dates import format_month
from usance.base.errors import UsanceError
from usance.measure.duckdb_connection import connect
from usance.measure.tape import report_sql as pack_sql
from usance.measure.tape.loan_months import LoanMonths, read_loan_months
from usance.measure.tape.loan_states import State, roll_steps
from usance.measure.tape.mapping import TapeMapping, read_mapping

RATES = {
    "matrix": {"share_of_loans": ("loans", "loans_from"),
               "share_of_balance": ("balance", "balance_from")},
    "roll_rates": {"rate_of_loans": ("loans", "loans_before"),
                   "rate_of_balance": ("balance", "balance_before")},
    "vintages": {"rate": ("past_due", "principal")},
    "ever": {"rate": ("ever", "observed")},
}  # fmt: skip
"""Rates by table: their name, numerator and denominator."""

_QUERIES = {
    "statuses": pack_sql.STATUSES,
    "matrix": pack_sql.MATRIX,
    "roll_rates": pack_sql.ROLLS,
    "vintages": pack_sql.VINTAGES,
    "ever": pack_sql.EVER,
    "cohorts": pack_sql.COHORTS,
    "waterfall": pack_sql.WATERFALL,
    "gaps": pack_sql.GAPS,
}


@dataclass(frozen=True, slots=True)
class TapeReport:
    """Everything measured on one tape."""

    mapped: TapeMapping
    tables: Mapping[str, pa.Table]
    rows: int
    loans: int
    unused: int
    ever: Mapping[int, int]
    left_out: tuple[UsanceError, ...]

    def records(self, name: str) -> list[dict[str, Any]]:
        """A table as rows with its rates; a share of nothing is None."""
        rates = RATES.get(name, {})
        return [
            row | {rate: _rate(row[up], row[down]) for rate, (up, down) in rates.items()}
            for row in self.tables[name].to_pylist()
        ]

    @property
    def has_money(self) -> bool:
        """Whether balances are amounts; else every loan that owes counts 1."""
        return self.mapped.has_balance

    def amount(self, value: int) -> str:
        """A balance as people read it: whole major units, or a number of accounts."""
        unit = 10**self.mapped.currency.exponent if self.has_money else 1
        up = (abs(value) * 2 + unit) // (unit * 2)
        return f"{-up if value < 0 else up:,}"

    def month(self, number: int) -> str:
        """A month as people write it; plain numbers where the tape counts months itself."""
        return str(number) if self.mapped.relative else format_month(number)

    def cohort(self, number: int) -> str:
        """A cohort as people write it.

        >>> TapeReport(TapeMapping("loan", {}), {}, 0, 0, 0, {}, ()).cohort(648)
        '2024Q1'
        """
        size = self.mapped.cohort_months
        if self.mapped.relative or size == 1:
            return self.month(number)
        year, part = 1970 + number // 12, number % 12 // size + 1
        return f"{year}{ {3: 'Q', 6: 'H'}[size] }{part}" if size < 12 else str(year)


def measure_tape(path: Path | str, mapping: TapeMapping | Path | str) -> TapeReport:
    """The pack of a file by its mapping, or everything that is wrong with either."""
    mapped = mapping if isinstance(mapping, TapeMapping) else read_mapping(mapping)
    return tape_report(read_loan_months(path, mapped), mapped)


def tape_report(rows: LoanMonths, mapped: TapeMapping) -> TapeReport:
    """The measures of clean rows."""
    with connect() as engine:
        _register(engine, rows, mapped)
        parameters = {
            "has_balance": mapped.has_balance,
            "size": mapped.cohort_months,
            "closed_stay": mapped.closed_stay,
            "by_segment": "segment" in mapped.columns,
        }
        engine.sql(pack_sql.PANEL, params=parameters).create("panel")
        tables = {name: engine.sql(query).to_arrow_table() for name, query in _QUERIES.items()}
        ever = dict(engine.sql(pack_sql.EVER_TOTAL).fetchall())
    return TapeReport(
        mapped, tables, rows.table.num_rows, rows.refs.num_rows, rows.unused, ever, rows.left_out
    )


def _register(engine: Any, rows: LoanMonths, mapped: TapeMapping) -> None:
    engine.register("made", rows.table)
    engine.register("refs", rows.refs)
    engine.register("states", _states(mapped.states))
    steps = roll_steps(mapped.states)
    links = {
        "step": pa.array(range(len(steps)), pa.int32()),
        "from_state": pa.array([one for one, _ in steps], pa.int32()),
        "to_state": pa.array([other for _, other in steps], pa.int32()),
    }
    engine.register("chain", pa.table(links))
    for name, days in (("vintage_days", mapped.vintages), ("ever_days", mapped.ever)):
        engine.register(name, pa.table({"days": pa.array(sorted(set(days)), pa.int32())}))


def _states(states: tuple[State, ...]) -> pa.Table:
    return pa.table(
        {
            "state": pa.array(range(len(states)), pa.int32()),
            "label": [state.label for state in states],
            "kind": pa.array([int(state.kind) for state in states], pa.int32()),
            "last_day": pa.array([state.last_day for state in states], pa.int32()),
        }
    )


def _rate(numerator: int, denominator: int) -> float | None:
    return numerator / denominator if denominator else None
