"""A fact: one number of a published page, with its place and its printed precision.

>>> from usance.disclose.periods import parse_period
>>> fact = Fact(
...     "000",
...     "release_results",
...     "Net income",
...     "",
...     parse_period("2024Q1"),
...     "RMB",
...     "million",
...     "1160.1",
...     False,
...     7,
...     "000.csv",
...     Fraction(1160100000),
...     Fraction(100000),
... )
>>> fact.where, printed_like(Fraction(1160144000), fact)
('000.csv line 7', '1160.144')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

from usance.disclose.periods import Period

COLUMNS = (
    "document", "statement", "line", "parent_line", "period_or_date", "currency", "unit", "value",
    "is_total",
)  # fmt: skip

# How many base units one unit is: amounts in units of currency, percentages in points.
UNITS = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "unit": 1, "per_share": 1,
    "per_ads": 1, "shares": 1, "ads": 1, "million_ads": 10**6, "million_shares": 10**6,
    "thousand_shares": 10**3, "thousand_ads": 10**3, "million_persons": 10**6, "persons": 1,
    "count": 1, "months": 1, "days": 1, "percent": 1, "rmb_per_usd": 1, "rate": 1,
}  # fmt: skip
WORDS = ("text", "date")
MONEY = ("thousand", "million", "billion", "unit")
NO_CURRENCY = "n/a"

# Signs that look like another, and what refers to a footnote at the end of a name.
_LOOKALIKES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | {"\u2019": "'"}
)
_NOTE = re.compile(
    r"(\s*([\u00b9\u00b2\u00b3\u2070-\u2079*\u2020\u2021]+|[(\[](notes? )?\d{1,2}[)\]]|:))+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """One cell. `value` and `step` (the smallest difference it prints) are in base units."""

    document: str
    statement: str
    line: str
    parent: str
    period: Period
    currency: str
    unit: str
    text: str
    is_total: bool
    row: int
    file: str
    value: Fraction
    step: Fraction

    @property
    def where(self) -> str:
        """The file and the line it was read from."""
        return f"{self.file} line {self.row}"

    @property
    def is_number(self) -> bool:
        """True for a number of a known unit, False for a date or a text."""
        return self.unit in UNITS

    @property
    def is_money(self) -> bool:
        """True for an amount of money."""
        return self.unit in MONEY and self.currency != NO_CURRENCY

    def place(self) -> dict[str, str | int]:
        """Its place, for a finding."""
        return {
            "document": self.document, "statement": self.statement, "line": self.line,
            "parent": self.parent, "period": self.period.written, "currency": self.currency,
            "row": self.row,
        }  # fmt: skip


def printed_like(value: Fraction, like: Fact) -> str:
    """An amount in base units as it would be printed in the place of a fact, never rounded away.

    >>> from usance.disclose.periods import parse_period
    >>> eps = Fact(
    ...     "a",
    ...     "operations",
    ...     "Basic",
    ...     "",
    ...     parse_period("2024Q1"),
    ...     "RMB",
    ...     "per_share",
    ...     "3.73",
    ...     False,
    ...     2,
    ...     "a.csv",
    ...     Fraction(373, 100),
    ...     Fraction(1, 100),
    ... )
    >>> printed_like(Fraction(73, 10), eps), printed_like(Fraction(1, 3), eps)
    ('7.30', '0.333333')
    """
    if like.unit == "date":
        return date.fromordinal(int(value)).isoformat()
    units = value / UNITS[like.unit]
    decimals = max(len(like.text.partition(".")[2]), 0)
    while decimals < 6 and (units * 10**decimals).denominator != 1:
        decimals += 1
    scaled = round(units * 10**decimals)
    sign, digits = "-" if scaled < 0 else "", f"{abs(scaled):0{decimals + 1}d}"
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else f"{sign}{digits}"


# What a line is called in years of the other sign: one line, whichever name stands in brackets.
_OPPOSITE_SIGN = re.compile(
    r"\((loss|income|gain|decrease|increase|used in|provided by|expenses?|benefits?)\)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def label(name: str) -> str:
    """A line's name as patterns are matched with it: one kind of dash and space, no footnote.

    >>> label("Non\u2013GAAP  net income\u00b9"), label("(Loss) income from operations (note 3):")
    ('Non-GAAP net income', 'income from operations')
    """
    text = _OPPOSITE_SIGN.sub(" ", name.translate(_LOOKALIKES).replace("&", " and "))
    return _NOTE.sub("", " ".join(text.split()))


def normalised_name(name: str, synonyms: Sequence[tuple[re.Pattern[str], str]] = ()) -> str:
    """A line's name without case, punctuation and the ways one name is written twice.

    >>> (
    ...     normalised_name("TOTAL  Equity, Inc."),
    ...     normalised_name("Sales and marketing expenses", [(re.compile(r" expenses?$"), "")]),
    ...     normalised_name("TOTAL \u4f8b EQUITY"),
    ... )
    ('total equity inc', 'sales and marketing', 'total \u4f8b equity')
    """
    text = " ".join(re.sub(r"(?:[^\w+%]|_)+", " ", label(name).lower()).split())
    for pattern, replacement in synonyms:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def documents(facts: Iterable[Fact]) -> list[str]:
    """The documents in a set of facts, in order of first appearance."""
    return list(dict.fromkeys(fact.document for fact in facts))
