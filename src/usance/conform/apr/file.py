"""A file of worked examples of annual rates, read strictly into streams of money.

A case names its jurisdiction, what is advanced, what is paid, when, and the rate expected in per
cent. A time is `t` whole unit-periods and a fraction `f`, or years, months, weeks and days, or a
date. Whatever is wrong with a case is collected under its id and the field.

>>> case = read_case(
...     {
...         "id": "one",
...         "jurisdiction": "US",
...         "unit_period": "1 month",
...         "advances": [{"amount": 100, "t": 0}],
...         "expected_apr_pct": 12,
...         "payment_streams": [{"amount": 101, "t": 1}],
...     },
...     1,
... )
>>> case.id, len(case.streams), case.problems
('one', 2, ())
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from usance.base.dates import parse_date
from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, InputError, unknown
from usance.base.money import is_plain
from usance.conform.errors import CaseError
from usance.loan.rates.unit_periods import UnitPeriod

T = TypeVar("T")

ADVANCES = ("advances", "advance", "drawdowns", "drawdown")
PAYMENTS = ("payment_streams", "payments", "repayments", "streams", "charges")
# The units a time can be given in, and how many of each make a year.
SPANS = {"years": 1, "months": 12, "weeks": 52, "days": 365}
JURISDICTIONS = {"US": "US", "EU": "EU", "UK": "EU"}
"""Whose equation a case asks for; the UK kept the directive's (FCA handbook, CONC App 1)."""
MAX_COUNT = 100_000

_RATIO = re.compile(r"\d{1,9}/[1-9]\d{0,8}")
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,20})?")
_OTHER_METHOD = re.compile(r"united states rule|u\.?s\.? rule\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """One amount, or equal ones in a row; positive is what the borrower receives."""

    field: str
    amount: Decimal
    count: int
    periods: Fraction | None = None
    fraction: Fraction = Fraction(0)
    years: Fraction | None = None
    day: date | None = None
    interval: Fraction | None = None


MAX_AMOUNT = 10**15
MAX_TIME = 100_000
"""A loan is lower and over sooner, in whatever unit of time; rates are exact up to there."""


@dataclass(frozen=True, slots=True)
class CaseDates:
    """The dates a case gives beside or instead of times."""

    advances: tuple[date, ...] = ()
    payments: tuple[date, ...] = ()
    payment_days: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One worked example, with everything that is wrong with it."""

    id: str
    title: str
    jurisdiction: str
    streams: tuple[FlowSeries, ...]
    unit: UnitPeriod | None
    per_year: Fraction | None
    dates: CaseDates
    expected_pct: Decimal | None
    problems: tuple[InputError, ...]


def read_cases(path: Path | str) -> list[Case]:
    """Every case of a file; a file that is not one of cases at all is an error."""
    document = parse_json(read_text(path), where=str(path))
    cases = document.get("cases") if isinstance(document, dict) else document
    if not isinstance(cases, list) or not cases:
        raise DocumentError(
            "holds no cases", where=str(path), fix='Give {"cases": [...]} with at least one case'
        )
    return [read_case(raw, number) for number, raw in enumerate(cases, start=1)]


def read_case(raw: Any, number: int) -> Case:
    """One case as it stands in the file."""
    fields = raw if isinstance(raw, dict) else {}
    name = fields.get("id")
    reader = _Reader(name if isinstance(name, str) and name else f"case {number}", fields)
    if not isinstance(raw, dict):
        reader.problem("", "is not an object", "Give each case as {...}")
    return reader.case()


class _Reader:
    """Reads one case and keeps every problem."""

    def __init__(self, name: str, raw: dict[str, Any]) -> None:
        self.name = name
        self.raw = raw
        self.problems: list[InputError] = []

    def case(self) -> Case:
        """All fields at once, so that all problems show."""
        return Case(
            id=self.name,
            title=str(self.raw.get("title", "")),
            jurisdiction=self._jurisdiction(),
            streams=(*self._streams(ADVANCES, 1), *self._streams(PAYMENTS, -1)),
            unit=self._unit(),
            per_year=self._per_year(),
            dates=self._dates(),
            expected_pct=self._expected(),
            problems=tuple(self.problems),
        )

    def problem(self, field: str, what: str, fix: str) -> None:
        """Keep a problem under the case's id."""
        self.problems.append(CaseError(f"{field} {what}".strip(), where=self.name, fix=fix))

    def _jurisdiction(self) -> str:
        given = str(self.raw.get("jurisdiction", "")).upper()
        if given not in JURISDICTIONS:
            self.problems.append(unknown("jurisdiction", given, JURISDICTIONS, where=self.name))
        if _OTHER_METHOD.search(str(self.raw.get("rule", ""))):
            fix = "Name the actuarial method; the United States Rule method is not offered"
            self.problem("rule", f"unknown: {self.raw['rule']!r}", fix)
        return JURISDICTIONS.get(given, "")

    def _streams(self, names: tuple[str, ...], sign: int) -> Iterator[FlowSeries]:
        found = [name for name in names if name in self.raw]
        if not found:
            self.problem(names[0], "is missing", f"Give a list of {names[0]}")
        for name in found:
            entries = self.raw[name] if isinstance(self.raw[name], list) else [self.raw[name]]
            if not entries:
                self.problem(name, "is empty", 'Give at least one {"amount": ..., "t": ...}')
            for number, entry in enumerate(entries, start=1):
                yield self._stream(f"{name}[{number}]", entry, sign)

    def _stream(self, field: str, entry: Any, sign: int) -> FlowSeries:
        if not isinstance(entry, dict):
            self.problem(field, "is not an object", 'Give {"amount": ..., "t": ...}')
            entry = {"amount": 0, "t": 0}
        times = [key for key in SPANS if key in entry or f"t_{key}" in entry]
        spans = [
            self._number(entry.get(key, entry.get(f"t_{key}")), f"{field}.{key}") / SPANS[key]
            for key in times
        ]
        whole = entry.get("t", entry.get("s"))
        return FlowSeries(
            field=field,
            amount=sign * self._amount(entry.get("amount"), f"{field}.amount"),
            count=self._count(entry.get("count", 1), f"{field}.count"),
            periods=None if whole is None else self._number(whole, f"{field}.t"),
            fraction=self._number(entry.get("f", 0), f"{field}.f"),
            years=sum(spans, Fraction(0)) if spans else None,
            day=self._day(entry.get("date"), f"{field}.date"),
            interval=self._optional("interval", entry, f"{field}.interval"),
        )

    def _amount(self, given: Any, field: str) -> Decimal:
        if isinstance(given, str) and _PLAIN.fullmatch(given):
            given = Decimal(given)
        if (type(given) is int or is_plain(given)) and 0 <= given <= MAX_AMOUNT:
            return Decimal(given)
        what = "is missing" if given is None else f"is {given!r}"
        fix = f"Give an amount from 0 to {MAX_AMOUNT} as a plain number"
        self.problem(field, what, fix)
        return Decimal(0)

    def _count(self, given: Any, field: str) -> int:
        if type(given) is int and 1 <= given <= MAX_COUNT:
            return given
        self.problem(field, f"is {given!r}", f"Give a whole number from 1 to {MAX_COUNT}")
        return 1

    def _number(self, given: Any, field: str) -> Fraction:
        text = isinstance(given, str) and (_RATIO.fullmatch(given) or _PLAIN.fullmatch(given))
        if text or type(given) is int or is_plain(given):
            number = Fraction(given)
            if 0 <= number <= MAX_TIME:
                return number
        self.problem(field, f"is {given!r}", f"Give a number from 0 to {MAX_TIME}")
        return Fraction(0)

    def _optional(self, name: str, entry: dict[str, Any], field: str) -> Fraction | None:
        return self._number(entry[name], field) if entry.get(name) is not None else None

    def _unit(self) -> UnitPeriod | None:
        given = self.raw.get("unit_period")
        if not given:
            return None
        try:
            return UnitPeriod.parse(str(given), where=self.name)
        except InputError as error:
            # Its name does not matter where the number of them in a year is given.
            if "unit_periods_per_year" not in self.raw:
                self.problems.append(error)
            return None

    def _per_year(self) -> Fraction | None:
        per_year = self._optional("unit_periods_per_year", self.raw, "unit_periods_per_year")
        if per_year == 0:
            self.problem("unit_periods_per_year", "is 0", "Give a number above 0")
        return per_year or None

    def _dates(self) -> CaseDates:
        given = self.raw.get("dates") or {}
        if not isinstance(given, dict):
            self.problem("dates", "is not an object", 'Give {"advance": ..., "first_payment": ...}')
            return CaseDates()
        days = given.get("payment_days") or []
        if not isinstance(days, list) or not all(type(d) is int and 1 <= d <= 31 for d in days):
            self.problem("dates.payment_days", f"is {days!r}", "Give days of the month, 1 to 31")
            days = []
        return CaseDates(
            advances=self._days(given, (*ADVANCES, "first_advance", "first_drawdown")),
            payments=self._days(given, ("first_payment", "first_repayment", "payment", *PAYMENTS)),
            payment_days=tuple(days),
        )

    def _days(self, given: dict[str, Any], names: tuple[str, ...]) -> tuple[date, ...]:
        found = [(name, given[name]) for name in names if given.get(name)]
        listed = [
            (name, day)
            for name, days in found[:1]
            for day in (days if isinstance(days, list) else [days])
        ]
        read = [self._day(day, f"dates.{name}") for name, day in listed]
        return tuple(day for day in read if day)

    def _day(self, given: Any, field: str) -> date | None:
        if given is None:
            return None
        return self._try(lambda: parse_date(given, where=f"{self.name} {field}"))

    def _expected(self) -> Decimal | None:
        given = self.raw.get("expected_apr_pct")
        if isinstance(given, int | Decimal) and (type(given) is int or is_plain(given)):
            return Decimal(given)
        what = "is missing" if given is None else f"is {given!r}"
        self.problem("expected_apr_pct", what, "Give the expected rate in per cent")
        return None

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except InputError as error:
            self.problems.append(error)
            return None
