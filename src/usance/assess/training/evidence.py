"""Evidence for the model card, from held-out predictions, and the baseline of monitoring.

Predictions for rows that a model has seen are too sure to tell how good it is. The baseline is
made of the model's own scores all the same: a scorecard has a handful of scores, and those of the
models without a part of the rows lie between them and would look like drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.applicant_file import numbers_and_texts
from usance.assess.columns import Column
from usance.assess.model_quality import auc, psi, tenths
from usance.assess.scoring.scorecard import Scale, sigmoid
from usance.assess.training.scorecard_fit import bin_column
from usance.base.arrays import F64
from usance.base.dates import format_month

GROUP_BANDS = 4
MAX_GROUPS = 12


def calibration_table(bad: F64, log_odds: F64) -> list[dict[str, float]]:
    """Stated and observed bad rate in ten parts of equal size."""
    predicted = sigmoid(log_odds)
    return [
        {"rows": len(part), "said": float(predicted[part].mean()), "seen": float(bad[part].mean())}
        for part in tenths(predicted)
    ]


def reference(
    columns: Sequence[Column], inputs: F64, bad: F64, own: NDArray[np.int64],
    held_out: NDArray[np.int64],
) -> dict[str, Any]:  # fmt: skip
    """The distribution of the model's own score and of each input; goods and bads as held out."""
    edges = np.unique(np.quantile(own, np.arange(1, 10) / 10).round().astype(np.int64))
    least = max(20, len(bad) // 50)
    binned = [bin_column(at, each, inputs[:, at], bad, least) for at, each in enumerate(columns)]
    low, high = int(held_out.min()), int(held_out.max())
    steps = np.unique(np.linspace(low, high + 1, 25).astype(np.int64))
    goods, bads = (np.histogram(held_out[bad == each], steps)[0].tolist() for each in (0.0, 1.0))
    return {
        "edges": edges.tolist(),
        "rows": counts(own, edges),
        "histogram": {"from": steps.tolist(), "goods": goods, "bads": bads},
        "columns": [asdict(each) for each in binned],
    }


def counts(score: NDArray[np.int64], edges: Any) -> list[int]:
    """Rows of each score band."""
    place = np.searchsorted(np.asarray(edges), score, side="right")
    return [int(each) for each in np.bincount(place, minlength=len(edges) + 1)]


def stability(
    months: NDArray[np.int64], bad: F64, log_odds: F64, scale: Scale
) -> list[dict[str, Any]]:
    """Month by month: rows, bad rate, stated bad rate, ranking, and how far the scores moved."""
    score, predicted = scale.points(log_odds), sigmoid(log_odds)
    edges = np.unique(np.quantile(score, np.arange(1, 10) / 10))
    whole = counts(score, edges)
    return [
        {
            "month": format_month(int(month)),
            "rows": int(own.sum()),
            "bad_rate": float(bad[own].mean()),
            "stated": float(predicted[own].mean()),
            "auc": auc(bad[own], log_odds[own]) if 0 < bad[own].sum() < own.sum() else None,
            "psi": psi(whole, counts(score[own], edges)),
        }
        for month in np.unique(months)
        for own in [months == month]
    ]


def fairness(array: Any, bad: F64, log_odds: F64, scale: Scale) -> list[dict[str, Any]]:
    """Fairness by group: the share above the median score, and stated against observed rates."""
    score, predicted = scale.points(log_odds), sigmoid(log_odds)
    passes = score >= np.median(score)
    rows: list[dict[str, Any]] = []
    for name, own in _groups(array):
        if own.any():
            both = 0 < bad[own].sum() < own.sum()
            rows.append({
                "group": name, "rows": int(own.sum()), "bad_rate": float(bad[own].mean()),
                "stated": float(predicted[own].mean()), "passes": float(passes[own].mean()),
                "auc": auc(bad[own], log_odds[own]) if both else None,
            })  # fmt: skip
    best = max((row["passes"] for row in rows), default=0.0)
    return [{**row, "ratio": row["passes"] / best if best else 1.0} for row in rows]


def _groups(array: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """Levels of a category, or four bands of a number."""
    numbers, texts = numbers_and_texts(array)
    values = np.unique(numbers[~np.isnan(numbers)])
    missing = ("missing", np.asarray(array.is_null()))
    if texts.null_count == len(texts) and len(values) > MAX_GROUPS:
        shares = np.arange(GROUP_BANDS + 1) / GROUP_BANDS
        edges = np.quantile(numbers[~np.isnan(numbers)], shares)
        edges = np.unique(np.append(edges[:-1], np.inf))
        bands = pairwise(edges)
        return [
            *((_band(low, high), (numbers >= low) & (numbers < high)) for low, high in bands),
            missing,
        ]
    names = array.cast("string").to_pylist()
    levels = sorted({name for name in names if name is not None})
    cells = np.array([name or "" for name in names])
    return [*((level, cells == level) for level in levels[:MAX_GROUPS]), missing]


def _band(low: float, high: float) -> str:
    return f"{low:g} and above" if np.isinf(high) else f"{low:g} to below {high:g}"
