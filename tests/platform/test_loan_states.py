"""Stored folds: a step on the cache gives what a replay of the facts gives, and a control tells."""

from __future__ import annotations

from datetime import date
from typing import Any

import asyncpg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from usance.base.codes import FactKind, FundingModel
from usance.base.ids import parse_id
from usance.loan.facts import Fact
from usance.loan.terms import Terms
from usance.platform.commands.unit_of_work import now
from usance.platform.ledger.fact_postings import amounts_on
from usance.platform.ledger.recompute import StateDifference, differing_states, packed
from usance.platform.live import Platform
from usance.platform.pricing import convention_code
from usance.platform.records.loan_fold import receive
from usance.platform.records.loan_record import LoanRecord
from usance.platform.store.server import Embedded

DRAWN, TODAY = date(2024, 1, 15), date(2024, 9, 1)


def differences(sandbox: Sandbox) -> list[StateDifference]:
    async def work(platform: Platform) -> list[StateDifference]:
        async with platform.database.transaction(0) as transaction:
            lender = (await now(transaction, platform.services)).lender
            return [each async for each in differing_states(transaction, lender)]

    return sandbox.within(work)


def record(model: FundingModel, facts: list[Fact]) -> LoanRecord:
    terms = Terms(principal_minor=600_000, rate_ppm=180_000, instalments=6, disbursed_on=DRAWN,
                  first_due_on=date(2024, 2, 15), coupon_ppm=90_000, flat_fee_minor=6_000,
                  guarantee_fee_minor=3_000)  # fmt: skip
    row: dict[str, Any] = {
        "terms_no": 1, "convention": convention_code(terms), "model": int(model), "source": 1,
        "upfront_fee_minor": 0, "change": 0, "loan_id": 16385,
    }  # fmt: skip
    for name in ("principal_minor", "rate_ppm", "coupon_ppm", "instalments", "disbursed_on",
                 "first_due_on", "flat_fee_minor", "guarantee_fee_minor"):  # fmt: skip
        row[name] = getattr(terms, name)
    return LoanRecord(16385, [row], facts, 0, 1, 80, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([FundingModel.CAPITAL_HEAVY, FundingModel.CAPITAL_LIGHT,
                     FundingModel.ON_BALANCE_SHEET]),
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 300_000)), min_size=1, max_size=6),
    st.integers(1, 900_000), st.booleans(),
)  # fmt: skip
def test_a_step_on_the_stored_fold_is_a_replay(
    model: FundingModel, paid: list[tuple[int, int]], amount: int, is_claimed: bool
) -> None:
    day, facts = DRAWN.toordinal(), [Fact(FactKind.DISBURSED, DRAWN, 600_000, ref=1)]
    for n, (wait, minor) in enumerate(paid, start=2):
        day = min(day + wait, TODAY.toordinal() - 40 + n)
        facts.append(Fact(FactKind.PAID, date.fromordinal(day), minor, ref=n))
    if is_claimed:
        claimed = date.fromordinal(day + 1)
        facts.append(Fact(FactKind.COMPENSATED, claimed, 100_000, ref=90))
        day += 1
    loan = record(model, facts)
    before = packed(loan, 0)
    on = date.fromordinal(day + 3)
    got = receive([before], [on], [amount], TODAY)
    kind = FactKind.RECOVERED if is_claimed else FactKind.PAID
    over = loan.at(TODAY).view().overpaid
    whole = record(model, [*facts, Fact(kind, on, amount, ref=99)])
    taken = amount - (whole.at(TODAY).view().overpaid - over)
    assert got.taken == [max(taken, 0)]
    if taken <= 0:
        assert got.rows == [before]
        return
    after = record(model, [*facts, Fact(kind, on, taken, ref=99)])
    assert got.rows[0] == packed(after, 0)
    was, now_ = amounts_on(loan, loan.facts, TODAY), amounts_on(after, after.facts, TODAY)
    assert got.moved[0].tolist() == [b - a for a, b in zip(was, now_, strict=True)]
    assert got.late_days == [loan.at(on).view().days_past_due]


def test_states_are_what_their_facts_give(sandbox: Sandbox) -> None:
    first = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    second = str(drawn(sandbox, borrower(sandbox, "ben")).answer["loan"])
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})
    paid = []
    for n, (loan, day) in enumerate([(first, "2024-08-01"), (first, "2024-07-20"),
                                     (second, "2024-08-05"), (second, "2024-08-05")]):  # fmt: skip
        body = {"loan": loan, "amount_minor": 40_000, "currency": "CNY", "effective_on": day,
                "ref": f"p{n}"}  # fmt: skip
        paid.append(sandbox.do("provider", "payment.book", body).answer["payment"])
    sandbox.do("operations", "payment.reverse", {"payment": paid[0], "reason": "returned"})
    assert differences(sandbox) == []
    number = parse_id(second, "ln", where="loan")

    async def spoil(connection: asyncpg.Connection) -> None:
        await connection.execute("set role usance_writer")
        await connection.execute(
            "update usance.loan_states set state = set_byte(state, 40, get_byte(state, 40) # 1) "
            "where loan_id = $1", number,
        )  # fmt: skip

    with_owner(sandbox.server, sandbox.name, spoil)
    assert differences(sandbox) == [StateDifference(number, ("state",))]


def test_a_payment_after_a_late_fee_finds_it_again(server: Embedded, template: str) -> None:
    """A late notice on a loan with fees goes by its facts; the fee without ground is reversed."""
    sandbox = Sandbox(server, fresh(server, "late_notice", template))
    loan = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    sandbox.do("control", "clock.advance", {"to": "2024-08-20T01:00:00Z"})
    fees = "select count(*) from usance.facts where kind = {}"
    made = sandbox.sql("operations", fees.format(int(FactKind.FEE_CHARGED)))
    assert made > 0
    body = {"loan": loan, "amount_minor": 110_000, "currency": "CNY", "effective_on": "2024-08-01",
            "ref": "late"}  # fmt: skip
    sandbox.do("provider", "payment.book", body)
    assert sandbox.sql("operations", fees.format(int(FactKind.REVERSED))) == made
    assert differences(sandbox) == []
