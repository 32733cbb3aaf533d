"""Assess: who gets credit, how much, at what price, and why.

A file of applicants with outcomes becomes a calibrated, documented model; a model scores a file or
one applicant in the same way, with its reasons; a flow of tables and models decides one request or
a column of millions; and what it granted is handed on as lines and requests. Names are imported
when first used.

>>> from usance.assess import decide_columns, read_flow
>>> from usance.base.codes import DecisionKind
>>> flow = read_flow("consumer")
>>> sorted(flow.needed(DecisionKind.DRAWDOWN))[:3]
['age_years', 'bank_inflow_ppm', 'bureau_inquiries_90d']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.assess.decision.columns import Decided, decide_columns
    from usance.assess.decision.decide import Decider, Decision
    from usance.assess.decision.handover import (
        LineState,
        decision_rows,
        line_rows,
        request_rows,
        stored_rows,
        write_assessed,
    )
    from usance.assess.decision.log import Log, read_log
    from usance.assess.decision.replay import replay
    from usance.assess.decision.request import read_request
    from usance.assess.flow.files import Flow, read_flow
    from usance.assess.monitoring.approval import live_model
    from usance.assess.scoring.model import Model, load_model
    from usance.assess.training.recipe import Recipe
    from usance.assess.training.train import train

__all__ = [
    "Decided", "Decider", "Decision", "Flow", "LineState", "Log", "Model", "Recipe",
    "decide_columns", "decision_rows", "line_rows", "live_model", "load_model", "read_flow",
    "read_log", "read_request", "replay", "request_rows", "stored_rows", "train", "write_assessed",
]  # fmt: skip

_HANDOVER = (
    "LineState", "decision_rows", "line_rows", "request_rows", "stored_rows", "write_assessed"
)  # fmt: skip
_MODULES = {
    "decision.columns": ("Decided", "decide_columns"),
    "decision.decide": ("Decider", "Decision"),
    "decision.handover": _HANDOVER,
    "decision.log": ("Log", "read_log"),
    "decision.request": ("read_request",),
    "flow.files": ("Flow", "read_flow"),
    "monitoring.approval": ("live_model",),
    "scoring.model": ("Model", "load_model"),
    "training.recipe": ("Recipe",),
    "training.train": ("train",),
    "decision.replay": ("replay",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
