"""A model folder and the one way from applicants to scores.

    points     = base + one bin of each variable          (the scorecard, whole numbers)
    card       = log odds that the points stand for
    trees      = intercept + sum of leaves
    log odds   = card | trees | intercept + a × card + b × trees, bent if the file says so
    pd         = 1 / (1 + exp(−log odds))
    score      = points for a scorecard, else the whole score of the log odds

A file of a million rows and a single call go through the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.applicant_file import Table
from usance.assess.columns import Column, matrix, unseen_warnings
from usance.assess.errors import ModelError
from usance.assess.scoring.applicant import SingleRow, encode_row
from usance.assess.scoring.forest import Forest
from usance.assess.scoring.scorecard import Scale, Scorecard, sigmoid
from usance.assess.training.logistic import beta_calibrated
from usance.assess.training.trees import tree_inputs
from usance.base.arrays import F64

FORMAT, VERSION = "usance-model", 1
KINDS = ("scorecard", "trees", "blend")
_INFO_KEYS = {"recipe", "reference", "held_out", "data"}  # read after training
PARTS_PER_MILLION = 1_000_000


@dataclass(frozen=True)
class Scores:
    """The answers for a file, a row each."""

    score: NDArray[np.int64]
    log_odds: F64
    points: NDArray[np.int64]

    @property
    def pd(self) -> F64:
        """The probability of bad."""
        return np.asarray(sigmoid(self.log_odds), np.float64)

    @property
    def pd_ppm(self) -> NDArray[np.int64]:
        """The probability of bad in parts per million, as decisions store it."""
        return np.rint(self.pd * PARTS_PER_MILLION).astype(np.int64)


@dataclass(frozen=True)
class Scored:
    """The answer for one applicant, with what training never saw of it."""

    score: int
    pd: float
    pd_ppm: int
    points: int
    unseen: tuple[str, ...]
    inputs: F64 = field(repr=False)


@dataclass(frozen=True)
class Model:
    """Everything that decides a score; `info` is what the card tells about the training."""

    columns: tuple[Column, ...]
    scale: Scale
    scorecard: Scorecard
    kind: str
    trees_intercept: float
    blend: tuple[float, float, float]
    beta: tuple[float, ...]
    trees: str = field(repr=False)
    info: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def inputs(self, table: Table) -> F64:
        """A table as the numbers the model reads."""
        return matrix(self.columns, table)

    def score(self, table: Table) -> Scores:
        """The scores of a table."""
        return self.score_inputs(self.inputs(table))

    def score_inputs(self, inputs: F64) -> Scores:
        """The scores of encoded rows."""
        raw = np.zeros(len(inputs))
        if self.kind != "scorecard":
            rows = np.ascontiguousarray(tree_inputs(self.columns, inputs), np.float64)
            raw = self._forest.sums(rows)
        return self._scores(inputs, raw)

    def score_one(self, applicant: Mapping[str, Any]) -> Scored:
        """The score of one applicant; an input that is not given is an error, not a default."""
        inputs, texts = encode_row(self.columns, applicant)
        raw = np.zeros(1)
        if self.kind != "scorecard":
            raw = self._single(np.ascontiguousarray(tree_inputs(self.columns, inputs)[0]))
        scores = self._scores(inputs, raw)
        new = (
            note
            for column, value, text in zip(self.columns, inputs[0], texts, strict=True)
            for note in unseen_warnings(column, float(value), text)
        )
        return Scored(
            int(scores.score[0]), float(scores.pd[0]), int(scores.pd_ppm[0]),
            int(scores.points[0]), tuple(new), inputs,
        )  # fmt: skip

    def _scores(self, inputs: F64, raw: F64) -> Scores:
        points = self.scorecard.base + self.scorecard.points(self.columns, inputs).sum(axis=1)
        card = self.scale.log_odds(points)
        if self.kind == "scorecard":
            return Scores(points, card, points)
        log_odds = self.trees_intercept + raw
        if self.kind == "blend":
            start, of_card, of_trees = self.blend
            log_odds = start + of_card * card + of_trees * log_odds
            if self.beta:
                log_odds = beta_calibrated(np.array(self.beta), log_odds)
        return Scores(self.scale.points(log_odds), log_odds, points)

    @cached_property
    def booster(self) -> Any:
        """The trees, read by LightGBM."""
        import lightgbm

        return lightgbm.Booster(model_str=self.trees)

    @cached_property
    def _forest(self) -> Forest:
        return Forest.read(self.trees)

    @cached_property
    def _single(self) -> SingleRow:
        return SingleRow(self.booster, len(self.columns))

    @cached_property
    def _single_shares(self) -> SingleRow:
        return SingleRow(self.booster, len(self.columns), contributions=True)

    def tree_shares(self, inputs: F64) -> F64:
        """The SHAP values of encoded rows; the last column is the average."""
        rows = tree_inputs(self.columns, inputs)
        if len(rows) == 1:
            return self._single_shares(np.ascontiguousarray(rows[0]))[None, :]
        return np.array(self.booster.predict(rows, pred_contrib=True), np.float64)

    def as_dict(self) -> dict[str, Any]:
        """The content of `model.json`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "scale": {
                "pdo": self.scale.pdo, "score": self.scale.score, "odds": self.scale.odds,
            },
            "columns": [column.as_dict() for column in self.columns],
            "scorecard": self.scorecard.as_dict(),
            "trees": {"intercept": self.trees_intercept, "sha256": _sha256(self.trees)},
            "blend": list(self.blend),
            "beta": list(self.beta),
            "info": dict(self.info),
        }  # fmt: skip


def load_model(folder: Path | str) -> Model:
    """The model of a folder, checked against its own hash."""
    import json

    place = Path(folder)
    try:
        read = json.loads((place / "model.json").read_text(encoding="utf-8"))
        trees = (place / "trees.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        fix = "Name a folder that `usance assess train` wrote"
        raise ModelError(f"is no model: {error}", where=str(folder), fix=fix) from error
    if not isinstance(read, dict) or (read.get("format"), read.get("version")) != (FORMAT, VERSION):
        fix = f"Train it again; this version reads {FORMAT} {VERSION}"
        raise ModelError("is not a model of this version", where=str(folder), fix=fix)
    fix = "Restore the file, or train the model again"
    try:
        model = _read(read, trees)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelError("model.json is damaged", where=str(folder), fix=fix) from error
    if read["trees"]["sha256"] != _sha256(trees):
        raise ModelError("trees.txt does not belong to model.json", where=str(folder), fix=fix)
    return model


def _read(read: Mapping[str, Any], trees: str) -> Model:
    start, of_card, of_trees = read["blend"]
    inside = range(len(read["columns"]))
    if read["kind"] not in KINDS or not read["info"].keys() >= _INFO_KEYS:
        raise ValueError("not what training writes")
    if not all(each["at"] in inside for each in read["scorecard"]["variables"]):
        raise ValueError("a variable without its column")
    return Model(
        tuple(Column.from_dict(each) for each in read["columns"]), Scale(**read["scale"]),
        Scorecard.from_dict(read["scorecard"]), read["kind"], read["trees"]["intercept"],
        (start, of_card, of_trees), tuple(read["beta"]), trees, read["info"],
    )  # fmt: skip


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
