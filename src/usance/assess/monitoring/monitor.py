"""A model in use, month by month: has the population moved, and are the probabilities still true?

| figure | watch | alarm |
|---|---|---|
| PSI of the score, and of each input | 0.10 | 0.25 |
| stated against observed bads | 2 standard errors and 10 % | 3 standard errors and 10 % |
| AUC below the held-out one | 2 standard errors | 3 standard errors |

The PSI limits are the customary ones. A PSI of few rows is large by chance alone, by about
(bins − 1) / rows; that much is taken off before it is judged.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.applicant_file import Table, months_of
from usance.assess.model_quality import auc, auc_error, psi
from usance.assess.scoring.model import Model, Scores
from usance.assess.scoring.scorecard import Bin, Variable
from usance.assess.training.evidence import counts
from usance.assess.training.recipe import outcomes
from usance.base.arrays import F64
from usance.base.dates import format_month

WATCH_PSI, ALARM_PSI = 0.10, 0.25
WATCH_ERRORS, ALARM_ERRORS = 2.0, 3.0
MIN_RATIO = 0.10
MIN_ROWS = 50  # fewer say nothing about a distribution over ten bands


@dataclass(frozen=True)
class Month:
    """One month of a model in use."""

    month: str
    rows: int
    mean_score: float
    psi: float
    drifting: dict[str, float]
    stated: float
    bad_rate: float | None
    auc: float | None
    state: str
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The month for `--json`."""
        return asdict(self)


def monitor(model: Model, table: Table, *, time: str, target: str = "") -> list[Month]:
    """Every month of a file of scored applicants; with outcomes also how true the model was."""
    months = months_of(time, table.column(time), file=table.file)
    bad = outcomes(table, target) if target else None
    inputs = model.inputs(table)
    scores = model.score_inputs(inputs)
    return [
        _month(
            model, int(month), inputs[own], _rows(scores, own), None if bad is None else bad[own]
        )
        for month in np.unique(months)
        for own in [months == month]
    ]


def _rows(scores: Scores, own: NDArray[np.bool_]) -> Scores:
    return Scores(scores.score[own], scores.log_odds[own], scores.points[own])


def _month(model: Model, month: int, inputs: F64, scores: Scores, bad: F64 | None) -> Month:
    past = model.info["reference"]
    moved = _moved(past["rows"], counts(scores.score, past["edges"]))
    found = {each.name: value for each, value in _columns(model, past["columns"], inputs)}
    drifting = {name: value for name, value in found.items() if value >= WATCH_PSI}
    levels = [_level(moved, WATCH_PSI, ALARM_PSI, f"the score has moved, PSI {moved:.2f}")]
    levels += [
        _level(value, WATCH_PSI, ALARM_PSI, f"{name} has moved, PSI {value:.2f}")
        for name, value in sorted(drifting.items(), key=lambda pair: -pair[1])
    ]
    if len(inputs) < MIN_ROWS:
        levels = [(0, f"only {len(inputs)} rows: too few for a PSI")]
    area = None
    if bad is not None:
        levels.append(_calibration(bad, scores.pd))
        if 0 < bad.sum() < len(bad):
            area = auc(bad, scores.log_odds)
            levels.append(_ranking(model, bad, area))
    worst = max(level for level, _ in levels)
    return Month(
        format_month(month), len(inputs), float(scores.score.mean()), moved, drifting,
        float(scores.pd.mean()), None if bad is None else float(bad.mean()), area,
        ("steady", "watch", "alarm")[worst], tuple(note for _, note in levels if note),
    )  # fmt: skip


def _columns(model: Model, past: list[dict[str, Any]], inputs: F64) -> list[tuple[Any, float]]:
    found = []
    for column, read in zip(model.columns, past, strict=True):
        bins = tuple(Bin(**each) for each in read["bins"])
        variable = Variable(
            read["at"], read["name"], tuple(read["cuts"]), tuple(read["groups"]), bins
        )
        index = variable.index(column, inputs[:, variable.at])
        now = np.bincount(index, minlength=len(bins))
        found.append((column, _moved([each.rows for each in bins], now)))
    return found


def _moved(before: Any, now: Any) -> float:
    """The PSI without what chance alone gives."""
    used = np.count_nonzero(np.asarray(before) + np.asarray(now))
    chance = (used - 1) * (1 / np.sum(now) + 1 / np.sum(before))
    return float(max(0.0, psi(before, now) - chance))


def _level(value: float, watch: float, alarm: float, note: str) -> tuple[int, str]:
    level = int(value >= watch) + int(value >= alarm)
    return level, note if level else ""


def _calibration(bad: F64, predicted: F64) -> tuple[int, str]:
    stated, seen = float(predicted.sum()), float(bad.sum())
    error = sqrt(float((predicted * (1 - predicted)).sum()))
    gap = abs(seen - stated)
    if gap < MIN_RATIO * stated:
        return 0, ""
    note = f"{seen:.0f} bads where {stated:.0f} were stated"
    return _level(gap / error, WATCH_ERRORS, ALARM_ERRORS, note)


def _ranking(model: Model, bad: F64, area: float) -> tuple[int, str]:
    held = model.info["held_out"][model.kind]["auc"]
    past, bads = model.info["data"], int(bad.sum())
    error = hypot(
        auc_error(held, bads, len(bad) - bads),
        auc_error(held, past["bads"], past["rows"] - past["bads"]),
    )
    gap = (held - area) / error
    note = f"AUC {area:.3f}, in training {held:.3f}"
    return _level(gap, WATCH_ERRORS, ALARM_ERRORS, note)
