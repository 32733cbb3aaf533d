"""Payment orders by command: sent once, paid once, what moves is booked and what returns undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from usance.platform.refusals import AmountBeyond, ApprovalSamePerson, WrongState


def advance(sandbox: Sandbox, to: str) -> Any:
    return sandbox.do("control", "clock.advance", {"to": to}).answer


def debtor(sandbox: Sandbox, ref: str = "anna") -> tuple[str, str]:
    """A borrower whose account may be debited, and a loan of six instalments."""
    user = borrower(sandbox, ref)
    account = {"user": user, "bank": "ICBC", "number": "6222000000001234", "holder": "Anna",
               "debit": True}  # fmt: skip
    sandbox.do("channel", "account.add", account)
    return user, drawn(sandbox, user).answer["loan"]


def orders(sandbox: Sandbox, kind: str) -> list[dict[str, Any]]:
    return [each for each in sandbox.read("operations", "orders") if each["kind"] == kind]


def test_a_payout_is_an_order_with_events(sandbox: Sandbox) -> None:
    drawn(sandbox, borrower(sandbox))
    [made] = orders(sandbox, "payout")
    told = sandbox.read("operations", "order", made["order"])
    assert [each["kind"] for each in told["events"]] == ["sent", "settled"]
    with pytest.raises(WrongState, match="not sent"):
        sandbox.do("operations", "order.cancel", {"order": made["order"]})


def test_a_debit_run_collects_what_is_due_once(sandbox: Sandbox) -> None:
    _, loan = debtor(sandbox)
    advance(sandbox, "2024-08-02T01:00:00Z")
    [made] = orders(sandbox, "debit")
    assert (made["state"], made["amount_minor"]) == ("settled", 103_974)
    assert made["reference"] == "D2024080108-1-1"
    after = sandbox.read("channel", "loan", loan)
    assert (after["past_due"]["total_minor"], after["paid"]["total_minor"]) == (0, 103_974)
    advance(sandbox, "2024-08-31T01:00:00Z")
    assert len(orders(sandbox, "debit")) == 1


def test_a_debit_that_comes_back_is_due_again_and_tried_again(sandbox: Sandbox) -> None:
    _, loan = debtor(sandbox)
    advance(sandbox, "2024-08-01T01:00:00Z")
    [made] = orders(sandbox, "debit")
    back = {"order": made["order"], "kind": "returned", "source": "file 1", "provider_ref": "R1",
            "amount_minor": made["amount_minor"], "moved_on": "2024-08-01"}  # fmt: skip
    assert sandbox.do("provider", "order.note", back).answer["state"] == "returned"
    assert not sandbox.do("provider", "order.note", back).is_new
    assert sandbox.read("channel", "loan", loan)["paid"]["total_minor"] == 0
    advance(sandbox, "2024-08-01T08:00:00Z")
    assert [each["state"] for each in orders(sandbox, "debit")] == ["returned", "settled"]
    sums = sandbox.read("finance", "trial_balance")
    assert sums["debits_minor"] == sums["credits_minor"]


def test_a_payout_that_comes_back_rescinds_its_loan(sandbox: Sandbox) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    [made] = orders(sandbox, "payout")
    back = {"order": made["order"], "kind": "returned", "source": "file 1", "provider_ref": "R1",
            "amount_minor": 600_000, "moved_on": "2024-07-01"}  # fmt: skip
    sandbox.do("provider", "order.note", back)
    assert sandbox.read("channel", "drawdown", loan)["state"] == "rescinded"
    used = "select sum(taken_minor) from usance.limit_usage where name like '%/total/%'"
    assert sandbox.sql("operations", used) == 0
    sums = sandbox.read("finance", "balances")
    assert all(each["balance_minor"] == 0 for each in sums)


def test_settled_twice_is_a_break_and_unallocated_cash(sandbox: Sandbox) -> None:
    debtor(sandbox)
    advance(sandbox, "2024-08-01T01:00:00Z")
    [made] = orders(sandbox, "debit")
    twice = {"order": made["reference"], "kind": "settled", "source": "file 1",
             "provider_ref": "T2", "amount_minor": 103_974, "moved_on": "2024-08-01"}  # fmt: skip
    sandbox.do("provider", "order.note", twice)
    [found] = sandbox.read("operations", "breaks")
    assert (found["class"], found["amount_minor"]) == ("paid_twice", 103_974)
    [cash] = sandbox.read("operations", "unallocated")
    assert cash["left_minor"] == 103_974
    explain = {"break_id": found["break"], "reason": "debited twice"}
    assert sandbox.do("administrator", "break.clear", explain).answer["state"] == "explained"
    with pytest.raises(ApprovalSamePerson):
        sandbox.do("administrator", "break.clear", explain)
    assert sandbox.do("controller", "break.clear", explain).answer["state"] == "cleared"
    with pytest.raises(WrongState):
        sandbox.do("controller", "break.clear", explain)


def test_money_for_nobody_waits_and_is_assigned_by_a_person(sandbox: Sandbox) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    advance(sandbox, "2024-08-05T01:00:00Z")
    told = {"amount_minor": 103_974, "currency": "CNY", "effective_on": "2024-08-01", "ref": "X1"}
    cash = sandbox.do("provider", "cash.receive", told).answer
    assert not sandbox.do("provider", "cash.receive", told).is_new
    seen = sandbox.read("operations", "one_unallocated", cash["unallocated"])
    assert seen["suggestions"] == [{"loan": loan, "reasons": ["amount_and_day"]}]
    body = {"unallocated": cash["unallocated"], "loan": loan, "amount_minor": 100_000}
    done = sandbox.do("operations", "cash.assign", body).answer
    assert done["unallocated"]["left_minor"] == 3_974
    with pytest.raises(AmountBeyond):
        sandbox.do("operations", "cash.assign", body)
    assert sandbox.read("channel", "loan", loan)["paid"]["total_minor"] == 100_000
    waits = sandbox.do("administrator", "cash.return", {"unallocated": cash["unallocated"]})
    assert waits.status == 202
    sandbox.do("controller", "approval.approve", {"approval": waits.answer["approval"]})
    assert sandbox.read("operations", "unallocated") == []
    advance(sandbox, "2024-08-05T02:00:00Z")
    assert [each["state"] for each in orders(sandbox, "refund")] == ["settled"]


def test_what_a_payment_leaves_over_waits_and_goes_with_its_reversal(sandbox: Sandbox) -> None:
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    owed = sandbox.read("channel", "settlement_quote", loan)["amount_minor"]
    body = {"loan": loan, "ref": "1", "amount_minor": owed + 500, "currency": "CNY",
            "effective_on": "2024-07-01"}  # fmt: skip
    paid = sandbox.do("provider", "payment.book", body).answer
    assert [each["left_minor"] for each in sandbox.read("operations", "unallocated")] == [500]
    reverse = {"payment": paid["payment"], "reason": "wrong"}
    sandbox.do("provider", "payment.reverse", reverse)
    assert sandbox.read("operations", "unallocated") == []
