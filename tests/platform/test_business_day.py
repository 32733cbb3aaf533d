"""The business day serves loans by rule, once, and looks again when something comes late."""

from __future__ import annotations

from typing import Any

import asyncpg

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.base.ids import parse_id
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.worker import run_jobs
from usance.platform.principals import SYSTEM

DUE = 103_974
"""The first instalment of 6,000.00 over six months, due on the first of August."""


def advance(sandbox: Sandbox, day: str) -> Any:
    return sandbox.do("control", "clock.advance", {"to": f"{day}T01:00:00Z"}).answer


def loan_of(sandbox: Sandbox, region: int = 3) -> str:
    user = borrower(sandbox, region=region)
    return str(drawn(sandbox, user).answer["loan"])


def facts(sandbox: Sandbox, loan: str) -> list[tuple[str, str, int]]:
    return [(each["kind"], each["effective_on"], each["amount_minor"])
            for each in sandbox.read("operations", "facts", loan)]  # fmt: skip


def pay(sandbox: Sandbox, loan: str, amount: int, day: str, ref: str = "1") -> Any:
    body = {"loan": loan, "amount_minor": amount, "currency": "CNY", "effective_on": day,
            "ref": ref}  # fmt: skip
    return sandbox.do("provider", "payment.book", body).answer


def balanced(sandbox: Sandbox) -> bool:
    sums = sandbox.read("finance", "trial_balance")
    return bool(sums["debits_minor"] == sums["credits_minor"])


def test_what_nobody_pays_is_charged_compensated_and_charged_off(sandbox: Sandbox) -> None:
    loan = loan_of(sandbox)
    for day in ("2024-08-04", "2024-08-05", "2024-10-01", "2024-11-30", "2025-01-30", "2025-02-03"):
        advance(sandbox, day)
    found = facts(sandbox, loan)
    kinds = [kind for kind, _, _ in found]
    assert found[1] == ("fee_charged", "2024-08-05", 1_040)  # three days of grace, one per cent
    assert kinds[-1] == "charged_off"
    assert found[-1][1] == "2025-01-29"  # more than 180 days past due
    claims = [each for each in found if each[0] in ("compensated", "bought_out")]
    assert len(claims) <= 1
    assert balanced(sandbox)


def test_a_half_day_is_served_once(sandbox: Sandbox) -> None:
    loan = loan_of(sandbox)
    advance(sandbox, "2024-08-06")
    before = facts(sandbox, loan)
    body = {"loan": loan, "day": "2024-08-05", "part": "morning"}
    again = sandbox.within(lambda platform: platform.do(SYSTEM, "loan.serve", body))
    assert again.is_new is False
    assert facts(sandbox, loan) == before
    halves = sandbox.sql(
        "operations", "select array_agg(part order by part) from usance.business_days "
        "where day = '2024-08-05'",
    )  # fmt: skip
    assert halves == ["evening", "morning"]


def test_a_payment_told_late_takes_its_late_fee_with_it(sandbox: Sandbox) -> None:
    loan = loan_of(sandbox)
    advance(sandbox, "2024-08-20")
    assert sandbox.read("channel", "loan", loan)["past_due"]["penalty_minor"] == 1_040
    pay(sandbox, loan, DUE, "2024-08-01")
    after = sandbox.read("channel", "loan", loan)
    assert (after["past_due"]["total_minor"], after["days_past_due"]) == (0, 0)
    assert "reversed" in [kind for kind, _, _ in facts(sandbox, loan)]
    assert balanced(sandbox)


def test_a_reversal_brings_the_debt_back_and_fees_only_from_then_on(sandbox: Sandbox) -> None:
    loan = loan_of(sandbox)
    advance(sandbox, "2024-08-01")
    payment = pay(sandbox, loan, DUE, "2024-08-01")["payment"]
    advance(sandbox, "2024-08-20")
    sandbox.do("provider", "payment.reverse", {"payment": payment, "reason": "bounced"})
    after = sandbox.read("channel", "loan", loan)
    assert after["days_past_due"] == 19
    assert after["past_due"]["penalty_minor"] == 0
    advance(sandbox, "2024-09-06")
    late = [each for each in facts(sandbox, loan) if each[0] == "fee_charged"]
    assert [day for _, day, _ in late] == ["2024-09-05"]  # of the second instalment
    assert balanced(sandbox)


def test_a_charge_off_that_was_not_warranted_is_told_to_people(sandbox: Sandbox) -> None:
    loan = loan_of(sandbox)
    for day in ("2024-08-31", "2024-10-31", "2024-12-30", "2025-02-10"):
        advance(sandbox, day)
    assert facts(sandbox, loan)[-1][0] == "charged_off"
    settled = 6 * DUE
    pay(sandbox, loan, settled, "2024-08-01")
    told = [each for each in sandbox.read("operations", "events", 0, 1_000)
            if each["name"] == "claim.unwarranted"]  # fmt: skip
    assert {each["data"]["kind"] for each in told} >= {"charged_off"}
    assert balanced(sandbox)


def put_terms(sandbox: Sandbox, loan: str, terms: bytes) -> None:
    """Put terms into the state of a loan; those that cannot be read spoil it."""

    async def put(connection: asyncpg.Connection) -> None:
        await connection.execute("set role usance_writer")
        await connection.execute(
            "update usance.loan_states set terms = $2 where loan_id = $1",
            parse_id(loan, "ln"), terms,
        )  # fmt: skip

    with_owner(sandbox.server, sandbox.name, put)


def test_a_loan_that_cannot_be_served_waits_as_a_job(sandbox: Sandbox) -> None:
    first = loan_of(sandbox)
    user = borrower(sandbox, "berta", region=4)
    second = str(drawn(sandbox, user).answer["loan"])
    advance(sandbox, "2024-08-04")
    terms = sandbox.sql("operations", f"select terms from usance.loan_states "
                       f"where loan_id = {parse_id(first, 'ln')}")  # fmt: skip
    put_terms(sandbox, first, b"spoiled")
    advance(sandbox, "2024-08-06")
    assert [kind for kind, _, _ in facts(sandbox, second)] == ["disbursed", "fee_charged"]
    jobs = sandbox.sql("operations", "select array_agg(key order by key) from usance.jobs")
    assert any(first in key for key in jobs)
    put_terms(sandbox, first, terms)
    assert sandbox.within(
        lambda platform: run_jobs(platform.database, kinds_of(platform), until_empty=True)
    ) == len(jobs)
    assert [kind for kind, _, _ in facts(sandbox, first)] == ["disbursed", "fee_charged"]
