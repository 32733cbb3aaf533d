"""From a file of applicants with outcomes to a model folder.

| file | what it is |
|---|---|
| `model.json` | everything that decides a score, and everything the card tells |
| `trees.txt` | the trees, as LightGBM writes them |
| `scorecard.csv` | the scorecard on paper: one line for each bin, with its points |
| `scorecard.sql` | the same as a query |
| `card.html` | the model card, to read and to print |

Same file, same arguments: same bytes.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance import __version__
from usance.assess.errors import ModelError
from usance.assess.metrics import measures
from usance.assess.scoring.model import Model
from usance.assess.scoring.scorecard import Scale, scorecard_csv
from usance.assess.scoring.sql import scorecard_sql
from usance.assess.table import Table, months_of, read_table
from usance.assess.training.card import in_points
from usance.assess.training.evidence import (
    calibration_table,
    fairness,
    reference,
    stability,
)
from usance.assess.training.fit import Fitted, fit_models
from usance.assess.training.guards import Inputs, choose_inputs
from usance.assess.training.logistic import log_loss
from usance.assess.training.outcome import MIN_OF_A_CLASS, check_ids, outcomes
from usance.assess.training.recipe import Recipe, chosen_rows
from usance.base.arrays import F64
from usance.base.compiled import available_cores
from usance.base.publish import replace

Card = Callable[[Model], str]
"""Writes the model card, such as `usance.pages.reports.model_card.model_card`."""


def train(
    data: Path | str, recipe: Recipe, out: Path | str, *, threads: int = 0, card: Card | None = None
) -> Model:
    """Train on a file and write the model folder, with the page of `card` if there is one."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ModelError("is a file", where=str(out), fix="Name a folder for the model")
    if (folder / "approvals.json").exists():
        fix = "Give another folder; an approved model is never replaced"
        raise ModelError("holds a model with an approval", where=str(out), fix=fix)
    table = read_table(data)
    model = fit_table(table, recipe, threads=threads, digest=_digest(Path(data)))
    write_model(model, folder, card)
    return model


def fit_table(table: Table, recipe: Recipe, *, threads: int = 0, digest: str = "") -> Model:
    """The model of a table in memory."""
    rows = chosen_rows(table, recipe)
    bad = outcomes(rows, recipe.target, least=MIN_OF_A_CLASS)
    if recipe.identity:
        check_ids(rows, recipe.identity)
    months = (
        months_of(recipe.time, rows.column(recipe.time), file=rows.file) if recipe.time else None
    )
    inputs = choose_inputs(
        rows, bad, left_out=recipe.not_inputs, kept=recipe.kept, trends=recipe.trends
    )
    fitted = fit_models(
        inputs.columns, inputs.matrix, bad,
        seed=recipe.seed, threads=threads or available_cores(), months=months,
    )  # fmt: skip
    scale = Scale(pdo=recipe.pdo)
    start, slope = fitted.weights.card.tolist()
    model = Model(
        inputs.columns, scale, in_points(fitted.card, scale, start, slope), fitted.chosen,
        float(fitted.weights.trees[0]), _three(fitted.weights.blend),
        () if fitted.weights.beta is None else tuple(fitted.weights.beta.tolist()), fitted.trees,
    )  # fmt: skip
    info = _info(rows, recipe, bad, inputs, fitted, model)
    info["data"]["sha256"] = digest
    if months is not None:
        info["months"] = stability(months, bad, fitted.held_out[fitted.chosen], scale)
    return dataclasses.replace(model, info=info)


def _three(weights: F64) -> tuple[float, float, float]:
    start, card, trees = weights.tolist()
    return start, card, trees


def _info(
    rows: Table, recipe: Recipe, bad: F64, inputs: Inputs, fitted: Fitted, model: Model
) -> dict[str, Any]:
    predicted = fitted.held_out[fitted.chosen]
    held = {
        name: {**measures(bad, values), "log_loss": float(log_loss(bad, values).mean())}
        for name, values in fitted.held_out.items()
    }
    late = None
    if fitted.late is not None and fitted.late_log_odds is not None:
        late = measures(bad[fitted.late], fitted.late_log_odds)
    return {
        "usance": __version__,
        "data": {"file": Path(rows.file).name, "rows": rows.rows, "bads": int(bad.sum())},
        "recipe": {**dataclasses.asdict(recipe), "trends": dict(recipe.trends)},
        "warnings": inputs.warnings,
        "why": _why(fitted.chosen, {name: each["log_loss"] for name, each in held.items()}),
        "rounds": list(fitted.rounds),
        "held_out": held,
        "out_of_time": late,
        "calibration": calibration_table(bad, predicted),
        "reference": reference(inputs.columns, inputs.matrix, bad, predicted, model.scale),
        "groups": {
            name: fairness(rows.column(name), bad, predicted, model.scale) for name in recipe.groups
        },
        "months": [],
    }


def _why(chosen: str, losses: dict[str, float]) -> str:
    named_losses = ", ".join(f"{name} {loss:.5f}" for name, loss in losses.items())
    least = min(losses, key=lambda name: losses[name])
    reason = "the least" if chosen == least else f"as good as {least} and simpler"
    named = "set of trees" if chosen == "trees" else chosen
    return f"The {named} is used: its held-out log loss is {reason} ({named_losses})."


def write_model(model: Model, folder: Path, card: Card | None = None) -> None:
    """Write the folder; `model.json` comes last, so a folder that has one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "trees.txt": model.trees,
        "scorecard.csv": scorecard_csv(model.scorecard),
        "scorecard.sql": scorecard_sql(model.columns, model.scorecard),
        **({"card.html": card(model)} if card else {}),
        "model.json": json.dumps(model.as_dict(), indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in files.items():
        replace(folder / name, text.encode())


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
