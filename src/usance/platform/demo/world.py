"""The world of the demo, day by day: borrowers, institutions and providers act through the API.

Whoever acts has a memory: which loans fall due, which lines have room. It is read from the
database; everything they do goes over HTTP with the keys of the sandbox, like a partner's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from usance.base.draws import draw
from usance.base.ids import print_id
from usance.platform.api.warm_up import APPLICANT
from usance.platform.client.calls import (
    Call,
    advance,
    answer_offer,
    apply,
    clock,
    loan,
    offers,
    pay,
    register_user,
)
from usance.platform.client.calls import draw as draw_down
from usance.platform.client.client import AsyncClient, CallFailed
from usance.platform.demo.treasury import end_month, is_month_end
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.security.sandbox_access import FILE

SEED = 20240630
NEWCOMERS, RETURNING, MAX_LATE = 8, 8, 29
"""People who register and borrowers who draw again on a day; days after which nobody pays."""
DRAWING, MAX_LINE_DAYS = 7, 300
"""Of ten newcomers with a line, those who draw at once; the age of a line that is drawn again."""
CURED = 4
"""Of a hundred instalments of loans that are later than that, those on which all is paid."""
BATCH = 500
MORNING = time(10)
PROVIDER = "psp_a"
REGIONS = 10
REFERRED, DECLINED = 12, 20
"""Of a hundred newcomers, those whom a list names to be watched, and those on no list but poor."""
REACHED_BY = ("push", "message", "email", "ai_voice", "voice", "letter")
"""Ways that borrowers have agreed to be reached by."""
LANGUAGES = ("en", "zh")
Report = Callable[[int, int], Awaitable[None]]


@dataclass
class Day:
    """Counts of what happened on one day."""

    day: str
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, count: int = 1) -> None:
        """Count something that happened."""
        self.counts[what] = self.counts.get(what, 0) + count


@dataclass
class World:
    """Everyone outside the lender, each with a key."""

    platform: Platform
    channel: AsyncClient
    provider: AsyncClient
    institution: AsyncClient
    operations: AsyncClient
    control: AsyncClient

    @classmethod
    def of_home(cls, platform: Platform, home: Path, url: str) -> World:
        """The world of a sandbox that is served at an address."""
        keys = json.loads((home / FILE).read_text())["keys"]
        names = ("channel", "provider", "institution", "operations", "control")
        return cls(platform, *(AsyncClient(url, keys[name], timeout=120) for name in names))

    async def close(self) -> None:
        """Close all connections."""
        for each in (self.channel, self.provider, self.institution, self.operations, self.control):
            await each.close()

    async def live(self, days: int, report: Report) -> list[Day]:
        """Live some days; the clock stops on the morning of the last, with offers still open."""
        told = []
        for number in range(days):
            await self.control.send(advance(_next_morning(await self.control.send(clock()))))
            now = await self.control.send(clock())
            today = date.fromisoformat(now["business_date"])
            happened = Day(today.isoformat())
            await reach(self.platform)
            await self._pay(today, happened)
            await self._newcomers(today, happened)
            await self._return(today, happened)
            await self._answer(happened)
            if is_month_end(today):
                happened.add("facts of the group", await end_month(self.platform, today))
            told.append(happened)
            await report(number + 1, days)
        return told

    async def _pay(self, today: date, happened: Day) -> None:
        """Borrowers whose day it is pay what is due, through a provider's notices."""
        lines = []
        for number in await self._payers(today):
            name = print_id("ln", number)
            owed = await self.operations.send(loan(name))
            if owed["days_past_due"] > MAX_LATE and not _is_cured(number, today):
                continue
            amount = owed["past_due"]["total_minor"] or (owed["next_due"] or {}).get("amount_minor")
            if amount:
                lines.append({"loan": name, "amount_minor": amount, "currency": owed["currency"],
                              "effective_on": today.isoformat(),
                              "ref": f"{name}/{today.isoformat()}"})  # fmt: skip
        for at in range(0, len(lines), BATCH):
            body = {"provider": PROVIDER, "lines": lines[at : at + BATCH]}
            call: Call[dict[str, Any]] = Call("POST", "/v1/provider/notices", body)
            answer = await self.provider.send(call)
            for line in answer["lines"]:
                happened.add(f"payments {line['result']}")

    async def _payers(self, today: date) -> list[int]:
        """Open loans that have an instalment due on a day on which their borrower pays it."""
        async with self.platform.reading(SYSTEM) as read:
            rows = await read.transaction.fetch(
                "select l.loan_id, l.first_due_on from usance.loan_states s "
                "join usance.loans l using (loan_id) where s.is_open and l.terms_no = 1 "
                "and l.first_due_on <= $1 order by 1", today,
            )  # fmt: skip
        return [row["loan_id"] for row in rows
                if _pays_on(row["loan_id"], row["first_due_on"], today)]  # fmt: skip

    async def _newcomers(self, today: date, happened: Day) -> None:
        for number in range(NEWCOMERS):
            chance = draw(SEED, 1, today.toordinal(), number)
            name = f"demo-{today.isoformat()}-{number}"
            user = await self.channel.send(register_user(name, _region(chance)))
            happened.add("registrations")
            decided = await self.channel.send(
                apply(user["user"], "instalment", inputs=_applicant(chance))
            )
            happened.add(f"applications {decided['outcome']}")
            line = decided["line"]
            if line is not None and _draws_at_once(chance):
                await self._draw(user["user"], line["limit_minor"], chance, happened)

    async def _return(self, today: date, happened: Day) -> None:
        """Some whose line is not old draw again."""
        async with self.platform.reading(SYSTEM) as read:
            rows = await read.transaction.fetch(
                "select distinct on (u.user_id) u.user_id, limit_minor from usance.lines l "
                "join usance.users u on u.user_id = l.line_id / 16384 where l.state = 1 "
                "and u.channel = 1 and u.user_id % 50 = $1 and effective_on > $2 "
                "order by u.user_id desc, effective_on desc limit $3",
                today.toordinal() % 50, today - timedelta(days=MAX_LINE_DAYS), RETURNING,
            )  # fmt: skip
        for row in rows:
            chance = draw(SEED, 2, today.toordinal(), row["user_id"])
            user = print_id("us", row["user_id"])
            await self._draw(user, row["limit_minor"] // 4, chance, happened)

    async def _draw(self, user: str, limit_minor: int, chance: int, happened: Day) -> None:
        amount = max(100_000, limit_minor * (2 + chance // 100 % 7) // 10 // 10_000 * 10_000)
        months = (3, 6, 9, 12)[chance // 1_000 % 4]
        try:
            made = await self.channel.send(
                draw_down(user, "instalment", amount, months, inputs=_applicant(chance | 1 << 62))
            )
        except CallFailed as error:
            happened.add(f"drawdowns refused: {error.code}")
        else:
            happened.add(f"drawdowns {made['state']}")

    async def _answer(self, happened: Day) -> None:
        """The institution that is asked looks at what waits, and leaves the last to its people."""
        waiting = (await self.institution.send(offers("open")))["data"]
        for place, offer in enumerate(waiting[:-1]):
            approved = place % 8 != 7
            await self.institution.send(answer_offer(offer["offer"], approved=approved))
            happened.add("offers approved" if approved else "offers declined")


def _region(chance: int) -> int:
    """The region that a newcomer lives in."""
    return 1 + chance % REGIONS


def _draws_at_once(chance: int) -> bool:
    """True of a newcomer who draws as soon as there is a line, in whatever region."""
    return chance // REGIONS % 10 < DRAWING


def _is_cured(loan_id: int, today: date) -> bool:
    """True on a day on which somebody who had given up pays after all."""
    return draw(SEED, 4, loan_id, today.toordinal()) % 100 < CURED


def _next_morning(now: Any) -> str:
    day = date.fromisoformat(now["business_date"]) + timedelta(days=1)
    return datetime.combine(day, MORNING, ZoneInfo(now["time_zone"])).isoformat()


def _pays_on(loan_id: int, first_due_on: date, today: date) -> bool:
    """True when the latest instalment is as many days past as its borrower takes to pay it."""
    months = (today.year - first_due_on.year) * 12 + today.month - first_due_on.month
    for back in (0, 1):
        due = _month_after(first_due_on, months - back)
        if first_due_on <= due <= today:
            late = (today - due).days
            return late == _lateness(loan_id, due)
    return False


def _month_after(first: date, months: int) -> date:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    last = (date(year + month // 11, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(first.day, last))


def _lateness(loan_id: int, due: date) -> int:
    """Days after which a borrower pays an instalment; beyond `MAX_LATE` never."""
    chance = draw(SEED, 3, loan_id, due.toordinal()) % 1_000
    if chance < 935:
        return 0
    return 1 + chance % 9 if chance < 970 else 10 + chance % (MAX_LATE + 10)


def _applicant(chance: int) -> dict[str, Any]:
    part = chance // 7 % 100
    if part < REFERRED:
        return {**APPLICANT, "list_hit": "watch"}
    poor = {"bureau_worst_days_24m": 95, "bureau_overdue_minor": 800_000} if part < DECLINED else {}
    return {
        **APPLICANT, "age_years": 22 + chance // 11 % 34, "device_age_days": 20 + chance % 900,
        "monthly_income_minor": 400_000 + chance // 13 % 12 * 100_000,
        "bureau_inquiries_90d": chance // 17 % 5, "bureau_open_loans": chance // 19 % 4, **poor,
    }  # fmt: skip


async def reach(platform: Platform) -> int:
    """Note how debtors may be reached of whom that is not known: a run of the twin says nothing."""
    async with platform.reading(SYSTEM) as read:
        rows = await read.transaction.fetch(
            "select user_id from usance.cases c where closed_on is null and not exists "
            "(select from usance.contact_profiles p where p.user_id = c.user_id) order by 1"
        )
        zone = str(read.moment.lender.zone)
    operations = await platform.principal("operations")
    for row in rows:
        body = {"user": print_id("us", row["user_id"]), "time_zone": zone,
                "channels": list(REACHED_BY),
                "language": LANGUAGES[row["user_id"] % len(LANGUAGES)]}  # fmt: skip
        await platform.do(operations, "contact.profile", body)
    return len(rows)


async def paid_up(channel: AsyncClient, provider: AsyncClient) -> tuple[Any, Any]:
    """A newcomer who registers, draws and pays the first instalment at once; loan and payment."""
    now = await channel.send(clock())
    user = await channel.send(register_user(f"demo-first-{now['now']}", region=3))
    await channel.send(apply(user["user"], "instalment", inputs=APPLICANT))
    drawn = await channel.send(draw_down(user["user"], "instalment", 600_000, 6))
    owed = await channel.send(loan(drawn["loan"]))
    assert owed["next_due"] is not None, "a new loan has an instalment to come"
    amount = owed["next_due"]["amount_minor"]
    paid = await provider.send(pay(drawn["loan"], amount, owed["currency"], now["business_date"],
                                   PROVIDER, f"first/{drawn['loan']}"))  # fmt: skip
    return drawn, paid
