"""The life of a borrower by command: line, quote, drawdown, payments, changes and the end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.applicants import GOOD, LISTED, WATCHED, borrower, drawn
from tests.platform.sandbox import Sandbox
from usance.platform.errors import InvalidField, NotFound, UnknownInput
from usance.platform.refusals import (
    AlreadyReversed,
    AmountBeyond,
    ApprovalSamePerson,
    ClockBackwards,
    CurrencyMismatch,
    DateBeforeDisbursement,
    DateInFuture,
    MonthsNotOffered,
    NoLine,
    OfferClosed,
    QuoteExpired,
    QuoteMismatch,
    ReferenceUsed,
    WrongState,
)

PAID = {"amount_minor": 103_974, "currency": "CNY", "effective_on": "2024-08-01"}


def advance(sandbox: Sandbox, to: str) -> Any:
    return sandbox.do("control", "clock.advance", {"to": to}).answer


def totals(sandbox: Sandbox) -> tuple[int, int]:
    sums = sandbox.read("finance", "trial_balance")
    return sums["debits_minor"], sums["credits_minor"]


def limits(sandbox: Sandbox) -> Any:
    return sandbox.sql(
        "operations",
        "select array_agg((name, held_minor, taken_minor, freed_minor)::text order by name) "
        "from usance.limit_usage",
    )


def test_a_loan_is_drawn_paid_and_settled(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    quote = sandbox.do("channel", "quote.make", {"user": user, "product": "instalment",
                                                 "amount_minor": 600_000, "months": 6})  # fmt: skip
    assert quote.answer["total_to_pay_minor"] == 623_846
    body = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6,
            "quote": quote.answer["quote"]}  # fmt: skip
    drawdown = sandbox.do("channel", "drawdown.request", body)
    assert (drawdown.status, drawdown.answer["state"]) == (201, "active")
    loan = drawdown.answer["loan"]
    assert sandbox.read("channel", "lines", user)[0]["available_minor"] == 1_620_000
    advance(sandbox, "2024-08-05T01:00:00Z")
    pays = {"loan": loan, "ref": "1001", **PAID}
    paid = sandbox.do("provider", "payment.book", pays).answer
    parts = [(each["component"], each["amount_minor"]) for each in paid["allocation"]]
    assert parts[0] == ("principal", 97_224)
    assert sum(amount for _, amount in parts) == PAID["amount_minor"]
    settlement = sandbox.read("channel", "settlement_quote", loan)["amount_minor"]
    last = {"loan": loan, "ref": "1002", **PAID, "effective_on": "2024-08-05",
            "amount_minor": settlement + 500}  # fmt: skip
    assert sandbox.do("provider", "payment.book", last).answer["unallocated_minor"] == 500
    assert sandbox.read("channel", "loan", loan)["status"] == "closed"
    again = sandbox.do("provider", "payment.book", {**last, "ref": "1003"}).answer
    assert again["unallocated_minor"] == settlement + 500  # money is never refused
    debited, credited = totals(sandbox)
    assert debited == credited > 0
    assert sandbox.read("channel", "lines", user)[0]["used_minor"] == 0
    names = [each["name"] for each in sandbox.read("channel", "events")]
    assert names[:4] == ["user.registered", "application.decided", "quote.made", "loan.disbursed"]


def test_applications_are_declined_and_referred(sandbox: Sandbox) -> None:
    known = {"client_ref": "a", "region": 1}
    user = str(sandbox.do("channel", "user.register", known).answer["user"])
    body = {"user": user, "product": "instalment"}
    declined = sandbox.do("channel", "application.decide", {**body, "inputs": LISTED})
    assert (declined.status, declined.answer["outcome"]) == (201, "declined")
    assert declined.answer["reasons"][0]["code"] == 101
    with pytest.raises(NoLine):
        drawn(sandbox, user)
    referred = sandbox.do("channel", "application.decide", {**body, "inputs": WATCHED})
    assert (referred.status, referred.answer["outcome"]) == (202, "referred")
    review = {"decision": referred.answer["decision"], "approve": True}
    reviewed = sandbox.do("administrator", "application.review", review).answer
    assert reviewed["line"]["limit_minor"] == 2_220_000
    shown = sandbox.read("channel", "decision", referred.answer["decision"])
    assert shown["review"] == reviewed["decision"]
    with pytest.raises(WrongState):
        sandbox.do("administrator", "application.review", review)
    with pytest.raises(UnknownInput):
        sandbox.do("channel", "application.decide", {**body, "inputs": {**GOOD, "luck": 1}})


def test_an_asked_bank_answers_or_time_runs_out(sandbox: Sandbox) -> None:
    first, second, third = (borrower(sandbox, name, region=9) for name in "abc")
    made = drawn(sandbox, first)
    assert (made.status, made.answer["state"]) == (202, "pending")
    assert sandbox.read("channel", "lines", first)[0]["used_minor"] == 600_000
    with pytest.raises(NotFound):
        sandbox.read("channel", "loan", made.answer["loan"])
    offer = sandbox.read("institution", "offers", "open")[0]
    assert sandbox.read("institution_2", "offers", "open") == []
    with pytest.raises(NotFound):
        sandbox.do("institution_2", "offer.answer", {"offer": offer["offer"], "approved": True})
    yes = {"offer": offer["offer"], "approved": True}
    assert sandbox.do("institution", "offer.answer", yes).answer["state"] == "approved"
    assert sandbox.do("institution", "offer.answer", yes).is_new is False
    with pytest.raises(OfferClosed):
        sandbox.do("institution", "offer.answer", {**yes, "approved": False})
    assert sandbox.read("channel", "drawdown", made.answer["loan"])["state"] == "active"
    late, given_up = drawn(sandbox, second).answer["loan"], drawn(sandbox, third).answer["loan"]
    sandbox.do("channel", "drawdown.withdraw", {"loan": given_up})
    advance(sandbox, "2024-07-01T01:31:00Z")
    assert sandbox.read("channel", "drawdown", late)["state"] == "no_source"
    assert sandbox.read("channel", "drawdown", given_up)["state"] == "withdrawn"
    states = [each["state"] for each in sandbox.read("institution", "offers")]
    assert states == ["approved", "timed_out", "released"]
    held = sandbox.sql("operations", "select sum(abs(held_minor)) from usance.limit_usage")
    assert held == 0


def test_payouts_fail_or_settle_on_the_next_day(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    before = limits(sandbox)
    failed = drawn(sandbox, user, 600_013)
    assert (failed.status, failed.answer["state"]) == (200, "payout_failed")
    assert before is None
    assert sandbox.sql("operations", "select sum(taken_minor) from usance.limit_usage") == 0
    later = drawn(sandbox, user, 600_017)
    assert (later.status, later.answer["state"]) == (202, "approved")
    advance(sandbox, "2024-07-02T02:00:00Z")
    active = sandbox.read("channel", "drawdown", later.answer["loan"])
    assert (active["state"], active["disbursed_on"]) == ("active", "2024-07-02")
    nowhere = drawn(sandbox, borrower(sandbox, "far", region=10))
    assert (nowhere.status, nowhere.answer["state"]) == (200, "no_source")


def test_a_payment_reversed_leaves_everything_as_it_was(sandbox: Sandbox) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    advance(sandbox, "2024-08-05T01:00:00Z")
    before = sandbox.read("channel", "loan", loan), limits(sandbox)
    paid = sandbox.do("provider", "payment.book", {"loan": loan, "ref": "1", **PAID}).answer
    reverse = {"payment": paid["payment"], "reason": "returned"}
    undone = sandbox.do("operations", "payment.reverse", reverse).answer
    assert undone["fact"]["kind"] == "reversed"
    with pytest.raises(AlreadyReversed):
        sandbox.do("operations", "payment.reverse", reverse)
    assert (sandbox.read("channel", "loan", loan), limits(sandbox)) == before
    changed = {"loan": loan, "ref": "1", **PAID, "amount_minor": 5}
    with pytest.raises(ReferenceUsed):
        sandbox.do("provider", "payment.book", changed)
    other = sandbox.do("provider_2", "payment.book", {"loan": loan, "ref": "1", **PAID}).answer
    assert other["provider"] == "psp_b"  # another provider's "1" is another payment


def test_operations_change_a_loan(sandbox: Sandbox) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    advance(sandbox, "2024-08-20T01:00:00Z")
    charged = sandbox.do("operations", "fee.charge", {"loan": loan, "amount_minor": 1_000}).answer
    assert charged["loan"]["past_due"]["penalty_minor"] == 1_040 + 1_000  # one by rule
    waived = {"loan": loan, "component": "penalty", "amount_minor": 2_040}
    with pytest.raises(AmountBeyond):
        sandbox.do("operations", "loan.waive", {**waived, "amount_minor": 2_041})
    after = sandbox.do("operations", "loan.waive", waived).answer["loan"]
    assert after["past_due"]["penalty_minor"] == 0
    with pytest.raises(AmountBeyond):
        sandbox.do("provider", "payment.refund", {"loan": loan, "amount_minor": 1, "ref": "r",
                                                  "effective_on": "2024-08-20"})  # fmt: skip
    new = {"loan": loan, "instalments": 9, "first_due_on": "2024-09-20"}
    changed = sandbox.do("operations", "loan.reschedule", new).answer["loan"]
    assert (changed["instalments"], changed["days_past_due"]) == (9, 19)  # it is still late
    advance(sandbox, "2024-09-25T01:00:00Z")
    assert sandbox.read("channel", "loan", loan)["days_past_due"] == 55
    off = sandbox.do("operations", "loan.charge_off", {"loan": loan})
    assert off.status == 202
    approval = {"approval": off.answer["approval"]}
    assert sandbox.do("administrator", "approval.approve", approval).answer["state"] == "pending"
    with pytest.raises(ApprovalSamePerson):
        sandbox.do("administrator", "approval.approve", approval)
    assert sandbox.do("controller", "approval.approve", approval).answer["state"] == "approved"
    assert sandbox.read("channel", "loan", loan)["status"] == "charged_off"
    back = {"loan": loan, "amount_minor": 5_000, "ref": "c1", "effective_on": "2024-09-25"}
    assert sandbox.do("provider", "loan.recover", back).answer["fact"]["kind"] == "recovered"
    debited, credited = totals(sandbox)
    assert debited == credited


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"amount_minor": 0}, InvalidField),
        ({"amount_minor": 2**53}, InvalidField),
        ({"currency": "USD"}, CurrencyMismatch),
        ({"effective_on": "2024-08-06"}, DateInFuture),
        ({"effective_on": "2024-06-30"}, DateBeforeDisbursement),
        ({"loan": "ln_00000000G09"}, NotFound),
        ({"loan": "us_00000000001"}, InvalidField),
        ({"provider": "psp_b"}, InvalidField),
    ],
)
def test_bad_payments_write_nothing(
    sandbox: Sandbox, changed: dict[str, Any], error: type[Exception]
) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    advance(sandbox, "2024-08-05T01:00:00Z")
    with pytest.raises(error):
        sandbox.do("provider", "payment.book", {"loan": loan, "ref": "1", **PAID, **changed})
    assert sandbox.sql("operations", "select count(*) from usance.payments") == 0


def test_bad_drawdowns_are_named(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    body = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
    quote = sandbox.do("channel", "quote.make", body).answer["quote"]
    for changed, error in (
        ({"months": 7}, MonthsNotOffered),
        ({"product": "v_pocket", "months": 1}, NoLine),
        ({"amount_minor": 0}, InvalidField),
        ({"quote": quote, "amount_minor": 500_000}, QuoteMismatch),
        ({"user": "us_00000000009"}, NotFound),
    ):
        with pytest.raises(error):
            sandbox.do("channel", "drawdown.request", {**body, **changed})
    over = sandbox.do("channel", "drawdown.request", {**body, "amount_minor": 3_000_000})
    assert (over.status, over.answer["state"]) == (200, "declined")
    assert over.answer["reasons"][0]["code"] == 152
    advance(sandbox, "2024-07-03T01:00:00Z")
    with pytest.raises(QuoteExpired):
        sandbox.do("channel", "drawdown.request", {**body, "quote": quote})
    with pytest.raises(ClockBackwards):
        advance(sandbox, "2024-07-02T01:00:00Z")
