"""Gradient-boosted trees: three small recipes, held-out rounds, and one booster that adds them.

The recipes differ in kind: shallow trees, deep trees, and trees with random cuts. Which of them
suits a file is left to the blend of their held-out predictions, so no file needs settings.
Each fit uses one thread; several run side by side. The result does not depend on how many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from usance.assess.columns import Column
from usance.base.arrays import F64, Bools

SHALLOW = {"num_leaves": 8, "learning_rate": 0.05, "min_data_in_leaf": 20, "lambda_l2": 5.0}
DEEP = {"num_leaves": 48, "learning_rate": 0.05, "min_data_in_leaf": 10, "lambda_l2": 2.0}
RANDOM = {
    "num_leaves": 16, "learning_rate": 0.1, "min_data_in_leaf": 15, "lambda_l2": 4.0,
    "extra_trees": True,
}  # fmt: skip
RECIPES: tuple[dict[str, Any], ...] = (SHALLOW, DEEP, RANDOM)

COMMON: dict[str, Any] = {
    "objective": "binary", "verbose": -1, "num_threads": 1, "deterministic": True,
    "force_row_wise": True, "bagging_freq": 1, "bagging_fraction": 0.75, "feature_fraction": 0.5,
    "cat_smooth": 20.0, "cat_l2": 20.0, "min_data_per_group": 50,
}  # fmt: skip
MAX_ROUNDS = 600
PATIENCE = 2.5  # rounds without progress before a fit stops, times one over the learning rate


@dataclass(frozen=True)
class TreeTrainer:
    """Training rows as trees see them."""

    columns: tuple[Column, ...]
    inputs: F64
    bad: F64

    def train(self, recipe: dict[str, Any], rows: Bools, seed: int, rounds: int) -> Any:
        """A booster of so many rounds."""
        import lightgbm

        return lightgbm.train(self._settings(recipe, seed), self._set(rows), rounds)

    def train_with_early_stopping(self, recipe: dict[str, Any], rows: Bools, seed: int) -> Any:
        """A booster that stops when the rows left out gain no more."""
        import lightgbm

        training = self._set(rows)
        watched = lightgbm.Dataset(
            tree_inputs(self.columns, self.inputs[~rows]), self.bad[~rows], reference=training
        )
        stop = lightgbm.early_stopping(int(PATIENCE / recipe["learning_rate"]), verbose=False)
        settings = self._settings(recipe, seed)
        return lightgbm.train(
            settings, training, MAX_ROUNDS, valid_sets=[watched], callbacks=[stop],
            keep_training_booster=True,
        )  # fmt: skip

    def log_odds(self, booster: Any, rows: Bools, rounds: int) -> F64:
        """The log odds of some rows after so many rounds."""
        inputs = tree_inputs(self.columns, self.inputs[rows])
        predicted = booster.predict(inputs, raw_score=True, num_iteration=rounds, num_threads=1)
        return np.asarray(predicted, np.float64)

    def _settings(self, recipe: dict[str, Any], seed: int) -> dict[str, Any]:
        trends = [column.trend for column in self.columns]
        declared = {"monotone_constraints": trends} if any(trends) else {}
        return {**COMMON, **recipe, **declared, "seed": seed & 0x7FFFFFFF}

    def _set(self, rows: Bools) -> Any:
        import lightgbm

        categories = [at for at, each in enumerate(self.columns) if each.kind == "category"]
        names = [f"c{at}" for at in range(len(self.columns))]
        return lightgbm.Dataset(
            tree_inputs(self.columns, self.inputs[rows]), self.bad[rows], feature_name=names,
            categorical_feature=categories, params={"verbose": -1, "num_threads": 1},
            free_raw_data=False,
        )  # fmt: skip


def tree_inputs(columns: Sequence[Column], inputs: F64) -> F64:
    """Encoded inputs as trees read them: an order that is declared does not hold for codes."""
    out = inputs
    for at, column in enumerate(columns):
        if column.trend and column.specials:
            out = out.copy() if out is inputs else out
            out[np.isin(out[:, at], [code for _, code in column.specials]), at] = np.nan
    return out


def summed_boosters(boosters: Sequence[tuple[float, Any]]) -> str:
    """The text of one booster that is the weighted sum of several."""
    texts = [(weight, booster.model_to_string(num_iteration=-1)) for weight, booster in boosters]
    head = texts[0][1].partition("\ntree_sizes=")[0]
    trees = [_weighted(tree, weight) for weight, text in texts for tree in _TREE.findall(text)]
    numbered = [f"Tree={at}\n{tree}\n\n\n" for at, tree in enumerate(trees)]
    return f"{head}\n\n{''.join(numbered)}end of trees\n"


_TREE = re.compile(r"^Tree=\d+\n(.*?)\n\n", re.DOTALL | re.MULTILINE)
_WORTH = re.compile(r"^(leaf_value|internal_value)=(.*)$", re.MULTILINE)


def _weighted(tree: str, weight: float) -> str:
    def times(found: re.Match[str]) -> str:
        values = (repr(weight * float(value)) for value in found[2].split())
        return f"{found[1]}={' '.join(values)}"

    return _WORTH.sub(times, tree)
