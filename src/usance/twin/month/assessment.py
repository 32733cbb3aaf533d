"""Applications and drawdowns through the decision flow, on columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import usance.assess
from usance.assess.decision.columns import DecisionColumns, decide_columns
from usance.assess.decision.output_tables import LineState, decision_rows
from usance.assess.flow.files import Flow, read_flow
from usance.base.arrays import I64
from usance.base.codes import DecisionKind, Product
from usance.base.columns import make
from usance.base.dates import from_day, to_month
from usance.base.parameters import Parameters
from usance.twin.month.timestamps import timestamps
from usance.world.applicants import application_inputs, score_inputs
from usance.world.population import Population
from usance.world.scenario.file import write_texts

Inputs = dict[str, Any]
FLOW = Path(usance.assess.__file__).parent / "flow" / "shipped" / "consumer"
REVIEW_DAYS = 365
"""A line is looked at again every year, so none is older than that."""


@dataclass(frozen=True)
class Assessor:
    """The flow of a scenario, asked with what the world shows of users."""

    population: Population
    funding_cost_ppm: int

    @cached_property
    def flow(self) -> Flow:
        """The scenario's own, or the packaged one for consumers."""
        own = self.population.scenario.flow
        if not own:
            return read_flow(FLOW)
        with TemporaryDirectory() as folder:
            return read_flow(write_texts(own, Path(folder)))

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters.load()

    def application_inputs(self, users: I64, day: int) -> Inputs:
        """Inputs of new users who apply."""
        month = to_month(from_day(day))
        return {
            **score_inputs(self.population, users, month),
            **application_inputs(self.population, users, month),
            **self._outside(len(users), day),
            "platform_worst_days": np.full(len(users), -1), "platform_days_past_due": _zeros(users),
        }  # fmt: skip

    def drawdown_inputs(
        self, users: I64, day: int, amount_minor: I64, available_minor: I64, worst_days: I64,
        overdue_days: I64,
    ) -> Inputs:  # fmt: skip
        """Inputs of users with a line who request a loan."""
        month = to_month(from_day(day))
        application = application_inputs(self.population, users, month)
        columns = {
            **score_inputs(self.population, users, month),
            **{name: application[name] for name in ("list_hit", "device_users_30d")},
            **self._outside(len(users), day),
            "platform_worst_days": worst_days, "platform_days_past_due": overdue_days,
            "drawdown_minor": amount_minor, "line_available_minor": available_minor,
            "line_age_days": users % REVIEW_DAYS,
        }  # fmt: skip
        needed = self.flow.needed(DecisionKind.DRAWDOWN)
        return {name: values for name, values in columns.items() if name in needed}

    def decide(self, kind: DecisionKind, inputs: Inputs) -> DecisionColumns:
        """Decide every row."""
        return decide_columns(self.flow, kind, inputs, shares=False)

    def inputs_table(self, ids: I64, inputs: Inputs) -> pa.Table:
        """The declared table of inputs, in the flow's order; what is not read is not a number."""
        rows = np.full((len(ids), len(self.flow.inputs)), np.nan)
        for place, name in enumerate(self.flow.inputs):
            if name in inputs:
                rows[:, place] = inputs[name]
        return make("decision_inputs", decision_id=ids, inputs=rows)

    def _outside(self, rows: int, day: int) -> dict[str, I64]:
        on = from_day(day)
        given = {
            name: self._parameters.at(each.parameter, on).integer
            for name, each in self.flow.inputs.items()
            if each.parameter
        }
        given["funding_cost_ppm"] = self.funding_cost_ppm
        return {name: np.full(rows, value, np.int64) for name, value in given.items()}

    def table(
        self,
        kind: DecisionKind,
        ids: I64,
        day: I64,
        second: Any,
        decided: DecisionColumns,
        zone: str,
    ) -> pa.Table:
        """The declared table of decisions; the twin takes no time to decide."""
        booked = timestamps(day, second, zone)
        return decision_rows(self.flow, kind, decided, decision_id=ids, booked_at=booked)


def granted_table(
    ids: I64, day: I64, second: Any, grade: I64, line_minor: I64, rate_ppm: I64, flow_no: int,
    zone: str,
) -> pa.Table:  # fmt: skip
    """Decisions from before the opening: lines that were granted, without score and reasons."""
    zeros = np.zeros(len(ids), np.int64)
    empty = ("score", "pd_ppm", "model_no", "latency_us", *(f"reason_{n}" for n in range(1, 5)))
    return make(
        "decisions", decision_id=ids, booked_at=timestamps(day, second, zone),
        kind=zeros + int(DecisionKind.APPLICATION), approved=zeros + 1, grade=grade,
        line_minor=line_minor, rate_ppm=rate_ppm, flow_no=zeros + flow_no,
        **dict.fromkeys(empty, zeros),
    )  # fmt: skip


def lines_table(
    ids: I64, day: I64, second: Any, limit_minor: I64, rate_ppm: I64, zone: str
) -> pa.Table:
    """The declared table of lines, one each."""
    return make(
        "lines", line_id=ids, effective_on=day.astype(np.int32),
        booked_at=timestamps(day, second, zone), product=np.full(len(ids), int(Product.INSTALMENT)),
        limit_minor=limit_minor, rate_ppm=rate_ppm, state=np.full(len(ids), int(LineState.ACTIVE)),
    )  # fmt: skip


def _zeros(rows: NDArray[Any]) -> I64:
    return np.zeros(len(rows), np.int64)
