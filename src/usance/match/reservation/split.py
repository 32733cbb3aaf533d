"""One loan of several sources, shared exactly: nothing is lost, and no order of rows decides.

Shares go by largest remainder; equal remainders favour the lower source number. What comes in is
split by the *cumulative* amount, and each receipt is the difference to the one before, so parts
never drift from their shares however a loan is paid.

>>> shares = co_fund(1_000_01, {7: 700_000, 8: 300_000})
>>> shares
{7: 70001, 8: 30000}
>>> [split_receipt(before, 1, shares) for before in (0, 1, 2)]
[{7: 1, 8: 0}, {7: 0, 8: 1}, {7: 1, 8: 0}]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from usance.base.arrays import I64
from usance.base.errors import AmountError, UsanceError, raise_all
from usance.base.money import INT64_MAX, split
from usance.base.rates import PPM, Rate
from usance.match.errors import ShareError


def split_by_weight(total_minor: int, weights: Mapping[int, int]) -> dict[int, int]:
    """A total by source, in order of source, in proportion to weights of any size.

    >>> split_by_weight(100, {3: 1, 1: 1, 2: 1})
    {1: 34, 2: 33, 3: 33}
    """
    sources = sorted(weights)
    parts = split(total_minor, [weights[source] for source in sources])
    return dict(zip(sources, parts, strict=True))


def co_fund(
    principal_minor: int,
    portions_ppm: Mapping[int, int],
    *,
    partners: Collection[int] = (),
    minimum_ppm: int = 0,
) -> dict[int, int]:
    """The principal by source, from portions that make a whole.

    The partners of a bank provide at least the minimum together, to the last minor unit: where
    rounding would leave them short, they are rounded up. The parameter
    `funding.co_lender_minimum_share` has the minimum.
    """
    raise_all(list(_problems(portions_ppm, partners, minimum_ppm)), where="shares")
    parts = split_by_weight(principal_minor, portions_ppm)
    minimum_minor = -(-principal_minor * minimum_ppm // PPM)
    inside = {source: ppm for source, ppm in portions_ppm.items() if source in partners}
    if inside and sum(parts[source] for source in inside) < minimum_minor:
        outside = {source: portions_ppm[source] for source in portions_ppm.keys() - inside.keys()}
        parts |= split_by_weight(minimum_minor, inside) | split_by_weight(
            principal_minor - minimum_minor, outside
        )
    return parts


def split_receipt(
    before_minor: int, amount_minor: int, shares: Mapping[int, int]
) -> dict[int, int]:
    """Part of each source in a receipt, after the receipts before it.

    A part is below zero, by one minor unit, only where three or more share a receipt of which
    one's exact part is less than a minor unit: there the largest remainder can move.

    >>> split_receipt(10, 1, {1: 6, 2: 6, 3: 2})
    {1: 1, 2: 1, 3: -1}
    """
    if before_minor < 0 or before_minor + amount_minor < 0:
        fix = "Give what came in so far; a charge-back lowers it, never below zero"
        raise AmountError("receipts fall below zero", where="shares", fix=fix)
    old, new = (
        split_by_weight(before_minor, shares),
        split_by_weight(before_minor + amount_minor, shares),
    )
    return {source: new[source] - old[source] for source in new}


def split_columns(totals_minor: I64, loans: I64, sources: I64, weights: I64) -> I64:
    """The same for a column of loans: each row's part of its loan's total.

    A row is a source's share of a loan: `loans` has the loan's place in `totals_minor`. Rows may
    stand in any order.

    >>> totals, loans = np.array([100, 1]), np.array([0, 0, 0, 1, 1])
    >>> split_columns(totals, loans, np.array([1, 2, 3, 1, 2]), np.array([1, 1, 1, 1, 3]))
    array([34, 33, 33,  0,  1])
    """
    outside = np.flatnonzero((loans < 0) | (loans >= len(totals_minor)))
    if outside.size:
        what = f"row {outside[0]} is of loan {loans[outside[0]]}"
        raise ShareError(what, fix=f"Number the {len(totals_minor)} loans from 0")
    whole = np.zeros(len(totals_minor), np.int64)
    np.add.at(whole, loans, weights)
    _check(totals_minor, loans, sources, weights, whole)
    floors, rests = _divided(totals_minor[loans], weights, whole[loans])
    left = totals_minor.copy()
    np.subtract.at(left, loans, floors)
    order = np.lexsort((sources, -rests, loans))
    first = np.searchsorted(loans[order], np.arange(len(totals_minor)))
    rank = np.arange(len(loans)) - first[loans[order]]
    floors[order] += rank < left[loans[order]]
    return floors


def _divided(totals: I64, weights: I64, whole: I64) -> tuple[I64, I64]:
    """Quotient and rest of total × weight / whole; beyond 64 bits with Python's integers."""
    if not totals.size:
        return totals.copy(), totals.copy()
    fits = int(totals.max()) * int(weights.max()) <= INT64_MAX
    exact = totals * weights if fits else totals.astype(object) * weights.astype(object)
    return (exact // whole).astype(np.int64), (exact % whole).astype(np.int64)


def _check(totals: I64, loans: I64, sources: I64, weights: I64, whole: I64) -> None:
    if totals.size and totals.min() < 0:
        place = int(np.argmin(totals))
        what = f"loan {place} has the total {totals[place]}"
        raise AmountError(what, where="totals", fix="Give cumulative amounts of zero or more")
    if weights.size and weights.min() < 0:
        place = int(np.argmin(weights))
        raise ShareError(f"row {place} has the weight {weights[place]}", fix="Give zero or more")
    if whole.size and whole.min() <= 0:
        place = int(np.argmin(whole))
        raise ShareError(
            f"loan {place} has no share above zero", fix="Give it one, or leave it out"
        )
    pairs = np.stack([loans, sources])[:, np.lexsort((sources, loans))]
    twice = np.flatnonzero((pairs[:, 1:] == pairs[:, :-1]).all(axis=0))
    if twice.size:
        loan, source = pairs[:, twice[0]]
        raise ShareError(f"loan {loan} has source {source} twice", fix="Add the two shares up")


def _problems(
    portions_ppm: Mapping[int, int], partners: Collection[int], minimum_ppm: int
) -> Iterator[UsanceError]:
    if len(portions_ppm) < 2:
        yield ShareError("fewer than two sources", fix="Name each source and its portion")
    for source, ppm in sorted(portions_ppm.items()):
        if ppm <= 0:
            yield ShareError(f"source {source} has the portion {ppm} ppm", fix="Give one above 0")
    if (whole := sum(portions_ppm.values())) != PPM:
        yield ShareError(f"the portions make {Rate(whole)}", fix="Let them make 100%")
    for source in sorted(set(partners) - portions_ppm.keys()):
        yield ShareError(f"partner {source} has no portion", fix="Give it one, or do not name it")
    provided = sum(portions_ppm.get(source, 0) for source in partners)
    if partners and provided < minimum_ppm:
        what = f"the partners provide {Rate(provided)}"
        yield ShareError(what, fix=f"Give them at least {Rate(minimum_ppm)} together")
    if set(partners) >= portions_ppm.keys() and portions_ppm:
        yield ShareError("every source is a partner", fix="Name the bank's partners alone")
