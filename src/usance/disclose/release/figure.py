"""A figure of a release before it is filed: a cell of the fact table with its address.

An address is `document/statement/line/period`, in small letters and dashes; a line that shares its
name with another of the statement has the line above it after a tilde, and a translated figure its
currency as a fifth part.

>>> slug("Net cash provided by (used in) financing activities")
'net-cash-provided-by-used-in-financing-activities'
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO

from usance.base.codes import Currency
from usance.disclose.facts import COLUMNS, NO_CURRENCY, Fact

ADDRESS = "address"
_LABELS = {Currency.CNY: "RMB"}
"""The name of a currency in filings, where that is not its code."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell, its value as printed."""

    statement: str
    line: str
    parent: str
    period: str
    currency: str
    unit: str
    text: str
    is_total: bool = False


def printed_currency(code: str) -> str:
    """A currency as filings name it.

    >>> printed_currency("CNY"), printed_currency("USD")
    ('RMB', 'USD')
    """
    return _LABELS.get(Currency[code], code)


def slug(name: str) -> str:
    """A name in small letters and dashes, in whatever script it is written."""
    return re.sub(r"(?:[^\w+]|_)+", "-", name.lower()).strip("-")


def format_steps(steps: int, decimals: int) -> str:
    """A number of smallest steps as it is printed.

    >>> format_steps(-5, 2), format_steps(1200, 0)
    ('-0.05', '1200')
    """
    if not decimals:
        return str(steps)
    digits = f"{abs(steps):0{decimals + 1}d}"
    return f"{'-' if steps < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


class Addresses:
    """The addresses of all figures of a document."""

    def __init__(self, document: str, cells: Iterable[Figure | Fact], reporting: str) -> None:
        self.document, self.reporting = document, reporting
        parents: dict[tuple[str, str], set[str]] = {}
        for cell in cells:
            parents.setdefault((cell.statement, slug(cell.line)), set()).add(cell.parent)
        self._shared = {place for place, found in parents.items() if len(found) > 1}

    def of(self, cell: Figure | Fact) -> str:
        """The address of one figure."""
        line = slug(cell.line)
        if (cell.statement, line) in self._shared:
            line = f"{line}~{slug(cell.parent)}"
        period = cell.period if isinstance(cell.period, str) else cell.period.written
        parts = [self.document, cell.statement, line, period]
        if cell.currency not in (self.reporting, NO_CURRENCY):
            parts.append(cell.currency)
        return "/".join(parts)


def as_csv(document: str, figures: Sequence[Figure], reporting: str) -> str:
    """The fact table of a release: the nine columns and the address."""
    addresses = Addresses(document, figures, reporting)
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, ADDRESS])
    for each in figures:
        writer.writerow([
            document, each.statement, each.line, each.parent, each.period, each.currency,
            each.unit, each.text, int(each.is_total), addresses.of(each),
        ])  # fmt: skip
    return out.getvalue()
