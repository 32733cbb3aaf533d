"""Settlement on the platform: batches are what the ledger owes, each day, whatever comes late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from random import Random
from typing import Any, TypeVar

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_orders import advance
from usance.platform.errors import InvalidField, NotFound
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.refusals import WrongState
from usance.platform.settlement.owed_amounts import ledger_payable
from usance.platform.store.server import Embedded

T = TypeVar("T")
START = date(2024, 7, 1)
LEVEL = 103_974
HEAVY, LIGHT = "sandbox_trust_bank", "sandbox_bank"


@pytest.fixture(scope="module")
def funded(server: Embedded, template: str) -> tuple[str, dict[str, list[str]]]:
    """A database with loans of two institutions: three guaranteed, two not."""
    sandbox = Sandbox(server, fresh(server, "funded_loans", template))
    text = sandbox_document()["mandates"].replace("regions: [1, 2, 3, 4, 5, 6, 7, 8]",
                                                  "regions: [8]", 1)  # fmt: skip
    text = text.replace("trigger_days: 80", "trigger_days: 8")
    waits = sandbox.do("administrator", "mandate.put", {"text": text, "valid_from": "2024-07-01"})
    sandbox.do("controller", "approval.approve", {"approval": waits.answer["approval"]})
    loans: dict[str, list[str]] = defaultdict(list)
    for number, region in enumerate((3, 3, 3, 9, 9)):
        made = drawn(sandbox, borrower(sandbox, f"u{number}", region)).answer
        loans[HEAVY if region == 3 else LIGHT].append(made["loan"])
    for each in sandbox.read("institution", "offers", "open"):
        yes = {"offer": each["offer"], "approved": True}
        sandbox.do("institution", "offer.answer", yes)
    assert {sandbox.read("operations", "loan", loan)["source"] for loan in loans[HEAVY]} == {HEAVY}
    return sandbox.name, dict(loans)


Funded = tuple[Sandbox, dict[str, list[str]]]


@pytest.fixture
def lent(
    server: Embedded, funded: tuple[str, dict[str, list[str]]], request: pytest.FixtureRequest
) -> Funded:
    """A copy of it for the test."""
    return Sandbox(server, fresh(server, request.node.name, funded[0])), funded[1]


class Days:
    """Days of an opened platform, on which borrowers pay and institutions are settled."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    async def do(self, who: str, command: str, body: dict[str, Any]) -> Any:
        outcome = await self.platform.do(await self.platform.principal(who), command, body)
        return outcome.answer

    async def read(self, who: str, what: str, *given: Any, **options: Any) -> Any:
        async with self.platform.reading(await self.platform.principal(who)) as reading:
            return await getattr(reading, what)(*given, **options)

    async def pay(self, loan: str, amount: int, on: date, ref: str) -> Any:
        body = {"loan": loan, "amount_minor": amount, "currency": "CNY", "provider": "psp_a",
                "effective_on": on.isoformat(), "ref": ref}  # fmt: skip
        return await self.do("operations", "payment.book", body)

    async def night(self, day: date) -> None:
        """Bring a day to its end."""
        to = f"{day + timedelta(days=1)}T00:30:00Z"
        await self.do("control", "clock.advance", {"to": to})

    async def settled(self) -> dict[str, int]:
        total: dict[str, int] = defaultdict(int)
        for each in await self.read("finance", "settlements", limit=10_000):
            total[each["institution"]] += each["total_minor"]
        return {name: amount for name, amount in total.items() if amount}

    async def in_ledger(self) -> dict[str, int]:
        async with self.platform.reading(await self.platform.principal("finance")) as read:
            lender = read.moment.lender
            found = await ledger_payable(read.transaction, lender)
            return {lender.party_name("institution", who): amount for who, amount in found.items()}

    async def live(self, loans: dict[str, list[str]], days: int, seed: int) -> dict[str, int]:
        """Payments in time, told late, reversed, closing early; the first loan pays nothing."""
        random, paid = Random(seed), list[str]()
        payers = [*loans[HEAVY][1:], *loans[LIGHT]]
        for number in range(days):
            day = START + timedelta(days=number)
            if day.weekday() == 2:
                on = max(day - timedelta(days=random.choice((0, 0, 1, 6, 40))), START)
                amount = random.randint(1, LEVEL)
                made = await self.pay(random.choice(payers), amount, on, f"p{number}")
                paid.append(made["payment"])
            if day.weekday() == 4 and paid and random.random() < 0.4:
                gone = paid.pop(random.randrange(len(paid)))
                body = {"payment": gone, "reason": "bounced"}
                await self.do("operations", "payment.reverse", body)
            if number == 20:
                closing = await self.read("operations", "settlement_quote", loans[LIGHT][0])
                await self.pay(loans[LIGHT][0], closing["amount_minor"], day, "early")
            if number in (days - 1, days - 20):
                await self.pay(loans[HEAVY][0], 20_000, day, f"r{number}")
            await self.night(day)
            if day.weekday() in (2, 4):
                assert await self.settled() == await self.in_ledger(), day
        return await self.settled()


def during(sandbox: Sandbox, work: Callable[[Days], Awaitable[T]]) -> T:
    return sandbox.within(lambda platform: work(Days(platform)))


def test_batches_are_what_the_ledger_owes_each_day(lent: Funded) -> None:
    sandbox, loans = lent
    total = during(sandbox, lambda days: days.live(loans, 50, 1))
    batches = sandbox.read("finance", "settlements", limit=1_000)
    assert {each["institution"] for each in batches} == {HEAVY, LIGHT}
    assert any(each["corrections_minor"] for each in batches)
    kinds = {
        row["kind"]
        for each in batches
        for row in sandbox.read("finance", "settlement", each["settlement"])["rows"]
    }
    assert kinds == {"disbursement", "receipt", "early_settlement", "compensation"}
    assert {date.fromisoformat(each["day"]).weekday() for each in batches} <= set(range(5))
    for name, number in ((LIGHT, 1), (HEAVY, 2)):
        last = [each for each in batches if each["institution"] == name][-1]
        paid = sandbox.sql("operations", "select sum(amount_minor)::bigint from usance.orders "
                           f"where party = {number} and state = 'settled'")  # fmt: skip
        assert paid - total[name] == max(0, -last["total_minor"] - last["carried_minor"])
    claims = {each["loan"]: each for each in sandbox.read("institution_2", "claims")}
    assert claims[loans[HEAVY][0]]["state"] == "paid"
    assert claims[loans[HEAVY][0]]["recovered_minor"] == 20_000  # belongs to who compensated
    assert sandbox.read("institution", "claims") == []
    own = sandbox.read("institution", "settlements")
    assert {each["institution"] for each in own} == {LIGHT}


async def paid_on(
    days: Days, loan: str, amount: int, day: date, effective_on: date | None = None
) -> None:
    """Book a payment and bring the day to its end."""
    await days.pay(loan, amount, effective_on or day, f"{day}/{amount}")
    await days.night(day)


@pytest.mark.nightly
def test_eighteen_months_of_batches_are_what_the_ledger_owes(lent: Funded) -> None:
    sandbox, loans = lent
    assert during(sandbox, lambda days: days.live(loans, 548, 2))


def test_a_fact_late_by_forty_days_is_one_correction_and_closed_batches_stay(lent: Funded) -> None:
    sandbox, loans = lent
    first = loans[HEAVY][1]
    during(sandbox, lambda days: paid_on(days, first, 30_000, START))
    [before] = [each for each in sandbox.read("finance", "settlements")
                if each["institution"] == HEAVY]  # fmt: skip
    rows = sandbox.read("finance", "settlement", before["settlement"])
    late = START + timedelta(days=42)
    advance(sandbox, f"{late}T00:30:00Z")
    during(sandbox, lambda days: paid_on(days, first, 10_000, late, late - timedelta(days=40)))
    batches = [each for each in sandbox.read("finance", "settlements", limit=100)
               if each["institution"] == HEAVY]  # fmt: skip
    told = sandbox.read("finance", "settlement", batches[-1]["settlement"])
    late_ones = [each for each in told["rows"] if each["correction"]]
    assert [(each["loan"], each["day"]) for each in late_ones] == [(first, "2024-07-03")]
    assert told["corrections_minor"] == late_ones[0]["amount_minor"] > 0
    assert sandbox.read("finance", "settlement", before["settlement"]) == rows


def test_money_after_a_cut_off_is_in_the_next_batch(server: Embedded) -> None:
    """With a cut-off a day back, what comes today is settled tomorrow, though nothing new comes."""
    document = sandbox_document()
    document["mandates"] = document["mandates"].replace("[1, 2, 3, 4, 5, 6, 7, 8]", "[8]", 1)
    document["institutions"] = {HEAVY: {"cut_off_days": 1}}
    sandbox = Sandbox(server, installed(server, "cut_off_a_day_back", document))
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]

    async def lived(days: Days) -> list[dict[str, int]]:
        told = []
        await days.pay(loan, 30_000, START, "first")
        for number in range(4):
            await days.night(START + timedelta(days=number))
            told.append(await days.settled())
        return told

    first, second, *later = during(sandbox, lived)
    assert first == {}
    assert list(second.values()) == [30_000]
    assert later == [second] * 2
    assert during(sandbox, lambda days: days.in_ledger()) == second


def test_answers_are_compared_line_by_line(lent: Funded) -> None:
    sandbox, loans = lent
    during(sandbox, lambda days: paid_on(days, loans[HEAVY][1], 30_000, START))
    [batch] = sandbox.read("institution_2", "settlements")
    body = {"settlement": batch["settlement"]}
    rows = sandbox.read("institution_2", "settlement", batch["settlement"])["rows"]
    lines = [{name: each[name] for name in ("loan", "day", "kind", "amount_minor")}
             for each in rows]  # fmt: skip
    with pytest.raises(InvalidField, match="batch is of 2024-07-01"):
        sandbox.do("institution_2", "settlement.acknowledge", {**body, "day": "2024-07-02"})
    lines[-1]["amount_minor"] += 7
    told = sandbox.do("institution_2", "settlement.acknowledge", {**body, "lines": lines}).answer
    assert (told["state"], [each["difference_minor"] for each in told["differences"]]) == (
        "disputed",
        [7],
    )
    with pytest.raises(NotFound):
        sandbox.do("institution", "settlement.acknowledge", body)
    agreed = sandbox.do("institution_2", "settlement.acknowledge", body)
    assert agreed.answer["state"] == "acknowledged"
    assert not sandbox.do("institution_2", "settlement.acknowledge", body).is_new
    with pytest.raises(WrongState, match="acknowledged"):
        sandbox.do("institution_2", "settlement.acknowledge", {**body, "total_minor": 1})
    with pytest.raises(WrongState, match="settled through"):
        sandbox.do("system", "settlement.close", {"institution": 2, "day": "2024-07-01"})
