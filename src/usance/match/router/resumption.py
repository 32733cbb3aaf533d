"""A router's state taken out and put back: what it stands at, for the next router to go on from."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.rates import PPM
from usance.match.mandates.columns import NO_ROOM_LIMIT, thresholds
from usance.match.mandates.mandate import EventKind
from usance.match.plan.certificate import approvals, open_columns
from usance.match.plan.resolve import Prices
from usance.match.router.checkpoint import Standing, by_model, fitted, identity, still_waiting
from usance.match.router.rank_kernel import BORROWERS, PER_BORROWER, put_back
from usance.match.router.requests import MICROSECONDS
from usance.match.router.route_kernel import LOWEST, PHI_STEPS
from usance.match.router.state import start_rooms

if TYPE_CHECKING:
    from usance.match.router.router import Router

# Columns of the live state that go on as they are.
_KEPT = (
    "asked", "approved", "placed", "own_price", "fixed_price", "fixed_limit", "tight", "pace",
    "step", "spent",
)  # fmt: skip
_BUDGETS = ("total", "month", "day")


def standing_of(router: Router) -> Standing:
    """Where everything stands after the last request; the router itself may go on."""
    live, first, before = router.live, _first_budgets(router), router.done.before
    taken = np.flatnonzero(live.borrowed_keys)
    taken = taken[np.argsort(live.borrowed_keys[taken])]
    keys = live.borrowed_keys[taken] - 1
    nothing = np.zeros(0, np.int64)
    arrays: dict[str, NDArray[Any]] = {
        **{name: np.array(value) for name, value in asdict(router.clockwork).items()},
        **{name: getattr(live, name).copy() for name in _KEPT},
        **{f"used_{name}": first[name] - getattr(live, name) for name in _BUDGETS},
        **router.experience.state(),
        **router.outlook.state(router.done.requests, router.rows, router.position),
        **still_waiting(router.done.releases, router.returned),
        **identity(router.mandates),
        "gone_placed": before["gone_placed"] if before else by_model(nothing, nothing),
        "room_used": start_rooms(router.mandates) - live.platform_room,
        "mix_state": live.mix_state.copy(),
        "mix_price": live.mix_price.copy(),
        "borrower": keys // PER_BORROWER,
        "borrowed_from": keys % PER_BORROWER,
        "borrowed": live.borrowed[taken],
    }
    if router.prices is not None:
        arrays |= {
            f"plan_{each.name}": getattr(router.prices, each.name) for each in fields(Prices)
        }
    return Standing(arrays)


def go_on(router: Router, before: Standing) -> None:
    """Let a router that has just been made stand where another ended."""
    standing = fitted(before, router.mandates)
    router.done.before = standing
    live, clockwork = router.live, router.clockwork
    for each in fields(clockwork):
        setattr(clockwork, each.name, int(standing[each.name]))
    for name in _KEPT:
        getattr(live, name)[:] = standing[name]
    router.experience.restore(standing.arrays)
    router.outlook.restore(standing.arrays)
    _restore_events(router)
    first = _first_budgets(router)
    for name in _BUDGETS:
        getattr(live, name)[:] = first[name] - standing[f"used_{name}"]
    _restore_sums(router, standing)
    if "plan_budget" in standing.arrays:
        router.prices = Prices(*(standing[f"plan_{each.name}"] for each in fields(Prices)))
    if str(before["terms"]) != str(standing["terms"]):
        router.changed = "mandates changed"
    if len(live.phi):
        some = live.first_total < NO_ROOM_LIMIT
        left = np.where(some, live.total, 1) * PHI_STEPS
        use = PHI_STEPS - left // np.where(some, np.maximum(live.first_total, 1), 1)
        live.scale[:] = live.phi[np.clip(use, 0, PHI_STEPS)]
    live.price[:] = live.fixed_price + live.own_price * (PPM - router.columns.own_ppm) // PPM
    if clockwork.today >= 0:
        live.open_set[:] = open_columns(router.mandates, clockwork.today, router.events)
        router.release(clockwork.today)
    router.set_rooms()


def _restore_events(router: Router) -> None:
    """Events that had happened before have still happened."""
    mandates, columns, live = router.mandates, router.columns, router.live
    done = router.clockwork.happened
    router.events = sum(
        int(event.at.timestamp()) * MICROSECONDS <= done for event in mandates.events
    )
    live.threshold[:] = thresholds(approvals(mandates, columns, router.events))
    for event in mandates.events[: router.events]:
        if event.kind is EventKind.TOTAL_BUDGET:
            live.first_total[columns.source == event.source] = event.value


def _restore_sums(router: Router, standing: Standing) -> None:
    """Platform rooms, shares of models, mixes and borrowers."""
    live, columns = router.live, router.columns
    live.platform_room[:] = start_rooms(router.mandates) - standing["room_used"]
    placed = standing["gone_placed"] + by_model(standing["placed"], standing["model"])
    whole = int(placed.sum())
    live.model_state[:] = [
        max(int(own) * PPM - whole * int(most), LOWEST)
        for own, most in zip(placed, columns.model_most, strict=True)
    ]
    live.mix_state[:], live.mix_price[:] = standing["mix_state"], standing["mix_price"]
    if columns.flags[BORROWERS]:
        rows = (standing[name] for name in ("borrower", "borrowed_from", "borrowed"))
        put_back(live.borrowed_keys, live.borrowed, *rows)


def _first_budgets(router: Router) -> dict[str, I64]:
    """Every budget before anything was lent: of all time, of the month, of the day."""
    rows = [each.budgets for each in router.mandates.mandates]
    ends = {name: [getattr(each, f"{name}_minor") for each in rows] for name in ("month", "day")}
    whole = {
        name: np.array([each if each >= 0 else NO_ROOM_LIMIT for each in values], np.int64)
        for name, values in ends.items()
    }
    return {"total": router.live.first_total, **whole}
