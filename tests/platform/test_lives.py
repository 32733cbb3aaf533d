"""Any order of commands keeps the promises: books balance, caches follow, seals hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox
from tests.platform.test_loan_states import differences
from usance.base.errors import UsanceError
from usance.platform.commands.control.periods import BeginClose
from usance.platform.errors import PlatformError, StaleRead
from usance.platform.ledger.seals import seal, verify
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.store.server import Embedded

Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["pay", "pay", "back_dated", "reverse", "fee", "waive", "draw", "days",
                         "refund", "pause", "reschedule", "close"]),
        st.integers(0, 5), st.integers(1, 120_000),
    ), min_size=6, max_size=14,
)  # fmt: skip


class Life:
    """One borrower of a sandbox, and what has been done so far."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.user = sandbox, borrower(sandbox)
        self.loans = [str(drawn(sandbox, self.user, 600_000).answer["loan"])]
        self.payments: list[str] = []
        self.refusals: set[str] = set()
        self.day, self.done = datetime(2024, 7, 2, 1, tzinfo=UTC), 0
        self.closed = 6
        """The month of 2024 that was closed last, of those in which something was posted."""
        self.move(self.day)

    def move(self, to: datetime) -> None:
        moment = to.isoformat().replace("+00:00", "Z")
        self.sandbox.do("control", "clock.advance", {"to": moment})
        self.day = to

    def step(self, name: str, which: int, amount: int) -> None:
        """One command; a refusal is an answer too, and leaves nothing behind."""
        loan, today = self.loans[which % len(self.loans)], self.day.date()
        about: dict[str, Callable[[], Any]] = {
            "pay": lambda: self.pay(loan, amount, today.isoformat()),
            "back_dated": lambda: self.pay(loan, amount, f"2024-07-{2 + which:02}"),
            "reverse": lambda: self.sandbox.do(
                "operations", "payment.reverse",
                {"payment": self.payments[which % len(self.payments)], "reason": "x"})
            if self.payments else None,
            "fee": lambda: self.sandbox.do(
                "operations", "fee.charge", {"loan": loan, "amount_minor": 1 + amount % 5_000}),
            "waive": lambda: self.sandbox.do(
                "operations", "loan.waive",
                {"loan": loan, "component": "penalty", "amount_minor": 1 + amount % 500}),
            "draw": lambda: self.loans.append(
                str(drawn(self.sandbox, self.user, 50_000 + amount).answer["loan"])),
            "days": lambda: self.move(self.later(which)),
            "refund": lambda: self.sandbox.do("operations", "payment.refund", {
                "loan": loan, "amount_minor": amount, "effective_on": today.isoformat(),
                "provider": "psp_a", "ref": f"r{self.done}"}),
            "pause": lambda: self.sandbox.do("operations", "loan.pause", {
                "loan": loan, "until": self.later(4).date().isoformat()}),
            "reschedule": lambda: self.sandbox.do("operations", "loan.reschedule", {
                "loan": loan, "instalments": 3 + which,
                "first_due_on": self.later(5).date().isoformat()}),
            "close": self.close,
        }  # fmt: skip
        self.done += 1
        try:
            about[name]()
        except UsanceError as error:
            self.refusals.add(error.code)

    def close(self) -> None:
        """Close the month after the last one closed, if it is over; news of it go to the next."""
        month = f"2024-{self.closed + 1:02}"
        self.sandbox.within(lambda platform: platform.do(SYSTEM, BeginClose(month)))
        self.closed += 1

    def later(self, which: int) -> datetime:
        """Some days or a month on."""
        month = min(self.day.month + (which > 3), 11)
        return self.day.replace(month=month, day=min(self.day.day + 3 * which, 28))

    def pay(self, loan: str, amount: int, on: str) -> None:
        body = {"loan": loan, "amount_minor": amount, "currency": "CNY", "effective_on": on,
                "ref": f"p{self.done}"}  # fmt: skip
        made = self.sandbox.do("provider", "payment.book", body).answer
        self.payments.append(str(made["payment"]))


def live_through(server: Embedded, template: str, steps: list[Step]) -> None:
    sandbox = Sandbox(server, fresh(server, "a_life", template))
    life = Life(sandbox)
    for each in steps:
        life.step(*each)

    async def look(platform: Platform) -> list[Any]:
        async with platform.database.transaction(0) as transaction:
            await seal(transaction, datetime(2025, 1, 1, tzinfo=UTC))
            unbalanced = await transaction.fetch(
                "select 1 from usance.postings group by journal_id, entity, basis, tag "
                "having sum(amount_minor) <> 0"
            )
            money = await transaction.fetchrow(
                "select (select coalesce(sum(amount_minor - unallocated_minor), 0)::bigint "
                "from usance.payments) as received, "
                "(select coalesce(sum(f.amount_minor), 0)::bigint from usance.facts f "
                "join usance.payments p on p.loan_id = f.loan_id and p.ref = f.ref) as told"
            )
            late = await transaction.fetch(
                "select 1 from usance.postings p join usance.journals j using (journal_id) "
                "join usance.periods q using (period) "
                "where q.state <> 0 and j.booked_at > q.known_at"
            )
            return [unbalanced, money["received"] - money["told"], late, await verify(transaction)]

    assert sandbox.within(look) == [[], 0, [], []]
    assert not life.refusals & {PlatformError.code, StaleRead.code}
    assert differences(sandbox) == []


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(STEPS)
def test_a_few_lives_keep_the_promises(server: Embedded, template: str, steps: list[Step]) -> None:
    live_through(server, template, steps)


@pytest.mark.nightly
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_many_lives_keep_the_promises(server: Embedded, template: str, steps: list[Step]) -> None:
    live_through(server, template, steps)
