"""Requests through the router from the first to the last, with the plan made again on the way.

`route` runs one policy over a stream. The engine's own policy makes prices from the forecast,
makes them again on a schedule and after a shock (a source leaves or returns, a budget or an
approval rate changes, demand jumps), and lets them follow use in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import from_day, to_day, to_month
from usance.match.mandates.columns import NO_ROOM_LIMIT, SourceColumns, source_columns, thresholds
from usance.match.mandates.mandate import MAX_BUDGET_MINOR, Event, EventKind, Mandates
from usance.match.plan.certificate import approvals, open_columns
from usance.match.plan.demand import Demand
from usance.match.plan.outlook import Outlook
from usance.match.plan.resolve import Prices, ease_mix, make_prices, set_pace, set_prices
from usance.match.router.checkpoint import Standing, waiting
from usance.match.router.experience import Experience
from usance.match.router.rank_kernel import rank
from usance.match.router.releases import NO_RELEASES, Releases, released
from usance.match.router.requests import DAY_SECONDS, MICROSECONDS, Requests
from usance.match.router.resumption import go_on, standing_of
from usance.match.router.route_kernel import Answers, Live, follow_use, route_run, set_rooms
from usance.match.router.rows import Rows, make_rows
from usance.match.router.state import MIRROR, Policy, start_live

HOUR = 3600
ATTEMPTS = 8
# Requests after which a plan is made from experience for the first time.
FIRST_LOOK = 50
# Without a forecast prices go this part of a step, and a young stream is not planned each day:
# prices that lag spend earlier. That costs little if the days to come are like those seen, and
# saves much if they are not.
BLIND = 0.3
SCHEDULE, EXPERIENCE = "schedule", "experience"
CALM = (SCHEDULE, EXPERIENCE)


@dataclass(frozen=True)
class PlanMade:
    """One moment at which prices were made again, and why."""

    number: int
    request: int
    reason: str
    segments: int
    """Kinds of demand it was made from."""


@dataclass
class Routed:
    """What became of each request, and where every limit stands."""

    policy: Policy
    requests: Requests
    rows: Rows
    columns: SourceColumns
    answers: Answers
    live: Live
    plans: list[PlanMade] = field(default_factory=list)
    plan_of: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """The plan in force at each request."""
    releases: Releases = NO_RELEASES
    before: Standing | None = None
    """Where everything stood before the first request, if that was not the beginning."""
    standing: Standing | None = None
    """Where everything stands after the last one; `route` fills it in."""

    @property
    def column(self) -> I64:
        """The column that took each request, -1 if none did."""
        made = self.answers.outcome
        last = np.maximum(np.abs(made), 1) - 1
        asked = self.answers.asked[np.arange(len(made)), last].astype(np.int64)
        return np.where(made > 0, asked, -1)

    @property
    def margin_minor(self) -> int:
        """What was earned."""
        return int(self.answers.margin.sum())


@dataclass
class Clockwork:
    """What a router has done until now, and when; -1 is never."""

    plan_no: int = 0
    planned_at: int = 0
    """Seconds on the clocks of the platform."""
    planned_seen: int = 0
    """Requests seen when the last plan was made."""
    today: int = -1
    happened: int = -1
    """The moment up to which events have taken effect."""
    hour: int = -1
    since: int = 0
    """Requests since prices last followed use."""


def period_of(mandates: Mandates, rows: Rows) -> tuple[int, int]:
    """First and last day that budgets are planned over: the file's period, else the stream's."""
    if mandates.period is not None:
        return to_day(mandates.period[0]), to_day(mandates.period[1])
    days = rows.day if len(rows.day) else np.zeros(1, np.int64)
    return int(days[0]), int(days[-1])


class Router:
    """One policy over one stream; `run` goes on from where it stands."""

    def __init__(
        self, requests: Requests, mandates: Mandates, policy: Policy, *,
        demand: Demand | None = None, seed: int = 1, attempts: int = ATTEMPTS,
        clock: Callable[[], int] | None = None, releases: Releases = NO_RELEASES,
        standing: Standing | None = None,
    ) -> None:  # fmt: skip
        self.mandates, self.policy, self.seed = mandates, policy, seed
        self.clock, self.nanoseconds = clock, 0
        self.columns = source_columns(mandates)
        self.rows = make_rows(requests, self.columns, mandates.time_zone)
        count, before = len(requests), len(standing["borrowed"]) if standing else 0
        self.live = start_live(mandates, self.columns, policy, count + before)
        answers = Answers(
            np.full((count, attempts), -1, np.int16), np.zeros((count, attempts), np.int64),
            np.zeros(count, np.int8), np.full(count, -1, np.int16), np.zeros(count, np.int64),
            np.zeros((count, attempts), np.int16), np.zeros(count, np.int64),
        )  # fmt: skip
        self.done = Routed(policy, requests, self.rows, self.columns, answers, self.live)
        self.done.releases = waiting(standing, releases) if standing else releases
        self.done.plan_of = np.zeros(count, np.int64)
        first, last = period_of(mandates, self.rows)
        self.outlook = Outlook(demand, first, last, self.columns, mandates.time_zone)
        self.experience = Experience(self.columns)
        self.prices: Prices | None = None
        self.position, self.events, self.returned = 0, 0, 0
        self.clockwork, self.changed = Clockwork(), ""
        self._starts, self._stops = _stretches(self.rows, requests.requested_at, mandates)
        self._prepared = -1
        # Compiled before the first request comes, so that a clock sees decisions alone.
        self._work = (
            np.zeros(attempts, np.int64),
            np.zeros(attempts, np.int64),
            np.zeros(3, np.int64),
        )
        route_run(
            0, 0, self.rows, self.columns, policy.rule, seed, self.live, answers, 0, *self._work
        )
        if standing is not None:
            go_on(self, standing)
            self._prepared = 0 if count and self._in_stretch(standing) else -1

    def _in_stretch(self, standing: Standing) -> bool:
        """Whether the first request is in the stretch that ended the stream before."""
        if self.changed or _hour(self.rows, 0) != standing["hour"]:
            return False
        now = int(self.done.requests.requested_at[0])
        return sum(_micro(event) <= now for event in self.mandates.events) == self.events

    def run(self, until: int | None = None) -> Routed:
        """Route every request that is left, or those up to a position."""
        end = len(self.done.requests) if until is None else until
        while self.position < end:
            self.ready(self.position)
            stretch = np.searchsorted(self._starts, self.position, side="right") - 1
            stop = min(int(self._stops[stretch]), end)
            self._stretch(self.position, stop)
            self.position = stop
        return self.done

    def ranked(self, row: int) -> list[tuple[int, int]]:
        """Whom the next request would ask in which order: column and worth, parts per billion."""
        self.ready(row)
        top, top_net, blocked = self._work
        live = self.live
        count = rank(
            self.rows, row, self.columns, self.policy.rule, live.open_set, live.room,
            live.platform_room, live.model_state, live.mix_state, live.borrowed_keys,
            live.borrowed, live.price, live.scale, live.mix_price, top, top_net, blocked,
        )  # fmt: skip
        return list(zip(top[:count].tolist(), top_net[:count].tolist(), strict=True))

    def ready(self, row: int) -> None:
        """Let happen, once, what happens before a request that begins a stretch."""
        if row > self._prepared and row in self._starts:
            self._prepared = row
            self._prepare(row, int(self.done.requests.requested_at[row]))

    def _prepare(self, start: int, now: int) -> None:
        """What happens between two stretches: a new day, events, a plan, a new pace."""
        state, opened = self.clockwork, self.live.open_set.copy()
        if state.since:
            follow_use(self.columns, self.live, state.since)
            state.since = 0
        state.hour = _hour(self.rows, start)
        if self.rows.day[start] != state.today:
            self._new_day(int(self.rows.day[start]))
        reason = self._happen(now, state.today) or self.changed
        if (opened != self.live.open_set).any():
            reason = reason or "mandates begin or end"
        reason, self.changed = reason or self._due(start), ""
        if self.policy.plans and reason:
            self._plan(start, reason)
        elif self.policy.follows:
            self._pace(start)
        if self.policy.plans and not reason:
            ease_mix(self.columns, self.live)

    def _stretch(self, start: int, stop: int) -> None:
        begun, state = self.clock() if self.clock else 0, self.clockwork
        state.since = route_run(
            start, stop, self.rows, self.columns, self.policy.rule, self.seed, self.live,
            self.done.answers, state.since, *self._work,
        )  # fmt: skip
        self.nanoseconds += self.clock() - begun if self.clock else 0
        self.done.plan_of[start:stop] = state.plan_no
        self.outlook.see(self.rows, start, stop)

    def _new_day(self, day: int) -> None:
        """Daily budgets begin anew, monthly ones with the month; mandates begin and end."""
        live, mandates, before = self.live, self.mandates, self.clockwork.today
        self.clockwork.today = day
        live.day[:] = [_or_endless(each.budgets.day_minor) for each in mandates.mandates]
        if before < 0 or to_month(from_day(day)) != to_month(from_day(before)):
            live.month[:] = [_or_endless(each.budgets.month_minor) for each in mandates.mandates]
        live.open_set[:] = open_columns(mandates, day, self.events)
        self.release(day)
        self.set_rooms()

    def release(self, day: int) -> None:
        """What came back up to a day gives revolving budgets room again."""
        releases = self.done.releases
        until = releases.until(day, self.returned)
        if until > self.returned:
            room = released(releases, self.mandates, self.returned, until)
            more = np.minimum(self.live.total + room, MAX_BUDGET_MINOR)
            self.live.total[:] = np.where(room > 0, more, self.live.total)
            self.returned = until

    def set_rooms(self) -> None:
        """What fits into all budgets of each column."""
        set_rooms(self.columns, self.live)

    def _happen(self, now: int, today: int) -> str:
        """Let what happened until now take effect; say what it was."""
        reason, live = "", self.live
        self.clockwork.happened = now
        while self.events < len(self.mandates.events):
            event = self.mandates.events[self.events]
            if _micro(event) > now:
                break
            self.events += 1
            if event.kind is EventKind.APPROVAL_RATE:
                # Nobody tells the router: the institution only begins to answer otherwise.
                rates = approvals(self.mandates, self.columns, self.events)
                live.threshold[:] = thresholds(rates)
                continue
            reason = f"source {event.source}: {event.kind}"
            if event.kind is EventKind.TOTAL_BUDGET:
                here = self.columns.source == event.source
                live.total[here] += event.value - live.first_total[here]
                live.first_total[here] = event.value
        if reason:
            live.open_set[:] = open_columns(self.mandates, today, self.events)
            self.set_rooms()
        return reason

    def _due(self, start: int) -> str:
        """Why prices should be made again now: the schedule, a first look, or a shock."""
        if not self.clockwork.plan_no:
            return "start"
        shock = self.experience.shock(self.live)
        if shock:
            return shock
        seen, last = self.outlook.seen + start, self.clockwork.planned_seen
        if max(2 * last, FIRST_LOOK) <= seen < self.policy.learn_until:
            return EXPERIENCE
        if self.outlook.blind and seen < self.policy.learn_until:
            return ""
        now = int(self.rows.day[start]) * DAY_SECONDS + int(self.rows.second[start])
        hours = (now - self.clockwork.planned_at) // HOUR
        return SCHEDULE if hours >= self.policy.every_hours else ""

    def _plan(self, start: int, reason: str) -> None:
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        ahead = self.outlook.ahead(start, day, second)
        self.experience.look(self.live, day)
        sample, segments = self.outlook.sample(self.rows, start, day, second), 0
        if len(sample.amount):
            self.prices, segments = make_prices(
                self.mandates, self.columns, self.live, sample, ahead, self.experience.rate,
                self.prices, self.policy.segments,
            )  # fmt: skip
            trust = self.policy.trust if reason in CALM else 1.0
            set_prices(self.live, self.columns, self.prices, trust)
        set_pace(self.columns, self.live, ahead, self._step())
        state = self.clockwork
        state.plan_no += 1
        state.planned_at, state.planned_seen = day * DAY_SECONDS + second, self.outlook.seen + start
        self.done.plans.append(PlanMade(state.plan_no, start, reason, segments))

    def _step(self) -> int:
        """Prices that no plan has made yet have a long way to go."""
        if not self.policy.plans:
            return self.policy.step
        if self.prices is None:
            return MIRROR.step
        return round(self.policy.step * BLIND) if self.outlook.blind else self.policy.step

    def _pace(self, start: int) -> None:
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        ahead = self.outlook.ahead(start, day, second)
        set_pace(self.columns, self.live, ahead, self._step())


def route(
    requests: Requests, mandates: Mandates, policy: Policy, *, demand: Demand | None = None,
    seed: int = 1, attempts: int = ATTEMPTS, releases: Releases = NO_RELEASES,
    standing: Standing | None = None,
) -> Routed:  # fmt: skip
    """Route a stream by one policy, with the principal that comes back on the way.

    `standing` is where an earlier call ended, its `Routed.standing`; this one goes on from there.
    """
    router = Router(
        requests, mandates, policy, demand=demand, seed=seed, attempts=attempts,
        releases=releases, standing=standing,
    )  # fmt: skip
    routed = router.run()
    routed.standing = standing_of(router)
    return routed


def _hours(rows: Rows) -> I64:
    hour: I64 = rows.day * 24 + rows.second // HOUR
    return hour


def _hour(rows: Rows, row: int) -> int:
    return int(rows.day[row]) * 24 + int(rows.second[row]) // HOUR


def _micro(event: Event) -> int:
    return int(event.at.timestamp()) * MICROSECONDS


def _or_endless(budget_minor: int) -> int:
    return budget_minor if budget_minor >= 0 else NO_ROOM_LIMIT


def _stretches(rows: Rows, moments: I64, mandates: Mandates) -> tuple[I64, I64]:
    """Runs of requests within one hour and between two events."""
    count = len(moments)
    cuts = [np.zeros(1, np.int64), np.flatnonzero(np.diff(_hours(rows))) + 1]
    changes = [_micro(event) for event in mandates.events]
    cuts.append(np.searchsorted(moments, np.array(changes, np.int64)))
    starts = np.unique(np.concatenate(cuts))
    starts = starts[starts < count]
    return starts, np.append(starts[1:], count)
