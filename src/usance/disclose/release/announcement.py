r"""The announcement of a release: its day, the outlook, and the capital document.

The outlook is a stated range for a coming period, printed with the growth it means on the year
before.

>>> announced = parse_announcement('''
... on: 2024-08-13
... outlook:
...   - {line: Net income, period: 2024Q3, low: 1.50, high: 1.60, unit: billion}
... ''')
>>> announced.on.isoformat(), announced.outlook[0].text(announced.outlook[0].low)
('2024-08-13', '1.50')
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.dates import to_month
from usance.base.documents import read_text
from usance.base.errors import AmountError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, Reader, day, fields_of, text
from usance.capital.documents.record import read_capital
from usance.capital.prices import rounded
from usance.capital.records import Capital
from usance.disclose.errors import FilerError
from usance.disclose.facts import NO_CURRENCY, UNITS
from usance.disclose.periods import Period, parse_period, period_of_months
from usance.disclose.release.figure import Figure
from usance.disclose.release.filer import paragraphs
from usance.disclose.release.narrative_figures import NarrativeFigures

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

OUTLOOK = "outlook"
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
class Quote:
    """A few sentences somebody says; figures in braces are the printed ones."""

    who: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Announcement:
    """The announcement of a release; all of it may be left out."""

    on: date | None = None
    outlook: tuple[Outlook, ...] = ()
    capital: Capital | None = None
    quotes: tuple[Quote, ...] = ()
    call: tuple[str, ...] = ()


def read_announcement(path: Path | None) -> Announcement:
    """The announcement of a YAML file, or the empty one."""
    if path is None:
        return Announcement()
    return parse_announcement(read_text(path), where=str(path), folder=path.parent)


def parse_announcement(
    content: str, *, where: str = "announcement", folder: Path = Path()
) -> Announcement:
    """The announcement of a YAML text, or everything that is wrong with it."""
    given = fields_of(content, where)
    on = given.need("on", day)
    outlook = [_outlook(each) for each in given.each("outlook")]
    file = given.take("capital", text)
    quotes = tuple(_quote(each) for each in given.each("quotes"))
    call = given.take("call", paragraphs) or ()
    given.close()
    capital = None
    if file is not None:
        try:
            capital = read_capital(folder / file)
        except UsanceError as error:
            given.problems.append(error)
    raise_all(given.problems, where=where)
    return Announcement(on, tuple(filter(None, outlook)), capital, quotes, call)


def _quote(given: Fields) -> Quote:
    words = [given.need(name, text) or "" for name in ("who", "role", "text")]
    given.close()
    return Quote(*words)


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


def outlook_figures(release: Release, narrative: NarrativeFigures) -> Iterator[Figure]:
    """Low and high of every range, and where the books cover the year before, both as growth."""
    for each in release.announcement.outlook:
        ends = {"low": each.low, "high": each.high}
        period, money = each.period.name, release.profile.reporting
        for end, value in ends.items():
            yield Figure(OUTLOOK, f"{each.line} - {end}", "", period, money, each.unit,
                         each.text(value))  # fmt: skip
        before = _year_before(release, narrative, each)
        for end, value in ends.items() if before else ():
            growth = _growth(value * UNITS[each.unit], before or Decimal(1))
            yield Figure(OUTLOOK, f"{each.line} growth - {end}", "", period, NO_CURRENCY,
                         "percent", growth)  # fmt: skip


def _year_before(release: Release, narrative: NarrativeFigures, each: Outlook) -> Decimal | None:
    """The printed figure a year before, in units of currency; None unless it is a gain."""
    months = range(to_month(each.period.start) - 12, to_month(each.period.end) - 11)
    period = period_of_months(months)
    if not release.closed.covers(period.start, period.end):
        return None
    value = release.statements.base(narrative.value(each.line, "", period, translated=False))
    return value if value > 0 else None


def _growth(aim: Decimal, before: Decimal) -> str:
    return str(rounded(100 * (Fraction(aim) / Fraction(before) - 1), 1))
