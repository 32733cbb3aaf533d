"""The report of a loan tape: a file and a mapping in, all its measures out.

A report holds whole numbers by table; a rate is made of two of them when it is written or read.
A rate over zero is no number: it is shown as no data.
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
from usance.measure.tape import report_sql
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
    "statuses": report_sql.STATUSES,
    "matrix": report_sql.MATRIX,
    "roll_rates": report_sql.ROLLS,
    "vintages": report_sql.VINTAGES,
    "ever": report_sql.EVER,
    "cohorts": report_sql.COHORTS,
    "waterfall": report_sql.WATERFALL,
    "gaps": report_sql.GAPS,
}


@dataclass(frozen=True, slots=True)
class TapeReport:
    """The measures of one loan tape."""

    mapping: TapeMapping
    tables: Mapping[str, pa.Table]
    rows: int
    loans: int
    unused: int
    ever: Mapping[int, int]
    findings: tuple[UsanceError, ...]

    def records(self, name: str) -> list[dict[str, Any]]:
        """A table as rows with its rates; a rate over zero is None."""
        rates = RATES.get(name, {})
        return [
            row | {rate: _rate(row[up], row[down]) for rate, (up, down) in rates.items()}
            for row in self.tables[name].to_pylist()
        ]

    @property
    def has_money(self) -> bool:
        """True if balances are amounts; else every loan that owes counts 1."""
        return self.mapping.has_balance

    def amount(self, value: int) -> str:
        """A balance as people read it: whole major units, or a number of accounts."""
        unit = 10**self.mapping.currency.exponent if self.has_money else 1
        up = (abs(value) * 2 + unit) // (unit * 2)
        return f"{-up if value < 0 else up:,}"

    def month(self, number: int) -> str:
        """A month as people write it; plain numbers where the tape counts months itself."""
        return str(number) if self.mapping.relative else format_month(number)

    def cohort(self, number: int) -> str:
        """A cohort as people write it.

        >>> TapeReport(TapeMapping("loan", {}), {}, 0, 0, 0, {}, ()).cohort(648)
        '2024Q1'
        """
        size = self.mapping.cohort_months
        if self.mapping.relative or size == 1:
            return self.month(number)
        year, part = 1970 + number // 12, number % 12 // size + 1
        return f"{year}{ {3: 'Q', 6: 'H'}[size] }{part}" if size < 12 else str(year)


def measure_tape(path: Path | str, mapping: TapeMapping | Path | str) -> TapeReport:
    """The report of a file by its mapping, or everything that is wrong with either."""
    chosen = mapping if isinstance(mapping, TapeMapping) else read_mapping(mapping)
    return tape_report(read_loan_months(path, chosen), chosen)


def tape_report(rows: LoanMonths, mapping: TapeMapping) -> TapeReport:
    """The report of clean loan-months."""
    with connect() as engine:
        _register(engine, rows, mapping)
        parameters = {
            "has_balance": mapping.has_balance,
            "size": mapping.cohort_months,
            "closed_stay": mapping.closed_stay,
            "by_segment": "segment" in mapping.columns,
        }
        engine.sql(report_sql.PANEL, params=parameters).create("panel")
        tables = {name: engine.sql(query).to_arrow_table() for name, query in _QUERIES.items()}
        ever = dict(engine.sql(report_sql.EVER_TOTAL).fetchall())
    return TapeReport(
        mapping, tables, rows.table.num_rows, rows.refs.num_rows, rows.unused, ever, rows.findings
    )


def _register(engine: Any, rows: LoanMonths, mapping: TapeMapping) -> None:
    engine.register("loan_months", rows.table)
    engine.register("refs", rows.refs)
    engine.register("states", _states(mapping.states))
    steps = roll_steps(mapping.states)
    links = {
        "step": pa.array(range(len(steps)), pa.int32()),
        "from_state": pa.array([one for one, _ in steps], pa.int32()),
        "to_state": pa.array([other for _, other in steps], pa.int32()),
    }
    engine.register("chain", pa.table(links))
    for name, days in (("vintage_days", mapping.vintages), ("ever_days", mapping.ever)):
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
