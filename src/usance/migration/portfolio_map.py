"""The mapping file: names of a lender's columns, and known options of its system.

```yaml
terms: {loan: LoanNo, principal: Amount, rate: Rate, instalments: Months, disbursed_on: PaidOut}
instalments: {loan: LoanNo, due_on: Due, principal: Capital, interest: Interest}
rate_is: percent
dates: "%Y-%m-%d"
options: {days_in_year: "365", days_in_month: actual, rounding: half_up}
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.errors import DocumentError, UsanceError, raise_all, unknown
from usance.loan.convention import Amortisation, PeriodUnit, Rounding
from usance.migration.bounds import (
    MAX_AMOUNT,
    MAX_DECIMALS,
    MAX_EVERY,
    MAX_RATE_PCT,
    in_years,
    plain_day,
    plain_decimal,
)
from usance.migration.terms import (
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    InterestMethod,
    LeapYearRule,
    PlanMethod,
    RateBasis,
    YearSplit,
)

TERMS = {
    "loan": True, "principal": True, "rate": True, "instalments": True, "disbursed_on": True,
    "first_due_on": False, "every": False, "unit": False, "down_payment_pct": False,
    "multiple_of": False, "grace_principal": False, "grace_interest": False,
}  # fmt: skip
"""Columns of the terms, and whether they are needed."""

INSTALMENTS = {"loan": True, "due_on": True, "principal": True, "interest": True}
"""Columns of the instalments."""

OPTIONS: Mapping[str, type[Enum] | type[int] | type[bool]] = {
    "plan": PlanMethod,
    "rate_basis": RateBasis,
    "amortisation": Amortisation,
    "method": InterestMethod,
    "basis": InterestBasis,
    "days_in_year": DaysInYear,
    "days_in_month": DaysInMonth,
    "leap_year": LeapYearRule,
    "year_split": YearSplit,
    "rounding": Rounding,
    "unit": PeriodUnit,
    "digits": int,
    "decimals": int,
    "multiple_of": int,
    "every": int,
    "levelling": bool,
}
"""Options that a mapping may state."""

_RANGES = {
    "digits": (1, 50),
    "decimals": (0, MAX_DECIMALS),
    "multiple_of": (1, MAX_AMOUNT),
    "every": (1, MAX_EVERY),
}
"""The least and the most of options that are numbers."""

_KEYS = ("terms", "instalments", "options", "rate_is", "dates")
_PERCENT, _FRACTION = "percent", "fraction"


@dataclass(frozen=True, slots=True)
class PortfolioMapping:
    """A mapping that can be used."""

    terms: Mapping[str, str]
    instalments: Mapping[str, str]
    options: Mapping[str, object] = field(default_factory=dict)
    rate_is: str = _PERCENT
    dates: str = "%Y-%m-%d"

    def day(self, text: str) -> date:
        """A date as the files write it."""
        if self.dates == "%Y-%m-%d":
            return plain_day(text)
        return in_years(datetime.strptime(text, self.dates).date())  # noqa: DTZ007 -- only a date is read

    def rate_pct(self, text: str) -> Decimal:
        """A rate in percent."""
        rate = plain_decimal(text.removesuffix("%"))
        rate = rate * 100 if self.rate_is == _FRACTION else rate
        if not 0 <= rate <= MAX_RATE_PCT:
            raise ValueError(text)
        return rate


def read_map(path: Path | str) -> PortfolioMapping:
    """The mapping of a file."""
    where = str(path)
    document = read_document(path)
    if not isinstance(document, dict):
        raise DocumentError("is no mapping", where=where, fix="Give terms and instalments")
    problems: list[UsanceError] = [
        unknown("key", str(key), _KEYS, where=where) for key in document if key not in _KEYS
    ]
    terms = _columns(document.get("terms"), "terms", TERMS, problems, where)
    rows = _columns(document.get("instalments"), "instalments", INSTALMENTS, problems, where)
    options = _options(document.get("options"), problems, where)
    rate_is = document.get("rate_is", _PERCENT)
    if rate_is not in (_PERCENT, _FRACTION):
        problems.append(unknown("rate_is", str(rate_is), (_PERCENT, _FRACTION), where=where))
    raise_all(problems, where=where)
    return PortfolioMapping(terms, rows, options, rate_is, str(document.get("dates", "%Y-%m-%d")))


def _columns(
    found: object, name: str, known: Mapping[str, bool], problems: list[UsanceError], where: str
) -> dict[str, str]:
    if not isinstance(found, dict):
        problems.append(
            DocumentError(
                f"{name} is missing", where=where, fix=f"Name columns: {', '.join(known)}"
            )
        )
        return {}
    strange = (str(key) for key in found if key not in known)
    problems.extend(unknown(f"column of {name}", key, known, where=where) for key in strange)
    missing = (key for key, needed in known.items() if needed and key not in found)
    problems.extend(
        DocumentError(f"{name} names no {key}", where=where, fix="Name its column")
        for key in missing
    )
    return {str(key): str(value) for key, value in found.items()}


def _options(found: object, problems: list[UsanceError], where: str) -> dict[str, object]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        problems.append(DocumentError("options is no mapping", where=where, fix="Give one"))
        return {}
    options: dict[str, object] = {}
    for name, value in found.items():
        if name not in OPTIONS:
            problems.append(unknown("option", str(name), OPTIONS, where=where))
            continue
        try:
            options[name] = option(name, value)
        except UsanceError as error:
            problems.append(DocumentError(error.what, where=where, fix=error.fix))
    return options


def option(name: str, value: Any) -> object:
    """The value of an option, from what a mapping says."""
    kind = OPTIONS[name]
    if issubclass(kind, Enum):
        names = [str(each.value) for each in kind]
        if str(value) not in names:
            raise unknown(name, str(value), names)
        return kind(str(value))
    if type(value) is not kind:
        raise DocumentError(f"{name} is {value!r}", fix=f"Give a value like {kind(1)}")
    least, most = _RANGES.get(name, (0, 1))
    if not least <= value <= most:
        raise DocumentError(f"{name} is {value}", fix=f"Give {least} to {most}")
    return value
