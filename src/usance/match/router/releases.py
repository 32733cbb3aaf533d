"""Principal released by repayments, by day and source: headroom again for revolving budgets.

A source revolves while its structure says so (`revolving_until`); then its total budget limits
the principal outstanding, not all that was ever lent. A release counts from the beginning of its
day. Releases before the first request are part of the budgets already; leave them out. A reversed
payment is a release below zero: it takes headroom back, and is never refused.

>>> releases = releases_of(day=[19_876, 19_876], source=[7, 8], principal_minor=[500_00, 0])
>>> len(releases.day), releases.until(19_876, 0)
(2, 2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import from_day, to_day
from usance.base.errors import UsanceError, raise_all
from usance.match.csv_columns import Column, DateColumn, IntegerColumn, read_columns
from usance.match.errors import ReleaseError
from usance.match.mandates.mandate import MAX_BUDGET_MINOR, NO_LIMIT, Mandate, Mandates


@dataclass(frozen=True, slots=True)
class Releases:
    """Rows in order of day; the principal is the source's own part of it."""

    day: I64
    source: I64
    principal_minor: I64

    def until(self, day: int, start: int) -> int:
        """The position after the last row of a day, from a position on."""
        return start + int(np.searchsorted(self.day[start:], day, side="right"))


def _problems(day: I64, source: I64, principal: I64) -> Iterator[UsanceError]:
    strange = np.flatnonzero(np.abs(principal) > MAX_BUDGET_MINOR)
    for row in strange[:20].tolist():
        what = f"source {source[row]} releases {principal[row]} on {from_day(int(day[row]))}"
        yield ReleaseError(
            what, where=f"row {row}", fix=f"Give at most {MAX_BUDGET_MINOR} either way"
        )


def releases_of(**columns: Any) -> Releases:
    """Releases from arrays or lists by column name, in any order."""
    given = (columns[name] for name in ("day", "source", "principal_minor"))
    day, source, principal = (np.ascontiguousarray(each, np.int64) for each in given)
    raise_all(list(_problems(day, source, principal)), where="releases")
    order = np.lexsort((source, day))
    return Releases(day[order], source[order], principal[order])


NO_RELEASES = releases_of(day=[], source=[], principal_minor=[])


def revolves(mandate: Mandate, day: int) -> bool:
    """True if principal released on a day may be lent again."""
    until = mandate.structure.revolving_until if mandate.structure else None
    if until is None or mandate.budgets.total_minor == NO_LIMIT:
        return False
    return to_day(mandate.valid_from) <= day <= min(to_day(until), to_day(mandate.valid_to))


def released_by_day(releases: Releases, mandates: Mandates, last: int) -> list[dict[int, int]]:
    """By mandate: the principal to lend again, by day up to the last."""
    amounts: list[dict[int, int]] = [{} for _ in mandates.mandates]
    columns: dict[int, list[int]] = {}
    for column, mandate in enumerate(mandates.mandates):
        columns.setdefault(mandate.source, []).append(column)
    rows = (each.tolist() for each in (releases.day, releases.source, releases.principal_minor))
    for day, source, principal in zip(*rows, strict=True):
        for column in columns.get(source, []):
            if principal and day <= last and revolves(mandates.mandates[column], day):
                amounts[column][day] = amounts[column].get(day, 0) + principal
    return amounts


def read_releases(path: Path | str, mandates: Mandates) -> Releases:
    """The releases of a CSV file (day, source, principal_minor), or all its problems."""
    known = {str(each.source): each.source for each in mandates.mandates}
    declared: dict[str, Column] = {
        "day": DateColumn(),
        "source": IntegerColumn(1, 32_767, known, only_named=True),
        "principal_minor": IntegerColumn(-MAX_BUDGET_MINOR, MAX_BUDGET_MINOR),
    }
    return releases_of(**read_columns(path, declared, ReleaseError))


def released(releases: Releases, mandates: Mandates, start: int, stop: int) -> I64:
    """Principal to lend again of some rows, by mandate: the version in force on each row's day."""
    amounts = np.zeros(len(mandates.mandates), np.int64)
    for row in range(start, stop):
        day, source = int(releases.day[row]), int(releases.source[row])
        for column, mandate in enumerate(mandates.mandates):
            if mandate.source == source and revolves(mandate, day):
                amounts[column] += releases.principal_minor[row]
    return amounts
