"""The router: a stream of requests from the first to the last, with replanning on the way.

`route` runs one policy over a stream. The engine's own policy plans prices from the forecast,
plans them again on a schedule and after a shock (a source leaves or returns, a budget or an
approval rate changes, demand jumps), and lets them follow the use of budgets in between.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import from_day, to_day, to_month
from usance.base.progress import tell
from usance.match.mandates.columns import SourceColumns, source_columns, thresholds
from usance.match.mandates.events import approval_rates, open_columns
from usance.match.mandates.mandate import MAX_BUDGET_MINOR, EventKind, Mandates
from usance.match.plan.demand_file import Demand
from usance.match.plan.remaining_demand import DemandEstimator
from usance.match.plan.replan import (
    LimitPrices,
    PlanRecord,
    RoutePlan,
    ease_concentration_prices,
    make_prices,
    set_pace,
    set_prices,
)
from usance.match.router.approval import ApprovalTracker
from usance.match.router.checkpoint import RouterCheckpoint, checkpoint_of, pending_releases, resume
from usance.match.router.rank_kernel import rank
from usance.match.router.releases import NO_RELEASES, Releases, released
from usance.match.router.request_log import HOUR, RequestLog, batch_starts
from usance.match.router.request_rows import RequestRows
from usance.match.router.requests import DAY_SECONDS, Requests
from usance.match.router.route_kernel import (
    Decisions,
    RoutingInputs,
    no_decisions,
    route_batch,
    set_all_headroom,
    update_prices,
)
from usance.match.router.state import (
    MIRROR,
    Policy,
    RouterState,
    make_ranking,
    or_unlimited,
    start_state,
)
from usance.match.router.succession import hand_over, predecessors

ATTEMPTS = 8
# Requests after which a plan is made from experience for the first time.
FIRST_REPLAN_REQUESTS = 50
# Without a forecast prices go this part of a step: prices that lag spend earlier. That costs little
# if the days to come are like those seen, and saves much if they are not.
NO_FORECAST_STEP = 0.3
# Hours between two looks at the mix of demand.
CHANGE_HOURS = 3
START, SCHEDULE, EXPERIENCE, CHANGE = "start", "schedule", "experience", "demand changed"
ROUTINE = (SCHEDULE, EXPERIENCE)


@dataclass
class RoutingResult:
    """Decisions on every request, and the state of every limit after the last."""

    policy: Policy
    requests: Requests
    rows: RequestRows
    columns: SourceColumns
    decisions: Decisions
    state: RouterState
    plans: list[PlanRecord] = field(default_factory=list)
    plan_number: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """The plan in force at each request."""
    releases: Releases = NO_RELEASES
    resumed_from: RouterCheckpoint | None = None
    """The state before the first request, if another stream came before."""
    checkpoint: RouterCheckpoint | None = None
    """The state after the last request, to resume from; filled in by `route`."""

    @property
    def column(self) -> I64:
        """The column that took each request, -1 if none did."""
        outcome = self.decisions.outcome
        last = np.maximum(np.abs(outcome), 1) - 1
        asked = self.decisions.asked[np.arange(len(outcome)), last].astype(np.int64)
        return np.where(outcome > 0, asked, -1)

    @property
    def margin_minor(self) -> int:
        """Margin of everything placed."""
        return int(self.decisions.margin.sum())


@dataclass
class RouterProgress:
    """Progress of a router through its stream: plans made and moments reached; -1 is never."""

    plan_no: int = 0
    planned_at: int = 0
    """Seconds since 1970 on the clocks of the platform."""
    seen_at_plan: int = 0
    """Requests seen when the last plan was made."""
    today: int = -1
    events_until: int = -1
    """The moment up to which events have taken effect."""
    hour: int = -1
    since_update: int = 0
    """Requests since prices last followed use."""


def period_of(mandates: Mandates, rows: RequestRows) -> tuple[int, int]:
    """First and last day that budgets are planned over: the file's period, else the stream's."""
    if mandates.period is not None:
        return to_day(mandates.period[0]), to_day(mandates.period[1])
    days = rows.day if len(rows.day) else np.zeros(1, np.int64)
    return int(days[0]), int(days[-1])


class Router:
    """One policy over one stream; `run` routes requests from its current position on."""

    def __init__(
        self, requests: Requests, mandates: Mandates, policy: Policy, *,
        demand: Demand | None = None, seed: int = 1, attempts: int = ATTEMPTS,
        clock: Callable[[], int] | None = None, releases: Releases = NO_RELEASES,
        checkpoint: RouterCheckpoint | None = None,
    ) -> None:  # fmt: skip
        self.mandates, self.policy = mandates, policy
        self.clock, self.nanoseconds = clock, 0
        self.columns = source_columns(mandates)
        self.log = RequestLog(requests, self.columns, mandates.time_zone)
        count, before = len(requests), len(checkpoint["borrowed"]) if checkpoint else 0
        self.state = start_state(mandates, self.columns, policy, count + before)
        self.result = RoutingResult(
            policy, requests, self.log.rows, self.columns, no_decisions(count, attempts),
            self.state,
            plan_number=np.zeros(count, np.int64),
            releases=pending_releases(checkpoint, releases) if checkpoint else releases,
        )  # fmt: skip
        first, last = period_of(mandates, self.log.rows)
        zone = mandates.time_zone
        share = policy.unforeseen_share if demand is None else 1.0
        self.demand_estimator = DemandEstimator(
            demand, first, last, self.columns, zone, share=share
        )
        self.approval_tracker = ApprovalTracker(self.columns)
        self.prices: LimitPrices | None = None
        self.position, self.events, self.releases_applied = 0, 0, 0
        self.progress, self.replan_reason = RouterProgress(), ""
        self._starts = batch_starts(self.log, mandates)
        self._predecessors = predecessors(mandates)
        self._prepared, self._seed = -1, seed
        self._ranking = make_ranking(attempts)
        # Compiled before the first request comes, so that a clock sees decisions alone.
        route_batch(0, 0, self._inputs, self.state, self.result.decisions, 0, self._ranking)
        if checkpoint is not None:
            resume(self, checkpoint)
            self._prepared = 0 if count and self._continues_batch() else -1

    @property
    def rows(self) -> RequestRows:
        """The requests as kernels read them."""
        return self.log.rows

    @property
    def _inputs(self) -> RoutingInputs:
        return RoutingInputs(self.log.rows, self.columns, self.policy.rule, self._seed)

    def _continues_batch(self) -> bool:
        """True if the first request belongs to the batch that ended the stream before."""
        if self.replan_reason or int(self.log.hours()[0]) != self.progress.hour:
            return False
        now = int(self.log.requests.requested_at[0])
        return sum(event.moment <= now for event in self.mandates.events) == self.events

    def run(self, until: int | None = None) -> RoutingResult:
        """Route all remaining requests, or those up to a position."""
        end = len(self.result.requests) if until is None else until
        while self.position < end:
            self.prepare(self.position)
            batch = bisect_right(self._starts, self.position)
            stop = min(self._starts[batch], end) if batch < len(self._starts) else end
            self._route(self.position, stop)
            self.position = stop
            tell(f"routing by {self.policy.title}", stop, end)
        return self.result

    def ranked(self, row: int) -> list[tuple[int, int]]:
        """Candidates of the next request, best first: column and net margin, parts per billion."""
        self.prepare(row)
        count = rank(
            self.rows, row, self.columns, self.policy.rule, self.state.limits, self._ranking
        )
        columns, nets = self._ranking.column[:count], self._ranking.net_ppb[:count]
        return list(zip(columns.tolist(), nets.tolist(), strict=True))

    def prepare(self, row: int) -> None:
        """Apply, once, what happens before a request that begins a batch."""
        if self.begins_batch(row):
            reason = self.begin_batch(row)
            if reason:
                self.take_plan(self.make_plan(row, reason), row)
            else:
                self.set_pace(row)

    def begins_batch(self, row: int) -> bool:
        """True if a request begins a batch that has not begun yet."""
        place = bisect_left(self._starts, row)
        return row > self._prepared and place < len(self._starts) and self._starts[place] == row

    def begin_batch(self, start: int) -> str:
        """Apply a new day and events; give the reason to plan now, if there is one."""
        self._prepared, now = start, int(self.log.requests.requested_at[start])
        progress, opened = self.progress, self.state.limits.open_set.copy()
        if progress.since_update:
            update_prices(self.columns, self.state, progress.since_update)
            progress.since_update = 0
        progress.hour = int(self.rows.day[start]) * 24 + int(self.rows.second[start]) // HOUR
        if self.rows.day[start] != progress.today:
            self._new_day(int(self.rows.day[start]))
        reason = self._apply_events(now, progress.today) or self.replan_reason
        if (opened != self.state.limits.open_set).any():
            reason = reason or "mandates begin or end"
        reason, self.replan_reason = reason or self._reason_to_plan(start), ""
        return reason if self.policy.plans else ""

    def _route(self, start: int, stop: int) -> None:
        begun, progress = self.clock() if self.clock else 0, self.progress
        progress.since_update = route_batch(
            start, stop, self._inputs, self.state, self.result.decisions, progress.since_update,
            self._ranking,
        )  # fmt: skip
        self.nanoseconds += self.clock() - begun if self.clock else 0
        self.result.plan_number[start:stop] = progress.plan_no
        self.demand_estimator.observe(self.rows, start, stop)

    def _new_day(self, day: int) -> None:
        """Reset daily budgets, monthly ones with the month; begin and end mandates."""
        rows, before = self.mandates.mandates, self.progress.today
        self.progress.today = day
        self.state.day[:] = or_unlimited([each.budgets.day_minor for each in rows])
        if before < 0 or to_month(from_day(day)) != to_month(from_day(before)):
            self.state.month[:] = or_unlimited([each.budgets.month_minor for each in rows])
        for column, own in enumerate(self._predecessors):
            if own >= 0 and before < to_day(rows[column].valid_from) <= day:
                hand_over(self, own, column)
        self.state.limits.open_set[:] = open_columns(self.mandates, day, self.events)
        self.release(day)
        self.set_headroom()

    def release(self, day: int) -> None:
        """Add principal released up to a day to revolving budgets."""
        releases, state = self.result.releases, self.state
        until = releases.until(day, self.releases_applied)
        if until > self.releases_applied:
            amount = released(releases, self.mandates, self.releases_applied, until)
            more = np.minimum(state.total + amount, MAX_BUDGET_MINOR)
            state.total[:] = np.where(amount != 0, more, state.total)
            self.releases_applied = until

    def set_headroom(self) -> None:
        """Set the largest loan that fits into all budgets of each column."""
        set_all_headroom(self.columns, self.state)

    def _apply_events(self, now: int, today: int) -> str:
        """Apply the events up to now; give the last one that is a reason to plan again."""
        reason, state = "", self.state
        self.progress.events_until = now
        while self.events < len(self.mandates.events):
            event = self.mandates.events[self.events]
            if event.moment > now:
                break
            self.events += 1
            if event.kind is EventKind.APPROVAL_RATE:
                # Nobody tells the router: the institution only begins to answer otherwise.
                rates = approval_rates(self.mandates, self.columns, self.events)
                state.threshold[:] = thresholds(rates)
                continue
            reason = f"source {event.source}: {event.kind}"
            if event.kind is EventKind.TOTAL_BUDGET:
                own = self.columns.source == event.source
                state.total[own] += event.value - state.initial_total[own]
                state.initial_total[own] = event.value
        if reason:
            state.limits.open_set[:] = open_columns(self.mandates, today, self.events)
            self.set_headroom()
        return reason

    def _reason_to_plan(self, start: int) -> str:
        """The reason to plan now, if any: the start, a shock, new experience, the schedule."""
        if not self.progress.plan_no:
            return START
        shock = self.approval_tracker.shock(self.state)
        if shock:
            return shock
        seen, last = self.demand_estimator.seen + start, self.progress.seen_at_plan
        if max(2 * last, FIRST_REPLAN_REQUESTS) <= seen < self.policy.learn_until:
            return EXPERIENCE
        waits = self.policy.waits_for_experience and self.demand_estimator.has_no_forecast
        if waits and seen < self.policy.learn_until:
            return ""
        watches = self.policy.watches_change and self.progress.hour % CHANGE_HOURS == 0
        day = int(self.rows.day[start])
        if watches and self.demand_estimator.notes_change(self.rows, start, day):
            return CHANGE
        now = int(self.rows.day[start]) * DAY_SECONDS + int(self.rows.second[start])
        hours = (now - self.progress.planned_at) // HOUR
        unforeseen = self.demand_estimator.has_no_forecast
        wait = self.policy.unforeseen_hours if unforeseen else self.policy.every_hours
        return SCHEDULE if hours >= wait else ""

    def make_plan(
        self, start: int, reason: str, moment: tuple[int, int] | None = None
    ) -> RoutePlan:
        """A plan from the state before a request; the router itself is not changed.

        The moment, day and second, is the request's where none is given.
        """
        if moment is None:
            moment = int(self.rows.day[start]), int(self.rows.second[start])
        day, second = moment
        estimator, state = self.demand_estimator, self.state
        remaining = estimator.remaining(start, day, second)
        rate = self.approval_tracker.updated(state, day).rate
        sample, segments = estimator.sample(self.rows, start, day, second), 0
        prices, is_solved, seen = self.prices, True, estimator.seen + start
        # A router that begins behind a few requests knows no more than one that saw them come.
        begins = reason == START and estimator.has_no_forecast and seen < FIRST_REPLAN_REQUESTS
        if len(sample.amount) and not begins:
            prices, segments, is_solved = make_prices(
                self.mandates, self.columns, state, sample, remaining, rate, self.prices,
                self.policy.segments,
            )  # fmt: skip
        return RoutePlan(
            self.progress.plan_no + 1, reason, day, second, seen, segments, prices, is_solved,
        )  # fmt: skip

    def take_plan(self, plan: RoutePlan, start: int) -> None:
        """Go by the prices of a plan from a request on."""
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        state, estimator = self.state, self.demand_estimator
        self.approval_tracker = self.approval_tracker.updated(state, day)
        estimator.thin(self.rows, start, day)
        if plan.segments and plan.prices is not None:
            self.prices = plan.prices
            weight = self.policy.replan_weight if plan.reason in ROUTINE else 1.0
            set_prices(state, self.columns, plan.prices, weight)
        set_pace(self.columns, state, estimator.remaining(start, day, second), self._step())
        progress = self.progress
        progress.plan_no, progress.seen_at_plan = plan.number, plan.seen
        progress.planned_at = plan.day * DAY_SECONDS + plan.second
        self.result.plans.append(PlanRecord(plan.number, start, plan.reason, plan.segments))

    def _step(self) -> int:
        """Step of prices: longer before the first plan, shorter without a forecast."""
        if not self.policy.plans:
            return self.policy.step
        if self.prices is None:
            return MIRROR.step
        shorter = NO_FORECAST_STEP if self.demand_estimator.has_no_forecast else 1
        return round(self.policy.step * shorter)

    def set_pace(self, start: int) -> None:
        """Follow the use of budgets from a request on, without a new plan."""
        if self.policy.plans:
            ease_concentration_prices(self.columns, self.state)
        if not self.policy.follows_use:
            return
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        remaining = self.demand_estimator.remaining(start, day, second)
        set_pace(self.columns, self.state, remaining, self._step())


def route(
    requests: Requests, mandates: Mandates, policy: Policy, *, demand: Demand | None = None,
    seed: int = 1, attempts: int = ATTEMPTS, releases: Releases = NO_RELEASES,
    checkpoint: RouterCheckpoint | None = None,
) -> RoutingResult:  # fmt: skip
    """Route a stream by one policy, with the principal that is released on the way.

    `checkpoint` is that of an earlier result; this call resumes from there.
    """
    router = Router(
        requests, mandates, policy, demand=demand, seed=seed, attempts=attempts,
        releases=releases, checkpoint=checkpoint,
    )  # fmt: skip
    result = router.run()
    result.checkpoint = checkpoint_of(router)
    return result
