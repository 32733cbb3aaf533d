"""The router of a worker: candidates of one request, and what became of them.

It lives in memory as a fold over requests and routing. Requests meet it one at a time; a command
that fails rolls it back. When the configuration changes or a worker starts, it is folded again from
the tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.codes import RoutingOutcome
from usance.base.dates import to_day
from usance.match.mandates.mandate import MICROSECONDS, Mandate
from usance.match.plan.replan import RoutePlan
from usance.match.reservation.limit_names import total_limit
from usance.match.router.live_router import LiveRouter, RankedRequest, RouterMark
from usance.match.router.releases import releases_of
from usance.match.router.requests import from_columns
from usance.match.router.state import ENGINE, Policy
from usance.platform.lender import Lender

if TYPE_CHECKING:
    import asyncpg

COLUMNS = (
    "requested_at", "loan_id", "decision_id", "product", "amount_minor", "months", "rate_ppm",
    "grade", "region", "channel",
)  # fmt: skip


@dataclass
class SharedRouter:
    """The router and the lock under which one command after the other asks it."""

    policy: Policy = ENGINE
    router: LiveRouter | None = None
    configuration: int = -1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    plans_itself: bool = True
    """False where plans are made by jobs: requests then go by the latest that was stored."""
    mandates: str = ""
    """The hash of the mandates that the router goes by."""
    plan: RoutePlan | None = None
    """The latest stored plan for them."""
    wanted: str = ""
    """The reason for a plan that is due and was not asked for yet."""
    told: dict[str, int] = field(default_factory=dict)
    """Principal that came back and the router knows of, by the name of the limit it frees."""

    @asynccontextmanager
    async def turn(self, *, keep: bool = True) -> AsyncIterator[None]:
        """One command's turn at the router; a failure or a dry run leaves it as it was."""
        async with self.lock:
            before, mark = self.router, self.router.mark() if self.router is not None else None
            try:
                yield
            except BaseException:
                self._undo(before, mark)
                raise
            if not keep:
                self._undo(before, mark)

    def _undo(self, before: LiveRouter | None, mark: RouterMark | None) -> None:
        if mark is not None and before is not None and self.router is before:
            before.roll_back(mark)
        else:
            self.router, self.configuration = None, -1

    async def open(self, transaction: asyncpg.Connection, lender: Lender) -> LiveRouter:
        """The router of a configuration, folded from the tables where it is new."""
        if self.router is None or self.configuration != lender.configuration:
            mandates = mandates_hash(lender)
            if mandates != self.mandates:
                self.mandates, self.plan = mandates, None
            self.router, self.told = await folded(transaction, lender, self.policy), {}
            self.router.plans_itself = self.plans_itself
            self.configuration = lender.configuration
        await self._hear(transaction, lender)
        return self.router

    async def _hear(self, transaction: asyncpg.Connection, lender: Lender) -> None:
        """Tell the router what came back before it began, or through other workers."""
        by_limit = {
            total_limit(each): each
            for each in lender.mandates.mandates
            if each.structure is not None and each.structure.revolving_until is not None
        }
        if not by_limit or self.router is None:
            return
        rows = await transaction.fetch(
            "select name, freed_minor, (select business_date from usance.installation) as today "
            "from usance.limit_usage where name = any($1)", list(by_limit),
        )  # fmt: skip
        news = []
        for row in rows:
            more = row["freed_minor"] - self.told.get(row["name"], 0)
            if more:
                news.append((_day_of(by_limit[row["name"]], row["today"]),
                             by_limit[row["name"]].source, more))  # fmt: skip
                self.told[row["name"]] = row["freed_minor"]
        if news:
            days, sources, amounts = zip(*sorted(news), strict=True)
            self.router.add_releases(releases_of(
                day=[to_day(day) for day in days], source=list(sources),
                principal_minor=list(amounts),
            ))  # fmt: skip

    def rank(self, row: dict[str, Any]) -> RankedRequest:
        """The candidates of one request, best first."""
        self.feed([row])
        return self.rank_next()

    def feed(self, rows: list[dict[str, Any]]) -> None:
        """Tell the router requests, in order, that are then ranked one after the other."""
        assert self.router is not None, "the router is opened before it ranks"
        if rows:
            self.router.feed(_requests(rows))

    def rank_next(self) -> RankedRequest:
        """The candidates of the next request that was fed, best first."""
        assert self.router is not None, "the router is opened before it ranks"
        self.router.plans_itself = self.plans_itself
        if not self.plans_itself:
            self._follow(self.router)
        return self.router.rank()

    def _follow(self, router: LiveRouter) -> None:
        """Take the stored plan if it is newer than the one in force; note when one is due."""
        if self.plan is not None and self.plan.number > router.progress.plan_no:
            router.take(self.plan)
        else:
            self.wanted = router.plan_due() or self.wanted

    def rank_only(self, row: dict[str, Any]) -> RankedRequest:
        """The candidates that a request would have now; the router stays as it was."""
        assert self.router is not None, "the router is opened before it ranks"
        mark = self.router.mark()
        try:
            return self.rank(row)
        finally:
            self.router.roll_back(mark)

    def release(self, releases: list[tuple[str, int, date, int]]) -> None:
        """Let revolving budgets have what came back, from the day after on."""
        if releases and self.router is not None:
            for name, _, _, minor in releases:
                self.told[name] = self.told.get(name, 0) + minor
            self.router.add_releases(releases_of(
                day=[to_day(day) + 1 for _, _, day, _ in releases],
                source=[source for _, source, _, _ in releases],
                principal_minor=[minor for *_, minor in releases],
            ))  # fmt: skip

    def learn(self, loan_id: int, source: int, outcome: int) -> None:
        """Take in what became of a request at a source."""
        assert self.router is not None, "the router is opened before it learns"
        self.router.learn(loan_id, source, outcome)


def _day_of(mandate: Mandate, today: date) -> date:
    """The last day up to today on which a mandate revolves."""
    until = mandate.structure.revolving_until if mandate.structure else None
    return min(today, until or today, mandate.valid_to)


def mandates_hash(lender: Lender) -> str:
    """The hash of a lender's mandates: plans of the same ones stay in force."""
    return sha256(repr(lender.mandates).encode()).hexdigest()


class History(NamedTuple):
    """Requests in their order, and what became of each: source and outcome of every attempt."""

    requests: list[dict[str, Any]]
    learned: dict[int, list[tuple[int, int]]]


async def read_history(transaction: asyncpg.Connection) -> History:
    """Every request, its routing and the offers that still wait, of all channels.

    The router is the platform's, whoever asks it.
    """
    who = await transaction.fetchval("select current_setting('usance.principal')")
    await transaction.execute("select set_config('usance.principal', '0', true)")
    rows = await transaction.fetch("select * from usance.requests order by requested_at, loan_id")
    routing = await transaction.fetch(
        "select loan_id, source, outcome from usance.routing order by loan_id, attempt"
    )
    waiting = await transaction.fetch(
        "select loan_id, source from usance.offers where state = 'open'"
    )
    await transaction.execute("select set_config('usance.principal', $1, true)", who)
    learned: dict[int, list[tuple[int, int]]] = {}
    for each in routing:
        learned.setdefault(each["loan_id"], []).append((each["source"], each["outcome"]))
    for each in waiting:
        reserved = (each["source"], int(RoutingOutcome.RESERVED))
        learned.setdefault(each["loan_id"], []).append(reserved)
    return History([dict(row) for row in rows], learned)


def fold(history: History, lender: Lender, policy: Policy) -> LiveRouter:
    """A router that has seen a history."""
    router = LiveRouter(lender.mandates, policy, plans_itself=True)
    for row in history.requests:
        router.feed(_requests([row]))
        router.skip()
        for source, outcome in history.learned.get(row["loan_id"], ()):
            router.learn(row["loan_id"], source, outcome)
    return router


async def folded(transaction: asyncpg.Connection, lender: Lender, policy: Policy) -> LiveRouter:
    """A router that has seen every request of the tables."""
    return fold(await read_history(transaction), lender, policy)


def _requests(rows: list[dict[str, Any]]) -> Any:
    return from_columns(**{name: [_number(row[name]) for row in rows] for name in COLUMNS})


def _number(value: Any) -> int:
    return int(value.timestamp() * MICROSECONDS) if isinstance(value, datetime) else int(value)
