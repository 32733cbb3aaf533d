"""One decision: typed inputs through the stages of a flow, with path, scores, reasons and latency.

`Decider.answer` is a pure function of stored inputs and a flow, so a stored decision replays to the
same answer for ever; `decide` works the inputs out and adds who and when.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from usance.assess.decision.model_inputs import cell_of, model_of
from usance.assess.decision.reasons import (
    best_points,
    is_explained,
    lost_point_reasons,
    main_reasons,
    model_reasons,
)
from usance.assess.decision.request import Request, input_vector
from usance.assess.errors import FlowError
from usance.assess.flow.engine import Engine, lookup
from usance.assess.flow.files import Flow, Stage, model_answer
from usance.base.codes import DecisionKind, DecisionOutcome
from usance.base.ids import owned_id, print_id
from usance.base.parameters import Parameters

MAX_LATENCY_US = 2**31 - 1


@dataclass(frozen=True)
class Answer:
    """The answer of a flow to stored inputs."""

    approved: bool
    stage: str
    """The stage that declined, or nothing."""
    values: Mapping[str, Any]
    path: tuple[tuple[str, str, str], ...]
    """Stage, table and rule, in order."""
    reasons: tuple[int, ...]
    model_no: int = 0
    notes: tuple[str, ...] = ()
    """Values that the model never saw in training."""
    referred_by: str = ""
    """The first stage that wants a person to look at what the flow would approve, or nothing."""

    @property
    def outcome(self) -> DecisionOutcome:
        """Approved, declined, or referred to a person."""
        if self.referred_by:
            return DecisionOutcome.REFERRED
        return DecisionOutcome.APPROVED if self.approved else DecisionOutcome.DECLINED

    def number(self, name: str) -> int:
        """A value of the decision, 0 if the flow did not come to it.

        Line and price of what is referred are those that a person may grant.
        """
        granted = not self.stage or name not in ("line_minor", "rate_ppm")
        return int(self.values.get(name, 0)) if granted else 0


@dataclass(frozen=True)
class Decision:
    """One decision as it is stored."""

    decision_id: int
    booked_at: datetime
    kind: DecisionKind
    answer: Answer
    flow_no: int
    flow_sha256: str
    inputs: tuple[float, ...] = field(repr=False)
    latency_us: int = 0

    def row(self) -> dict[str, Any]:
        """Its row of the table `decisions`."""
        answer = self.answer
        return {
            "decision_id": self.decision_id,
            "booked_at": self.booked_at,
            "kind": int(self.kind),
            "approved": int(answer.outcome),
            **{name: answer.number(name) for name in ("score", "pd_ppm", "grade")},
            **{name: answer.number(name) for name in ("line_minor", "rate_ppm")},
            "flow_no": self.flow_no,
            "model_no": answer.model_no,
            **{f"reason_{at}": code for at, code in enumerate(answer.reasons, start=1)},
            "latency_us": self.latency_us,
        }

    def as_dict(self, flow: Flow) -> dict[str, Any]:
        """The decision in words, for people and for `--json`."""
        row = self.row()
        named = {
            name: None if math.isnan(code) else declared.plain(code)
            for (name, declared), code in zip(flow.inputs.items(), self.inputs, strict=True)
        }
        return {
            "decision": print_id("de", self.decision_id),
            **row,
            "booked_at": self.booked_at.isoformat(),
            "kind": self.kind.label,
            "approved": self.answer.approved,
            "declined_by": self.answer.stage,
            "referred_by": self.answer.referred_by,
            "reasons": flow.reasons.with_texts(self.answer.reasons),
            "path": [list(step) for step in self.answer.path],
            "flow": {"name": flow.name, "number": flow.number, "sha256": self.flow_sha256},
            "notes": list(self.answer.notes),
            "inputs": named,
        }


class Decider:
    """A flow ready to decide: graphs and models loaded once."""

    def __init__(
        self, flow: Flow, *, live: bool = True, parameters: Parameters | None = None
    ) -> None:
        self.flow = flow
        self._given_parameters = parameters
        self._engine = Engine(flow)
        self._best = best_points(flow)
        self._models = {
            stage.name: model_of(stage, live=live) for stage in flow.stages if stage.model
        }

    @cached_property
    def _parameters(self) -> Parameters:
        return self._given_parameters or Parameters.load()

    def decide(self, request: Request, now: Callable[[], datetime]) -> Decision:
        """Decide a request; `now` is read twice, and the difference is the latency."""
        begun = now()
        zone = ZoneInfo(str(self._parameters.at("platform.time_zone", request.at.date()).value))
        day = request.at.astimezone(zone).date()
        if day < self.flow.valid_from:
            fix = "Use the flow that was in force then"
            what = f"is in force from {self.flow.valid_from}, and the decision is of {day}"
            raise FlowError(what, where=self.flow.name, fix=fix)
        inputs = input_vector(self.flow, request, day, self._parameters)
        answer = self.answer(inputs, request.kind)
        taken = (now() - begun) // timedelta(microseconds=1)
        return Decision(
            owned_id(request.user_id, request.number), request.at, request.kind, answer,
            self.flow.number, self.flow.sha256, inputs, max(0, min(taken, MAX_LATENCY_US)),
        )  # fmt: skip

    def answer(self, inputs: Sequence[float], kind: DecisionKind) -> Answer:
        """The flow's answer to stored inputs; nothing else goes in."""
        flow = self.flow
        values: dict[str, Any] = {
            name: declared.plain(code)
            for (name, declared), code in zip(flow.inputs.items(), inputs, strict=True)
            if not math.isnan(code)
        }
        run = _Run({}, [], [], [], [])
        declined = referred = ""
        for stage in flow.stages_for(kind):
            given = self._stage(stage, {**values, **run.values}, run)
            run.rule_reasons.append(int(given.pop("reason", 0)))
            outcome = given.pop("outcome", "pass")
            run.values.update(given)
            if outcome == "decline":
                declined, referred = stage.name, ""
                break
            if outcome == "refer":
                referred = referred or stage.name
        # What a stage noted on the way to a decline elsewhere is no reason for it.
        rule_reasons = run.rule_reasons[-1:] if declined else run.rule_reasons
        if run.scored_by is not None and is_explained(flow, rule_reasons):
            run.lost[:] = model_reasons(flow, *run.scored_by)
        reasons = main_reasons(flow, rule_reasons, run.lost)
        model_no = max((stage.number for stage in flow.stages_for(kind)), default=0)
        return Answer(
            not declined and not referred, declined, run.values, tuple(run.path), reasons, model_no,
            tuple(run.notes), referred,
        )  # fmt: skip

    def _stage(self, stage: Stage, values: Mapping[str, Any], run: _Run) -> dict[str, Any]:
        if stage.graph is None:
            return self._scored(stage, values, run)
        given, path, result = self._engine.run(stage, values)
        run.path += [(stage.name, table, rule) for table, rule in path]
        if self.flow.card is not None and stage.name == self.flow.card.stage:
            points = {name: int(lookup(result, name)) for name in self._best}
            run.lost[:] = lost_point_reasons(self.flow, self._best, points)
        return given

    def _scored(self, stage: Stage, values: Mapping[str, Any], run: _Run) -> dict[str, Any]:
        model = self._models[stage.name]
        scored = model.score_one(
            {
                each.name: cell_of(self.flow.inputs[each.name], each, values[each.name])
                for each in model.columns
            }
        )
        run.notes += scored.unseen
        if self.flow.input_reasons:
            run.scored_by = (model, scored.inputs)
        run.path.append((stage.name, "model", str(stage.number)))
        offered = {"score": scored.score, "pd_ppm": scored.pd_ppm}
        return {
            name: declared.plain(
                declared.coded(offered[str(model_answer(name))], f"{stage.name}.{name}")
            )
            for name, declared in stage.gives.items()
        }


@dataclass
class _Run:
    """Results so far on the way through the stages."""

    values: dict[str, Any]
    path: list[tuple[str, str, str]]
    rule_reasons: list[int]
    lost: list[int]
    notes: list[str]
    scored_by: tuple[Any, Any] | None = None
    """The last model and its inputs; its shares are worked out only if a reason needs them."""
