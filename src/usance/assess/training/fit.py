"""The fit of all candidates: held-out predictions first, then weights, then the final models.

    card     ──────────────► calibrated ──┐
    shallow, deep, random ─► calibrated ──┴─► blend ─► calibrated

Every weight is fitted on predictions for rows that the model had not seen, so the weights also
calibrate. The same folds then give each candidate's honest figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.columns import Column
from usance.assess.scoring.calibration import beta_features
from usance.assess.training.card import Card, fit_card
from usance.assess.training.folds import folds, latest
from usance.assess.training.logistic import fit, log_loss
from usance.assess.training.trees import RECIPES, Grower, added
from usance.base.arrays import F64, I64
from usance.base.concurrency import parallel_map

FOLDS, LARGE_FOLDS, LARGE_ROWS = 5, 3, 40_000  # many rows need fewer folds
# Weights are fitted on models of fewer rows than the one that is kept, and come out too timid.
# Where rows are folded once only, more folds bring the two closer.
SINGLE_FOLDS = 10
STACK_RIDGE = 1e-3
# Small files are folded several times, so that chance in the folds averages out.
REPEATS_MAX, REPEATS_ROWS = 3, 24_000
MIN_WEIGHT = 0.02
MIN_GAIN = 0.0002  # share of the log loss a more complex model must save


@dataclass(frozen=True)
class HeldOut:
    """Held-out predictions of each part."""

    card: F64
    trees: F64
    rounds: tuple[int, ...]
    fold: I64
    repeats: int


@dataclass(frozen=True)
class Weights:
    """The weights that make parts calibrated log odds, fitted on held-out predictions."""

    card: F64
    trees: F64
    blend: F64
    beta: F64 | None


@dataclass(frozen=True)
class Fitted:
    """The final parts, their weights, and the held-out log odds of each candidate."""

    card: Card
    trees: str
    weights: Weights
    rounds: tuple[int, ...]
    held_out: dict[str, F64]
    chosen: str
    late: NDArray[np.bool_] | None
    late_log_odds: F64 | None


def fit_models(
    columns: tuple[Column, ...], inputs: F64, bad: F64, *,
    seed: int, threads: int, months: I64 | None = None,
) -> Fitted:  # fmt: skip
    """Cross-validate, weigh, choose and fit on all rows."""
    grower = Grower(columns, inputs, bad)
    held = hold_out(grower, seed, threads)
    weights, said = weigh(held, bad)
    chosen = choose(bad, said)
    late = latest(months, bad) if months is not None else None
    late_said = None
    if late is not None:
        parts = _final(grower, ~late, held, weights, seed, threads, bags=1)
        late_said = _combined(parts, columns, inputs[late], weights, chosen)
    everything = np.ones(len(bad), bool)
    bags = held.repeats + (len(bad) <= LARGE_ROWS)  # many rows vary little from seed to seed
    card, trees = _final(grower, everything, held, weights, seed, threads, bags)
    return Fitted(card, trees, weights, held.rounds, said, chosen, late, late_said)


def hold_out(grower: Grower, seed: int, threads: int) -> HeldOut:
    """Predictions for every row by models that were fitted without it."""
    columns, inputs, bad = grower.columns, grower.inputs, grower.bad
    repeats = max(1, min(REPEATS_MAX, REPEATS_ROWS // len(bad)))
    count = fold_count(len(bad), repeats)
    fold = [folds(bad, count, seed=seed, repeat=repeat) for repeat in range(repeats)]
    jobs = list(product(range(repeats), range(count)))

    def carded(job: tuple[int, int]) -> F64:
        kept = fold[job[0]] != job[1]
        return fit_card(columns, inputs[kept], bad[kept]).log_odds(columns, inputs[~kept])

    def grown(job: tuple[int, tuple[int, int]]) -> Any:
        recipe, (repeat, held) = job
        return grower.grow_watched(RECIPES[recipe], fold[repeat] != held, seed + repeat)

    card = _gathered(list(parallel_map(carded, jobs, threads)), jobs, fold)
    trees, rounds = [], []
    for recipe in range(len(RECIPES)):
        boosters = list(parallel_map(grown, [(recipe, job) for job in jobs], threads))
        best = max(1, round(np.mean([each.best_iteration for each in boosters])))
        rows = [fold[repeat] == held for repeat, held in jobs]
        pairs = list(zip(boosters, rows, strict=True))
        said = [grower.log_odds(booster, own, best) for booster, own in pairs]
        trees.append(_gathered(said, jobs, fold))
        rounds.append(best)
    return HeldOut(card, np.column_stack(trees), tuple(rounds), fold[0], repeats)


def fold_count(rows: int, repeats: int) -> int:
    """Into how many parts rows are folded."""
    if rows > LARGE_ROWS:
        return LARGE_FOLDS
    return FOLDS if repeats > 1 else SINGLE_FOLDS


def _gathered(said: Sequence[F64], jobs: Sequence[tuple[int, int]], fold: Sequence[I64]) -> F64:
    """Fold by fold to row by row, the mean over repeats."""
    total = np.zeros(len(fold[0]))
    for (repeat, held), each in zip(jobs, said, strict=True):
        total[fold[repeat] == held] += each / len(fold)
    return total


def weigh(held: HeldOut, bad: F64) -> tuple[Weights, dict[str, F64]]:
    """The weights from all rows, and log odds of each row with weights from the other folds."""
    weights = _weights(held.card, held.trees, bad)
    said = {name: np.empty(len(bad)) for name in ("scorecard", "trees", "blend")}
    calibrated = np.empty(len(bad))
    for each in np.unique(held.fold):
        kept = held.fold != each
        own = _weights(held.card[kept], held.trees[kept], bad[kept])
        for name, values in log_odds(own, held.card[~kept], held.trees[~kept]).items():
            said[name][~kept] = values
        assert own.beta is not None
        calibrated[~kept] = _linear(own.beta, beta_features(said["blend"][~kept]))
    gain = log_loss(bad, said["blend"]) - log_loss(bad, calibrated)
    if gain.mean() > 2 * gain.std() / np.sqrt(len(bad)):
        said["blend"] = calibrated
        return weights, said
    return Weights(weights.card, weights.trees, weights.blend, None), said


def _weights(card: F64, trees: F64, bad: F64) -> Weights:
    own = Weights(
        fit(card[:, None], bad, ridge=0.0, floor=0.0),
        fit(trees, bad, ridge=STACK_RIDGE, floor=0.0),
        np.zeros(3),
        None,
    )
    said = log_odds(own, card, trees)
    pair = np.column_stack([said["scorecard"], said["trees"]])
    blend = fit(pair, bad, ridge=STACK_RIDGE, floor=0.0)
    beta = fit(beta_features(_linear(blend, pair)), bad, ridge=STACK_RIDGE, floor=0.0)
    return Weights(own.card, own.trees, blend, beta)


def log_odds(weights: Weights, card: F64, trees: F64) -> dict[str, F64]:
    """The calibrated log odds of every candidate."""
    scorecard = _linear(weights.card, card[:, None])
    grown = _linear(weights.trees, trees)
    blend = _linear(weights.blend, np.column_stack([scorecard, grown]))
    return {"scorecard": scorecard, "trees": grown, "blend": blend}


def _linear(weights: F64, features: F64) -> F64:
    total: F64 = weights[0] + features @ weights[1:]
    return total


def choose(bad: F64, said: dict[str, F64]) -> str:
    """The candidate with the least held-out log loss; a simpler one if it is as good."""
    losses = {name: float(log_loss(bad, values).mean()) for name, values in said.items()}
    least = min(losses.values())
    return next(name for name, loss in losses.items() if loss <= least * (1 + MIN_GAIN))


def _final(
    grower: Grower, rows: NDArray[np.bool_], held: HeldOut, weights: Weights,
    seed: int, threads: int, bags: int,
) -> tuple[Card, str]:  # fmt: skip
    """The card and the one booster, from these rows."""
    shares = weights.trees[1:]
    used = [at for at, share in enumerate(shares) if share >= MIN_WEIGHT * shares.sum()]
    jobs = list(product(used, range(bags)))

    def grown(job: tuple[int, int]) -> Any:
        recipe, bag = job
        return grower.grow(RECIPES[recipe], rows, seed + bag, held.rounds[recipe])

    boosters = list(parallel_map(grown, jobs, threads))
    kept = sum(shares[at] for at in used) or 1.0  # trees that say nothing weigh nothing
    scales = [float(shares[at] * shares.sum() / kept / bags) for at, _ in jobs]
    card = fit_card(grower.columns, grower.inputs[rows], grower.bad[rows])
    return card, added(list(zip(scales, boosters, strict=True)))


def _combined(
    parts: tuple[Card, str], columns: tuple[Column, ...], inputs: F64, weights: Weights,
    chosen: str,
) -> F64:  # fmt: skip
    import lightgbm

    from usance.assess.training.trees import tree_inputs

    card, trees = parts
    booster = lightgbm.Booster(model_str=trees)
    raw = np.asarray(booster.predict(tree_inputs(columns, inputs), raw_score=True))
    own = Weights(weights.card, np.array([weights.trees[0], 1.0]), weights.blend, None)
    return log_odds(own, card.log_odds(columns, inputs), raw[:, None])[chosen]
