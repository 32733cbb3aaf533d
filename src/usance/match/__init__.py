"""Match: each loan finds the best funder among many, and no limit is ever broken.

`plan` gives every limit a price, `route` sends each request to the source that is worth most after
these prices, `replay` compares that with other rules and with the best that hindsight could do.
Names are imported when first used.

>>> from usance.match import ENGINE, route
>>> from usance.match.streams import StreamKind, make_stream
>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=300, sources=4, segments=10)
>>> routed = route(stream.requests, stream.mandates, ENGINE, demand=stream.demand)
>>> len(routed.column), routed.margin_minor > 0
(300, True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usance.match.certificate import hindsight
    from usance.match.demand import Demand, read_demand
    from usance.match.history import expect
    from usance.match.live_state import ENGINE, POLICIES, Policy
    from usance.match.mandate import Mandate, Mandates
    from usance.match.mandate_file import parse_mandates, read_mandates
    from usance.match.placing import ceilings, offer, place, routing_rows
    from usance.match.planner import Plan, plan
    from usance.match.releases import Releases, read_releases, releases_of
    from usance.match.replays import Replay, replay
    from usance.match.requests import Requests, read_requests
    from usance.match.router import Routed, route
    from usance.match.routing import routing_table
    from usance.match.standing import Standing, read_standing, write_standing
    from usance.match.structure_facts import structure_facts

__all__ = [
    "ENGINE", "POLICIES", "Demand", "Mandate", "Mandates", "Plan", "Policy", "Releases", "Replay",
    "Requests", "Routed", "Standing", "ceilings", "expect", "hindsight", "offer",
    "parse_mandates", "place", "plan", "read_demand", "read_mandates", "read_releases",
    "read_requests", "read_standing", "releases_of", "replay", "route", "routing_rows",
    "routing_table", "structure_facts", "write_standing",
]  # fmt: skip

_HOMES = {
    "certificate": ("hindsight",),
    "demand": ("Demand", "read_demand"),
    "history": ("expect",),
    "live_state": ("ENGINE", "POLICIES", "Policy"),
    "mandate": ("Mandate", "Mandates"),
    "mandate_file": ("parse_mandates", "read_mandates"),
    "planner": ("Plan", "plan"),
    "placing": ("ceilings", "offer", "place", "routing_rows"),
    "releases": ("Releases", "read_releases", "releases_of"),
    "replays": ("Replay", "replay"),
    "requests": ("Requests", "read_requests"),
    "router": ("Routed", "route"),
    "routing": ("routing_table",),
    "standing": ("Standing", "read_standing", "write_standing"),
    "structure_facts": ("structure_facts",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"usance.match.{home}"), name)
    raise AttributeError(f"module 'usance.match' has no attribute {name!r}")
