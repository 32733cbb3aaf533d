"""Time goes by itself in a live lender: days, deadlines, seals; and never backwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from usance.platform.clock import run_due
from usance.platform.closing.day_end import end_day
from usance.platform.commands.unit_of_work import now
from usance.platform.day import HalfDay
from usance.platform.installation import FIRST_MOMENT
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.worker import run_jobs
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.refusals import ClockBackwards
from usance.platform.scheduler import schedule_loop, take_turn
from usance.platform.store.database import Database
from usance.platform.store.locks import Lock
from usance.platform.store.server import Embedded
from usance.platform.terminal.up import kept_clock
from usance.service.loan_servicing import DayPart

T = TypeVar("T")
ZONE = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def left_alone(server: Embedded, request: pytest.FixtureRequest) -> Sandbox:
    """A lender with a loan and an open offer, whose machine was off for two days, or for more."""
    name = fresh(server, request.node.name)
    first = datetime.now(UTC) - timedelta(days=getattr(request, "param", 2))

    async def install() -> None:
        database = Database(server, name)
        await database.prepare()
        await Platform.of_database(database).install(sandbox_document(), first)

    asyncio.run(install())
    sandbox = Sandbox(server, name)
    assert drawn(sandbox, borrower(sandbox)).answer["state"] == "active"
    assert drawn(sandbox, borrower(sandbox, "berta", region=9)).answer["state"] == "pending"
    change(sandbox, "update usance.installation set mode = 1")
    return sandbox


def change(sandbox: Sandbox, sql: str, *given: Any) -> None:
    """A change by whoever owns the database."""

    async def work(connection: asyncpg.Connection) -> None:
        await connection.execute(sql, *given)

    with_owner(sandbox.server, sandbox.name, work)


def value(sandbox: Sandbox, sql: str) -> Any:
    async def read(connection: asyncpg.Connection) -> Any:
        await connection.execute("set role usance_loader")
        return await connection.fetchval(sql)

    return with_owner(sandbox.server, sandbox.name, read)


def on_platform(sandbox: Sandbox, work: Callable[[Platform], Awaitable[T]], home: Path) -> T:
    async def opened(platform: Platform) -> T:
        platform.home = home
        return await work(platform)

    return sandbox.within(opened)


def today() -> date:
    return datetime.now(ZONE).date()


@pytest.mark.parametrize("left_alone", [40], indirect=True)
def test_a_live_lender_lives_the_days_that_have_gone_by(left_alone: Sandbox) -> None:
    begun = value(left_alone, "select business_date from usance.installation")
    assert left_alone.within(run_due) > 2 * 39
    assert value(left_alone, "select business_date from usance.installation") == today()
    served = value(left_alone, "select count(*) from usance.business_days where part = 'evening'")
    assert served == (today() - begun).days
    assert value(left_alone, "select array_agg(state) from usance.offers") == ["timed_out"]
    states = value(left_alone, "select array_agg(state order by loan_id) from usance.placements")
    assert states == ["active", "no_source"]
    months = value(left_alone, "select count(*) from usance.periods where state = 0")
    assert months >= 2
    due = value(left_alone, "select first_due_on from usance.loans")
    charged = value(left_alone, "select effective_on from usance.facts where kind = 3")
    assert charged == due + timedelta(days=4)  # three days of grace
    assert left_alone.within(run_due) == 0


def test_a_clock_set_back_over_a_cut_off_is_named(left_alone: Sandbox) -> None:
    left_alone.within(run_due)
    change(left_alone, "update usance.installation set business_date = business_date + 1, "
           "clock = clock + interval '1 day'")  # fmt: skip
    days = value(left_alone, "select count(*) from usance.business_days")
    with pytest.raises(ClockBackwards, match="the machine's clock says") as refused:
        left_alone.within(run_due)
    assert "Set the machine's clock right" in refused.value.fix
    assert value(left_alone, "select count(*) from usance.business_days") == days

    async def moment(platform: Platform) -> datetime:
        async with platform.database.transaction(0) as transaction:
            return (await now(transaction, platform.services)).at

    assert left_alone.within(moment) > datetime.now(UTC)  # never before the last cut-off


def test_the_timekeeper_seals_and_ends_the_day(left_alone: Sandbox, tmp_path: Path) -> None:
    async def work(platform: Platform) -> None:
        assert await take_turn(platform, seals=True)
        await run_jobs(platform.database, kinds_of(platform), until_empty=True)
        assert await take_turn(platform, seals=True)  # the same day is not ended twice

    on_platform(left_alone, work, tmp_path)
    yesterday = today() - timedelta(days=1)
    rows = value(left_alone, "select json_agg(j) from usance.jobs j where kind = 'day.end'")
    (job,) = json.loads(rows)
    assert (job["key"], job["state"], job["error"]) == (f"day.end/{yesterday}", "done", "")
    result = job["result"]
    assert (result["head"], result["differing"]) == (f"{yesterday}.json", 0)
    assert result["exported"] > 5
    assert result["compared"] > 1
    assert set(result["seconds"]) == {"export", "head", "caches"}
    assert (job["done_count"], job["whole_count"]) == (2, 3)  # steps that were behind it
    assert (tmp_path / "lake" / "manifest.json").exists()
    assert value(left_alone, "select count(*) from usance.seals") >= 4


def test_a_day_of_a_sandbox_is_ended_by_command(sandbox: Sandbox, tmp_path: Path) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    made = on_platform(sandbox, lambda platform: end_day(platform, tmp_path), tmp_path)
    assert (made.business_date, made.head) == (date(2024, 7, 2), "2024-07-01.json")
    assert [(each["day"], each["part"]) for each in made.halves] == [
        (date(2024, 7, 1), "evening"), (date(2024, 7, 2), "morning")
    ]  # fmt: skip
    assert made.exported > 5
    assert made.compared > 3
    assert list(made.seconds) == ["half days", "export", "head", "caches"]
    assert made.differences == []
    change(sandbox, "set role usance_writer; update usance.loan_states set posted = "
           "set_byte(posted, 0, 1); update usance.limit_usage set taken_minor = taken_minor + 1; "
           "update usance.user_counters set decisions = decisions + 1, held_minor = 1, "
           "worst_days = 7")  # fmt: skip
    again = on_platform(sandbox, lambda platform: end_day(platform, tmp_path), tmp_path)
    assert again.head == "2024-07-02.json"
    told = "\n".join(again.differences)
    assert f"loan_states {loan}: posted" in told
    assert "user_counters us_00000000001: decisions" in told
    assert "user_counters us_00000000001: held" in told
    assert "user_counters us_00000000001: worst_days 7, receipts have 0" in told
    assert "limit_usage 2/" in told
    with pytest.raises(ClockBackwards, match="is over"):
        on_platform(sandbox, lambda p: end_day(p, tmp_path, date(2024, 7, 1)), tmp_path)


def test_who_moves_the_clock_waits_for_the_one_before(sandbox: Sandbox) -> None:
    drawn(sandbox, borrower(sandbox))
    moments = [datetime(2024, 7, day, 4, tzinfo=UTC) for day in (9, 12, 15, 12)]

    async def both(one: Platform) -> list[Any]:
        other = Platform.of_database(Database(sandbox.server, sandbox.name), one.services.vault)
        try:
            who = await one.principal("control")
            moved = [
                each.do(who, "clock.advance", {"to": moment.isoformat()}, key=str(n))
                for n, (each, moment) in enumerate(zip((one, other) * 2, moments, strict=True))
            ]
            return await asyncio.gather(*moved, return_exceptions=True)
        finally:
            await other.close()

    told = sandbox.within(both)
    refused = [each for each in told if isinstance(each, BaseException)]
    assert len(refused) < len(told)
    assert all(isinstance(each, ClockBackwards) for each in refused), told
    halves = value(sandbox, "select array_agg(part || to_char(day, ' MM-DD') order by day, part) "
                            "from usance.business_days where day > '2024-07-01'")  # fmt: skip
    assert len(halves) == len(set(halves)) == 27  # 14 mornings, 13 evenings: the last is to come


def test_one_of_many_workers_keeps_the_time(left_alone: Sandbox, tmp_path: Path) -> None:
    async def waits(platform: Platform) -> bool:
        async with platform.database.transaction(0) as transaction:
            return not await transaction.fetchval(
                "select exists (select from usance.business_days where day = $1)", today()
            )

    async def work(platform: Platform) -> None:
        async with platform.database.transaction(0) as other:
            await other.execute("select pg_advisory_xact_lock($1)", Lock.SCHEDULE)
            assert not await take_turn(platform, seals=True)
        stop = asyncio.Event()
        keeping = [asyncio.create_task(schedule_loop(platform, stop)) for _ in range(3)]
        async with asyncio.timeout(120):
            while await waits(platform):
                await asyncio.sleep(0.05)
        stop.set()
        await asyncio.gather(*keeping)

    on_platform(left_alone, work, tmp_path)
    doubled = value(left_alone, "select count(*) from (select day, part from usance.business_days "
                    "group by 1, 2 having count(*) > 1) d")  # fmt: skip
    assert doubled == 0


def test_what_is_valid_from_a_day_is_in_force_on_it(sandbox: Sandbox) -> None:
    """A platform that stays open reads its configuration again when a day brings something."""
    change(
        sandbox, "insert into usance.settings (kind, name, version, valid_from, document) select "
        "kind, name, 2, '2024-07-03', document || '{\"quote_minutes\": 7}' from usance.settings "
        "where kind = 'lender'",
    )  # fmt: skip

    async def work(platform: Platform) -> list[int]:
        found = []
        control = await platform.principal("control")
        for day in ("2024-07-02", "2024-07-03"):
            await platform.do(control, "clock.advance", {"to": f"{day}T03:00:00Z"})
            async with platform.reading(SYSTEM) as reading:
                found.append(reading.moment.lender.document["quote_minutes"])
        return found

    assert sandbox.within(work) == [1440, 7]


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Europe/Amsterdam", date(2024, 3, 31)), ("Europe/Amsterdam", date(2024, 10, 27)),
     ("Africa/Cairo", date(2024, 4, 26)), ("Africa/Cairo", date(2024, 10, 31)),
     ("America/Havana", date(2024, 3, 10)), ("America/Havana", date(2024, 11, 3))],
)  # fmt: skip
def test_every_half_lies_in_its_day_where_clocks_are_changed(zone: str, day: date) -> None:
    """Cairo's midnight is skipped in April and comes twice in October, as Havana's does."""
    own = ZoneInfo(zone)

    class Lender:
        zone = own

    class Moment:
        lender = Lender

    half, last = HalfDay(day - timedelta(days=2), DayPart.MORNING), None
    while half.day < day + timedelta(days=3):
        at = half.at(Moment)  # type: ignore[arg-type]
        assert at.astimezone(own).date() == half.day
        assert last is None or at > last
        if half.part is DayPart.EVENING:
            after = (at + timedelta(microseconds=1)).astimezone(own)
            assert after.date() == half.day + timedelta(days=1)
        half, last = half.next(), at


def test_a_sandbox_that_was_there_says_that_it_keeps_its_clock(sandbox: Sandbox) -> None:
    async def told(platform: Platform) -> list[str]:
        return [await kept_clock(platform, each)
                for each in (FIRST_MOMENT, datetime(2024, 1, 1, tzinfo=UTC))]  # fmt: skip

    first, other = sandbox.within(told)
    assert first == ""
    assert "this one's stands at 2024-07-01T01:00:00Z" in other
