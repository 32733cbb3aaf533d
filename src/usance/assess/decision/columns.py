"""Decisions on columns: a flow's graphs compiled, its models in batch.

The answers, paths and reasons are those of `Decider.answer`, a million rows a second for a flow
without models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.decision.model_inputs import cells_of, check_columns, model_of
from usance.assess.decision.reasons import MAX_REASONS, best_points
from usance.assess.features.declared import Declared, ValueType, out_of_range
from usance.assess.flow.columns import Answers, run_columns
from usance.assess.flow.files import STAGE_RESULTS, Flow, Stage, model_answer
from usance.assess.flow.reasons import MAX_CODE
from usance.base.arrays import I64
from usance.base.codes import DecisionKind
from usance.base.compiled import in_threads, kernel
from usance.base.errors import raise_all

REPLACED, FOLLOWED = 1, 2


@kernel
def main_reasons_kernel(  # noqa: C901 -- the four origins of a reason, in one pass
    rule_reasons: NDArray[np.int64], declined: NDArray[np.int8], lost: NDArray[np.float64],
    codes: NDArray[np.int64], treatment: NDArray[np.int8], taken: NDArray[np.bool_],
    found: NDArray[np.int16],
) -> None:  # fmt: skip
    """Write up to four codes a row: of rules first, then of what the score lost, most first."""
    stages, most = rule_reasons.shape[0], found.shape[0]
    for row in range(rule_reasons.shape[1]):
        # The reasons of a decline are those of the stage that declined alone.
        first, last = 0, stages
        if declined[row] >= 0:
            first, last = declined[row], declined[row] + 1
        size, explained = 0, False
        for stage in range(first, last):
            code = rule_reasons[stage, row]
            explained = explained or treatment[code] != 0
            speaks = code != 0 and treatment[code] != REPLACED and size < most
            if speaks and not _is_listed(found, row, size, code):
                found[size, row] = code
                size += 1
        if explained:
            for at in range(len(codes)):
                taken[at] = False
            for _ in range(len(codes)):
                best = -1
                for at in range(len(codes)):
                    if not taken[at] and (best < 0 or lost[at, row] > lost[best, row]):
                        best = at
                if size == most or lost[best, row] <= 0:
                    break
                taken[best] = True
                if not _is_listed(found, row, size, codes[best]):
                    found[size, row] = codes[best]
                    size += 1
        if size == 0:
            for stage in range(first, last):
                if rule_reasons[stage, row] != 0 and size < most:
                    found[size, row] = rule_reasons[stage, row]
                    size += 1


@kernel(inline=True)
def _is_listed(found: NDArray[np.int16], row: int, size: int, code: int) -> bool:
    again = False
    for at in range(size):
        again |= found[at, row] == code
    return again


_MONEY = ("line_minor", "rate_ppm")
_NUMBERS = ("score", "pd_ppm", "grade", *_MONEY)


@dataclass(frozen=True)
class DecisionColumns:
    """Columns of a batch: approval, numbers, reasons and the stage that declined."""

    approved: NDArray[np.bool_]
    values: Mapping[str, I64]
    reasons: NDArray[np.int16]
    """Four rows of codes, strongest first."""
    declined_by: NDArray[np.int8]
    """Position of the stage, −1 where none declined."""
    stages: tuple[str, ...]
    referred: NDArray[np.bool_]
    """Rows that wait for a person, with the line and price that may be granted."""


def decide_columns(
    flow: Flow, kind: DecisionKind, columns: Mapping[str, Any], *, workers: int | None = None,
    shares: bool = True, live: bool = True,
) -> DecisionColumns:  # fmt: skip
    """Decide every row; inputs are codes as `usance.assess.flow.columns` takes them.

    Without `shares` a model's own reasons are left out; for trees they take most of the time. A
    model without an approver decides only if the batch is not `live`.
    """
    stages = flow.stages_for(kind)
    check_columns(flow, stages, columns)
    rows = len(next(iter(columns.values()), ()))
    batch = _Batch(flow, dict(columns), rows, workers, live)
    for group in _groups(stages):
        batch.run(group)
    if not shares:
        batch.scored_by = None
    return batch.decided(stages)


def _groups(stages: tuple[Stage, ...]) -> list[tuple[Stage, ...]]:
    """Neighbouring graphs together, each model alone."""
    found: list[list[Stage]] = []
    for stage in stages:
        if stage.graph and found and found[-1][-1].graph:
            found[-1].append(stage)
        else:
            found.append([stage])
    return [tuple(group) for group in found]


def _outcome(answers: Answers, stage: Stage, name: str) -> int:
    """The number of an outcome in the answers of a stage, −1 where no table has it."""
    texts = answers.program.texts
    return texts.index(name) if "outcome" in stage.gives and name in texts else -1


_MODELS: dict[tuple[str, str, bool], Any] = {}


def _loaded(flow: Flow, stage: Stage, live: bool) -> Any:
    """The model of a stage; the flow's hash covers its files and approvals: it is read once."""
    key = (flow.sha256, stage.name, live)
    if key not in _MODELS:
        _MODELS[key] = model_of(stage, live=live)
    return _MODELS[key]


class _Batch:
    """Results so far while the groups of stages run, whole columns at a time."""

    def __init__(
        self, flow: Flow, columns: dict[str, Any], rows: int, workers: int | None, live: bool
    ) -> None:
        self.flow, self.columns, self.workers, self.live = flow, columns, workers, live
        self.known: dict[str, Declared] = {}
        self.values: dict[str, I64] = {}
        self.declined = np.full(rows, -1, np.int8)
        self.referred = np.zeros(rows, np.bool_)
        self.rule_reasons: list[I64] = []
        self.lost = np.zeros((0, rows), np.float64)
        self.codes: list[int] = []
        self.scored_by: tuple[Any, Any, int] | None = None
        self.at = 0

    def run(self, group: tuple[Stage, ...]) -> None:
        if group[0].graph is None:
            self._model(group[0])
            return
        given = {
            name: values
            for name, values in self.columns.items()
            if name not in self.flow.inputs or self.flow.inputs[name].type is not ValueType.REAL
        }
        answers = run_columns(self.flow, group, given, self.known, workers=self.workers)
        for stage in group:
            self._stage(stage, answers)

    def _stage(self, stage: Stage, answers: Answers) -> None:
        zero = np.zeros(len(self.declined), np.int64)
        declines, refers = (_outcome(answers, stage, each) for each in ("decline", "refer"))
        outcome = answers.values.get(f"{stage.name}/outcome", zero)
        open_still = self.declined < 0
        self.rule_reasons.append(answers.values.get(f"{stage.name}/reason", zero))
        self.declined[open_still & (outcome == declines)] = self.at
        self.referred |= outcome == refers
        for name, declared in stage.gives.items():
            if name not in STAGE_RESULTS:
                self._know(name, declared, answers.values[f"{stage.name}/{name}"], open_still)
        if self.flow.card is not None and stage.name == self.flow.card.stage:
            best = best_points(self.flow)
            lost = [best[name] - answers.values[f"{stage.name}/{name}"] for name in best]
            self.lost = np.array(lost, np.float64)
            self.codes = [self.flow.card.reasons[name] for name in best]
        self.at += 1

    def _model(self, stage: Stage) -> None:
        from usance.assess.applicant_file import table_of

        model = _loaded(self.flow, stage, self.live)
        plain = {
            each.name: cells_of(self.flow.inputs[each.name], each, self.columns[each.name])
            for each in model.columns
        }
        inputs = model.inputs(table_of(plain, stage.name))
        scores = model.score_inputs(inputs)
        if self.flow.input_reasons:
            self.scored_by = (model, inputs, self.at)
        offered = {"score": scores.score, "pd_ppm": scores.pd_ppm}
        for name, declared in stage.gives.items():
            values = offered[str(model_answer(name))]
            raise_all(out_of_range(declared, values, f"{stage.name}.{name}"), where=stage.name)
            self._know(name, declared, values, self.declined < 0)
        self.rule_reasons.append(np.zeros(len(self.declined), np.int64))
        self.at += 1

    def _shares(self, rows: NDArray[np.bool_]) -> None:
        """A model's shares where a reason needs them; trees take long over each."""
        from usance.assess.scoring.reasons import contributions

        assert self.scored_by is not None
        model, inputs, at_stage = self.scored_by
        # Those declined before the model was asked get the reasons of the scorecard.
        before = (self.declined >= 0) & (self.declined < at_stage)
        rows = rows & ~before
        known = self.flow.input_reasons
        named = [at for at, each in enumerate(model.columns) if each.name in known]
        shares = np.zeros((len(named), len(self.declined)))
        if rows.any():
            shares[:, rows] = contributions(model, inputs[rows])[:, named].T
        self.lost = np.concatenate([np.where(before, self.lost, 0), shares])
        self.codes = [*self.codes, *(known[model.columns[at].name] for at in named)]

    def _know(self, name: str, declared: Declared, values: I64, reached: Any) -> None:
        self.columns[name] = values
        self.known[name] = declared
        self.values[name] = np.where(reached, values, 0)

    def decided(self, stages: tuple[Stage, ...]) -> DecisionColumns:
        is_open = self.declined < 0
        referred = self.referred & is_open
        for name in _MONEY:
            if name in self.values:
                self.values[name] = np.where(is_open, self.values[name], 0)
        names = tuple(stage.name for stage in stages)
        values = {name: self.values[name] for name in _NUMBERS if name in self.values}
        return DecisionColumns(
            is_open & ~referred, values, self._reasons(), self.declined, names, referred
        )

    def _reasons(self) -> NDArray[np.int16]:
        """As `main_reasons`, row by row in the kernel."""
        found = np.zeros((MAX_REASONS, len(self.declined)), np.int16)
        rule_reasons = np.array(self.rule_reasons, np.int64)
        if self.scored_by is not None:
            stage = np.arange(len(rule_reasons))[:, None]
            given_out = (self.declined < 0) | (stage == self.declined)
            explained = [*self.flow.explained.replaced, *self.flow.explained.followed]
            self._shares((given_out & np.isin(rule_reasons, explained)).any(axis=0))
        lost = np.asarray(self.lost, np.float64)
        codes = np.array(self.codes, np.int64)
        treat = np.zeros(MAX_CODE + 1, np.int8)
        treat[list(self.flow.explained.followed)] = FOLLOWED
        treat[list(self.flow.explained.replaced)] = REPLACED

        def piece(start: int, stop: int) -> None:
            part = slice(start, stop)
            taken = np.zeros(len(codes), np.bool_)
            main_reasons_kernel(
                rule_reasons[:, part], self.declined[part], lost[:, part], codes, treat, taken,
                found[:, part],
            )  # fmt: skip

        in_threads(piece, len(self.declined), self.workers)
        return found
