"""Match: each loan finds the best funder among many, and no limit is ever broken.

`make_plan` gives every limit a price, `route` sends each request to the source that is worth most
after these prices, `replay` compares that with other policies and with the hindsight bound.
Names are imported when first used.

>>> from usance.match import ENGINE, route
>>> from usance.match.backtest.streams import StreamKind, make_stream
>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=300, sources=4, segments=10)
>>> result = route(stream.requests, stream.mandates, ENGINE, demand=stream.demand)
>>> len(result.column), result.margin_minor > 0
(300, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.match.backtest.replay import Replay, replay
    from usance.match.errors import (
        ApprovalError,
        CheckpointError,
        DemandError,
        EmptyEligibility,
        ForecastError,
        MandateApproval,
        MandateBudget,
        MandateDates,
        MandateError,
        MandateShare,
        NotFound,
        ReleaseError,
        RequestRefused,
        ShareError,
        StreamError,
        StreamOrder,
        UnknownName,
    )
    from usance.match.mandates.file import parse_mandates, read_mandates
    from usance.match.mandates.mandate import Mandate, Mandates
    from usance.match.mandates.structure_facts import structure_facts
    from usance.match.plan.demand import Demand, read_demand
    from usance.match.plan.demand_forecast import forecast_demand
    from usance.match.plan.hindsight import hindsight_bound
    from usance.match.plan.planner import Plan, make_plan
    from usance.match.reservation.log import log_line, read_log
    from usance.match.reservation.placement import ceilings, offer, place, routing_rows
    from usance.match.router.checkpoint import RouterCheckpoint, read_checkpoint, write_checkpoint
    from usance.match.router.releases import Releases, read_releases, releases_of
    from usance.match.router.requests import Requests, read_requests
    from usance.match.router.router import RoutingResult, route
    from usance.match.router.routing import routing_table
    from usance.match.router.state import ENGINE, POLICIES, Policy

__all__ = [
    "ENGINE", "POLICIES", "ApprovalError", "CheckpointError", "Demand", "DemandError",
    "EmptyEligibility", "ForecastError", "Mandate", "MandateApproval", "MandateBudget",
    "MandateDates", "MandateError", "MandateShare", "Mandates", "NotFound", "Plan", "Policy",
    "ReleaseError", "Releases", "Replay", "RequestRefused", "Requests", "RouterCheckpoint",
    "RoutingResult", "ShareError", "StreamError", "StreamOrder", "UnknownName", "ceilings",
    "forecast_demand", "hindsight_bound", "log_line", "make_plan", "offer", "parse_mandates",
    "place", "read_checkpoint", "read_demand", "read_log", "read_mandates", "read_releases",
    "read_requests", "releases_of", "replay", "route", "routing_rows", "routing_table",
    "structure_facts", "write_checkpoint",
]  # fmt: skip

_MODULES = {
    "backtest.replay": ("Replay", "replay"),
    "mandates.file": ("parse_mandates", "read_mandates"),
    "mandates.mandate": ("Mandate", "Mandates"),
    "mandates.structure_facts": ("structure_facts",),
    "plan.demand": ("Demand", "read_demand"),
    "plan.demand_forecast": ("forecast_demand",),
    "plan.hindsight": ("hindsight_bound",),
    "plan.planner": ("Plan", "make_plan"),
    "reservation.log": ("log_line", "read_log"),
    "reservation.placement": ("ceilings", "offer", "place", "routing_rows"),
    "router.checkpoint": ("RouterCheckpoint", "read_checkpoint", "write_checkpoint"),
    "router.releases": ("Releases", "read_releases", "releases_of"),
    "router.requests": ("Requests", "read_requests"),
    "router.router": ("RoutingResult", "route"),
    "router.routing": ("routing_table",),
    "router.state": ("ENGINE", "POLICIES", "Policy"),
    "errors": (
        "ApprovalError", "CheckpointError", "DemandError", "EmptyEligibility", "ForecastError",
        "MandateApproval", "MandateBudget", "MandateDates", "MandateError", "MandateShare",
        "NotFound", "ReleaseError", "RequestRefused", "ShareError", "StreamError", "StreamOrder",
        "UnknownName",
    ),
}  # fmt: skip

__getattr__, __dir__ = public_names(__name__, _MODULES)
