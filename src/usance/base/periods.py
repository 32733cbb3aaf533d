"""Labels of calendar periods: `2024-06`, `2024Q2`, `2024H1`, `2024`; months are numbers (`dates`).

>>> parse_period("2024Q2"), period_label(651, 3), quarter_label(653)
(range(651, 654), '2024Q2', '2024Q2')
>>> period_label(648, 12), period_label(653, 1), period_label(649, 3)
('2024', '2024-06', '')
"""

from __future__ import annotations

import re

from usance.base.dates import format_month
from usance.base.errors import DateError

MONTHS = {"month": 1, "quarter": 3, "half_year": 6, "year": 12}
_LABEL = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])|Q([1-4])|H([12]))?")
_LETTERS = {3: "Q", 6: "H"}


def parse_period(text: str, *, where: str = "") -> range:
    """The months of a period by its label."""
    found = _LABEL.fullmatch(text)
    if found is None or found[1] == "0000":
        fix = "Write a month, quarter, half or year: 2024-06, 2024Q2, 2024H1 or 2024"
        raise DateError(f"{text!r} is no period", where=where, fix=fix)
    year, month, quarter, half = (int(each or 0) for each in found.groups())
    length = 1 if month else 3 if quarter else 6 if half else 12
    first = (year - 1970) * 12 + ((month or quarter or half or 1) - 1) * length
    return range(first, first + length)


def period_label(first: int, count: int) -> str:
    """The label of so many months, or empty if they are no month, quarter, half or year."""
    if count not in MONTHS.values() or first % count:
        return ""
    if count == 1:
        return format_month(first)
    letter = _LETTERS.get(count)
    return f"{1970 + first // 12:04}" + (f"{letter}{first % 12 // count + 1}" if letter else "")


def quarter_label(month: int) -> str:
    """The label of the quarter a month lies in."""
    return period_label(month // 3 * 3, 3)
