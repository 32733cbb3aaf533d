"""The router as a fold over requests and routing, one request at a time.

`feed` takes requests in order, `rank` gives the candidates of the next one, best first, and `learn`
takes in what came of an attempt: reserved while an institution is asked, approved, declined, timed
out or released. Prices, budgets and experience move exactly as in `route`, which draws the answers
itself; a test compares the two row by row. Plans come from outside (`plan_due`, `make_plan`, then
`take`), so that no request waits for one; a router that `plans_itself` makes them as `route` does.

A worker that decides nothing follows the others' log: `feed`, `skip` and `learn`, and `take` with
the stored plans. `snapshot` and the `checkpoint` of a new router carry it over a restart; `mark`
and `roll_back` undo a batch that failed.

>>> from usance.match.backtest.streams import StreamKind, make_stream
>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=3, sources=4, segments=10)
>>> router = LiveRouter(stream.mandates, demand=stream.demand, plans_itself=True)
>>> router.feed(stream.requests)
>>> ranked = router.rank()
>>> best = ranked.candidates[0]
>>> router.learn(ranked.loan_id, best.source, RoutingOutcome.APPROVED)
>>> ranked.loan_id, best.source, int(router.state.approved.sum())
(16385, 2, 1)
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import RoutingOutcome
from usance.base.dates import from_day, to_day
from usance.base.errors import unknown
from usance.base.ids import print_id
from usance.base.rates import PPM
from usance.match.errors import NotFound
from usance.match.mandates.columns import CHECK_BORROWERS
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand_file import Demand
from usance.match.plan.remaining_demand import DemandEstimator
from usance.match.plan.replan import LimitPrices, RoutePlan
from usance.match.router.approval import ApprovalTracker
from usance.match.router.checkpoint import RouterCheckpoint, checkpoint_of
from usance.match.router.rank_kernel import PER_BORROWER, restore_borrowers
from usance.match.router.releases import NO_RELEASES, Releases, releases_of
from usance.match.router.request_log import batch_starts
from usance.match.router.request_rows import RequestRows, make_request_rows
from usance.match.router.requests import Requests, from_columns
from usance.match.router.route_kernel import (
    PRICE_UPDATE_REQUESTS,
    of_ppb,
    rank_request,
    update_prices,
    use_limits,
)
from usance.match.router.router import Router, RouterProgress
from usance.match.router.state import (
    ENGINE,
    LimitState,
    Policy,
    RouterState,
    borrower_slots,
)

# Requests kept in memory before the log is cut to what plans still look at.
MAX_LOG = 200_000
_ENDED = (RoutingOutcome.DECLINED, RoutingOutcome.TIMED_OUT, RoutingOutcome.RELEASED)


class RankedCandidate(NamedTuple):
    """One source for a request, with its score: approval × (margin − prices)."""

    column: int
    """Position of its mandate."""
    source: int
    version: int
    score_minor: int
    binding_limit: int
    """The limit with the highest price, 0 if none has one."""


class RankedRequest(NamedTuple):
    """Candidates of one request, best first, and what its routing rows say of all of them."""

    loan_id: int
    requested_at: int
    amount_minor: int
    candidates: tuple[RankedCandidate, ...]
    runner_up: int
    runner_up_minor: int
    binding_limit: int
    """The limit that kept out the best source, if there is no candidate."""
    plan_no: int

    def row(self, attempt: int, candidate: RankedCandidate | None, outcome: int) -> dict[str, int]:
        """A row of `routing`; without a candidate that of "no source"."""
        return {
            "loan_id": self.loan_id, "attempt": attempt, "at": self.requested_at,
            "source": candidate.source if candidate else 0, "outcome": int(outcome),
            "score_minor": candidate.score_minor if candidate else 0,
            "runner_up": self.runner_up, "runner_up_minor": self.runner_up_minor,
            "binding_limit": candidate.binding_limit if candidate else self.binding_limit,
            "plan_no": self.plan_no,
        }  # fmt: skip


class HeldQuota(NamedTuple):
    """Quota held for a request while its source decides."""

    request: Requests
    column: int
    rows: RequestRows
    """The request as kernels read it."""


@dataclass(frozen=True)
class RouterMark:
    """Everything that a batch may change in a router, to roll back to."""

    state: RouterState
    progress: RouterProgress
    tracker: ApprovalTracker
    estimator: DemandEstimator
    prices: LimitPrices | None
    held: dict[int, HeldQuota]
    numbers: tuple[Any, ...]
    releases: Releases
    plans: int
    requests: int


class LiveRouter(Router):
    """A router that is fed; requests that were fed wait until they are ranked or skipped."""

    def __init__(
        self, mandates: Mandates, policy: Policy = ENGINE, *, demand: Demand | None = None,
        releases: Releases = NO_RELEASES, checkpoint: RouterCheckpoint | None = None,
        plans_itself: bool = False,
    ) -> None:  # fmt: skip
        columns = Requests.__slots__
        nothing = from_columns(**{name: [] for name in columns})
        super().__init__(
            nothing, _with_period(mandates), policy, demand=demand, releases=releases,
            checkpoint=checkpoint,
        )  # fmt: skip
        self._demand, self.plans_itself = demand, plans_itself
        self.held: dict[int, HeldQuota] = {}
        self._waiting: dict[int, int] = {}
        self._is_resumed, self._counted = checkpoint is not None, True
        self._due, self._paced = "", True
        self._binding = np.zeros(len(self._ranking.column), np.int64)
        self._borrowers = len(self.state.limits.borrower_keys) // 4
        if checkpoint is not None and "held" in checkpoint.arrays:
            self._restore_held(checkpoint["held"])

    def feed(self, requests: Requests) -> None:
        """Take requests in order of (requested_at, loan_id), after all that came before."""
        if self.position == len(self.log) and self.position > MAX_LOG:
            self._cut_log()
        start = len(self.log)
        self.log.append(requests)
        self.result.requests, self.result.rows = self.log.requests, self.log.rows
        self._starts += batch_starts(self.log, self.mandates, start)
        if start == 0 and self._is_resumed and len(requests) and self._continues_batch():
            self._prepared = 0
        self._waiting |= {loan: start + n for n, loan in enumerate(requests.loan_id.tolist())}
        self._make_room(len(requests))

    def add_releases(self, releases: Releases) -> None:
        """Principal that came back, or below zero that a reversal took, from its day on."""
        pending = self.result.releases
        names = ("day", "source", "principal_minor")
        self.result.releases = releases_of(**{
            name: np.concatenate([getattr(pending, name)[self.releases_applied:],
                                  getattr(releases, name)])
            for name in names
        })  # fmt: skip
        self.releases_applied = 0

    def plan_due(self) -> str:
        """The reason to plan before the next request, or nothing."""
        self._begin()
        return self._due

    def plan(self) -> RoutePlan:
        """A plan for the next request on; `take` it, or store it for every worker to take."""
        return self.make_plan(self.position, self.plan_due() or "schedule")

    def plan_at(self, moment: datetime, reason: str) -> RoutePlan:
        """A plan for what comes after a moment, while no request waits."""
        assert self.position == len(self.log), "plans of a request that waits are of its moment"
        local = moment.astimezone(ZoneInfo(self.mandates.time_zone))
        second = (local.hour * 60 + local.minute) * 60 + local.second
        return self.make_plan(self.position, reason, (to_day(local.date()), second))

    def take(self, plan: RoutePlan) -> None:
        """Go by a plan from the next request on."""
        self._begin()
        self.take_plan(plan, self.position)
        self._due, self._paced = "", True

    def rank(self) -> RankedRequest:
        """The candidates of the next request; what is learned of it later may come at any time."""
        self._begin()
        row = self.position
        if self._due and self.plans_itself:
            self.take(self.plan())
        self.pace()
        rows, ranking, columns = self.rows, self._ranking, self.columns
        count = rank_request(row, self._inputs, self.state, ranking, self._binding)
        amount = int(rows.amount[row])
        found = []
        for column, net, limit in zip(
            ranking.column[:count].tolist(), ranking.net_ppb[:count].tolist(),
            self._binding[:count].tolist(), strict=True,
        ):  # fmt: skip
            score = of_ppb(amount, net * int(columns.approval[column]) // PPM)
            mandate = self.mandates.mandates[column]
            found.append(
                RankedCandidate(column, mandate.source, mandate.version, int(score), limit)
            )
        second = found[1] if count > 1 else None
        self.skip()
        return RankedRequest(
            int(rows.loan_id[row]), int(self.log.requests.requested_at[row]), amount, tuple(found),
            second.source if second else 0, second.score_minor if second else 0,
            0 if count else int(self._binding[0]), self.progress.plan_no,
        )  # fmt: skip

    def pace(self) -> None:
        """Follow the use of budgets from the next request on, if no plan was taken for it."""
        self._begin()
        if not self._paced:
            self.replan_reason, self._paced, self._due = self._due, True, ""
            self.set_pace(self.position)

    def skip(self) -> None:
        """Pass over the next request, which another worker ranks."""
        self._begin()
        row, self.position, self._counted = self.position, self.position + 1, False
        self.demand_estimator.observe(self.rows, row, row + 1)

    def learn(self, loan_id: int, source: int, outcome: int) -> None:
        """Take in one row of `routing`: what became of a request at a source."""
        if outcome == RoutingOutcome.NO_SOURCE:
            return
        held = self.held.pop(loan_id, None)
        if held is None or outcome == RoutingOutcome.RESERVED:
            held = self._ask(loan_id, source)
            if outcome in _ENDED:
                return
            self._move(held, 1)
        if outcome == RoutingOutcome.RESERVED:
            self.held[loan_id] = held
        elif outcome == RoutingOutcome.APPROVED:
            self.state.approved[held.column] += 1
        else:
            self._move(held, -1)

    def withdraw(self, request: Requests, source: int) -> None:
        """Give back the quota of an approved request whose loan never began."""
        self._move(self._held(request, source), -1)

    def column_of(self, source: int, day: int) -> int:
        """The mandate of a source that is in force on a day, else its latest."""
        own = [n for n, each in enumerate(self.mandates.mandates) if each.source == source]
        if not own:
            known = sorted({str(each.source) for each in self.mandates.mandates})
            raise unknown("source", str(source), known)
        today, rows = from_day(day), self.mandates.mandates
        in_force = [n for n in own if rows[n].valid_from <= today <= rows[n].valid_to]
        return (in_force or own)[-1]

    def snapshot(self) -> RouterCheckpoint:
        """The router after the last request that was ranked or skipped, as named arrays.

        What was fed and not ranked yet is not in it.
        """
        self._count()
        arrays = dict(checkpoint_of(self).arrays)
        rows = [(*(int(getattr(each.request, name)[0]) for name in Requests.__slots__),
                 int(self.columns.source[each.column])) for each in self.held.values()]  # fmt: skip
        arrays["held"] = np.array(rows, np.int64).reshape(-1, len(Requests.__slots__) + 1)
        return RouterCheckpoint(arrays)

    def mark(self) -> RouterMark:
        """A mark to roll back to if what comes now fails."""
        return RouterMark(
            _copied(self.state), replace(self.progress), self.approval_tracker,
            copy(self.demand_estimator), self.prices, dict(self.held), self._numbers(),
            self.result.releases, len(self.result.plans), len(self.log),
        )  # fmt: skip

    def roll_back(self, mark: RouterMark) -> None:
        """Undo everything since a mark, also the requests fed since."""
        self.state = self.result.state = _copied(mark.state)
        self.progress, self.approval_tracker = replace(mark.progress), mark.tracker
        self.demand_estimator = copy(mark.estimator)
        self.prices, self.held = mark.prices, dict(mark.held)
        (self.position, self.events, self.releases_applied, self.replan_reason, self._prepared,
         self._counted, self._due, self._paced, self._borrowers) = mark.numbers  # fmt: skip
        self.result.releases = mark.releases
        del self.result.plans[mark.plans :]
        self.log.cut(mark.requests)
        self.result.requests, self.result.rows = self.log.requests, self.log.rows
        self._starts = [each for each in self._starts if each < mark.requests]
        self._waiting = {loan: at for loan, at in self._waiting.items() if at < mark.requests}

    def _numbers(self) -> tuple[Any, ...]:
        return (
            self.position, self.events, self.releases_applied, self.replan_reason, self._prepared,
            self._counted, self._due, self._paced, self._borrowers,
        )  # fmt: skip

    def _begin(self) -> None:
        """Apply, once, what happens before the next request; note whether a plan is due."""
        self._count()
        if self.position >= len(self.log):
            raise NotFound("no request waits", where="router", fix="Feed one first")
        if self.begins_batch(self.position):
            self._due, self._paced = self.begin_batch(self.position), False

    def _count(self) -> None:
        """Let prices follow use after so many requests."""
        if self._counted:
            return
        self._counted, progress = True, self.progress
        progress.since_update += 1
        if progress.since_update == PRICE_UPDATE_REQUESTS:
            update_prices(self.columns, self.state, progress.since_update)
            progress.since_update = 0

    def _ask(self, loan_id: int, source: int) -> HeldQuota:
        row = self._waiting.get(loan_id, -1)
        if row < 0:
            shown = print_id("ln", loan_id)
            raise NotFound(f"{shown} was not fed", where="router", fix="Feed its request first")
        column = self.column_of(source, int(self.rows.day[row]))
        self.state.asked[column] += 1
        one = slice(row, row + 1)
        return HeldQuota(self.log.requests.take(one), column, self.rows.take(one))

    def _move(self, held: HeldQuota, sign: int) -> None:
        use_limits(held.rows, 0, self.columns, self.state, held.column, sign)

    def _held(self, request: Requests, source: int) -> HeldQuota:
        rows = make_request_rows(request, self.columns, self.mandates.time_zone)
        return HeldQuota(request, self.column_of(source, int(rows.day[0])), rows)

    def _restore_held(self, rows: I64) -> None:
        for row in rows:
            request = Requests(*(row[n : n + 1].copy() for n in range(len(Requests.__slots__))))
            self.held[int(request.loan_id[0])] = self._held(request, int(row[-1]))

    def _make_room(self, requests: int) -> None:
        """Let the table of borrowers grow before it is half full."""
        if not self.columns.flags[CHECK_BORROWERS]:
            return
        self._borrowers += requests
        limits = self.state.limits
        slots = borrower_slots(self.columns, self._borrowers)
        if slots <= len(limits.borrower_keys):
            return
        taken = np.flatnonzero(limits.borrower_keys)
        keys, amounts = limits.borrower_keys[taken] - 1, limits.borrowed[taken]
        grown = limits._replace(
            borrower_keys=np.zeros(slots, np.int64), borrowed=np.zeros(slots, np.int64)
        )
        restore_borrowers(
            grown.borrower_keys, grown.borrowed, keys // PER_BORROWER, keys % PER_BORROWER, amounts
        )
        self.state = self.result.state = self.state._replace(limits=grown)

    def _cut_log(self) -> None:
        """Begin again from a snapshot: what plans still look at comes with it."""
        fresh = LiveRouter(
            self.mandates, self.policy, demand=self._demand, checkpoint=self.snapshot(),
            plans_itself=self.plans_itself,
        )  # fmt: skip
        self.__dict__ = fresh.__dict__


def _with_period(mandates: Mandates) -> Mandates:
    """Mandates with a period to plan over: their own, else all days that some is in force."""
    if mandates.period is not None or not mandates.mandates:
        return mandates
    first = min(each.valid_from for each in mandates.mandates)
    last = max(each.valid_to for each in mandates.mandates)
    return replace(mandates, period=(first, last))


def _copied(state: RouterState) -> RouterState:
    arrays: list[Any] = [each.copy() for each in state.limits]
    limits = LimitState(*arrays)
    rest = {name: each.copy() for name, each in zip(state._fields[1:], state[1:], strict=True)}
    return RouterState(limits, **{**rest, "placed": limits.placed})
