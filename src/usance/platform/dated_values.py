"""Values of dated parameters that were put in force by command, laid over the shipped ones.

>>> from datetime import date
>>> lower = {"name": "pricing.rate_cap", "valid_from": "2024-09-01", "value": "20%", "source": "x"}
>>> with_values(Parameters.load(), [lower]).at("pricing.rate_cap", date(2024, 9, 1)).integer
200000

A calendar may be one of the lender's own, such as a bank's.

>>> own = {"name": "calendars.a_bank", "valid_from": "2024-01-01", "value": "sunday", "source": "x"}
>>> with_values(Parameters.load(), [own]).at("calendars.a_bank", date(2024, 9, 1)).value
'sunday'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from usance.base.dated_calendars import GROUP
from usance.base.errors import unknown
from usance.base.parameters import CALENDAR, UNITS, Entry, Parameter, Parameters

_OWN_CALENDAR = re.compile(re.escape(GROUP) + r"[a-z][a-z0-9_]{0,63}")


def with_values(parameters: Parameters, values: Iterable[Mapping[str, Any]]) -> Parameters:
    """Parameters with further values, each read by the unit of its parameter."""
    known = dict(parameters.by_name)
    for given in values:
        name = str(given["name"])
        if _OWN_CALENDAR.fullmatch(name) and name not in known:
            known[name] = Parameter("Business days of the lender's own.", CALENDAR, "", (), "")
        if name not in known:
            raise unknown("parameter", name, known, where="name")
        own, first = known[name], date.fromisoformat(given["valid_from"])
        value = UNITS[own.unit](given["value"], f"{name} from {first}")
        kept = [each for each in own.entries if each.valid_from != first]
        entries = sorted([*kept, Entry(first, value, str(given["source"]))],
                         key=lambda each: each.valid_from)  # fmt: skip
        known[name] = replace(own, entries=tuple(entries))
    return Parameters(known)
