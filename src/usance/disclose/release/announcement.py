r"""The announcement of a release: its day, the outlook, and the capital document.

>>> announced = parse_announcement('''
... on: 2024-08-13
... outlook:
...   - {line: Net income, period: 2024Q3, low: 1.50, high: 1.60, unit: billion}
... ''')
>>> announced.on.isoformat(), announced.outlook[0].text(announced.outlook[0].low)
('2024-08-13', '1.50')
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from usance.base.documents import parse_yaml, read_text
from usance.base.errors import AmountError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, Reader, day, document_places, text
from usance.capital.documents.record import read_capital
from usance.capital.records import Capital
from usance.disclose.errors import FilerError
from usance.disclose.periods import Period, parse_period

LINES = (
    "Total net revenue", "Income from operations", "Non-GAAP income from operations", "Net income",
    "Non-GAAP net income",
)  # fmt: skip
"""The lines an outlook may be given for."""
DECIMALS = {"billion": 2, "million": 1, "thousand": 0, "unit": 0}


@dataclass(frozen=True, slots=True)
class Outlook:
    """The range a figure of a coming period is expected in."""

    line: str
    period: Period
    low: Decimal
    high: Decimal
    unit: str

    def text(self, value: Decimal) -> str:
        """An end of the range as it is printed, at least as fine as its unit is."""
        given = -int(value.normalize().as_tuple().exponent)
        return f"{value:.{max(given, DECIMALS[self.unit])}f}"


@dataclass(frozen=True, slots=True)
class Announcement:
    """The announcement of a release; all of it may be left out."""

    on: date | None = None
    outlook: tuple[Outlook, ...] = ()
    capital: Capital | None = None


def read_announcement(path: Path | None) -> Announcement:
    """The announcement of a YAML file, or the empty one."""
    if path is None:
        return Announcement()
    return parse_announcement(read_text(path), where=str(path), folder=path.parent)


def parse_announcement(
    content: str, *, where: str = "announcement", folder: Path = Path()
) -> Announcement:
    """The announcement of a YAML text, or everything that is wrong with it."""
    problems: list[UsanceError] = []
    given = Fields(
        parse_yaml(content, where=where), document_places(where, lambda: content), problems
    )
    on = given.need("on", day)
    outlook = [_outlook(each) for each in given.each("outlook")]
    file = given.take("capital", text)
    given.close()
    capital = None
    if file is not None:
        try:
            capital = read_capital(folder / file)
        except UsanceError as error:
            problems.append(error)
    raise_all(problems, where=where)
    return Announcement(on, tuple(filter(None, outlook)), capital)


def _outlook(given: Fields) -> Outlook | None:
    line = given.need("line", _one_of("line", LINES))
    period = given.need("period", _period)
    low, high = given.need("low", _number), given.need("high", _number)
    unit = given.take("unit", _one_of("unit", tuple(DECIMALS))) or "million"
    given.close()
    if not given.has_needed:
        return None
    if low > high:
        given.wrong(f"{low} to {high} is no range", "Give the lower end first", "low")
    return Outlook(line, period, low, high, unit)


def _one_of(noun: str, known: tuple[str, ...]) -> Reader[str]:
    def member(given: Any, where: str) -> str:
        if given in known:
            return str(given)
        raise unknown(noun, str(given), known, where=where)

    return member


def _period(given: Any, where: str) -> Period:
    found = parse_period(str(given))
    if found is None or found.instant:
        fix = "Write 2024Q3, 2024H2 or FY2024"
        raise FilerError(f"'{given}' is no period", where=where, fix=fix)
    return found


def _number(given: Any, where: str) -> Decimal:
    try:
        number = Decimal(str(given))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number) >= 10**12 or isinstance(given, bool):
        fix = "Write a plain number such as 1.50; its unit stands beside it"
        raise AmountError(f"{given} is no amount", where=where, fix=fix)
    return number
