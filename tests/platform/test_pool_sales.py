"""Sale of charged-off loans: price, facts, books, later receipts, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox
from tests.platform.test_business_day import advance, balanced, facts, pay
from usance.platform.errors import InvalidField, NotFound
from usance.platform.live import Platform
from usance.platform.reads.loans.pool_sales import pool_sale
from usance.platform.refusals import AmountBeyond, ApprovalSamePerson, WrongState
from usance.platform.store.server import Embedded

SOLD_ON = "2025-02-03"


@pytest.fixture(scope="module")
def lost(server: Embedded, template: str) -> tuple[str, list[str]]:
    """Three loans that nobody has paid for more than half a year, one of somebody who pays."""
    sandbox = Sandbox(server, fresh(server, "pool_sales", template))
    loans = [
        str(drawn(sandbox, borrower(sandbox, f"u{n}", region=8 if n else 3), amount).answer["loan"])
        for n, amount in enumerate((600_000, 300_001, 200_000))
    ]
    for day in ("2024-08-04", "2024-10-01", "2024-11-30", "2025-01-30", SOLD_ON):
        advance(sandbox, day)
    loans.append(str(drawn(sandbox, borrower(sandbox, "payer", region=8)).answer["loan"]))
    states = [sandbox.read("operations", "loan", each)["status"] for each in loans]
    assert states == ["charged_off"] * 3 + ["active"]
    return sandbox.name, loans


Lost = tuple[Sandbox, list[str]]


@pytest.fixture
def pool(server: Embedded, lost: tuple[str, list[str]], request: pytest.FixtureRequest) -> Lost:
    return Sandbox(server, fresh(server, request.node.name[:40], lost[0])), lost[1]


def sell(sandbox: Sandbox, loans: list[str], price: int, **more: Any) -> Any:
    """A sale that the keys of finance propose and two people agree to."""
    body = {"buyer": "Second Chance AMC", "loans": loans, "price_minor": price, **more}
    proposed = sandbox.do("finance", "pool.sell", body)
    assert proposed.status == 202
    approval = {"approval": proposed.answer["approval"]}
    sandbox.do("administrator", "approval.approve", approval)
    with pytest.raises(ApprovalSamePerson):
        sandbox.do("administrator", "approval.approve", approval)
    return sandbox.do("controller", "approval.approve", approval).answer["answer"]


def tape_of(sandbox: Sandbox, sale: str) -> Any:
    """The tape that goes to the buyer."""

    async def work(platform: Platform) -> Any:
        async with platform.reading(await platform.principal("finance")) as read:
            return await pool_sale(read.transaction, read.moment.lender, sale)

    return sandbox.within(work)


def owed(sandbox: Sandbox, loan: str) -> int:
    return int(sandbox.read("operations", "loan", loan)["outstanding"]["total_minor"])


def test_a_sale_recovers_its_price_and_the_loans_leave(pool: Lost) -> None:
    sandbox, (heavy, one, other, _) = pool
    sold = [heavy, one, other]
    before = {each: owed(sandbox, each) for each in sold}
    whole, price = sum(before.values()), 100_003
    made = sell(sandbox, sold, price)
    assert (made["owed_minor"], made["price_minor"], made["loans"]) == (whole, price, 3)
    tape = tape_of(sandbox, made["sale"])
    assert [each["loan"] for each in tape["rows"]] == sorted(sold)
    assert {each["loan"]: each["owed_minor"] for each in tape["rows"]} == before
    prices = {each["loan"]: each["price_minor"] for each in tape["rows"]}
    assert sum(prices.values()) == price
    for loan in sold:
        assert abs(prices[loan] * whole - price * before[loan]) < whole, "by what each owes"
        assert sandbox.read("operations", "loan", loan)["status"] == "closed"
        own = [each for each in facts(sandbox, loan) if each[1] == SOLD_ON]
        assert sum(amount for kind, _, amount in own if kind == "recovered") == prices[loan]
        waived = sum(amount for kind, _, amount in own if kind == "waived")
        assert waived == before[loan] - prices[loan]
    assert balanced(sandbox)
    advance(sandbox, "2025-02-05")
    waiting = "select count(*) from usance.cases where closed_on is null"
    assert sandbox.sql("operations", waiting) == 0
    differing = sandbox.sql("finance", "select sum(amount_minor)::bigint from usance.postings")
    assert differing == 0


def test_what_a_borrower_pays_later_goes_to_the_buyer(pool: Lost) -> None:
    sandbox, (_, one, _, open_loan) = pool
    sale = sell(sandbox, [one], 0)["sale"]
    paid = pay(sandbox, one, 50_000, "2025-02-03", "late")
    assert paid["unallocated_minor"] == 50_000
    [cash] = sandbox.read("operations", "unallocated", 0, 10)
    body = {"unallocated": cash["unallocated"], "sale": sale}
    proposed = sandbox.do("operations", "cash.pass_on", body)
    for who in ("administrator", "controller"):
        done = sandbox.do(who, "approval.approve", {"approval": proposed.answer["approval"]}).answer
    assert done["answer"]["buyer"] == "Second Chance AMC"
    assert done["answer"]["unallocated"]["left_minor"] == 0
    order = sandbox.read("operations", "order", done["answer"]["order"])
    assert (order["kind"], order["amount_minor"]) == ("party_payout", 50_000)
    # Money of somebody whose loan was not sold is nobody's of the buyer.
    pay(sandbox, open_loan, 2_000_000, "2025-02-03", "too much")
    [cash] = sandbox.read("operations", "unallocated", 0, 10)
    with pytest.raises(WrongState, match="no loan in this sale"):
        sandbox.do("administrator", "cash.pass_on", {**body, "unallocated": cash["unallocated"]})


def test_what_cannot_be_sold_is_named(pool: Lost) -> None:
    sandbox, (heavy, one, _, open_loan) = pool
    body = {"buyer": "AMC", "loans": [one], "price_minor": 1}
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"loans": [open_loan]}, WrongState), ({"loans": [one, one]}, InvalidField),
        ({"loans": []}, InvalidField), ({"buyer": " "}, InvalidField),
        ({"price_minor": -1}, InvalidField), ({"price_minor": 10**9}, AmountBeyond),
        ({"loans": ["ln_00000009G01"]}, NotFound), ({"sold_on": "2024-09-01"}, WrongState),
    ]  # fmt: skip
    for change, error in wrong:
        with pytest.raises(error):
            sandbox.do("administrator", "pool.sell", {**body, **change})
    sell(sandbox, [heavy], 1)
    with pytest.raises(WrongState, match="not charged off"):
        sandbox.do("administrator", "pool.sell", {**body, "loans": [heavy]})
