"""Strata of a pool as investors read them: loans and principal by grade, region, product, arrears.

>>> from usance.fund.pool_columns import pool_of_rows
>>> rows = [{"loan_id": n, "principal_minor": 100 * n, "dpd": 40 * (n - 1)} for n in (1, 2)]
>>> [each for each in strata_of(pool_of_rows(rows)) if each.by == "arrears" and each.loans]
[PoolStratum(by='arrears', member='0', loans=1, principal_minor=100), \
PoolStratum(by='arrears', member='31–60', loans=1, principal_minor=200)]
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import NamedTuple

import numpy as np

from usance.fund.errors import PoolError
from usance.fund.pool_columns import PoolColumns

MEASURES = ("grade", "region", "product")
MONTHS = ((0, 3), (4, 6), (7, 12), (13, 24), (25, 600))
"""Months left from and to."""
ARREARS = ((0, 0), (1, 30), (31, 60), (61, 90), (91, 10_000))
"""Days past due from and to."""


class PoolStratum(NamedTuple):
    """Loans of a pool that are alike in one respect."""

    by: str
    """`grade`, `region`, `product`, `months_left` or `arrears`."""
    member: str
    loans: int
    principal_minor: int


def strata_of(pool: PoolColumns) -> Iterator[PoolStratum]:
    """Number and principal of loans by grade, region, product, months left and days past due."""
    principal = pool["principal_minor"]
    for by in MEASURES:
        members, place, count = np.unique(pool[by], return_inverse=True, return_counts=True)
        sums = np.zeros(len(members), np.int64)
        np.add.at(sums, place, principal)
        for member, loans, minor in zip(members.tolist(), count.tolist(), sums.tolist(),
                                        strict=True):  # fmt: skip
            yield PoolStratum(by, str(member), loans, minor)
    for by, column, bands in (("months_left", "months_left", MONTHS), ("arrears", "dpd", ARREARS)):
        for first, last in bands:
            inside = (pool[column] >= first) & (pool[column] <= last)
            member = _band(first, last, is_last=last == bands[-1][1])
            yield PoolStratum(by, member, int(inside.sum()), int(principal[inside].sum()))


def _band(first: int, last: int, *, is_last: bool) -> str:
    return f"{first}+" if is_last else str(first) if first == last else f"{first}–{last}"


def strata_bytes(strata: Sequence[PoolStratum]) -> bytes:
    """Strata as CSV.

    >>> made = [PoolStratum("grade", "1", 3, 500)]
    >>> strata_of_bytes(strata_bytes(made), "strata.csv") == made
    True
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(PoolStratum._fields)
    writer.writerows(strata)
    return out.getvalue().encode()


def strata_of_bytes(content: bytes, where: str) -> list[PoolStratum]:
    """Strata from their CSV."""
    rows = csv.DictReader(StringIO(content.decode()))
    try:
        return [
            PoolStratum(row["by"], row["member"], int(row["loans"]), int(row["principal_minor"]))
            for row in rows
        ]
    except (KeyError, ValueError, TypeError) as error:
        what, fix = f"line {rows.line_num}: {error}", "Give the file as `usance fund pay` wrote it"
        raise PoolError(what, where=where, fix=fix) from None
