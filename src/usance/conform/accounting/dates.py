"""Dates as standards print them: years whose decade is left open, and a day of several years.

>>> str(open_date("20X1-05-01"))
'2001-05-01'
>>> [str(day) for day in yearly("31 Dec 20X1-20X3")]
['2001-12-31', '2002-12-31', '2003-12-31']
"""

from __future__ import annotations

import re
from datetime import date

from usance.base.dates import add_months, parse_date
from usance.base.errors import DateError

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_NUMBERS = {name: number for number, name in enumerate(_MONTHS, start=1)}
_YEARLY = re.compile(
    r"(?P<day>[0-9]{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<first>\w{4})-(?P<last>\w{4})"
)


def open_date(text: str) -> date:
    """A date whose decade may be X; it is taken as the first of its century."""
    return parse_date(str(text).replace("X", "0"))


def yearly(text: str) -> list[date]:
    """The same day of every year from the first to the last named."""
    found = _YEARLY.fullmatch(str(text))
    if not found or found["month"] not in _NUMBERS:
        raise DateError(f"{text!r} is no day of several years", fix="Write 31 Dec 20X1-20X5")
    within = f"{_NUMBERS[found['month']]:02}-{found['day']:0>2}"
    day, last = (open_date(f"{found[year]}-{within}") for year in ("first", "last"))
    days = []
    while day <= last:
        days.append(day)
        day = add_months(day, 12)
    return days
