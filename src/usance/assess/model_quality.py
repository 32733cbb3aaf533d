"""Discrimination and calibration of probabilities, each by its usual definition.

>>> import numpy as np
>>> bad = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
>>> said = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 0.8])
>>> round(auc(bad, said), 4), round(ks(bad, said), 4), round(brier(bad, said), 4)
(0.8889, 0.6667, 0.1383)
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.scoring.scorecard import sigmoid
from usance.assess.training.logistic import fit
from usance.base.arrays import F64

EMPTY_ROWS = 0.5  # an empty bin counts as half a row: a few rows say little about a rare bin


def measures(bad: F64, log_odds: F64) -> dict[str, float | int]:
    """The figures of one model on one file."""
    predicted = sigmoid(log_odds)
    return {
        "auc": auc(bad, log_odds),
        "ks": ks(bad, log_odds),
        "brier": brier(bad, predicted),
        "ece10": calibration_error(bad, predicted),
        "slope": slope(bad, log_odds),
        "n": len(bad),
    }


def auc(bad: F64, predicted: F64) -> float:
    """The chance that a bad is ranked above a good; ties count half."""
    _, place, count = np.unique(predicted, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    bads = bad.sum()
    goods = len(bad) - bads
    return float((rank[place][bad == 1].sum() - bads * (bads + 1) / 2) / (bads * goods))


def auc_error(area: float, bads: int, goods: int) -> float:
    """The standard error of an area, after Hanley and McNeil (1982).

    >>> round(auc_error(0.7893, 817, 647), 4)
    0.0116
    """
    once, twice = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (bads - 1) * (once - area**2) + (goods - 1) * (twice - area**2)
    return sqrt(spread / (bads * goods))


def ks(bad: F64, predicted: F64) -> float:
    """The largest gap between the two cumulative distributions (Kolmogorov and Smirnov)."""
    order = np.argsort(predicted, kind="stable")
    last = np.append(np.diff(predicted[order]) != 0, True)
    bads = np.cumsum(bad[order])[last] / bad.sum()
    goods = np.cumsum(1 - bad[order])[last] / (len(bad) - bad.sum())
    return float(np.abs(bads - goods).max())


def brier(bad: F64, predicted: F64) -> float:
    """The mean squared distance of probability and outcome."""
    return float(((bad - predicted) ** 2).mean())


def tenths(predicted: F64) -> list[NDArray[np.int64]]:
    """Rows in order of probability, in ten parts of equal size."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), 10)
    return [part for part in parts if len(part)]


def calibration_error(bad: F64, predicted: F64) -> float:
    """The mean distance of stated and observed bad rates over ten parts of equal size."""
    gaps = (
        abs(bad[part].mean() - predicted[part].mean()) * len(part) for part in tenths(predicted)
    )
    return float(sum(gaps) / len(bad))


def slope(bad: F64, log_odds: F64) -> float:
    """The calibration slope of outcomes on log odds: 1 is right, below 1 is over-confident."""
    return float(fit(log_odds[:, None], bad, ridge=0.0)[1])


def psi(expected: Any, found: Any) -> float:
    """The population stability index of two counts over the same bins.

    >>> round(psi([50, 50], [60, 40]), 4)
    0.0405
    """
    before, after = (
        np.maximum(np.asarray(each, np.float64), EMPTY_ROWS) for each in (expected, found)
    )
    before, after = before / before.sum(), after / after.sum()
    return float(((after - before) * np.log(after / before)).sum())
