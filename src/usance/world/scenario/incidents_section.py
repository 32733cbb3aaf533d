"""The part of a scenario file about payments taken back, complaints and help."""

from __future__ import annotations

from typing import Any

from usance.base.errors import unknown
from usance.base.fields import Fields, whole_of
from usance.base.rates import PPM
from usance.world.incidents import NO_INCIDENTS, PLANS, Incidents
from usance.world.scenario.sections import built, optional
from usance.world.scenario.values import by_name, share

_DAYS = whole_of(1, 28)


def read_incidents(given: Fields) -> Incidents | None:
    """Incidents; none where the scenario has no such part."""
    inner = given.inner("incidents")
    if inner is None:
        return NO_INCIDENTS
    plans = by_name(inner, "plans", _plan, share) if "plans" in inner else {}
    helped = inner.take("asks_for_help", share) or 0
    if plans is not None and helped and sum(plans.values()) != PPM:
        inner.wrong("plans do not sum to 100%", "Give the share of each plan", "plans")
    return built(Incidents, inner, {
        "charged_back_ppm": optional("charged_back", share, 0),
        "charged_back_days": optional("charged_back_days", _DAYS, 10),
        "complaint_upheld_ppm": optional("complaint_upheld", share, 0),
        "complaint_days": optional("complaint_days", _DAYS, 5),
        "asks_for_help_ppm": lambda _: helped,
        "plan_ppm": lambda _: plans,
        "months": optional("months", whole_of(1, 12), 2),
        "rate_cut_ppm": optional("rate_cut", share, 300_000),
        "pause_days": optional("pause_days", whole_of(1, 92), 30),
    })  # fmt: skip


def _plan(given: Any, where: str) -> str:
    if given not in PLANS:
        raise unknown("plan", str(given), PLANS, where=where)
    return str(given)
