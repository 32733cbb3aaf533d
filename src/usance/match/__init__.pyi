"""Public names of the room, each with its module."""

from usance.match.backtest.replay import (
    Replay as Replay,
    replay as replay,
)
from usance.match.errors import (
    ApprovalError as ApprovalError,
    CheckpointError as CheckpointError,
    DemandError as DemandError,
    EmptyEligibility as EmptyEligibility,
    ForecastError as ForecastError,
    MandateApproval as MandateApproval,
    MandateBudget as MandateBudget,
    MandateDates as MandateDates,
    MandateError as MandateError,
    MandateShare as MandateShare,
    NotFound as NotFound,
    ReleaseError as ReleaseError,
    RequestRefused as RequestRefused,
    ShareError as ShareError,
    StreamError as StreamError,
    StreamOrder as StreamOrder,
    UnknownName as UnknownName,
)
from usance.match.mandates.file import (
    parse_mandates as parse_mandates,
    read_mandates as read_mandates,
)
from usance.match.mandates.mandate import (
    Mandate as Mandate,
    Mandates as Mandates,
)
from usance.match.plan.demand_file import (
    Demand as Demand,
    read_demand as read_demand,
)
from usance.match.plan.demand_from_history import (
    forecast_demand as forecast_demand,
)
from usance.match.backtest.replay import (
    hindsight_bound as hindsight_bound,
)
from usance.match.plan.planner import (
    Plan as Plan,
    make_plan as make_plan,
)
from usance.match.reservation.events import (
    log_line as log_line,
    read_log as read_log,
)
from usance.match.reservation.limit_names import (
    LimitDraw as LimitDraw,
    LimitRequest as LimitRequest,
    NamedLimits as NamedLimits,
    breaks_share as breaks_share,
    limits_of as limits_of,
)
from usance.match.reservation.placement import (
    ceilings as ceilings,
    offer as offer,
    place as place,
    routing_rows as routing_rows,
)
from usance.match.router.checkpoint import (
    RouterCheckpoint as RouterCheckpoint,
    read_checkpoint as read_checkpoint,
    write_checkpoint as write_checkpoint,
)
from usance.match.router.live_router import (
    LiveRouter as LiveRouter,
    RankedCandidate as RankedCandidate,
    RankedRequest as RankedRequest,
)
from usance.match.router.releases import (
    Releases as Releases,
    read_releases as read_releases,
    releases_of as releases_of,
)
from usance.match.router.requests import (
    Requests as Requests,
    read_requests as read_requests,
)
from usance.match.plan.replan import (
    RoutePlan as RoutePlan,
)
from usance.match.router.router import (
    RoutingResult as RoutingResult,
    route as route,
)
from usance.match.router.routing_table import (
    routing_table as routing_table,
)
from usance.match.router.state import (
    ENGINE as ENGINE,
    POLICIES as POLICIES,
    Policy as Policy,
)

__all__: list[str]
