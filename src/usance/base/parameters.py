"""Dated parameters: rules, rates and limits as files, one each, every value with a source.

The folder tree is the namespace: `pricing/rate_cap.yaml` is `pricing.rate_cap`. Reading a
parameter leaves a trace, so a result can say which values it used.

>>> parameters = Parameters.load()
>>> with trace() as reads:
...     cap = parameters.at("pricing.rate_cap", date(2024, 6, 30))
>>> str(cap.value), cap.integer, str(cap.valid_from)
('24%', 240000, '2022-01-01')
>>> [(read.name, str(read.on)) for read in reads]
[('pricing.rate_cap', '2024-06-30')]

The file of a parameter says what it means, its unit, and its values by the day they begin:

    description: The highest all-in annual cost a borrower may be quoted.
    unit: rate
    reference: Where to read more.
    values:
      2022-01-01:
        value: 24%
        source: Who says so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance.base.calendars import CalendarRule
from usance.base.codes import DEFAULT_PACK
from usance.base.dates import parse_date
from usance.base.documents import parse_yaml, read_text
from usance.base.errors import ParameterError, UsanceError, raise_all, unknown
from usance.base.money import Money
from usance.base.rates import Rate

Plain = Rate | Money | Decimal | int | bool | str

_FIELDS = ("description", "unit", "reference", "values")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and the first day it holds; it holds until the next entry begins."""

    valid_from: date
    value: Plain
    source: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A file's content, entries in order of time."""

    description: str
    unit: str
    reference: str
    entries: tuple[Entry, ...]
    sha256: str


def read_parameter(file: Path) -> tuple[Parameter | None, list[UsanceError]]:
    """The parameter, or everything that is wrong with its file."""
    try:
        text = read_text(file)
        document = parse_yaml(text, where=str(file))
    except UsanceError as error:
        return None, [error]
    findings = _shape(document, str(file))
    if findings:
        return None, findings
    unit = document["unit"]
    entries = []
    for day, entry in document["values"].items():
        try:
            entries.append(_entry(day, entry, unit, f"{file}: {day}"))
        except UsanceError as error:
            findings.append(error)
    if findings:
        return None, findings
    entries.sort(key=lambda entry: entry.valid_from)
    digest = sha256(text.encode()).hexdigest()
    texts = document["description"], unit, document["reference"]
    return Parameter(*texts, tuple(entries), digest), []


def _shape(document: Any, where: str) -> list[UsanceError]:
    if not isinstance(document, dict):
        return [_wrong("is not a mapping", where, f"Give the fields {', '.join(_FIELDS)}")]
    findings: list[UsanceError] = [
        unknown("field", str(name), _FIELDS, where=where)
        for name in document
        if name not in _FIELDS
    ]
    findings += [
        _wrong(f"has no {name}", where, f"Add '{name}: …' as text")
        for name in _FIELDS[:3]
        if not isinstance(document.get(name), str)
    ]
    unit = document.get("unit")
    if isinstance(unit, str) and unit not in UNITS:
        findings.append(unknown("unit", unit, UNITS, where=where))
    if not isinstance(document.get("values"), dict) or not document["values"]:
        findings.append(_wrong("has no values", where, "Add 'values:' with a day and a value"))
    return findings


def _entry(day: Any, entry: Any, unit: str, where: str) -> Entry:
    if isinstance(day, str):
        day = parse_date(day, where=where)
    if not isinstance(day, date):
        raise _wrong(f"{day!r} is not a day", where, "Begin each value with YYYY-MM-DD")
    if not isinstance(entry, dict) or set(entry) != {"value", "source"}:
        raise _wrong("is not a value with its source", where, "Give exactly 'value' and 'source'")
    if not isinstance(entry["source"], str) or not entry["source"].strip():
        raise _wrong("has no source", where, "Say who states this value")
    return Entry(day, UNITS[unit](entry["value"], where), entry["source"])


def _wrong(what: str, where: str, fix: str) -> ParameterError:
    return ParameterError(what, where=where, fix=fix)


def _rate(given: Any, where: str) -> Rate:
    return Rate.parse(given, where=where)


def _money(given: Any, where: str) -> Money:
    amount, _, currency = str(given).partition(" ")
    return Money.parse(amount, currency, where=where)


def _whole(given: Any, where: str) -> int:
    if type(given) is not int or given < 0:
        raise _wrong(f"{given!r} is not a whole number", where, "Give 0, 1, 2 …")
    return given


def _multiple(given: Any, where: str) -> Decimal:
    if type(given) is not int and not isinstance(given, Decimal):
        raise _wrong(f"{given!r} is not a number", where, "Give a decimal number")
    return Decimal(given)


def _flag(given: Any, where: str) -> bool:
    if type(given) is not bool:
        raise _wrong(f"{given!r} is neither true nor false", where, "Give true or false")
    return given


def _clock(given: Any, where: str) -> str:
    if not isinstance(given, str) or not _CLOCK.fullmatch(given):
        raise _wrong(f"{given!r} is not a time of day", where, "Give HH:MM, such as 22:00")
    return given


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise _wrong(f"{given!r} is not text", where, "Put it in quotes")
    return given


def _calendar(given: Any, where: str) -> str:
    words = _text(given, where)
    CalendarRule.parse(words, where=where)
    return words


CALENDAR = "calendar"
"""The unit of business days in words, of one year or of every year."""
UNITS: dict[str, Callable[[Any, str], Plain]] = {
    "rate": _rate,
    "money": _money,
    "days": _whole,
    "count": _whole,
    "multiple": _multiple,
    "flag": _flag,
    "clock": _clock,
    "text": _text,
    CALENDAR: _calendar,
}


COMMON = Path(__file__).resolve().parents[1] / "parameters"
"""Parameters that the packs of all markets share."""
PACKS = COMMON.parent / "packs"


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter's value on a day, with its unit, its source and the file it was read from."""

    name: str
    value: Rate | Money | Decimal | int | bool | str
    unit: str
    valid_from: date
    source: str
    file_sha256: str

    @property
    def integer(self) -> int:
        """The value as kernels take it: ppm of a rate, minor units of money, a whole number."""
        if isinstance(self.value, Rate):
            return self.value.ppm
        if isinstance(self.value, Money):
            return self.value.minor
        if isinstance(self.value, int):
            return int(self.value)
        raise ParameterError(
            f"{self.value!r} is no whole number", where=self.name, fix="Use its .value"
        )


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a parameter, as a trace keeps it."""

    name: str
    on: date
    value: Value


_traces: ContextVar[tuple[list[Read], ...]] = ContextVar("traces", default=())


@contextmanager
def trace() -> Iterator[list[Read]]:
    """Collect every parameter read inside the block (in this thread or task)."""
    reads: list[Read] = []
    token = _traces.set((*_traces.get(), reads))
    try:
        yield reads
    finally:
        _traces.reset(token)


@dataclass(frozen=True, slots=True)
class Parameters:
    """A set of parameters read from folders."""

    by_name: Mapping[str, Parameter]

    @classmethod
    def load(cls, *folders: Path | str) -> Parameters:
        """Read folders, or raise everything that is wrong with them.

        A file of a later folder replaces that of an earlier one. Without any folder they are those
        of the market that is taken where none is chosen; `usance.base.packs` has the others.
        """
        if not folders:
            return _default()
        parameters: dict[str, Parameter] = {}
        problems: list[UsanceError] = []
        for folder in folders:
            found, findings = _read_folder(Path(folder))
            parameters |= found
            problems += findings
        raise_all(problems, where=str(folders[-1]))
        return cls(parameters)

    def at(self, name: str, on: date) -> Value:
        """The value in force on a day."""
        parameter = self.by_name.get(name)
        if parameter is None:
            near = get_close_matches(name, self.by_name, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "See docs/reference/parameters.md"
            raise ParameterError(f"unknown parameter {name!r}", fix=hint)
        index = bisect_right([entry.valid_from for entry in parameter.entries], on) - 1
        if index < 0:
            first = parameter.entries[0].valid_from
            raise ParameterError(
                f"has no value on {on}", where=name, fix=f"Ask for {first} or later, or add a value"
            )
        entry = parameter.entries[index]
        value = Value(
            name, entry.value, parameter.unit, entry.valid_from, entry.source, parameter.sha256
        )
        for reads in _traces.get():
            reads.append(Read(name, on, value))
        return value


@cache
def _default() -> Parameters:
    return Parameters.load(COMMON, PACKS / DEFAULT_PACK / "parameters")


def _read_folder(folder: Path) -> tuple[dict[str, Parameter], list[UsanceError]]:
    parameters: dict[str, Parameter] = {}
    findings: list[UsanceError] = []
    files = sorted(folder.rglob("*.yaml"))
    if not files:
        findings.append(
            ParameterError("holds no parameters", where=str(folder), fix="Name a folder of .yaml")
        )
    for file in files:
        name = ".".join(file.relative_to(folder).with_suffix("").parts)
        parameter, found = read_parameter(file)
        findings += found
        if parameter is not None:
            parameters[name] = parameter
    return parameters, findings
