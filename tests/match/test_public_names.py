"""The public names of matching: all of them can be imported, and no module hides one."""

from __future__ import annotations

import pkgutil

import usance.match


def test_public_names_are_those_listed() -> None:
    assert dir(usance.match) == sorted(usance.match.__all__)
    assert all(hasattr(usance.match, name) for name in usance.match.__all__)


def test_no_public_name_is_that_of_a_module() -> None:
    modules = {each.name for each in pkgutil.iter_modules(usance.match.__path__)}
    assert not modules & set(usance.match.__all__)


def test_public_names_are_pinned() -> None:
    assert usance.match.__all__ == [
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
