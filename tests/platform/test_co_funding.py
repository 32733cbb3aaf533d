"""Loans of two institutions on the platform: parts, budgets, books, settlement, who sees them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_settlements import HEAVY, LIGHT, START, Days, during
from usance.base.ids import PER_USER, print_id
from usance.platform.lender import sandbox_document
from usance.platform.store.server import Embedded

AMOUNT = 600_001
PART = 200_201
"""33.3667 % of it, 200,200.53, by largest remainder."""
MANDATES = """
currency: CNY
time_zone: Asia/Shanghai
platform:
  service_cost: 0%
  expected_loss: {{1: 0.1%, 2: 0.1%, 3: 0.1%, 4: 0.1%, 5: 0.1%, 6: 0.1%, 7: 0.1%, 8: 0.1%}}
sources:
  - source: {lead}
    name: sandbox_bank
    institution: 1
    valid: {{from: 2024-01-01, to: 2099-12-31}}
    approved_by: [risk, treasury]
    model: capital_heavy
    coupon: 4.5%
    guarantee: {{trigger_days: 8}}
    budgets: {{total: 20000000000}}
    co_funding: {{partner: 2, share: 33.3667%}}
  - source: 2
    name: sandbox_trust_bank
    institution: 2
    valid: {{from: 2024-01-01, to: 2099-12-31}}
    approved_by: [risk, treasury]
    model: capital_heavy
    coupon: 23.9%
    guarantee: {{trigger_days: 8}}
    budgets: {{total: 6100}}
    regions: [3]
"""


@pytest.fixture(scope="module")
def shared(server: Embedded) -> str:
    """A lender with two institutions that lend together, and three loans of theirs."""
    document = {**sandbox_document(), "mandates": MANDATES.format(lead=1)}
    sandbox = Sandbox(server, installed(server, "co_funding", document))
    for number in range(3):
        assert drawn(sandbox, borrower(sandbox, f"u{number}"), AMOUNT).answer["state"] == "active"
    return sandbox.name


@pytest.fixture
def lent(server: Embedded, shared: str, request: pytest.FixtureRequest) -> Sandbox:
    return Sandbox(server, fresh(server, request.node.name, shared))


def used(sandbox: Sandbox) -> dict[str, int]:
    """What is taken of each source's budget."""
    rows = sandbox.sql("operations", "select json_object_agg(name, held_minor + taken_minor)::text "
                       "from usance.limit_usage where name like '%/total/%'")  # fmt: skip
    return {name.partition("/")[0]: amount for name, amount in json.loads(rows).items()}


def posted(sandbox: Sandbox, sign: str) -> dict[int, int]:
    """Sums of postings of one sign by source, of the first loan."""
    rows = sandbox.sql("finance", "select json_object_agg(source, amount)::text from ("
                       "select c.source, sum(p.amount_minor)::bigint as amount from usance.postings"
                       f" p join usance.cells c using (cell) where p.amount_minor {sign} 0 and "
                       "p.loan_id = (select min(loan_id) from usance.loans) group by 1) g"
                       )  # fmt: skip
    return {int(key): value for key, value in json.loads(rows).items()}


def test_a_loan_has_two_parts_and_each_comes_out_of_its_own_budget(lent: Sandbox) -> None:
    parts = lent.sql("operations", "select array_agg(array[source, principal_minor] order by "
                     "loan_id, source)::text from usance.shares")  # fmt: skip
    assert parts == "{" + ",".join([f"{{1,{AMOUNT - PART}}}", f"{{2,{PART}}}"] * 3) + "}"
    assert used(lent) == {"1": 3 * (AMOUNT - PART), "2": 3 * PART}
    # Nothing left for a fourth part: the lead is not offered, and keeps its room.
    answer = drawn(lent, borrower(lent, "u9"), AMOUNT).answer
    assert answer["state"] == "no_source"
    assert used(lent) == {"1": 3 * (AMOUNT - PART), "2": 3 * PART}
    assert lent.sql("operations", "select count(*) from usance.shares") == 6


def test_both_institutions_see_the_loan(lent: Sandbox) -> None:
    sees = {who: lent.sql(who, "select count(*) from usance.loans")
            for who in ("institution", "institution_2")}  # fmt: skip
    assert sees == {"institution": 3, "institution_2": 3}


def test_the_books_have_each_part_with_its_source(lent: Sandbox) -> None:
    loan = print_id("ln", lent.sql("operations", "select min(loan_id) from usance.loans"))

    async def pay(days: Days) -> None:
        for number, amount in enumerate((1, 50_000, 3, 70_003)):
            await days.pay(loan, amount, START, f"p{number}")

    during(lent, pay)
    debits, taken = posted(lent, ">"), posted(lent, "<")
    assert {who: -amount for who, amount in taken.items()} == debits
    whole = sum(debits.values())
    assert whole > 100_000
    assert abs(debits[2] * AMOUNT - whole * PART) < 20 * AMOUNT  # a unit for each line


def test_settlements_split_what_comes_as_the_ledger_owes_it(lent: Sandbox) -> None:
    first = lent.sql("operations", "select min(loan_id) from usance.loans")
    loans = [print_id("ln", first), print_id("ln", first + PER_USER)]

    async def live(days: Days) -> dict[str, int]:
        paid: list[str] = []
        for number in range(35):
            day = START + timedelta(days=number)
            if number % 7 == 2:
                made = await days.pay(loans[number % 2], 31_007 + number, day, f"p{number}")
                paid.append(made["payment"])
            if number == 18:
                body = {"payment": paid.pop(), "reason": "bounced"}
                await days.do("operations", "payment.reverse", body)
            await days.night(day)
            if number % 7 == 4:  # institutions are settled on business days
                assert await days.settled() == await days.in_ledger(), day
        return await days.settled()

    settled = during(lent, live)
    assert set(settled) == {LIGHT, HEAVY}
    whole = sum(settled.values())
    assert abs(settled[HEAVY] * AMOUNT - whole * PART) < 10 * AMOUNT


def test_where_one_is_asked_no_loan_is_shared(server: Embedded) -> None:
    document: dict[str, Any] = {**sandbox_document(), "mandates": MANDATES.format(lead=3)}
    assert document["sources"][3]["answers"] == "asked"
    sandbox = Sandbox(server, installed(server, "co_funding_asked", document))
    assert drawn(sandbox, borrower(sandbox), AMOUNT).answer["state"] == "no_source"
