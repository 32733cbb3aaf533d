"""Help for borrowers by command: asked for, offered, accepted as shown; stops before debits."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox
from tests.platform.test_orders import advance, debtor, orders
from usance.base.dates import parse_moment
from usance.base.errors import UsanceError
from usance.loan import replay
from usance.platform.commands.money.debits import OrderDebit
from usance.platform.errors import InvalidField
from usance.platform.live import Platform
from usance.platform.partners.dispatch import move_orders
from usance.platform.principals import SYSTEM
from usance.platform.records.loan_record import load_loan
from usance.platform.records.user_record import read_id
from usance.platform.refusals import PlanNotOffered, WrongState
from usance.platform.store.server import Embedded
from usance.service.help.plan_offers import HelpedLoan, PlanRequest, _position, offer_plan
from usance.service.help.plan_rules import PlanKind, shipped_text

ASKED: dict[str, dict[str, Any]] = {
    "deferral": {"months": 1}, "longer_term": {"months": 3}, "lower_rate": {"rate_ppm": 100_000},
    "interest_pause": {"pause_days": 20},
}  # fmt: skip


@pytest.fixture(scope="module")
def late_template(server: Embedded, template: str) -> tuple[str, str, str]:
    """A database with a borrower who has paid one instalment and missed the second."""
    sandbox = Sandbox(server, fresh(server, "late_borrower", template))
    return sandbox.name, *fallen_behind(sandbox)


Late = tuple[Sandbox, str, str]


@pytest.fixture
def late(
    server: Embedded, late_template: tuple[str, str, str], request: pytest.FixtureRequest
) -> Late:
    """Such a sandbox of the test's own, its borrower and the loan."""
    name, user, loan = late_template
    return Sandbox(server, fresh(server, request.node.name, name)), user, loan


def fallen_behind(sandbox: Sandbox) -> tuple[str, str]:
    user = borrower(sandbox)
    loan = drawn(sandbox, user).answer["loan"]
    advance(sandbox, "2024-08-01T04:00:00Z")
    owed = sandbox.read("channel", "loan", loan)["past_due"]["total_minor"]
    paid = {"loan": loan, "amount_minor": owed or 103_974, "currency": "CNY", "provider": "psp_a",
            "effective_on": "2024-08-01", "ref": "p1"}  # fmt: skip
    sandbox.do("operations", "payment.book", paid)
    advance(sandbox, "2024-09-20T04:00:00Z")
    return user, loan


def now_of(sandbox: Sandbox, loan: str) -> dict[str, Any]:
    """The loan as its plan would show it, by the exact form over what is stored."""

    async def work(platform: Platform) -> dict[str, Any]:
        async with platform.reading(await platform.principal("operations")) as read:
            found = await load_loan(read.transaction, read_id(loan, "ln", "loan"))
            state = replay(found.terms, found.facts, read.moment.business_date, form="exact")
            shown = _position(state.view(), state.rows())._asdict()
            return {name: value if value is None or isinstance(value, int) else str(value)
                    for name, value in shown.items()}  # fmt: skip

    return sandbox.within(work)


@pytest.mark.parametrize("kind", sorted(ASKED))
def test_a_plan_that_is_accepted_is_what_was_shown(late: Late, kind: str) -> None:
    sandbox, user, loan = late
    asked = sandbox.do("channel", "hardship.request", {"user": user, "reason": "income"}).answer
    assert (asked["state"], asked["answer_by"]) == ("open", "2024-10-04")
    assert kind in {each["kind"] for each in asked["plans"]}
    assert now_of(sandbox, loan)["days_past_due"] > 0
    offered = sandbox.do("operations", "plan.offer", {"user": user, "loan": loan, "kind": kind,
                                                      **ASKED[kind]}).answer  # fmt: skip
    assert offered["before"] == now_of(sandbox, loan)
    told = sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": True})
    assert told.answer["after"] == offered["after"] == now_of(sandbox, loan)
    assert told.answer["after"]["days_past_due"] == offered["before"]["days_past_due"]
    again = sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": True})
    assert not again.is_new
    with pytest.raises(WrongState, match="accepted"):
        sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": False})
    state = "select state from usance.hardship_requests"
    assert sandbox.sql("operations", state) == "offered"
    sums = sandbox.read("finance", "trial_balance")
    assert sums["debits_minor"] == sums["credits_minor"]
    advance(sandbox, "2024-09-22T04:00:00Z")  # the plan lives on: served, read, replayed
    assert sandbox.read("channel", "loan", loan)["status"] == "active"


def test_re_ageing_needs_three_paid_instalments_and_is_possible_once(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    loan = drawn(sandbox, user, months=12).answer["loan"]
    for day in ("2024-08-20", "2024-10-02", "2024-11-20"):
        advance(sandbox, f"{day}T04:00:00Z")
    paid = {"loan": loan, "amount_minor": 60_000, "currency": "CNY", "provider": "psp_a"}
    body = {"user": user, "loan": loan, "kind": "re_ageing"}
    for number, day in enumerate(("2024-08-01", "2024-09-01", "2024-10-01"), start=1):
        with pytest.raises(PlanNotOffered):
            sandbox.do("operations", "plan.offer", body)
        body_of = {**paid, "effective_on": day, "ref": f"p{number}"}
        sandbox.do("operations", "payment.book", body_of)
    before = now_of(sandbox, loan)
    assert before["days_past_due"] > 0
    offered = sandbox.do("operations", "plan.offer", body).answer
    told = sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": True})
    assert told.answer["after"] == offered["after"] == now_of(sandbox, loan)
    assert told.answer["after"]["past_due_minor"] == 0
    assert told.answer["after"]["days_past_due"] == before["days_past_due"], "no silent cure"
    assert sandbox.read("channel", "loan", loan)["past_due"]["total_minor"] == 0
    with pytest.raises(PlanNotOffered, match="had 1 plans before"):
        sandbox.do("operations", "plan.offer", body)
    sums = sandbox.read("finance", "trial_balance")
    assert sums["debits_minor"] == sums["credits_minor"]


def test_rules_that_two_people_put_in_force_are_those_of_the_next_offer(late: Late) -> None:
    sandbox, user, loan = late
    body = {"user": user, "loan": loan, "kind": "deferral", "months": 3}
    assert sandbox.do("operations", "plan.offer", body, dry_run=True).answer["state"] == "offered"
    text = shipped_text()
    stricter = text.replace("plans_before_to: 1, most: 3}", "plans_before_to: 1, most: 2}", 1)
    for wrong, why in ((text.replace("collector: 50%, ", ""), "no authority to collector"),
                       (text.replace("most: 3}", "most: three}"), "line"),
                       ("plans: []", "no rule for")):  # fmt: skip
        with pytest.raises(InvalidField, match=why):
            sandbox.do("administrator", "plan_rules.put", {"text": wrong}, dry_run=True)
    waits = sandbox.do("administrator", "plan_rules.put", {"text": stricter})
    assert waits.status == 202
    sandbox.do("operations", "plan.offer", body, dry_run=True)
    sandbox.do("controller", "approval.approve", {"approval": waits.answer["approval"]})
    with pytest.raises(PlanNotOffered, match="3 is asked for"):
        sandbox.do("operations", "plan.offer", body)
    asked = sandbox.do("channel", "hardship.request", {"user": user}).answer
    assert {"loan": loan, "kind": "deferral", "most": 2} in asked["plans"]


def test_settlement_at_a_discount_is_accepted_with_its_payment(late: Late) -> None:
    sandbox, user, loan = late
    advance(sandbox, "2024-11-20T04:00:00Z")
    advance(sandbox, "2024-12-20T04:00:00Z")
    body = {"user": user, "loan": loan, "kind": "settlement", "discount_ppm": 300_000}
    offered = sandbox.do("operations", "plan.offer", body).answer
    yes = {"plan": offered["plan"], "accepted": True}
    with pytest.raises(UsanceError, match="with its payment"):
        sandbox.do("channel", "plan.answer", yes)
    with pytest.raises(UsanceError, match="ref is missing"):
        sandbox.do("operations", "plan.answer", yes)
    assert sandbox.read("channel", "loan", loan)["status"] != "closed"
    sandbox.do("operations", "plan.answer", {**yes, "provider": "psp_a", "ref": "S1"})
    after = sandbox.read("channel", "loan", loan)
    assert (after["status"], after["outstanding"]["total_minor"]) == ("closed", 0)
    [paid, _] = sandbox.read("operations", "loan_payments", loan)
    assert (paid["amount_minor"], paid["ref"]) == (offered["pay_minor"], "S1")
    sums = sandbox.read("finance", "trial_balance")
    assert sums["debits_minor"] == sums["credits_minor"]


def test_plans_beyond_the_cap_or_authority_and_old_offers_are_refused(late: Late) -> None:
    sandbox, user, loan = late
    body = {"user": user, "loan": loan, "kind": "deferral"}
    with pytest.raises(PlanNotOffered, match="9 is asked for"):
        sandbox.do("operations", "plan.offer", {**body, "months": 9})
    with pytest.raises(PlanNotOffered, match="collector may grant 1"):
        sandbox.do("channel", "plan.offer", {**body, "months": 2})
    offered = sandbox.do("operations", "plan.offer", {**body, "months": 1}).answer
    advance(sandbox, "2024-10-10T04:00:00Z")
    with pytest.raises(WrongState, match="over"):
        sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": True})
    second = sandbox.do("operations", "plan.offer", {**body, "months": 1}).answer
    no = sandbox.do("channel", "plan.answer", {"plan": second["plan"], "accepted": False})
    assert no.answer["state"] == "declined"
    asked = sandbox.do("channel", "hardship.request", {"user": user, "loan": loan}).answer
    declined = {"request": asked["case"], "answer": "paid in full next week"}
    told = sandbox.do("operations", "hardship.decline", declined).answer
    assert (told["state"], told["answer"]) == ("declined", "paid in full next week")
    with pytest.raises(WrongState, match="declined"):
        sandbox.do("operations", "hardship.decline", declined)


def test_a_second_offer_counts_what_was_paid_in_between(late: Late) -> None:
    sandbox, user, loan = late
    body = {"user": user, "loan": loan, "kind": "longer_term", "months": 3}
    offered = sandbox.do("operations", "plan.offer", body).answer
    paid = {"loan": loan, "amount_minor": 50_000, "currency": "CNY", "provider": "psp_a",
            "effective_on": "2024-09-20", "ref": "p2"}  # fmt: skip
    sandbox.do("operations", "payment.book", paid)

    async def wanted(platform: Platform) -> dict[str, Any]:
        async with platform.reading(await platform.principal("operations")) as read:
            found = await load_loan(read.transaction, read_id(loan, "ln", "loan"))
            helped = HelpedLoan(tuple(found.terms), tuple(found.facts))
            made = offer_plan(
                helped,
                read.moment.business_date,
                PlanRequest(PlanKind.LONGER_TERM, months=3),
                role="operations",
            )
            return json.loads(json.dumps(made.after._asdict(), default=str))  # type: ignore[no-any-return]

    fresh = sandbox.within(wanted)
    told = sandbox.do("channel", "plan.answer", {"plan": offered["plan"], "accepted": True}).answer
    assert told["after"] == fresh == now_of(sandbox, loan)
    assert told["after"] != offered["after"]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_debit_that_was_ordered_is_not_sent_after_a_stop(
    sandbox: Sandbox, *, at_once: bool
) -> None:
    user, _ = debtor(sandbox)
    advance(sandbox, "2024-07-31T23:59:00Z")
    sandbox.within(lambda platform: stop_and_send(platform, user, at_once=at_once))
    [made] = orders(sandbox, "debit")
    events = sandbox.read("operations", "order", made["order"])["events"]
    begun = sandbox.sql("operations", "select begun_at from usance.stops")
    sent = [parse_moment(each["at"]) for each in events if each["kind"] == "sent"]
    assert all(each < begun for each in sent)
    assert made["state"] == ("settled" if sent else "cancelled")
    assert at_once or not sent
    advance(sandbox, "2024-08-10T01:00:00Z")
    assert len(orders(sandbox, "debit")) == 1


def test_without_a_look_at_the_moment_of_sending_a_stop_is_overtaken(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same stop with the look left out: the debit goes out after it, as the test would see."""

    async def unseen(*_given: Any) -> bool:
        return False

    user, _ = debtor(sandbox)
    advance(sandbox, "2024-07-31T23:59:00Z")
    monkeypatch.setattr("usance.platform.commands.money.orders.stops_debits", unseen)
    sandbox.within(lambda platform: stop_and_send(platform, user, at_once=False))
    [made] = orders(sandbox, "debit")
    events = sandbox.read("operations", "order", made["order"])["events"]
    begun = sandbox.sql("operations", "select begun_at from usance.stops")
    assert any(each["kind"] == "sent" and parse_moment(each["at"]) >= begun for each in events)


async def stop_and_send(platform: Platform, user: str, *, at_once: bool) -> None:
    """Order a debit, then stop the borrower and send what is due, one after the other or both."""
    await platform.do(SYSTEM, OrderDebit(user, date(2024, 8, 1), 8))
    stop = platform.do(SYSTEM, "stop.set", {"user": user, "reason": "deceased"})
    if not at_once:
        await stop
        await move_orders(platform)
        return
    await asyncio.gather(stop, move_orders(platform))
    await move_orders(platform)
