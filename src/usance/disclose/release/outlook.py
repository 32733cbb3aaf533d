"""The outlook: a stated range for a coming period, and the growth it means on the year before."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from usance.base.dates import to_month
from usance.capital.prices import rounded
from usance.disclose.facts import NO_CURRENCY, UNITS
from usance.disclose.periods import period_of_months
from usance.disclose.release.announcement import Outlook
from usance.disclose.release.figure import Figure
from usance.disclose.release.narrative_figures import NarrativeFigures

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

OUTLOOK = "outlook"


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
