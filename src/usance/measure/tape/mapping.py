r"""The mapping file of a loan tape: the names of its columns and the meaning of its statuses.

```yaml
rows: loan_month
columns: {loan: ID, month: MONTHS_BALANCE, status: STATUS}
months: relative
statuses: {X: absent, C: closed, "0": 1-29, "1": 30-59, "2": 60-89, "3": 90+}
cohorts: half_year
```

>>> made = parse_mapping("rows: loan_month\ncolumns: {loan: ID, month: M, days_past_due: DPD}")
>>> made.columns["days_past_due"], made.cohorts, made.vintages
('DPD', 'quarter', (30, 180))
>>> parse_mapping("rows: loan_month\ncolumns: {loan: ID, month: M}\ncohorts: decade", "map.yaml")
Traceback (most recent call last):
usance.base.errors.Problems: map.yaml: 2 problems
- map.yaml line 3, cohorts: unknown cohorts 'decade'. Choices: month, quarter, half_year, year.
- map.yaml line 2, columns: names neither status nor days_past_due. Name one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from usance.base.amount_notations import AMOUNTS
from usance.base.codes import Currency, parse
from usance.base.dates import parse_month
from usance.base.documents import read_text
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import Fields, day, fields_of, text, whole_of
from usance.measure.errors import TapeError
from usance.measure.tape.loan_states import BY_DAYS, State

LOAN_MONTH = {
    "loan": True, "month": False, "status": False, "days_past_due": False, "balance": False,
    "principal": False, "cohort": False, "segment": False,
}  # fmt: skip
"""Columns of a tape with a row for each loan and month; True where one must be named."""

LOAN = {
    "loan": True, "disbursed_on": True, "principal": True, "total_due": False, "due_on": False,
    "first_due_on": False, "instalments": False, "closed_on": False, "charged_off_on": False,
    "charged_off": False, "segment": False,
}  # fmt: skip
"""Columns of a tape with a row for each loan."""

PAYMENTS = {"loan": True, "paid_on": True, "amount": True}
"""Columns of a file of payments."""

COHORTS = {"month": 1, "quarter": 3, "half_year": 6, "year": 12}
ROWS = {"loan_month": LOAN_MONTH, "loan": LOAN}
RELATIVE = "relative"
_PART = re.compile(r"%(-?[dmyHIMSj]|[aAbBwYpgfzZUWcxXn%])")


@dataclass(frozen=True, slots=True)
class Payments:
    """The file of payments and its columns."""

    file: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TapeMapping:
    """A valid mapping."""

    rows: str
    columns: Mapping[str, str]
    states: tuple[State, ...] = BY_DAYS
    months: str = "%Y-%m-%d"
    dates: tuple[str, ...] = ("%Y-%m-%d",)
    month: int | None = None
    as_of: date | None = None
    currency: Currency = Currency.CNY
    amounts: str = "1234.56"
    cohorts: str = "quarter"
    vintages: tuple[int, ...] = (30, 180)
    ever: tuple[int, ...] = (60, 90)
    leave_out: bool = False
    closed_stay: bool = False
    payments: Payments | None = None
    title: str = "Loan tape"
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_status(self) -> bool:
        """True if states come from codes, not from days past due."""
        return "status" in self.columns

    @property
    def relative(self) -> bool:
        """True if months are plain numbers, 0 the latest."""
        return self.months == RELATIVE and self.rows == "loan_month"

    @property
    def has_balance(self) -> bool:
        """True if rows have amounts."""
        return self.rows == "loan" or "balance" in self.columns

    @property
    def cohort_months(self) -> int:
        """Months in one cohort of the vintage tables."""
        return COHORTS[self.cohorts]


def read_mapping(path: Path | str) -> TapeMapping:
    """The mapping in a YAML or JSON file, or everything that is wrong with it."""
    return parse_mapping(read_text(path), str(path))


def parse_mapping(given: str, where: str = "map") -> TapeMapping:
    """The mapping in a text."""
    fields = fields_of(given, where)
    rows = fields.need("rows", _choice("rows", ROWS)) or "loan_month"
    parts: dict[str, Any] = {"rows": rows}
    _take(fields, parts, "months", _months)
    _take(fields, parts, "amounts", _choice("amounts", AMOUNTS))
    _take(fields, parts, "dates", _formats)
    _take(fields, parts, "title", text)
    _take(fields, parts, "month", lambda value, at: parse_month(str(value), where=at))
    _take(fields, parts, "as_of", day)
    _take(fields, parts, "currency", lambda value, at: parse(Currency, str(value), where=at))
    _take(fields, parts, "cohorts", _choice("cohorts", COHORTS))
    _take(fields, parts, "vintages", _days)
    _take(fields, parts, "ever", _days)
    bad_rows = fields.take("bad_rows", _choice("bad_rows", ("refuse", "leave_out")))
    closed = fields.take("closed_loans", _choice("closed_loans", ("stay", "leave")))
    columns = _columns(fields, "columns", ROWS[rows])
    statuses = _statuses(fields)
    payments = _payments(fields)
    fields.close()
    if fields.is_mapping:
        _check_together(fields, parts, columns, statuses)
    raise_all(fields.problems, where=where)
    parts |= {"states": statuses} if statuses else {}
    parts["closed_stay"] = rows == "loan" if closed is None else closed == "stay"
    places = {key: fields.where("columns", key) for key in columns}
    return TapeMapping(
        columns=columns, leave_out=bad_rows == "leave_out", payments=payments, places=places,
        **parts,
    )  # fmt: skip


def _take(fields: Fields, parts: dict[str, Any], key: str, read: Callable[[Any, str], Any]) -> None:
    value = fields.take(key, read)
    if value is not None:
        parts[key] = value


def _choice(what: str, choices: Mapping[str, Any] | tuple[str, ...]) -> Callable[[Any, str], str]:
    def chosen(given: Any, where: str) -> str:
        if str(given) not in choices:
            raise unknown(what, str(given), choices, where=where)
        return str(given)

    return chosen


def _days(given: Any, where: str) -> tuple[int, ...]:
    one = whole_of(0, 9999)
    return tuple(one(each, where) for each in (given if isinstance(given, list) else [given]))


def _formats(given: Any, where: str) -> tuple[str, ...]:
    return tuple(_format(each, where) for each in (given if isinstance(given, list) else [given]))


def _months(given: Any, where: str) -> str:
    return RELATIVE if given == RELATIVE else _format(given, where)


def _format(given: Any, where: str) -> str:
    """A format of dates, such as `%d.%m.%Y`."""
    form = text(given, where)
    if not _PART.search(form) or "%" in _PART.sub("", form):
        fix = "Write %Y, %m, %d for year, month, day (%y, %b for 24, Jan), as in %d.%m.%Y"
        raise TapeError(f"'{form}' is no way to write a date", where=where, fix=fix)
    return form


def _columns(fields: Fields, key: str, known: Mapping[str, bool]) -> dict[str, str]:
    inner = fields.inner(key)
    if inner is None:
        if fields.is_mapping and key not in fields:
            fields.wrong(f"{key} is missing", f"Name columns: {', '.join(known)}", key)
        return {}
    found: dict[str, str] = {}
    for name, needed in known.items():
        column = (inner.need if needed else inner.take)(name, lambda value, _: str(value))
        if column is not None:
            found[name] = column
    inner.close()
    return found


def _statuses(fields: Fields) -> tuple[State, ...]:
    def read(given: Any, _: str) -> dict[str, str]:
        if not isinstance(given, dict) or not given:
            fields.wrong("is no mapping of codes", "Write 'code: meaning' lines", "statuses")
            return {}
        return {str(code): str(meaning) for code, meaning in given.items()}

    states = []
    for code, meaning in (fields.take("statuses", read) or {}).items():
        try:
            states.append(State.parse(code, meaning, where=fields.where("statuses", code)))
        except UsanceError as error:
            fields.problems.append(error)
    return tuple(states)


def _payments(fields: Fields) -> Payments | None:
    inner = fields.inner("payments")
    if inner is None:
        return None
    file = inner.need("file", text)
    columns = _columns(inner, "columns", PAYMENTS)
    inner.close()
    return Payments(file or "", columns)


def _check_together(
    fields: Fields, parts: Mapping[str, Any], columns: Mapping[str, str], states: tuple[State, ...]
) -> None:
    """Check the keys against each other."""
    if parts["rows"] == "loan":
        if "as_of" not in parts:
            fields.wrong("as_of is missing", "Give the day up to which the file knows", "as_of")
        if "due_on" in columns and "instalments" in columns:
            fix = "Name due_on for one due date, instalments for several"
            fields.wrong("names both due_on and instalments", fix, "columns")
        if not {"due_on", "instalments"} & columns.keys():
            fix = "Name due_on, or instalments and first_due_on"
            fields.wrong("names no column that says when loans fall due", fix, "columns")
        if states:
            fix = "Leave them out: these loans are told apart by their days past due"
            fields.wrong("statuses go with rows: loan_month", fix, "statuses")
        return
    if "payments" in fields:
        fields.wrong("payments go with rows: loan", "Leave them out", "payments")
    if "month" not in columns and "month" not in parts:
        fix = "Name its column, or give one month for all rows"
        fields.wrong("names no month", fix, "columns")
    if not {"status", "days_past_due"} & columns.keys():
        fields.wrong("names neither status nor days_past_due", "Name one of them", "columns")
    if "status" in columns and not states and "statuses" not in fields:
        fix = 'Say what each code stands for, such as "1": 1-30'
        fields.wrong("statuses is missing", fix, "statuses")
