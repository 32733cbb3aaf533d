"""Schedules and replays of many loans from files: columns in, the kernel, columns out.

Loans come as CSV or Parquet, one row each, under our names or by a mapping; facts as another file.
The answer is an Arrow table. What only the exact form knows is refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Component, FactKind, Fee, Status, parse
from usance.base.column_files import ColumnFile, ColumnNames, first_rows, unique_first
from usance.base.csv_lines import row_place
from usance.base.dates import from_day, to_day
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.ids import fact_ref
from usance.base.money import Money
from usance.loan.batch import replay_columns, schedule_columns
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS, KERNEL_CONVENTIONS
from usance.loan.documents.terms import default_first_due
from usance.loan.fact_files import NO_BOOKING_TIMES, collect_facts
from usance.loan.facts import END_OF_TIME
from usance.loan.kernel.fact_files import FactFile, FactRows
from usance.loan.views import NOT_DISBURSED, VIEW_FIELDS

if TYPE_CHECKING:
    import pyarrow as pa

KERNEL_NAMES = {name: no for name, no in CONVENTION_CODES.items() if no <= KERNEL_CONVENTIONS}
"""Conventions of the kernel, by name."""
_COUNTS = ("days_past_due", "instalments_paid")


@dataclass(frozen=True)
class LoanTable:
    """Loans of a file: their names in order, and their terms."""

    loans: list[str]
    terms: TermColumns
    path: Path


def read_loan_table(path: Path, names: ColumnNames, currency: str) -> LoanTable:
    """The loans of a file; a problem for each column that is missing or wrong."""
    file = ColumnFile(path, names)
    file.need("principal", "rate", "instalments", "disbursed_on")
    loans = _loan_names(file)
    start, convention = file.days("disbursed_on"), _conventions(file)
    rate = file.rates("rate")
    none = np.zeros(len(file), np.int64)
    fees = [file.amounts(name, currency) if file.has(name) else none
            for name in ("flat_fee", "guarantee_fee")]  # fmt: skip
    coupon = file.rates("coupon") if file.has("coupon") else rate
    first = file.days("first_due_on") if file.has("first_due_on") else none
    principal, instalments = file.amounts("principal", currency), file.wholes("instalments")
    raise_all(file.problems, where=str(path))
    first = np.where(first == 0, _first_due(start, convention), first)
    try:
        terms = TermColumns(
            principal, _narrow(rate, np.int32), _narrow(coupon, np.int32),
            _narrow(instalments, np.int16), _narrow(start, np.int32), _narrow(first, np.int32),
            fees[0], fees[1], _narrow(convention, np.int16),
        )  # fmt: skip
    except UsanceError as error:
        raise _placed(error, path) from error
    return LoanTable(loans, terms, path)


def schedule_table(loans: LoanTable) -> pa.Table:
    """Every instalment of every loan."""
    import pyarrow as pa

    plan = schedule_columns(loans.terms)
    counts = np.diff(plan.offsets)
    ends = np.cumsum(plan.principal)
    before = np.repeat(ends[plan.offsets[1:] - 1] - loans.terms.principal_minor, counts)
    number = np.arange(1, len(plan.principal) + 1) - np.repeat(plan.offsets[:-1], counts)
    columns = {
        "loan": _repeated(loans.loans, counts), "number": number.astype(np.int16),
        "due_on": pa.array(plan.due_on, pa.int32()).cast(pa.date32()),
        "principal_minor": plan.principal, "interest_minor": plan.interest,
        "guarantee_fee_minor": np.array(plan.guarantee_fee),
        "service_fee_minor": np.array(plan.service_fee),
        "total_minor": plan.principal + plan.interest + plan.guarantee_fee + plan.service_fee,
        "balance_minor": np.repeat(loans.terms.principal_minor, counts) - (ends - before),
    }  # fmt: skip
    return pa.table(columns)


def replay_table(
    loans: LoanTable, facts: Path | None, names: ColumnNames, currency: str, as_of: date,
    known_at: datetime = END_OF_TIME,
) -> pa.Table:  # fmt: skip
    """Balances and arrears of every loan on a day, a row each."""
    import pyarrow as pa

    ids = np.arange(1, len(loans.loans) + 1, dtype=np.int64)
    files = [read_fact_table(facts, names, currency, loans.loans)] if facts else []
    rows, id_base = _OwnFacts(loans, facts, names, currency), 1
    try:
        known = collect_facts(files, ids, known_at=known_at).unreversed(ids)
        id_base = 0
        views = replay_columns(loans.terms, known, as_of)
    except UsanceError as error:
        raise rows.named(error, id_base) from error
    columns: dict[str, Any] = {
        "loan": pa.array(loans.loans),
        "as_of": pa.array([as_of] * len(loans.loans), pa.date32()),
    }
    for name in VIEW_FIELDS:
        column = views.column(name)
        if name == "status":
            labels = np.array([Status(code).label for code in range(len(Status))])
            columns[name] = np.where(views.column("disbursed") > 0, labels[column], NOT_DISBURSED)
        elif name == "next_due_day":
            days = pa.array(column.astype(np.int32), mask=column < 0)
            columns["next_due_on"] = days.cast(pa.date32())
        else:
            columns[name if name in _COUNTS else f"{name}_minor"] = np.ascontiguousarray(column)
    return pa.table(columns)


def read_fact_table(path: Path, names: ColumnNames, currency: str, loans: list[str]) -> FactFile:
    """The facts of a file in key order; their loans are those given."""
    file = ColumnFile(path, names)
    file.need("loan", "kind", "on")
    known = {name: place for place, name in enumerate(loans, start=1)}
    owner = file.read("loan", "loan of the other file", lambda cell: known[cell])
    kind = file.read("kind", "kind of fact", lambda cell: parse(FactKind, cell).value)
    day = file.days("on")
    amount = file.amounts("amount", currency) if file.has("amount") else np.zeros(len(file), int)
    places = np.arange(1, len(file) + 1, dtype=np.int64)
    ref = file.read("ref", "reference", fact_ref) if file.has("ref") else places
    arg = file.read("arg", "argument", _argument) if file.has("arg") else np.zeros(len(file), int)
    booked = file.read("booked_at", "moment", _moment) if file.has("booked_at") else None
    raise_all(file.problems, where=str(path))
    order = np.lexsort((ref, kind, day, owner))
    rows = FactRows(
        day[order].astype(np.int32), kind[order].astype(np.int8), ref[order],
        amount[order].astype(np.int64), arg[order].astype(np.int64),
    )  # fmt: skip
    return FactFile(owner[order], rows, NO_BOOKING_TIMES if booked is None else booked[order])


def _loan_names(file: ColumnFile) -> list[str]:
    """The name of each loan: its column, else its row."""
    if not file.has("loan"):
        return [str(row) for row in range(1, len(file) + 1)]
    places, names = first_rows(file.texts("loan"))
    again = unique_first(places)
    if len(again):
        shown = ", ".join(f"'{names[places[row]]}'" for row in again[:3])
        what = f"{len(again):,} loans have a second row: {shown}"
        fix = "Give every loan one row"
        file.problems.append(DocumentError(what, where=str(file.path), fix=fix))
    return [names[place] for place in places]


def _conventions(file: ColumnFile) -> I64:
    if not file.has("convention"):
        return np.full(len(file), KERNEL_NAMES["level_monthly"], np.int64)
    found = file.read("convention", "convention of the kernel", lambda cell: KERNEL_NAMES[cell])
    return np.where(found == 0, KERNEL_NAMES["level_monthly"], found)


def _first_due(start: I64, convention: I64) -> I64:
    """One step of the convention after the disbursement, asked once for each pair."""
    names = {no: name for name, no in KERNEL_NAMES.items()}
    pairs, places = np.unique(np.stack((start, convention)), axis=1, return_inverse=True)
    due = [to_day(default_first_due(from_day(int(day)), CONVENTIONS[names[int(no)]]))
           for day, no in pairs.T]  # fmt: skip
    return np.array(due, np.int64)[places.reshape(-1)]


def _narrow(values: I64, kind: type[np.integer[Any]]) -> Any:
    """The same numbers in fewer bits; one that does not fit becomes the largest, and is refused."""
    bounds = np.iinfo(kind)
    return np.clip(values, bounds.min, bounds.max).astype(kind)


def _placed(error: UsanceError, path: Path) -> UsanceError:
    """An error of a row of the columns, at its line of the file."""
    found = re.fullmatch(r"row (\d+)", error.where or "")
    if found is None:
        return error
    return type(error)(error.what, where=row_place(path, int(found[1]) + 1), fix=error.fix)


@dataclass(frozen=True)
class _OwnFacts:
    """The files of a replay, to name what is refused as they do."""

    loans: LoanTable
    facts: Path | None
    names: ColumnNames
    currency: str

    def named(self, error: UsanceError, id_base: int) -> UsanceError:
        """An error of a loan by its number: its own name, file and line, and money in units."""
        found = re.fullmatch(r"loan (\d+)(.*)", error.where or "")
        if found is None:
            return error
        row, what = int(found[1]) - id_base, error.what
        place = row_place(self.loans.path, row + 1)
        told = re.match(r"(\w+) of (\d{4}-\d{2}-\d{2}) over (-?\d+) ", what)
        if told and self.facts:
            kind, day, minor = told[1], to_day(date.fromisoformat(told[2])), int(told[3])
            place = self._place_of(row, parse(FactKind, kind), day, minor) or place
            over = f" over {Money(minor, self.currency)}" if minor else ""
            what = f"{kind} of {told[2]}{over} {what[told.end() :]}"
        where = f"{place}, loan '{self.loans.loans[row]}'{found[2]}"
        return type(error)(what, where=where, fix=error.fix)

    def _place_of(self, row: int, kind: FactKind, day: int, minor: int) -> str:
        """The last line of the facts that tells this; empty if none does."""
        assert self.facts is not None, "a fact was refused"
        file = ColumnFile(self.facts, self.names)
        own = [cell == self.loans.loans[row] for cell in file.texts("loan").to_pylist()]
        kinds = file.read("kind", "kind of fact", lambda cell: parse(FactKind, cell).value)
        same = np.array(own, bool) & (kinds == kind.value) & (file.days("on") == day)
        if file.has("amount"):
            same &= file.amounts("amount", self.currency) == minor
        rows = np.flatnonzero(same)
        return row_place(self.facts, int(rows[-1]) + 1) if len(rows) else ""


def _argument(cell: str) -> int:
    """The argument of a fact: a number, the name of a component or fee, or a reference."""
    for codes in (Component, Fee):
        if cell.upper() in codes.__members__:
            return int(codes[cell.upper()])
    return fact_ref(cell)


def _moment(cell: str) -> int:
    from usance.base.dates import microseconds, parse_moment

    return microseconds(parse_moment(cell))


def _repeated(names: list[str], counts: I64) -> Any:
    import pyarrow as pa

    return pa.array(names).take(pa.array(np.repeat(np.arange(len(names)), counts)))
