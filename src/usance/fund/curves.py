r"""A dated curve of rates, over which the yields of classes are told.

>>> curve = curve_of_text("2024-01-01: {1: 20000, 12: 23000}\n2024-07-01: {12: 21000}")
>>> curve.rate_ppb(date(2024, 1, 1), 500_000), curve.rate_ppb(date(2024, 12, 31), 3_000_000)
(21363636, 21000000)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from usance.base.dates import parse_date
from usance.base.documents import parse_yaml, read_text
from usance.base.fields import whole_of
from usance.base.money import half_up
from usance.base.rates import PPM
from usance.fund.errors import DealError

MAX_MONTHS = 600
_THOUSAND = 1_000
"""Parts per billion in one part per million."""


@dataclass(frozen=True, slots=True)
class RateCurve:
    """Rates by day and by months to run; between two of them a straight line, outside flat."""

    by_day: Mapping[date, tuple[tuple[int, int], ...]]

    def rate_ppb(self, day: date, years_ppm: int) -> int:
        """The rate in force on a day for a number of years, in parts per billion."""
        known = [each for each in self.by_day if each <= day]
        if not known:
            fix = f"Give rates of {day} or before"
            raise DealError(f"the curve begins after {day}", where="curve", fix=fix)
        points = self.by_day[max(known)]
        months = Fraction(years_ppm * 12, PPM)
        rate = Fraction(points[0][1] if months <= points[0][0] else points[-1][1])
        for (short, low), (long, high) in pairwise(points):
            if short <= months <= long:
                rate = low + (high - low) * (months - short) / (long - short)
        rate *= _THOUSAND
        return half_up(rate.numerator, rate.denominator)


def read_curve(path: Path | str) -> RateCurve:
    """The curve of a file: by day, rates in parts per million by months to run."""
    return curve_of_text(read_text(path), str(path))


def curve_of_text(content: str, where: str = "curve") -> RateCurve:
    """The curve a text describes."""
    document = parse_yaml(content, where=where)
    if not isinstance(document, dict) or not document:
        fix = "Write 2024-01-01: {1: 20000, 12: 23000}, months and parts per million"
        raise DealError("holds no curve", where=where, fix=fix)
    return RateCurve({
        key if isinstance(key, date) else parse_date(str(key), where=where):
        _points(given, f"{where}, {key}")
        for key, given in document.items()
    })  # fmt: skip


def _points(given: object, where: str) -> tuple[tuple[int, int], ...]:
    if not isinstance(given, dict) or not given:
        raise DealError("is no mapping", where=where, fix="Write months: parts per million")
    months = whole_of(1, MAX_MONTHS, error=DealError)
    rate = whole_of(-PPM, PPM, error=DealError)
    return tuple(sorted((months(key, where), rate(each, where)) for key, each in given.items()))
