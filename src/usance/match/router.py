"""Requests through the router from the first to the last, with the plan made again on the way.

`route` runs one policy over a stream. The engine's own policy makes prices from the forecast,
makes them again on a schedule and after a shock (a source leaves or returns, a budget or an
approval rate changes, demand jumps), and lets them follow use in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import from_day, to_day, to_month
from usance.match.certificate import approvals, open_columns
from usance.match.demand import Demand
from usance.match.experience import Experience
from usance.match.live_state import Policy, start_live
from usance.match.mandate import MAX_BUDGET_MINOR, EventKind, Mandates
from usance.match.outlook import Outlook
from usance.match.rank_kernel import rank
from usance.match.releases import Releases, released, releases_of
from usance.match.requests import MICROSECONDS, Requests
from usance.match.resolve import Prices, make_prices, set_pace, set_prices
from usance.match.route_kernel import BATCH, Answers, Live, route_run, set_room
from usance.match.rows import Rows, make_rows
from usance.match.source_columns import NO_ROOM_LIMIT, SourceColumns, source_columns, thresholds

Numbers = NDArray[np.int64]
HOUR = 3600
ATTEMPTS = 8
SCHEDULE, EXPERIENCE = "schedule", "experience"
CALM = (SCHEDULE, EXPERIENCE)
NO_RELEASES = releases_of(day=[], source=[], principal_minor=[])


@dataclass(frozen=True)
class PlanMade:
    """One moment at which prices were made again, and why."""

    number: int
    request: int
    reason: str


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
    plan_of: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    """The plan in force at each request."""
    releases: Releases = NO_RELEASES

    @property
    def column(self) -> Numbers:
        """The column that took each request, -1 if none did."""
        made = self.answers.outcome
        last = np.maximum(np.abs(made), 1) - 1
        asked = self.answers.asked[np.arange(len(made)), last].astype(np.int64)
        return np.where(made > 0, asked, -1)

    @property
    def margin_minor(self) -> int:
        """What was earned."""
        return int(self.answers.margin.sum())


def period_of(mandates: Mandates, rows: Rows) -> tuple[int, int]:
    """First and last day that budgets are planned over: the file's period, else the stream's."""
    if mandates.period is not None:
        return to_day(mandates.period[0]), to_day(mandates.period[1])
    return int(rows.day[0]), int(rows.day[-1])


class Router:
    """One policy over one stream."""

    def __init__(
        self, requests: Requests, mandates: Mandates, policy: Policy, *,
        demand: Demand | None = None, seed: int = 1, attempts: int = ATTEMPTS,
        clock: Callable[[], int] | None = None, releases: Releases = NO_RELEASES,
    ) -> None:  # fmt: skip
        self.mandates, self.policy, self.seed = mandates, policy, seed
        self.clock, self.nanoseconds = clock, 0
        self.columns = source_columns(mandates)
        self.rows = make_rows(requests, self.columns, mandates.time_zone)
        count = len(requests)
        self.live = start_live(mandates, self.columns, policy, count)
        answers = Answers(
            np.full((count, attempts), -1, np.int16), np.zeros((count, attempts), np.int64),
            np.zeros(count, np.int8), np.full(count, -1, np.int16), np.zeros(count, np.int64),
            np.full(count, -1, np.int16), np.zeros(count, np.int64),
        )  # fmt: skip
        self.done = Routed(policy, requests, self.rows, self.columns, answers, self.live)
        self.done.releases, self.returned = releases, 0
        self.done.plan_of = np.zeros(count, np.int64)
        first, last = period_of(mandates, self.rows)
        self.outlook = Outlook(demand, first, last, self.columns, mandates.time_zone)
        self.experience = Experience(self.columns)
        self.prices: Prices | None = None
        self.events = 0
        self.today = -1
        self._stretches = _stretches(self.rows, requests.requested_at, mandates)
        self._prepared = -1
        # Compiled before the first request comes, so that a clock sees decisions alone.
        self._work = (
            np.zeros(attempts, np.int64),
            np.zeros(attempts, np.int64),
            np.zeros(2, np.int64),
        )
        route_run(
            0, 0, self.rows, self.columns, policy.rule, seed, self.live, answers, 0, False,
            *self._work,
        )  # fmt: skip

    def run(self, *, start: int = 0, until: int | None = None) -> Routed:
        """Route every request, or those from one position up to another (in order, no gaps)."""
        moments = self.done.requests.requested_at
        end = len(moments) if until is None else until
        for first, last in zip(*self._stretches, strict=True):
            if last <= start or first >= end:
                continue
            if first >= start:
                self.ready(int(first))
            since = max(start - first, 0) % BATCH
            self._stretch(int(max(first, start)), int(min(last, end)), since, last <= end)
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
        if row > self._prepared and row in self._stretches[0]:
            self._prepared = row
            self._prepare(row, int(self.done.requests.requested_at[row]))

    def _prepare(self, start: int, now: int) -> None:
        """What happens between two stretches: a new day, events, a plan, a new pace."""
        if self.rows.day[start] != self.today:
            self._new_day(int(self.rows.day[start]))
        reason = self._happen(now) or self._due(start)
        if self.policy.plans and reason:
            self._plan(start, reason)
        elif self.policy.follows:
            self._pace(start)

    def _stretch(self, start: int, stop: int, since: int, flush: bool) -> None:
        begun = self.clock() if self.clock else 0
        route_run(
            start, stop, self.rows, self.columns, self.policy.rule, self.seed, self.live,
            self.done.answers, since, flush, *self._work,
        )  # fmt: skip
        self.nanoseconds += self.clock() - begun if self.clock else 0
        self.done.plan_of[start:stop] = len(self.done.plans)
        self.outlook.see(self.rows, start, stop)

    def _new_day(self, day: int) -> None:
        """Daily budgets begin anew, monthly ones with the month; mandates begin and end."""
        live, mandates, before = self.live, self.mandates, self.today
        self.today = day
        live.day[:] = [_or_endless(each.budgets.day_minor) for each in mandates.mandates]
        if before < 0 or to_month(from_day(day)) != to_month(from_day(before)):
            live.month[:] = [_or_endless(each.budgets.month_minor) for each in mandates.mandates]
        live.open_set[:] = open_columns(mandates, day, self.events)
        self._release(day)
        self._set_rooms()

    def _release(self, day: int) -> None:
        """What came back up to a day gives revolving budgets room again."""
        releases = self.done.releases
        until = releases.until(day, self.returned)
        if until > self.returned:
            room = released(releases, self.mandates, self.returned, until)
            more = np.minimum(self.live.total + room, MAX_BUDGET_MINOR)
            self.live.total[:] = np.where(room > 0, more, self.live.total)
            self.returned = until

    def _set_rooms(self) -> None:
        for column in range(len(self.columns.source)):
            set_room(self.columns, self.live, column)

    def _happen(self, now: int) -> str:
        """Let what happened until now take effect; say what it was."""
        reason = ""
        while self.events < len(self.mandates.events):
            event = self.mandates.events[self.events]
            if int(event.at.timestamp()) * MICROSECONDS > now:
                break
            self.events += 1
            reason = f"source {event.source}: {event.kind}"
            if event.kind is EventKind.TOTAL_BUDGET:
                here = self.columns.source == event.source
                spent = self.live.first_total[here] - self.live.total[here]
                self.live.total[here] = np.maximum(event.value - spent, 0)
                self.live.first_total[here] = event.value
            elif event.kind is EventKind.APPROVAL_RATE:
                # Nobody tells the router: the institution only begins to answer otherwise.
                rates = approvals(self.mandates, self.columns, self.events)
                self.live.threshold[:] = thresholds(rates)
                reason = ""
        if reason:
            today = int(self.rows.day[np.searchsorted(self.done.requests.requested_at, now)])
            self.live.open_set[:] = open_columns(self.mandates, today, self.events)
            self._set_rooms()
        return reason

    def _due(self, start: int) -> str:
        """Why prices should be made again now: the schedule, a first look, or a shock."""
        if not self.done.plans:
            return "start"
        shock = self.experience.shock(self.live)
        if shock:
            return shock
        last = self.done.plans[-1].request
        if start < self.policy.learn_until:
            return EXPERIENCE if start >= 2 * last and start >= last + 200 else ""
        since = self.rows.day[start] - self.rows.day[last]
        hours = since * 24 + (self.rows.second[start] - self.rows.second[last]) // HOUR
        return SCHEDULE if hours >= self.policy.every_hours else ""

    def _plan(self, start: int, reason: str) -> None:
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        ahead = self.outlook.ahead(start, day, second)
        self.experience.look(self.live, day)
        sample = self.outlook.sample(self.rows, start, day, second)
        if len(sample.amount):
            self.prices = make_prices(
                self.mandates, self.columns, self.live, sample, ahead, self.experience.rate,
                self.prices,
            )  # fmt: skip
            trust = self.policy.trust if reason in CALM else 1.0
            set_prices(self.live, self.columns, self.prices, trust)
        set_pace(self.live, ahead, self.policy.step)
        self.done.plans.append(PlanMade(len(self.done.plans) + 1, start, reason))

    def _pace(self, start: int) -> None:
        day, second = int(self.rows.day[start]), int(self.rows.second[start])
        set_pace(self.live, self.outlook.ahead(start, day, second), self.policy.step)


def route(
    requests: Requests, mandates: Mandates, policy: Policy, *, demand: Demand | None = None,
    seed: int = 1, attempts: int = ATTEMPTS, releases: Releases = NO_RELEASES,
) -> Routed:  # fmt: skip
    """Route a stream by one policy, with the principal that comes back on the way."""
    return Router(
        requests, mandates, policy, demand=demand, seed=seed, attempts=attempts, releases=releases
    ).run()


def _or_endless(budget_minor: int) -> int:
    return budget_minor if budget_minor >= 0 else NO_ROOM_LIMIT


def _stretches(rows: Rows, moments: Numbers, mandates: Mandates) -> tuple[Numbers, Numbers]:
    """Runs of requests within one hour and between two events."""
    count = len(moments)
    hour = rows.day * 24 + rows.second // HOUR
    cuts = [np.zeros(1, np.int64), np.flatnonzero(np.diff(hour)) + 1]
    changes = [int(event.at.timestamp()) * MICROSECONDS for event in mandates.events]
    cuts.append(np.searchsorted(moments, np.array(changes, np.int64)))
    starts = np.unique(np.concatenate(cuts))
    starts = starts[starts < count]
    return starts, np.append(starts[1:], count)
