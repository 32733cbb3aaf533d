"""Match: each loan finds the best funder among many, and no limit is ever broken.

`plan` gives every limit a price, `route` sends each request to the source that is worth most after
these prices, `replay` compares that with other rules and with the best that hindsight could do.
Names are imported when first used.

>>> from usance.match import ENGINE, route
>>> from usance.match.backtest.streams import StreamKind, make_stream
>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=300, sources=4, segments=10)
>>> routed = route(stream.requests, stream.mandates, ENGINE, demand=stream.demand)
>>> len(routed.column), routed.margin_minor > 0
(300, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.match.backtest.replays import Replay, replay
    from usance.match.mandates.file import parse_mandates, read_mandates
    from usance.match.mandates.mandate import Mandate, Mandates
    from usance.match.mandates.structure_facts import structure_facts
    from usance.match.plan.certificate import hindsight
    from usance.match.plan.demand import Demand, read_demand
    from usance.match.plan.history import expect
    from usance.match.plan.planner import Plan, plan
    from usance.match.reservation.placing import ceilings, offer, place, routing_rows
    from usance.match.router.checkpoint import Standing, read_standing, write_standing
    from usance.match.router.releases import Releases, read_releases, releases_of
    from usance.match.router.requests import Requests, read_requests
    from usance.match.router.router import Routed, route
    from usance.match.router.routing import routing_table
    from usance.match.router.state import ENGINE, POLICIES, Policy

__all__ = [
    "ENGINE", "POLICIES", "Demand", "Mandate", "Mandates", "Plan", "Policy", "Releases", "Replay",
    "Requests", "Routed", "Standing", "ceilings", "expect", "hindsight", "offer",
    "parse_mandates", "place", "plan", "read_demand", "read_mandates", "read_releases",
    "read_requests", "read_standing", "releases_of", "replay", "route", "routing_rows",
    "routing_table", "structure_facts", "write_standing",
]  # fmt: skip

_MODULES = {
    "plan.certificate": ("hindsight",),
    "plan.demand": ("Demand", "read_demand"),
    "plan.history": ("expect",),
    "router.state": ("ENGINE", "POLICIES", "Policy"),
    "mandates.mandate": ("Mandate", "Mandates"),
    "mandates.file": ("parse_mandates", "read_mandates"),
    "plan.planner": ("Plan", "plan"),
    "reservation.placing": ("ceilings", "offer", "place", "routing_rows"),
    "router.releases": ("Releases", "read_releases", "releases_of"),
    "backtest.replays": ("Replay", "replay"),
    "router.requests": ("Requests", "read_requests"),
    "router.router": ("Routed", "route"),
    "router.routing": ("routing_table",),
    "router.checkpoint": ("Standing", "read_standing", "write_standing"),
    "mandates.structure_facts": ("structure_facts",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
