"""Loans served many at once by their folds come to the same as each of them served by itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from random import Random
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_settlements import Funded, funded, lent
from usance.base.codes import FactKind
from usance.base.ids import parse_id, print_id
from usance.platform.commands.loans.bulk_servicing import ServeLoans
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.commands.loans.servicing import ServeLoan
from usance.platform.day import HalfDay, serve_half
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.store.database import Database
from usance.platform.store.write_set import WriteSet
from usance.platform.vault import Vault
from usance.service.loan_servicing import DayPart

__all__ = ["funded", "lent"]
FIRST, LAST = date(2024, 8, 2), date(2024, 8, 16)
LATE = date(2025, 1, 29)
"""The evening of charge-offs: more than 180 days past due."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.+Z]+|datetime\.datetime\([^)]*\)")
COMPARED = (
    "user_changes", "state_changes", "facts", "journals", "postings", "limit_changes", "releases",
)  # fmt: skip


def told(given: list[WriteSet]) -> dict[str, list[str]]:
    """Everything that is written, whatever the moment and the order of loans."""
    found = {
        name: sorted(MOMENT.sub("", repr(row)) for each in given for row in getattr(each, name))
        for name in COMPARED
    }
    events = [event for each in given for event in each.events if event.name != "loans.served"]
    return {**found, "events": sorted(MOMENT.sub("", repr(each)) for each in events)}


class Evenings:
    """A platform whose clock is put to a day without what falls due on the way."""

    def __init__(self, platform: Platform, loans: list[int]) -> None:
        self.platform, self.loans = platform, loans

    async def put_clock(self, half: HalfDay) -> None:
        hour = 1 if half.part is DayPart.MORNING else 14
        at = datetime(half.day.year, half.day.month, half.day.day, hour, tzinfo=UTC)
        owner = await self.platform.database.owner()
        try:
            await owner.execute("select usance.set_clock($1, $2)", at, half.day)
        finally:
            await owner.close()

    async def singly(self, half: HalfDay) -> list[WriteSet]:
        made = []
        for loan in self.loans:
            command = ServeLoan(print_id("ln", loan), half.day, str(half.part))
            outcome = await self.platform.do(SYSTEM, command, dry_run=True)
            assert outcome.would is not None
            made.append(outcome.would)
        return made

    async def together(self, half: HalfDay, *, dry_run: bool = True) -> Any:
        command = ServeLoans(tuple(self.loans), half.day, str(half.part))
        return await self.platform.do(SYSTEM, command, dry_run=dry_run)

    async def pay(self, loan: int, amount: int, day: date, ref: str) -> None:
        command = BookPayment(amount, "CNY", day, ref, print_id("ln", loan))
        await self.platform.do(await self.platform.principal("provider"), command)


@pytest.fixture
def evenings(lent: Funded) -> Evenings:
    sandbox, loans = lent
    platform = Platform.of_database(Database(sandbox.server, sandbox.name), Vault(bytes(32)))
    return Evenings(platform, [parse_id(each, "ln") for own in loans.values() for each in own])


def halves(first: date, last: date) -> Iterator[HalfDay]:
    half = HalfDay(first, DayPart.MORNING)
    while half.day <= last:
        yield half
        half = half.next()


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly)
                                       for n in range(2, 12))])  # fmt: skip
def test_together_is_what_each_by_itself_comes_to(evenings: Evenings, seed: int) -> None:
    chance, seen = Random(seed), set[FactKind]()

    async def live() -> None:
        days = [*halves(FIRST, LAST), HalfDay(date(2024, 9, 5), DayPart.MORNING),
                HalfDay(LATE, DayPart.MORNING), HalfDay(LATE, DayPart.EVENING)]  # fmt: skip
        for half in days:
            await evenings.put_clock(half)
            if half.part is DayPart.EVENING and chance.random() < 0.4:
                loan = chance.choice(evenings.loans)
                await evenings.pay(loan, chance.choice((20_000, 103_974)), half.day, str(half))
            one, outcome = await evenings.singly(half), await evenings.together(half)
            for number in outcome.answer["left"]:  # facts of the day itself are for the other form
                place = evenings.loans.index(number)
                assert one[place].facts == [] or half.part is DayPart.EVENING
                one[place] = WriteSet()
            assert outcome.would is not None
            assert told([outcome.would]) == told(one), half
            seen.update(FactKind(row[2]) for row in outcome.would.facts)
            await serve_half(evenings.platform, half)
            again = await evenings.together(half, dry_run=False)
            assert (again.is_new, again.answer["served"]) == (False, 0)
        await evenings.platform.close()

    asyncio.run(live())
    assert FactKind.FEE_CHARGED in seen
    assert FactKind.CHARGED_OFF in seen


def test_loans_of_one_borrower_are_numbered_one_after_the_other(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    loans = [parse_id(drawn(sandbox, user).answer["loan"], "ln") for _ in range(2)]

    async def serve(platform: Platform) -> Any:
        evenings = Evenings(platform, loans)
        half = HalfDay(date(2024, 8, 5), DayPart.MORNING)
        await evenings.put_clock(half)
        assert (await evenings.together(half, dry_run=False)).answer["served"] == 2
        return (await evenings.together(half, dry_run=False)).answer

    answer = sandbox.within(serve)
    assert (answer["served"], answer["left"]) == (0, [])


def test_a_fee_made_again_after_a_reversal_has_the_next_number(sandbox: Sandbox) -> None:
    loan = parse_id(drawn(sandbox, borrower(sandbox)).answer["loan"], "ln")
    half = HalfDay(date(2024, 8, 5), DayPart.MORNING)

    async def undo(connection: asyncpg.Connection) -> None:
        await connection.execute("set role usance_loader")
        ref = await connection.fetchval(
            "select ref from usance.facts where loan_id = $1 and kind = $2", loan,
            int(FactKind.FEE_CHARGED),
        )  # fmt: skip
        await connection.execute(
            "insert into usance.facts (loan_id, effective_on, kind, ref, amount_minor, arg, "
            "booked_at) values ($1, $2, $3, $4, 0, $5, clock_timestamp())", loan, half.day,
            int(FactKind.REVERSED), ref + (1 << 56), ref,
        )  # fmt: skip

    async def serve(platform: Platform) -> Any:
        evenings = Evenings(platform, [loan])
        await evenings.put_clock(half)
        return (await evenings.together(half, dry_run=False)).answer

    assert sandbox.within(serve)["served"] == 1
    with_owner(sandbox.server, sandbox.name, undo)
    answer = sandbox.within(serve)
    assert (answer["served"], answer["left"]) == (0, [loan])


def test_a_batch_that_fails_is_served_one_by_one(sandbox: Sandbox) -> None:
    """One borrower's counters are gone: their loan waits as a job, the other's has its fee."""
    good, bad = (
        parse_id(drawn(sandbox, borrower(sandbox, name)).answer["loan"], "ln")
        for name in ("good", "bad")
    )

    async def spoil(connection: asyncpg.Connection) -> None:
        await connection.execute("set role usance_writer")
        await connection.execute(
            "update usance.user_counters set user_id = user_id + 999 where user_id = $1", bad >> 14
        )

    with_owner(sandbox.server, sandbox.name, spoil)
    sandbox.do("control", "clock.advance", {"to": "2024-08-06T01:00:00Z"})
    facts = {loan: [each["kind"] for each in sandbox.read("operations", "facts",
                                                          print_id("ln", loan))]
             for loan in (good, bad)}  # fmt: skip
    assert facts == {good: ["disbursed", "fee_charged"], bad: ["disbursed"]}
    assert print_id("ln", bad) in str(sandbox.sql("operations", "select key from usance.jobs "
                                                  "where kind = 'loan.serve'"))  # fmt: skip
