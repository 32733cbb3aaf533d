"""Assess: credit decisions with line, price and reasons, and the models behind them.

A file of applicants with outcomes becomes a calibrated, documented model; a model scores a file or
one applicant in the same way, with its reasons; a flow of tables and models decides one request or
a column of millions; and what it granted becomes the tables of lines and requests. Names are
imported when first used.

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
    from usance.assess.backtest import BackTest, assigned_flow
    from usance.assess.decision.columns import DecisionColumns, decide_columns
    from usance.assess.decision.decide import Decider, Decision
    from usance.assess.decision.log import Log, read_log
    from usance.assess.decision.output_tables import (
        LineState,
        decision_rows,
        line_rows,
        request_rows,
        rows_of_decisions,
        write_decision_tables,
    )
    from usance.assess.decision.replay import ReplayResult, replay_log
    from usance.assess.decision.request import read_request
    from usance.assess.errors import (
        DataError,
        DecisionTableError,
        FeatureError,
        FlowError,
        LogError,
        ModelError,
        NotApproved,
        WrongInput,
    )
    from usance.assess.flow.files import Flow, read_flow
    from usance.assess.monitoring.approval import live_model
    from usance.assess.scoring.model import Model, load_model
    from usance.assess.training.recipe import Recipe
    from usance.assess.training.train import train

__all__ = [
    "BackTest", "DataError", "Decider", "Decision", "DecisionColumns", "DecisionTableError",
    "FeatureError", "Flow", "FlowError", "LineState", "Log", "LogError", "Model", "ModelError",
    "NotApproved", "Recipe", "ReplayResult", "WrongInput", "assigned_flow", "decide_columns",
    "decision_rows", "line_rows", "live_model", "load_model", "read_flow", "read_log",
    "read_request", "replay_log", "request_rows", "rows_of_decisions", "train",
    "write_decision_tables",
]  # fmt: skip

_MODULES = {
    "backtest": ("BackTest", "assigned_flow"),
    "decision.columns": ("DecisionColumns", "decide_columns"),
    "decision.decide": ("Decider", "Decision"),
    "decision.log": ("Log", "read_log"),
    "decision.output_tables": (
        "LineState",
        "decision_rows",
        "line_rows",
        "request_rows",
        "rows_of_decisions",
        "write_decision_tables",
    ),
    "decision.replay": ("ReplayResult", "replay_log"),
    "decision.request": ("read_request",),
    "errors": (
        "DataError",
        "ModelError",
        "NotApproved",
        "FlowError",
        "WrongInput",
        "FeatureError",
        "LogError",
        "DecisionTableError",
    ),
    "flow.files": ("Flow", "read_flow"),
    "monitoring.approval": ("live_model",),
    "scoring.model": ("Model", "load_model"),
    "training.recipe": ("Recipe",),
    "training.train": ("train",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
