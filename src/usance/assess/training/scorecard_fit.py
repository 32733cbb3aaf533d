"""The fit of a scorecard: bins, their weight of evidence, and one coefficient for each variable.

Weight of evidence of a bin is ln(goods / bads) of the bin less that of all rows, drawn towards 0
as if the bin held a few average rows more. A coefficient below zero would turn a bin against its
own evidence, so none is allowed; a variable that gets none is not on the card.

Bins are optimal and monotonic: the best of all ways to cut a column, found exactly. It is first cut
into at most 64 fine bins. A dynamic programme then looks at every way to join neighbours such that
the share of bads only rises (or only falls), and takes the one whose bins explain the outcomes
best, less a price for each bin. The value of a bin is its binomial log likelihood; the price keeps
bins that say nothing apart from chance out of the card.

>>> import numpy as np
>>> cut(np.array([90, 80, 80, 40]), np.array([10, 20, 20, 60]), trend=1, least=50, price=1.5)
(1, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10

import numpy as np

from usance.assess.columns import Column
from usance.assess.scoring.scorecard import Bin, Scale, Scorecard, Variable, bin_labels
from usance.assess.training.logistic import fit
from usance.base.arrays import F64, I64

FINE_BINS = 64
BIN_PRICE = 1.5  # between Akaike's 1 and the 2 of a likelihood-ratio test at 5 %


def cut(goods: I64, bads: I64, *, trend: int, least: int, price: float) -> tuple[int, ...]:
    """The best cuts between fine bins; with trend 0 the better of rising and falling."""
    if trend == 0:
        ways = [_best(goods, bads, way, least, price) for way in (1, -1)]
        return max(ways, key=lambda way: way[0])[1]
    return _best(goods, bads, trend, least, price)[1]


def _best(
    goods: I64, bads: I64, trend: int, least: int, price: float
) -> tuple[float, tuple[int, ...]]:
    count = len(goods)
    rate, value = _joined(goods, bads, least, price)
    # best[i, j]: of all ways to cut the fine bins before j, the last bin being i to j.
    best = np.full((count + 1, count + 1), -np.inf)
    before = np.zeros((count + 1, count + 1), np.int64)
    best[0] = value[0]
    for i in range(1, count):
        left, right = rate[:i, i, None], rate[i, None, i + 1 :]
        fits = left <= right if trend > 0 else left >= right
        reached = np.where(fits, best[:i, i, None], -np.inf)
        chosen = reached.argmax(axis=0)
        best[i, i + 1 :] = reached.max(axis=0) + value[i, i + 1 :]
        before[i, i + 1 :] = chosen
    start, stop = int(best[:count, count].argmax()), count
    total = float(best[start, stop])
    cuts: list[int] = []
    while start > 0 and np.isfinite(total):
        cuts.append(start)
        start, stop = int(before[start, stop]), start
    return total, tuple(reversed(cuts))


def _joined(goods: I64, bads: I64, least: int, price: float) -> tuple[F64, F64]:
    """The bad rate and the value of every run of neighbours."""
    good, bad = (np.concatenate([[0], np.cumsum(each)]) for each in (goods, bads))
    good = (good[None, :] - good[:, None]).astype(np.float64)
    bad = (bad[None, :] - bad[:, None]).astype(np.float64)
    rows = good + bad
    rate = np.divide(bad, rows, out=np.zeros_like(rows), where=rows > 0)
    likelihood = _x_log_x(bad) + _x_log_x(good) - _x_log_x(rows)
    return rate, np.where(rows >= least, likelihood - price, -np.inf)


def _x_log_x(x: F64) -> F64:
    return x * np.log(np.maximum(x, 1.0))  # counts: 0 and 1 both give 0


def number_cuts(
    values: F64, bad: F64, *, trend: int, least: int, price: float = BIN_PRICE
) -> tuple[float, ...]:
    """The cut points of a column of numbers: a value belongs left of a cut if it is below it."""
    if len(values) < 2:
        return ()
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    starts = _fine_starts(first, len(values))
    bads = np.add.reduceat(bad[order], first[starts]).astype(np.int64)
    rows = np.diff(np.append(first[starts], len(values)))
    cuts = cut(rows - bads, bads, trend=trend, least=least, price=price)
    edges = [starts[each] for each in cuts]
    return tuple(short_between(float(distinct[at - 1]), float(distinct[at])) for at in edges)


def _fine_starts(first: I64, rows: int) -> I64:
    """The distinct values that begin a fine bin: all of them, or those at the quantiles."""
    if len(first) <= FINE_BINS:
        return np.arange(len(first))
    wanted = np.arange(FINE_BINS) * rows // FINE_BINS
    return np.unique(np.searchsorted(first, wanted, side="right") - 1)


def level_groups(
    rows: Sequence[int], bads: Sequence[int], *, price: float = BIN_PRICE
) -> tuple[int, ...]:
    """The group of each level of a category: levels in order of bad rate, joined like numbers."""
    count, bad = np.asarray(rows, np.int64), np.asarray(bads, np.int64)
    order = np.argsort(bad / np.maximum(count, 1), kind="stable")
    cuts = cut((count - bad)[order], bad[order], trend=1, least=0, price=price)
    groups = np.empty(len(count), np.int64)
    groups[order] = np.searchsorted(np.asarray(cuts), np.arange(len(count)), side="right")
    return tuple(groups.tolist())


def short_between(low: float, high: float) -> float:
    """The shortest decimal above `low` and not above `high`, to be read on paper.

    >>> short_between(0.4999, 0.5213), short_between(2, 3), short_between(12480.0, 17300.0)
    (0.5, 3.0, 15000.0)
    """
    size = max(abs(low), abs(high))
    for place in range(floor(log10(size)) + 1 if size else 0, -20, -1):
        step = 10.0**place
        for unit in (5 * step, step):
            near = floor((low + high) / 2 / unit) * unit
            for edge in (near, near + unit):
                tidy = float(f"{edge:.15g}")
                if low < tidy <= high:
                    return tidy
    return high


AVERAGE_ROWS = 8.0  # rows of the average that each bin is mixed with
RIDGE_ROWS = 5.0  # strength of the ridge, in rows: small files are held back more
MIN_SHARE, MIN_ROWS = 0.02, 20
MIN_INFORMATION = 0.005


@dataclass(frozen=True)
class Card:
    """A fitted card before it is rounded to points."""

    variables: tuple[Variable, ...]
    coefficients: F64

    def log_odds(self, columns: Sequence[Column], inputs: F64) -> F64:
        """The log odds of bad of each row."""
        total = np.full(len(inputs), self.coefficients[0])
        for variable, weight in zip(self.variables, self.coefficients[1:], strict=True):
            total -= weight * _evidence(variable, columns[variable.at], inputs)
        return total


def fit_card(columns: Sequence[Column], inputs: F64, bad: F64) -> Card:
    """Bins and coefficients from training rows."""
    least = max(MIN_ROWS, int(MIN_SHARE * len(bad)))
    binned = [
        bin_column(at, column, inputs[:, at], bad, least) for at, column in enumerate(columns)
    ]
    useful = [each for each in binned if each.information >= MIN_INFORMATION]
    if not useful:
        return Card((), fit(np.empty((len(bad), 0)), bad, ridge=0.0))
    evidence = np.column_stack([_evidence(each, columns[each.at], inputs) for each in useful])
    found = fit(-evidence, bad, ridge=RIDGE_ROWS / len(bad), floor=0.0)
    kept = [at for at, weight in enumerate(found[1:]) if weight > 0]
    variables = tuple(useful[at] for at in kept)
    return Card(variables, found[[0, *(at + 1 for at in kept)]])


def bin_column(at: int, column: Column, values: F64, bad: F64, least: int) -> Variable:
    """The optimal bins of one column, with their counts and weights of evidence."""
    cuts: tuple[float, ...] = ()
    groups: tuple[int, ...] = ()
    if column.kind == "category":
        known = values >= 0
        codes = values[known].astype(np.int64)
        rows = np.bincount(codes, minlength=len(column.levels))
        bads = np.bincount(codes, bad[known], minlength=len(column.levels)).astype(np.int64)
        groups = level_groups(rows.tolist(), bads.tolist()) if column.levels else ()
    else:
        plain = ~np.isnan(values) & ~np.isin(values, [code for _, code in column.specials])
        cuts = number_cuts(values[plain], bad[plain], trend=column.trend, least=least)
    labels = bin_labels(column, cuts, groups)
    empty = tuple(Bin(label, 0, 0, 0.0) for label in labels)
    variable = Variable(at, column.name, cuts, groups, empty)
    return replace(variable, bins=_counted(variable, column, values, bad))


def _counted(variable: Variable, column: Column, values: F64, bad: F64) -> tuple[Bin, ...]:
    index = variable.index(column, values)
    rows = np.bincount(index, minlength=len(variable.bins))
    bads = np.bincount(index, bad, minlength=len(variable.bins))
    share = bad.mean()
    goods = rows - bads + AVERAGE_ROWS * (1 - share)
    woe = np.log(goods / (bads + AVERAGE_ROWS * share)) - np.log((1 - share) / share)
    return tuple(
        Bin(each.label, int(row), int(one), float(weight) if row else 0.0)
        for each, row, one, weight in zip(variable.bins, rows, bads, woe, strict=True)
    )


def _evidence(variable: Variable, column: Column, inputs: F64) -> F64:
    woe = np.array([each.woe for each in variable.bins])
    return woe[variable.index(column, inputs[:, variable.at])]


def in_points(card: Card, scale: Scale, intercept: float, slope: float) -> Scorecard:
    """The card on paper: `intercept + slope × log odds`, in whole points on the scale."""
    base = int(scale.points(intercept + slope * card.coefficients[0]))
    variables = []
    for variable, weight in zip(card.variables, card.coefficients[1:], strict=True):
        worth = slope * float(weight) * scale.factor
        bins = tuple(replace(each, points=round(worth * each.woe)) for each in variable.bins)
        if any(each.points for each in bins):
            variables.append(replace(variable, bins=bins))
    return Scorecard(base, tuple(variables))
