"""Public names of the room, each with its module."""

from usance.assess.backtest import (
    BackTest as BackTest,
    assigned_flow as assigned_flow,
)
from usance.assess.decision.columns import (
    DecisionColumns as DecisionColumns,
    decide_columns as decide_columns,
)
from usance.assess.decision.decide import (
    Decider as Decider,
    Decision as Decision,
)
from usance.assess.decision.log import (
    Log as Log,
    read_log as read_log,
)
from usance.assess.decision.output_tables import (
    LineState as LineState,
    decision_rows as decision_rows,
    line_rows as line_rows,
    request_rows as request_rows,
    rows_of_decisions as rows_of_decisions,
    write_decision_tables as write_decision_tables,
)
from usance.assess.backtest import (
    ReplayResult as ReplayResult,
    replay_log as replay_log,
)
from usance.assess.decision.request import (
    read_request as read_request,
)
from usance.assess.errors import (
    DataError as DataError,
    DecisionTableError as DecisionTableError,
    FeatureError as FeatureError,
    FlowError as FlowError,
    LogError as LogError,
    ModelError as ModelError,
    NotApproved as NotApproved,
    WrongInput as WrongInput,
)
from usance.assess.flow.files import (
    Flow as Flow,
    read_flow as read_flow,
)
from usance.assess.monitoring.approval import (
    live_model as live_model,
)
from usance.assess.scoring.model import (
    Model as Model,
    load_model as load_model,
)
from usance.assess.training.recipe import (
    Recipe as Recipe,
)
from usance.assess.training.train import (
    train as train,
)

__all__: list[str]
