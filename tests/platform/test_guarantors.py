"""Third-party guarantors: claims answered and disputed, deposits called, recoveries passed on."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_orders import advance
from usance.platform.errors import Forbidden, InvalidField, NotFound
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.reads.loans.letters import claim_letter
from usance.platform.reads.settlement import guarantors as reads
from usance.platform.reads.settlement.settlements import settlement_control
from usance.platform.refusals import AmountBeyond, ReferenceUsed, WrongState
from usance.platform.store.server import Embedded
from usance.service.documents.letters import Letter

NORTH = {"required_ppm": 100_000, "minimum_minor": 5_000, "call_days": 3, "answer_days": 7,
         "own_ppm": 250_000}  # fmt: skip


@pytest.fixture(scope="module")
def guaranteed(server: Embedded) -> tuple[str, str]:
    """A database with a loan that `north` guarantees, and the loan."""
    document = sandbox_document()
    text = document["mandates"].replace("regions: [1, 2, 3, 4, 5, 6, 7, 8]", "regions: [8]", 1)
    document["mandates"] = text.replace("{trigger_days: 80}", "{trigger_days: 8, guarantor: 1}", 1)
    document["parties"]["guarantor"] = ["north"]
    document["guarantors"] = {"north": NORTH}
    sandbox = Sandbox(server, installed(server, "guaranteed_loans", document))
    return sandbox.name, drawn(sandbox, borrower(sandbox)).answer["loan"]


@pytest.fixture
def lent(
    server: Embedded, guaranteed: tuple[str, str], request: pytest.FixtureRequest
) -> tuple[Sandbox, str]:
    return Sandbox(server, fresh(server, request.node.name, guaranteed[0])), guaranteed[1]


def guarantor(sandbox: Sandbox) -> dict[str, Any]:
    async def work(platform: Platform) -> Any:
        async with platform.reading(await platform.principal("finance")) as read:
            moment = read.moment
            [one] = await reads.guarantors(read.transaction, moment.lender, moment.business_date)
            return one

    found: dict[str, Any] = sandbox.within(work)
    return found


def placed(sandbox: Sandbox, amount: int, ref: str, kind: str = "placed") -> Any:
    """A movement of the deposit that two people have agreed to."""
    body = {"guarantor": "north", "kind": kind, "amount_minor": amount, "ref": ref}
    waits = sandbox.do("administrator", "deposit.move", body)
    assert waits.status == 202
    return sandbox.do("controller", "approval.approve", {"approval": waits.answer["approval"]})


def facts(sandbox: Sandbox, kind: int) -> int:
    found = sandbox.sql(
        "finance",
        f"select coalesce(sum(amount_minor), 0)::bigint from usance.group_facts where kind = {kind}"
        " and booked_at > (select min(made_at) from usance.orders)",
    )
    return int(found)


def compensated(sandbox: Sandbox) -> dict[str, Any]:
    """The claim of the loan, once its institution was compensated."""
    advance(sandbox, "2024-08-13T01:00:00Z")
    [claim] = sandbox.read("finance", "claims")
    found: dict[str, Any] = claim
    return found


def test_a_deposit_is_called_topped_up_and_kept_at_its_level(lent: tuple[Sandbox, str]) -> None:
    sandbox, _ = lent
    advance(sandbox, "2024-07-02T01:00:00Z")
    told = guarantor(sandbox)
    assert (told["guaranteed_minor"], told["required_minor"]) == (600_000, 60_000)
    assert told["call"] == {"day": "2024-07-01", "amount_minor": 60_000, "due_on": "2024-07-04"}
    placed(sandbox, 50_000, "B1")
    told = guarantor(sandbox)
    assert (told["short_minor"], told["call"] is None) == (10_000, False)
    placed(sandbox, 25_000, "B2")
    assert (guarantor(sandbox)["call"], guarantor(sandbox)["balance_minor"]) == (None, 75_000)
    body = {"guarantor": "north", "kind": "placed", "amount_minor": 25_000, "ref": "B2"}
    again = sandbox.do("administrator", "deposit.move", body)
    sandbox.do("controller", "approval.approve", {"approval": again.answer["approval"]})
    assert guarantor(sandbox)["balance_minor"] == 75_000, "the same reference is the same money"
    back = {**body, "kind": "returned", "amount_minor": 15_001, "ref": "B3"}
    with pytest.raises(AmountBeyond, match="60000 have to lie there"):
        sandbox.do("administrator", "deposit.move", back)
    placed(sandbox, 15_000, "B3", "returned")
    assert guarantor(sandbox)["balance_minor"] == 60_000 == facts(sandbox, 20) - facts(sandbox, 21)
    with pytest.raises(Forbidden):
        sandbox.do("channel", "deposit.move", body)


def test_a_claim_is_filed_declined_in_part_disputed_and_paid(lent: tuple[Sandbox, str]) -> None:
    sandbox, loan = lent
    placed(sandbox, 400_000, "B1")
    claim = compensated(sandbox)
    assert (claim["state"], claim["guarantor"], claim["loan"]) == ("filed", "north", loan)
    made = sandbox.within(file_of)
    [line] = csv.DictReader(made.splitlines())
    assert (line["claim"], line["amount"]) == (claim["claim"], f"{claim['amount_minor'] / 100:.2f}")
    letters = sandbox.within(lambda platform: letters_of(platform, claim["claim"]))
    assert [each.pdf[:5] for each in letters] == [b"%PDF-"] * 2
    assert letters[0].sha256 != letters[1].sha256
    part = {"claim": claim["claim"], "amount_minor": 200_000}
    with pytest.raises(WrongState, match="without a reason"):
        sandbox.do("operations", "claim.answer", part)
    with pytest.raises(AmountBeyond):
        sandbox.do("operations", "claim.answer", {**part, "amount_minor": 10**9})
    with pytest.raises(InvalidField, match="no day between"):
        sandbox.do("operations", "claim.answer", {**part, "effective_on": "2024-07-01"})
    said = {**part, "reason": "late file"}
    declined = sandbox.do("operations", "claim.answer", said).answer
    assert (declined["state"], declined["deposit_minor"], declined["own_minor"]) == (
        "declined", 150_000, 50_000)  # fmt: skip
    with pytest.raises(WrongState, match="it is declined"):
        sandbox.do("operations", "claim.answer", said)
    contradicted = {"claim": claim["claim"], "reason": "filed on the third day"}
    assert sandbox.do("operations", "claim.dispute", contradicted).answer["state"] == "disputed"
    rest = {"claim": claim["claim"], "amount_minor": claim["amount_minor"] - 200_000}
    paid = sandbox.do("operations", "claim.answer", rest).answer
    assert paid["state"] == "paid"
    assert paid["deposit_minor"] + paid["own_minor"] == claim["amount_minor"]
    deposit = guarantor(sandbox)["balance_minor"]
    assert deposit == 400_000 - paid["deposit_minor"]
    assert deposit == facts(sandbox, 20) - facts(sandbox, 21)
    assert facts(sandbox, 62) == paid["own_minor"]
    for command in ("claim.dispute", "claim.close"):
        with pytest.raises(WrongState):
            agreed(sandbox, command, {"claim": claim["claim"], "reason": "again"})


def agreed(sandbox: Sandbox, command: str, body: dict[str, Any]) -> Any:
    """The outcome of a command that one or two people agree to."""
    done = sandbox.do("administrator", command, body)
    if "approval" not in done.answer:
        return done
    return sandbox.do("controller", "approval.approve", {"approval": done.answer["approval"]})


async def letters_of(platform: Platform, claim: str) -> list[Letter]:
    async with platform.reading(await platform.principal("finance")) as read:
        return [await claim_letter(read, claim, language) for language in ("en", "zh")]


async def file_of(platform: Platform) -> str:
    async with platform.reading(await platform.principal("finance")) as read:
        return (await reads.claims_file(read.transaction, read.moment.lender, 1))[1]


def test_later_receipts_go_to_whoever_has_borne_the_loss(lent: tuple[Sandbox, str]) -> None:
    """Without a deposit the guarantor has paid all of it itself: every recovery is its own."""
    sandbox, loan = lent
    claim = compensated(sandbox)
    answer = {"claim": claim["claim"], "amount_minor": claim["amount_minor"] * 3 // 4,
              "reason": "the rest is yours"}  # fmt: skip
    borne = sandbox.do("operations", "claim.answer", answer).answer["own_minor"]
    assert borne == claim["amount_minor"] * 3 // 4
    body = {"claim": claim["claim"], "reason": "not worth a dispute"}
    agreed(sandbox, "claim.close", body)
    assert sandbox.read("finance", "claims")[0]["state"] == "closed"
    told = {"loan": loan, "amount_minor": 90_001, "currency": "CNY", "provider": "psp_a"}
    for number, day in enumerate(("2024-08-13", "2024-08-14"), start=1):
        advance(sandbox, f"{day}T02:00:00Z")
        sandbox.do("operations", "payment.book", {**told, "effective_on": day, "ref": f"R{number}"})
    advance(sandbox, "2024-08-15T02:00:00Z")
    [after] = sandbox.read("finance", "claims")
    due = min(after["recovered_minor"], claim["amount_minor"]) * borne // claim["amount_minor"]
    assert after["passed_minor"] == due > 0
    orders = [each for each in sandbox.read("finance", "orders", None, 0, 1_000)
              if each["reference"].startswith("recoveries-")]  # fmt: skip
    assert sum(each["amount_minor"] for each in orders) == due
    assert len(orders) == 2
    assert facts(sandbox, 62) == borne - due
    batches = sandbox.read("institution_2", "settlements", limit=100)
    assert all(each["carried_minor"] == 0 for each in batches), "the bank's payouts are its own"


def test_a_compensation_that_was_not_warranted_is_undone_with_all_that_was_paid(
    lent: tuple[Sandbox, str],
) -> None:
    sandbox, loan = lent
    placed(sandbox, 400_000, "B1")
    claim = compensated(sandbox)
    sandbox.do("operations", "claim.answer",
               {"claim": claim["claim"], "amount_minor": claim["amount_minor"]})  # fmt: skip
    late = {"loan": loan, "amount_minor": 103_974, "currency": "CNY", "provider": "psp_a",
            "effective_on": "2024-08-01", "ref": "late"}  # fmt: skip
    sandbox.do("operations", "payment.book", late)
    told = "select count(*) from usance.outbox where name = 'claim.unwarranted'"
    assert sandbox.sql("operations", told) == 1
    body = {"claim": claim["claim"], "reason": "paid in time"}
    agreed(sandbox, "claim.withdraw", body)
    assert sandbox.read("finance", "claims")[0]["state"] == "withdrawn"
    assert guarantor(sandbox)["balance_minor"] == 400_000
    assert facts(sandbox, 20) - facts(sandbox, 21) == 400_000
    assert facts(sandbox, 62) == 0
    advance(sandbox, "2024-08-14T01:00:00Z")
    [control] = sandbox.within(control_of)
    assert control["difference_minor"] == 0
    sums = sandbox.read("finance", "trial_balance")
    assert sums["debits_minor"] == sums["credits_minor"]


async def control_of(platform: Platform) -> Any:
    async with platform.reading(await platform.principal("finance")) as read:
        return await settlement_control(read.transaction, read.moment.lender)


def test_claims_that_are_ours_or_nobodys_are_refused(lent: tuple[Sandbox, str]) -> None:
    sandbox, _ = lent
    with pytest.raises(NotFound):
        sandbox.do("operations", "claim.answer", {"claim": "cl_0000ZZZZZZZ", "amount_minor": 1})
    with pytest.raises(InvalidField, match="no guarantor"):
        agreed(sandbox, "deposit.move",
               {"guarantor": "south", "kind": "placed", "amount_minor": 1, "ref": "x"})  # fmt: skip
    placed(sandbox, 10, "B1")
    with pytest.raises(ReferenceUsed):
        placed(sandbox, 11, "B1")
    claim = compensated(sandbox)["claim"]
    with pytest.raises(Forbidden):
        sandbox.do("institution_2", "claim.answer", {"claim": claim, "amount_minor": 1})
