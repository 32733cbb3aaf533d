"""From a file of applicants with outcomes to a model folder.

| file | what it is |
|---|---|
| `model.json` | everything that decides a score, and everything the card tells |
| `trees.txt` | the trees, as LightGBM writes them |
| `scorecard.csv` | the scorecard on paper: one line for each bin, with its points |
| `scorecard.sql` | the same as a query |
| `card.html` | the model card, to read and to print |

Same file, same arguments: same bytes.

Guards name the columns that may not be inputs, with the reason. A column that separates goods from
bads almost perfectly was written after the outcome, whatever it is called: it is left out and said
so, and so is one whose cells are filled only for bads. A column that is different in every row is
an identifier. `--keep` overrules a guard by name.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from usance import __version__
from usance.assess.applicant_file import Table, is_number, months_of, read_table
from usance.assess.columns import Column, encode, learn_column, with_trend
from usance.assess.errors import DataError, ModelError
from usance.assess.model_quality import auc, measures
from usance.assess.scoring.model import Model
from usance.assess.scoring.scorecard import Scale, scorecard_csv, scorecard_sql
from usance.assess.training.evidence import (
    calibration_table,
    fairness,
    reference,
    stability,
)
from usance.assess.training.fit import Fitted, fit_models
from usance.assess.training.logistic import log_loss
from usance.assess.training.recipe import MIN_OF_A_CLASS, Recipe, check_ids, chosen_rows, outcomes
from usance.assess.training.scorecard_fit import bin_column, in_points
from usance.base.arrays import F64
from usance.base.atomic_files import replace
from usance.base.column_files import ColumnNames
from usance.base.compiled import available_cores
from usance.base.errors import UsanceError, raise_all

TOO_GOOD = 0.95  # no single honest column of the credit files we know of comes near
SUSPICIOUS = 0.90
MAX_LEVELS = 1000
MAX_LEVEL_SHARE = 0.2
MIN_LEVEL_ROWS = 10
_SPLIT = {"train", "valid", "validation", "test", "holdout", "dev", "oot"}
_AFTERWARDS = re.compile(
    r"recover(y|ies|ed)|charged?[ _-]?off|chgoff|written[ _-]?off|write[ _-]?off|settle(d|ment)"
    r"|default(ed)?[_ ]?(date|on|at)|last[_ ]?(pymnt|payment)[_ ]?(d|date|amnt)",
    re.IGNORECASE,
)


@dataclass
class Inputs:
    """The columns that are used, their numbers, and what is to be said about the rest."""

    columns: tuple[Column, ...]
    matrix: F64
    warnings: list[str] = field(default_factory=list)


def choose_inputs(
    table: Table, bad: F64, *, left_out: Collection[str], kept: Collection[str],
    trends: Mapping[str, int],
) -> Inputs:  # fmt: skip
    """Every usable column of a training file."""
    columns: list[Column] = []
    encoded: list[F64] = []
    warnings: list[str] = []
    wrong: list[UsanceError] = []
    for name in table.columns:
        if name in left_out:
            continue
        try:
            column = learn_column(name, table.column(name), least=MIN_LEVEL_ROWS, file=table.file)
            why = _unusable(column, table)
            if why:
                warnings.append(f"column '{name}' is left out: {why}")
                continue
            if column.kind == "category" and name in trends:
                raise _no_direction(table, name)
            column = with_trend(column, trends.get(name, 0))
            values = encode(column, table.column(name), file=table.file)
        except UsanceError as error:
            wrong.append(error)
            continue
        notes, use = leaks(column, values, bad, kept=name in kept)
        warnings += [*notes, *(_rare_codes(column, values) if use else ())]
        if use:
            columns.append(column)
            encoded.append(values)
    raise_all(wrong, where=table.file)
    if not columns:
        fix = "Give at least one column that differs between rows"
        raise DataError("no column can be used", where=table.file, fix=fix)
    return Inputs(tuple(columns), np.column_stack(encoded), warnings)


def _no_direction(table: Table, name: str) -> DataError:
    fix = "Leave it out of --monotone, or give it as a number"
    where = f"{table.file}: column '{name}'"
    return DataError("is a category, so risk neither rises nor falls with it", where=where, fix=fix)


def _rare_codes(column: Column, values: F64) -> list[str]:
    """Texts among numbers that stand in so few rows that they may be mistakes."""
    counted = {label: int((values == code).sum()) for label, code in column.specials}
    return [
        f"column '{column.name}' has '{label}' among its numbers (rows: {rows}), taken as a code"
        for label, rows in counted.items()
        if rows < MIN_LEVEL_ROWS and not is_number(label)
    ]


_COMMA = re.compile(r"[+-]?[0-9.]+,[0-9]+")


def _unusable(column: Column, table: Table) -> str:
    array = table.column(column.name)
    distinct = len(array.drop_null().unique())
    if column.kind == "date":
        return "it holds dates; give the age or the months since instead"
    if distinct + column.has_missing <= 1:
        return "it is the same in every row"
    if column.kind == "category":
        names = {level.lower() for level in (*column.levels, *column.rare)}
        if names <= _SPLIT:
            return "it names parts of the file, not the applicant"
        if sum(_COMMA.fullmatch(each) is not None for each in names) > len(names) / 2:
            return "its numbers are written with a comma; say so in a mapping (--map)"
        most = max(50, min(MAX_LEVELS, int(MAX_LEVEL_SHARE * table.rows)))
        if distinct > most:
            return f"it has {distinct} different texts, at most {most} can be learned"
    elif distinct == table.rows and table.rows > 100 and _is_whole(array):
        return "it is a whole number that differs in every row, as an identifier does"
    return ""


def _is_whole(array: object) -> bool:
    from usance.assess.applicant_file import numbers_and_texts

    numbers, _ = numbers_and_texts(array)
    return bool(np.all(numbers == np.rint(numbers)))


def leaks(column: Column, values: F64, bad: F64, *, kept: bool = False) -> tuple[list[str], bool]:
    """The suspicion about a column, and whether it may be used."""
    name = column.name
    variable = bin_column(0, column, values, bad, least=max(20, len(bad) // 50))
    woe = np.array([each.woe for each in variable.bins])
    alone = auc(bad, -woe[variable.index(column, values)])
    if alone >= TOO_GOOD:
        what = f"alone it ranks {alone:.1%} of pairs right: it is known only after the outcome"
        if kept:
            return [f"column '{name}' is kept as asked, though {what}"], True
        return [f"column '{name}' is left out: {what}. Keep it with --keep {name}"], False
    if alone >= SUSPICIOUS:
        return [f"column '{name}' is suspicious: alone it ranks {alone:.1%} of pairs right"], True
    if _AFTERWARDS.search(name):
        return [f"column '{name}' sounds like something known only after the outcome"], True
    return [], True


Card = Callable[[Model], str]
"""Writes the model card, such as `usance.pages.reports.model_card.model_card`."""


def train(
    data: Path | str, recipe: Recipe, out: Path | str, *, threads: int = 0,
    card: Card | None = None, names: ColumnNames | None = None,
) -> Model:  # fmt: skip
    """Train on a file and write the model folder, with the page of `card` if there is one.

    `names` are the file's own names of columns and ways to write.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ModelError("is a file", where=str(out), fix="Name a folder for the model")
    if (folder / "approvals.json").exists():
        fix = "Give another folder; an approved model is never replaced"
        raise ModelError("holds a model with an approval", where=str(out), fix=fix)
    table = read_table(data, names)
    recipe = recipe.in_our_names(names) if names else recipe
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
        "reference": reference(
            inputs.columns, inputs.matrix, bad, model.score_inputs(inputs.matrix).score,
            model.scale.points(predicted),
        ),
        "groups": {
            name: fairness(rows.column(name), bad, predicted, model.scale) for name in recipe.groups
        },
        "months": [],
    }  # fmt: skip


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
