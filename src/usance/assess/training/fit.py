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
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from usance.assess.columns import Column
from usance.assess.training.logistic import beta_features, fit, log_loss
from usance.assess.training.scorecard_fit import Card, fit_card
from usance.assess.training.trees import RECIPES, TreeTrainer, summed_boosters
from usance.base.arrays import F64, I64
from usance.base.concurrency import parallel_map
from usance.base.draws import draw
from usance.base.progress import with_progress

FOLDS, LARGE_FOLDS, LARGE_ROWS = 5, 3, 40_000  # many rows need fewer folds
# Weights are fitted on models of fewer rows than the one that is kept, and come out too timid.
# Where rows are folded once only, more folds bring the two closer.
SINGLE_FOLDS = 10
STACK_RIDGE = 1e-3
# Small files are folded several times, so that chance in the folds averages out.
REPEATS_MAX, REPEATS_ROWS = 3, 24_000
MIN_WEIGHT = 0.02
FOLD_STREAM = 0x666F6C64  # "fold"
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
    trainer = TreeTrainer(columns, inputs, bad)
    held = held_out_predictions(trainer, seed, threads)
    weights, predicted = fit_weights(held, bad)
    chosen = choose_candidate(bad, predicted)
    late = latest(months, bad) if months is not None else None
    late_predicted = None
    if late is not None:
        parts = _final(trainer, ~late, held, weights, seed, threads, bags=1)
        late_predicted = _combined(parts, columns, inputs[late], weights, chosen)
    everything = np.ones(len(bad), bool)
    bags = held.repeats + (len(bad) <= LARGE_ROWS)  # many rows vary little from seed to seed
    card, trees = _final(trainer, everything, held, weights, seed, threads, bags)
    return Fitted(card, trees, weights, held.rounds, predicted, chosen, late, late_predicted)


def held_out_predictions(trainer: TreeTrainer, seed: int, threads: int) -> HeldOut:
    """Predictions for every row by models that were fitted without it."""
    columns, inputs, bad = trainer.columns, trainer.inputs, trainer.bad
    repeats = max(1, min(REPEATS_MAX, REPEATS_ROWS // len(bad)))
    count = fold_count(len(bad), repeats)
    fold = [folds(bad, count, seed=seed, repeat=repeat) for repeat in range(repeats)]
    jobs = list(product(range(repeats), range(count)))

    def predict_by_card(job: tuple[int, int]) -> F64:
        kept = fold[job[0]] != job[1]
        return fit_card(columns, inputs[kept], bad[kept]).log_odds(columns, inputs[~kept])

    def train_trees(job: tuple[int, tuple[int, int]]) -> Any:
        recipe, (repeat, held) = job
        return trainer.train_with_early_stopping(
            RECIPES[recipe], fold[repeat] != held, seed + repeat
        )

    cards = parallel_map(predict_by_card, jobs, threads)
    card = _by_row(list(with_progress("fitting scorecards", cards, len(jobs))), jobs, fold)
    trees, rounds = [], []
    for recipe in range(len(RECIPES)):
        fitted = parallel_map(train_trees, [(recipe, job) for job in jobs], threads)
        what = f"fitting trees, {recipe + 1} of {len(RECIPES)} recipes"
        boosters = list(with_progress(what, fitted, len(jobs)))
        best = max(1, round(np.mean([each.best_iteration for each in boosters])))
        rows = [fold[repeat] == held for repeat, held in jobs]
        pairs = list(zip(boosters, rows, strict=True))
        predicted = [trainer.log_odds(booster, own, best) for booster, own in pairs]
        trees.append(_by_row(predicted, jobs, fold))
        rounds.append(best)
    return HeldOut(card, np.column_stack(trees), tuple(rounds), fold[0], repeats)


def folds(bad: F64, count: int, *, seed: int, repeat: int) -> I64:
    """The fold of each row; every fold has its share of goods and of bads.

    >>> folds(np.array([0.0, 1.0] * 4), 2, seed=1, repeat=0).tolist()
    [0, 1, 1, 0, 1, 1, 0, 0]
    """
    rows = cast(Any, np.arange(len(bad), dtype=np.uint64))
    drawn = np.asarray(draw(seed, FOLD_STREAM, repeat, rows))
    fold = np.empty(len(bad), np.int64)
    for outcome in (0.0, 1.0):
        own = np.flatnonzero(bad == outcome)
        fold[own[np.argsort(drawn[own], kind="stable")]] = np.arange(len(own)) % count
    return fold


def latest(months: I64, bad: F64, share: float = 0.2) -> NDArray[np.bool_] | None:
    """The rows of the last months, about that share of all; None if they cannot be a test."""
    order = np.sort(months)
    first = order[int(len(order) * (1 - share))]
    late = months >= first if (months >= first).mean() <= 2 * share else months > first
    sides = (bad[late], bad[~late])
    return late if all(0 < side.sum() < len(side) for side in sides) else None


def fold_count(rows: int, repeats: int) -> int:
    """Into how many parts rows are folded."""
    if rows > LARGE_ROWS:
        return LARGE_FOLDS
    return FOLDS if repeats > 1 else SINGLE_FOLDS


def _by_row(predicted: Sequence[F64], jobs: Sequence[tuple[int, int]], fold: Sequence[I64]) -> F64:
    """Fold by fold to row by row, the mean over repeats."""
    total = np.zeros(len(fold[0]))
    for (repeat, held), each in zip(jobs, predicted, strict=True):
        total[fold[repeat] == held] += each / len(fold)
    return total


def fit_weights(held: HeldOut, bad: F64) -> tuple[Weights, dict[str, F64]]:
    """The weights from all rows, and log odds of each row with weights from the other folds."""
    weights = _weights(held.card, held.trees, bad)
    predicted = {name: np.empty(len(bad)) for name in ("scorecard", "trees", "blend")}
    calibrated = np.empty(len(bad))
    for each in np.unique(held.fold):
        kept = held.fold != each
        own = _weights(held.card[kept], held.trees[kept], bad[kept])
        for name, values in log_odds(own, held.card[~kept], held.trees[~kept]).items():
            predicted[name][~kept] = values
        assert own.beta is not None
        calibrated[~kept] = _linear(own.beta, beta_features(predicted["blend"][~kept]))
    gain = log_loss(bad, predicted["blend"]) - log_loss(bad, calibrated)
    if gain.mean() > 2 * gain.std() / np.sqrt(len(bad)):
        predicted["blend"] = calibrated
        return weights, predicted
    return Weights(weights.card, weights.trees, weights.blend, None), predicted


def _weights(card: F64, trees: F64, bad: F64) -> Weights:
    own = Weights(
        fit(card[:, None], bad, ridge=0.0, floor=0.0),
        fit(trees, bad, ridge=STACK_RIDGE, floor=0.0),
        np.zeros(3),
        None,
    )
    predicted = log_odds(own, card, trees)
    pair = np.column_stack([predicted["scorecard"], predicted["trees"]])
    blend = fit(pair, bad, ridge=STACK_RIDGE, floor=0.0)
    beta = fit(beta_features(_linear(blend, pair)), bad, ridge=STACK_RIDGE, floor=0.0)
    return Weights(own.card, own.trees, blend, beta)


def log_odds(weights: Weights, card: F64, trees: F64) -> dict[str, F64]:
    """The calibrated log odds of every candidate."""
    scorecard = _linear(weights.card, card[:, None])
    train_trees = _linear(weights.trees, trees)
    blend = _linear(weights.blend, np.column_stack([scorecard, train_trees]))
    return {"scorecard": scorecard, "trees": train_trees, "blend": blend}


def _linear(weights: F64, features: F64) -> F64:
    total: F64 = weights[0] + features @ weights[1:]
    return total


def choose_candidate(bad: F64, predicted: dict[str, F64]) -> str:
    """The candidate with the least held-out log loss; a simpler one if it is as good."""
    losses = {name: float(log_loss(bad, values).mean()) for name, values in predicted.items()}
    least = min(losses.values())
    return next(name for name, loss in losses.items() if loss <= least * (1 + MIN_GAIN))


def _final(
    trainer: TreeTrainer, rows: NDArray[np.bool_], held: HeldOut, weights: Weights,
    seed: int, threads: int, bags: int,
) -> tuple[Card, str]:  # fmt: skip
    """The card and the one booster, from these rows."""
    shares = weights.trees[1:]
    used = [at for at, share in enumerate(shares) if share >= MIN_WEIGHT * shares.sum()]
    jobs = list(product(used, range(bags)))

    def train_trees(job: tuple[int, int]) -> Any:
        recipe, bag = job
        return trainer.train(RECIPES[recipe], rows, seed + bag, held.rounds[recipe])

    fitted = parallel_map(train_trees, jobs, threads)
    boosters = list(with_progress("fitting the last trees", fitted, len(jobs)))
    kept = sum(shares[at] for at in used) or 1.0  # trees that say nothing weigh nothing
    scales = [float(shares[at] * shares.sum() / kept / bags) for at, _ in jobs]
    card = fit_card(trainer.columns, trainer.inputs[rows], trainer.bad[rows])
    return card, summed_boosters(list(zip(scales, boosters, strict=True)))


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
