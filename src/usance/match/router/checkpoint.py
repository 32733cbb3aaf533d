"""Checkpoint of a router after its last request, from which the next stream resumes.

`route(..., checkpoint=before)` begins with the budgets used, the prices, the experience of
approvals and of demand, and the plan number that an earlier call ended with: two calls, one after
the other, give what one call over both streams gives. Mandates may change in between: use is kept
by source and version, also by a new version that counts from the same day; any other version begins
untouched, and prices are planned again at once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import to_day
from usance.base.rates import PPM
from usance.match.errors import CheckpointError
from usance.match.mandates.columns import (
    CHECK_BORROWERS,
    MEASURES,
    MODELS,
    UNLIMITED,
    thresholds,
)
from usance.match.mandates.events import approval_rates, open_columns
from usance.match.mandates.limits import list_limits
from usance.match.mandates.mandate import ConcentrationLimit, EventKind, Mandates
from usance.match.plan.replan import LimitPrices
from usance.match.router.rank_kernel import PER_BORROWER, restore_borrowers
from usance.match.router.releases import Releases, releases_of
from usance.match.router.route_kernel import LOWEST
from usance.match.router.state import SCALE_STEPS, or_unlimited, platform_headroom
from usance.match.router.succession import carried_excess

if TYPE_CHECKING:
    from usance.match.router.router import Router

FORMAT = 3
# Arrays by mandate, and their values for a new mandate, which has not lent, asked or learned.
BY_MANDATE = {
    "used_total": 0, "used_month": 0, "used_day": 0, "asked": 0, "approved": 0, "placed": 0,
    "budget_price": 0, "other_price": 0, "other_limit": 0, "tightest_budget": 0, "pace": -1,
    "step": 0, "spent": 0, "counted_asked": 0, "counted_approved": 0,
}  # fmt: skip
_RELEASE = ("day", "source", "principal_minor")


@dataclass(frozen=True)
class RouterCheckpoint:
    """Named arrays: by mandate, by concentration limit, by borrower, and of the whole router."""

    arrays: dict[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @property
    def plan_no(self) -> int:
        """The number of the plan in force."""
        return int(self["plan_no"])

    @property
    def requests(self) -> int:
        """Number of requests routed so far."""
        return int(self["seen"])

    def lent_minor(self) -> dict[tuple[int, int], int]:
        """Amount used of the total budget, by source and version."""
        keys = zip(self["source"].tolist(), self["version"].tolist(), strict=True)
        return dict(zip(keys, self["used_total"].tolist(), strict=True))


def write_checkpoint(path: Path, checkpoint: RouterCheckpoint) -> None:
    """Write a checkpoint to a file; the same checkpoint gives the same bytes."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, format=np.array(FORMAT), **checkpoint.arrays)


def read_checkpoint(path: Path) -> RouterCheckpoint:
    """The checkpoint of a file."""
    fix = "Give a file that write_checkpoint made, or route from the beginning"
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile):
        raise CheckpointError("no checkpoint of a router", where=str(path), fix=fix) from None
    if int(arrays.pop("format", np.array(0))) != FORMAT:
        raise CheckpointError("a checkpoint of another version", where=str(path), fix=fix)
    return RouterCheckpoint(arrays)


def identity(mandates: Mandates) -> dict[str, NDArray[Any]]:
    """The mandates of a checkpoint: their keys, their concentration limits, and all terms."""
    rows = mandates.mandates
    limits = [
        (each.source, each.version, MEASURES.index(limit.measure), limit.member, limit.bound_ppm)
        for each in rows
        for limit in each.concentration_limits
    ]
    terms = [limit.text for limit in list_limits(mandates)]
    terms += [
        f"{e.source} {e.version} {e.valid_from} {e.valid_to} {e.model} {e.coupon_ppm} {e.fee_ppm} "
        f"{e.co_share_ppm} {e.approval_ppm}{f' {e.co_funding}' if e.co_funding else ''}"
        for e in rows
    ]
    return {
        "source": np.array([each.source for each in rows], np.int64),
        "version": np.array([each.version for each in rows], np.int64),
        "since": np.array([to_day(each.since) for each in rows], np.int64),
        "model": np.array([int(each.model) for each in rows], np.int64),
        "concentration_key": np.array(limits, np.int64).reshape(len(limits), 5),
        "terms": np.array(blake2b("\n".join(terms).encode(), digest_size=16).hexdigest()),
    }


def adapted(checkpoint: RouterCheckpoint, mandates: Mandates) -> RouterCheckpoint:
    """The same checkpoint for other mandates, matched by source and version."""
    now = identity(mandates)
    if str(now["terms"]) == str(checkpoint["terms"]):
        return checkpoint
    arrays = {
        name: each for name, each in checkpoint.arrays.items() if not name.startswith("plan_")
    }
    arrays["plan_no"] = checkpoint["plan_no"]
    before = _keys(checkpoint["source"], checkpoint["version"])
    after = _keys(now["source"], now["version"])
    place = np.array([before.get(key, -1) for key in after], np.int64)
    _replaced(checkpoint, now, place)
    stated = np.array([each.approval_ppm for each in mandates.mandates], np.int64)
    fresh: dict[str, Any] = {**BY_MANDATE, "rate": stated, "stated": stated}
    for name, new in fresh.items():
        arrays[name] = np.where(place >= 0, checkpoint[name][place], new)
    arrays |= _carried_shares(checkpoint, mandates, place)
    moved = np.full(len(before), -1, np.int64)
    moved[place[place >= 0]] = np.flatnonzero(place >= 0)
    for column, others in _BY_COLUMN.items():
        kept = moved[checkpoint[column]] >= 0
        arrays |= {name: checkpoint[name][..., kept] for name in others}
        arrays[column] = moved[checkpoint[column]][kept]
    closed = np.where(moved < 0, checkpoint["placed"], 0)
    arrays["closed_placed"] = checkpoint["closed_placed"] + by_model(closed, checkpoint["model"])
    return RouterCheckpoint({**arrays, **now})


def _replaced(checkpoint: RouterCheckpoint, now: dict[str, NDArray[Any]], place: I64) -> None:
    """Let a version that is new take the place of one that is gone and counts from the same day."""
    free = set(range(len(checkpoint["source"]))) - set(place.tolist())
    for column in np.flatnonzero(place < 0).tolist():
        same = [
            row
            for row in free
            if all(checkpoint[name][row] == now[name][column] for name in _SAME_BUDGET)
        ]
        if same:
            place[column] = max(same, key=lambda row: int(checkpoint["version"][row]))
            free.discard(int(place[column]))


_SAME_BUDGET = ("source", "since", "model")


def _carried_shares(
    checkpoint: RouterCheckpoint, mandates: Mandates, place: I64
) -> dict[str, NDArray[Any]]:
    """Excess and price of each concentration limit under the mandates of now."""
    keys = checkpoint["concentration_key"].tolist()
    excess, price = list[int](), list[int]()
    for mandate, before in zip(mandates.mandates, place.tolist(), strict=True):
        own = (int(checkpoint["source"][before]), int(checkpoint["version"][before]))
        rows = [n for n, key in enumerate(keys) if before >= 0 and tuple(key[:2]) == own]
        old = [ConcentrationLimit(MEASURES[keys[n][2]], keys[n][4], keys[n][3]) for n in rows]
        over = [int(checkpoint["concentration_excess"][n]) for n in rows]
        placed = int(checkpoint["placed"][before]) if before >= 0 else 0
        excess += carried_excess(old, mandate.concentration_limits, over, placed)
        prices = {(each.measure, each.member): int(checkpoint["concentration_price"][n])
                  for n, each in zip(rows, old, strict=True)}  # fmt: skip
        price += [prices.get((each.measure, each.member), 0)
                  for each in mandate.concentration_limits]  # fmt: skip
    return {
        "concentration_excess": np.array(excess, np.int64),
        "concentration_price": np.array(price, np.int64),
    }


def by_model(placed: I64, model: I64) -> I64:
    """Amounts of mandates, summed by model."""
    sums = np.zeros(MODELS, np.int64)
    np.add.at(sums, model, placed)
    return sums


def pending_releases(checkpoint: RouterCheckpoint, more: Releases) -> Releases:
    """Releases that no request has met yet, and new ones."""
    return releases_of(**{
        name: np.concatenate([checkpoint[f"pending_{name}"], getattr(more, name)])
        for name in _RELEASE
    })  # fmt: skip


def pending_rows(releases: Releases, applied: int) -> dict[str, I64]:
    """The rows of releases from a position on."""
    return {f"pending_{name}": getattr(releases, name)[applied:].copy() for name in _RELEASE}


# Arrays that hold columns of mandates, and the arrays of the same length.
_BY_COLUMN = {
    "borrower_column": ("borrower", "borrowed"),
    "answer_source": ("answer_grade", "answer_outcome", "answer_day", "answer_times"),
}


def _keys(source: I64, version: I64) -> dict[tuple[int, int], int]:
    pairs = zip(source.tolist(), version.tolist(), strict=True)
    return {pair: position for position, pair in enumerate(pairs)}


# Fields of the router's state that are stored as they are.
_STORED = (
    "asked", "approved", "placed", "budget_price", "other_price", "other_limit",
    "tightest_budget", "pace", "step", "spent",
)  # fmt: skip
_BUDGETS = ("total", "month", "day")


def checkpoint_of(router: Router) -> RouterCheckpoint:
    """Checkpoint of a router after its last request; the router itself may go on."""
    state, first, before = router.state, _first_budgets(router), router.result.resumed_from
    taken = np.flatnonzero(state.limits.borrowed)
    taken = taken[np.argsort(state.limits.borrower_keys[taken])]
    keys = state.limits.borrower_keys[taken] - 1
    nothing = np.zeros(0, np.int64)
    arrays: dict[str, NDArray[Any]] = {
        **{name: np.array(value) for name, value in asdict(router.progress).items()},
        **{name: getattr(state, name).copy() for name in _STORED},
        **{f"used_{name}": first[name] - getattr(state, name) for name in _BUDGETS},
        **router.approval_tracker.to_arrays(),
        **router.demand_estimator.to_arrays(router.result.requests, router.rows, router.position),
        **pending_rows(router.result.releases, router.releases_applied),
        **identity(router.mandates),
        "closed_placed": before["closed_placed"] if before else by_model(nothing, nothing),
        "platform_used": platform_headroom(router.mandates) - state.limits.platform_headroom,
        "concentration_excess": state.limits.concentration_excess.copy(),
        "concentration_price": state.limits.concentration_price.copy(),
        "borrower": keys // PER_BORROWER,
        "borrower_column": keys % PER_BORROWER,
        "borrowed": state.limits.borrowed[taken],
    }
    if router.prices is not None:
        arrays |= {
            f"plan_{each.name}": getattr(router.prices, each.name) for each in fields(LimitPrices)
        }
    return RouterCheckpoint(arrays)


def resume(router: Router, before: RouterCheckpoint) -> None:
    """Set a new router to the state at which another ended."""
    checkpoint = adapted(before, router.mandates)
    router.result.resumed_from = checkpoint
    state, progress = router.state, router.progress
    for each in fields(progress):
        setattr(progress, each.name, int(checkpoint[each.name]))
    for name in _STORED:
        getattr(state, name)[:] = checkpoint[name]
    router.approval_tracker.restore(checkpoint.arrays)
    router.demand_estimator.restore(checkpoint.arrays)
    _restore_events(router)
    first = _first_budgets(router)
    for name in _BUDGETS:
        getattr(state, name)[:] = first[name] - checkpoint[f"used_{name}"]
    _restore_sums(router, checkpoint)
    if "plan_budget" in checkpoint.arrays:
        router.prices = LimitPrices(
            *(checkpoint[f"plan_{each.name}"] for each in fields(LimitPrices))
        )
    if str(before["terms"]) != str(checkpoint["terms"]):
        router.replan_reason = "mandates changed"
    if len(state.scale_by_use):
        some = state.initial_total < UNLIMITED
        left = np.where(some, state.total, 1) * SCALE_STEPS
        use = SCALE_STEPS - left // np.where(some, np.maximum(state.initial_total, 1), 1)
        state.limits.scale[:] = state.scale_by_use[np.clip(use, 0, SCALE_STEPS)]
    lent_ppm = PPM - router.columns.others_ppm
    state.limits.price[:] = state.other_price + state.budget_price * lent_ppm // PPM
    if progress.today >= 0:
        state.limits.open_set[:] = open_columns(router.mandates, progress.today, router.events)
        router.release(progress.today)
    router.set_headroom()


def _restore_events(router: Router) -> None:
    """Apply the events that had happened before."""
    mandates, columns, state = router.mandates, router.columns, router.state
    until = router.progress.events_until
    router.events = sum(event.moment <= until for event in mandates.events)
    state.threshold[:] = thresholds(approval_rates(mandates, columns, router.events))
    for event in mandates.events[: router.events]:
        if event.kind is EventKind.TOTAL_BUDGET:
            state.initial_total[columns.source == event.source] = event.value


def _restore_sums(router: Router, checkpoint: RouterCheckpoint) -> None:
    """Set platform limits, shares of models, concentration limits and borrowers."""
    limits, columns = router.state.limits, router.columns
    limits.platform_headroom[:] = platform_headroom(router.mandates) - checkpoint["platform_used"]
    placed = checkpoint["closed_placed"] + by_model(checkpoint["placed"], checkpoint["model"])
    whole = int(placed.sum())
    limits.model_excess[:] = [
        max(int(own) * PPM - whole * int(share), LOWEST)
        for own, share in zip(placed, columns.max_model_share_ppm, strict=True)
    ]
    limits.concentration_excess[:] = checkpoint["concentration_excess"]
    limits.concentration_price[:] = checkpoint["concentration_price"]
    if columns.flags[CHECK_BORROWERS]:
        rows = (checkpoint[name] for name in ("borrower", "borrower_column", "borrowed"))
        restore_borrowers(limits.borrower_keys, limits.borrowed, *rows)


def _first_budgets(router: Router) -> dict[str, I64]:
    """Every budget before anything was lent: in total, of the month, of the day."""
    rows = [each.budgets for each in router.mandates.mandates]
    return {
        "total": router.state.initial_total,
        "month": or_unlimited([each.month_minor for each in rows]),
        "day": or_unlimited([each.day_minor for each in rows]),
    }
