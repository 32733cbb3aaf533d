"""The fit of a scorecard: bins, their weight of evidence, and one coefficient for each variable.

Weight of evidence of a bin is ln(goods / bads) of the bin less that of all rows, drawn towards 0
as if the bin held a few average rows more. A coefficient below zero would turn a bin against its
own evidence, so none is allowed; a variable that gets none is not on the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from usance.assess.columns import Column
from usance.assess.scoring.scorecard import Bin, Scale, Scorecard, Variable, bin_labels
from usance.assess.training.binning import level_groups, number_cuts
from usance.assess.training.logistic import fit
from usance.base.arrays import F64

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
