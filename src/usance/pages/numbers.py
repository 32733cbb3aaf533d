"""Numbers as the pages print them.

>>> grouped(-1234567), money(-123456, 2), percent(0.01513), ppm(165_000)
('−1,234,567', '−1,234.56', '1.51 %', '16.5 %')
>>> Unit.fitting(98_765_432_109, 2)
Unit(minor=100, name='')
>>> Unit.fitting(98_765_432_109_876, 2).format(98_765_432_109_876)
'987,654,321'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

MINUS = "\N{MINUS SIGN}"
_SIZES = ((1, ""), (1_000, "thousand"), (1_000_000, "million"))
_MAX_DIGITS = 10**9
PPM = 1_000_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that amounts of a statement are counted in."""

    minor: int
    """Minor units in one of it."""
    name: str
    """`thousand`, `million`, or nothing for the currency itself."""

    @classmethod
    def fitting(cls, largest_minor: int, exponent: int) -> Unit:
        """The smallest unit in which an amount has at most nine digits."""
        for size, name in _SIZES:
            unit = cls(size * 10**exponent, name)
            if abs(largest_minor) // unit.minor < _MAX_DIGITS:
                break
        return unit

    def format(self, minor: int) -> str:
        """An amount in whole units, rounded half away from zero; nothing is a dash."""
        if minor == 0:
            return "\N{EN DASH}"
        whole = (abs(minor) + self.minor // 2) // self.minor
        return grouped(-whole if minor < 0 else whole)


def grouped(number: int) -> str:
    """A whole number in groups of three."""
    return f"{MINUS if number < 0 else ''}{abs(number):,}"


def money(minor: int, exponent: int) -> str:
    """An amount in major units, to its last digit."""
    if exponent == 0:
        return grouped(minor)
    whole, rest = divmod(abs(minor), 10**exponent)
    return f"{MINUS if minor < 0 else ''}{whole:,}.{rest:0{exponent}}"


def percent(value: float, digits: int = 2) -> str:
    """A share in per cent."""
    return f"{100 * value:,.{digits}f} %".replace("-", MINUS)


def ppm(parts: int) -> str:
    """A rate in per cent, without idle zeros."""
    return f"{100 * parts / PPM:,.4f}".rstrip("0").rstrip(".").replace("-", MINUS) + " %"


def words(label: str) -> str:
    """A label of the code as words: `capital_heavy` is `capital heavy`."""
    return label.replace("_", " ")


def is_moment(value: object) -> bool:
    """True for a text that tells a moment.

    >>> is_moment("2024-07-02T02:00:00.000280Z"), is_moment("2024-07-02"), is_moment(7)
    (True, False, False)
    """
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None


def is_day(value: object) -> bool:
    """True for a text that tells a day.

    >>> is_day("2024-07-02"), is_day("2024-07"), is_day(20240702)
    (True, False, False)
    """
    return isinstance(value, str) and _DAY.fullmatch(value) is not None


def local(moment: str, zone: tzinfo) -> str:
    """A moment as people of a time zone read it, to the second.

    >>> from zoneinfo import ZoneInfo
    >>> local("2024-07-02T02:00:00.000280Z", ZoneInfo("Asia/Shanghai"))
    '2024-07-02 10:00:00'
    """
    return datetime.fromisoformat(moment).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
