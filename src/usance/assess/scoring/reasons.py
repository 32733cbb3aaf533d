"""Reasons for a score: the share of each input in the log odds, largest harm first.

The share of a variable on the card is the difference of its points from the average applicant's;
in the trees it is its SHAP value. Both are in log odds and weigh as they do in the score, so the
shares and the average add up to the log odds that were scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from usance.assess.columns import Column
from usance.assess.scoring.model import Model
from usance.base.arrays import F64
from usance.base.errors import DocumentError, UsanceError, raise_all, unknown

TEXTS = Path(__file__).resolve().parents[1] / "texts" / "reasons.yaml"
MAX_REASONS = 4
STATES = ("high", "low", "level", "other", "code", "missing")


@dataclass(frozen=True)
class Reason:
    """One reason: its code in the model's table, the column, its share and its words."""

    code: int
    column: str
    share: float
    text: str


def contributions(model: Model, inputs: F64) -> F64:
    """The share of each input in the log odds of each row; the last column is the average."""
    card, start = _card_shares(model, inputs)
    if model.kind == "scorecard":
        return np.column_stack([card, np.full(len(inputs), start)])
    trees = model.tree_shares(inputs)
    trees[:, -1] += model.trees_intercept
    if model.kind == "trees":
        return trees
    base, of_card, of_trees = model.blend
    shares = of_trees * trees
    shares[:, :-1] += of_card * card
    shares[:, -1] += base + of_card * start
    return shares


def _card_shares(model: Model, inputs: F64) -> tuple[F64, float]:
    card = model.scorecard
    average = np.array([each.mean_points for each in card.variables])
    points = card.points(model.columns, inputs)
    shares = np.zeros((len(inputs), len(model.columns)))
    places = [each.at for each in card.variables]
    shares[:, places] = (average - points) / model.scale.factor
    return shares, float(model.scale.log_odds(card.base + average.sum()))


def reasons(
    model: Model, inputs: F64, texts: Mapping[str, Any] | None = None
) -> list[list[Reason]]:
    """Up to four reasons for each row: the inputs that raise its risk most."""
    words = texts or default_texts()
    found = []
    for row, shares in zip(inputs, contributions(model, inputs)[:, :-1], strict=True):
        worst = np.argsort(-shares, kind="stable")[:MAX_REASONS]
        found.append([
            Reason(int(at) + 1, model.columns[at].name, float(shares[at]),
                   reason_text(model.columns[at], float(row[at]), words))
            for at in worst if shares[at] > 0
        ])  # fmt: skip
    return found


def reason_text(column: Column, value: float, texts: Mapping[str, Any]) -> str:
    """The words for one input of one applicant."""
    own = texts.get("columns", {}).get(column.name, {})
    label = own.get("label", column.name.replace("_", " ").replace(".", " "))
    state, shown = _state(column, value)
    return str(own.get(state, texts["states"][state])).format(label=label, value=shown)


def _state(column: Column, value: float) -> tuple[str, str]:
    if np.isnan(value):
        return "missing", ""
    if column.kind == "category":
        return ("level", column.levels[int(value)]) if value >= 0 else ("other", "")
    for label, code in column.specials:
        if value == code:
            return "code", label
    return ("high" if value > column.median else "low"), f"{value:.10g}"


@cache
def default_texts() -> Mapping[str, Any]:
    """The words of the house; a model's own can replace any of them."""
    return read_texts(TEXTS)


def read_texts(path: Path) -> Mapping[str, Any]:
    """Words from a YAML file: `states` for all columns, `columns` for one."""
    from usance.base.documents import read_document

    read = read_document(path)
    if not isinstance(read, dict) or not set(read) <= {"states", "columns"}:
        fix = "Give the keys states and columns"
        raise DocumentError("is no file of reasons", where=str(path), fix=fix)
    columns, states = read.get("columns") or {}, read.get("states") or {}
    own = columns if isinstance(columns, dict) else {"columns": columns}
    words = {"states": states, **own}.items()
    raise_all(
        [each for name, texts in words for each in _wrong(name, texts, path)], where=str(path)
    )
    house = read_document(TEXTS)["states"] if path != TEXTS else {}
    return {"states": {**house, **states}, "columns": own}


def _wrong(name: str, texts: Any, path: Path) -> Iterator[UsanceError]:
    """Texts that could not be told: of an unknown state, or with a gap that nothing fills."""
    if not isinstance(texts, dict):
        fix = "Write a text for each of " + ", ".join(STATES)
        yield DocumentError(f"{name} is {texts!r}", where=str(path), fix=fix)
        return
    for state, text in texts.items():
        if state not in (*STATES, "label"):
            yield unknown("state", str(state), STATES, where=f"{path}: {name}")
        try:
            str(text).format(label="", value="")
        except (KeyError, IndexError, ValueError):
            fix = "Leave only the gaps {label} and {value}"
            yield DocumentError(f"{state} is '{text}'", where=f"{path}: {name}", fix=fix)
