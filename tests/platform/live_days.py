"""A life day by day through the live platform: the world plays, the platform keeps the books.

The third voice, `DayByDay`, decides what borrowers and institutions do; each thing is done here by
a command, at its moment, and the tables of the database are compared with the twin's. Channels and
providers speak over HTTP, by the client that partners have; jobs are the platform's own. The router
begins afresh each month, as the twin's does. A notice that is late within its month is told on its
day, and one that is late by the month's end in the first moment of the next: so the twin knows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import uvicorn

from tests.platform.sandbox import Sandbox
from tests.twin.day_by_day import NOON, DayByDay
from usance.assess.decision.decide import Decider
from usance.base.codes import FactKind, Product
from usance.base.dates import from_day, to_day
from usance.base.ids import print_id
from usance.loan.convention import CONVENTION_CODES
from usance.loan.facts import Fact
from usance.match.mandates.mandate import Mandates
from usance.match.reservation.events import State
from usance.match.router.live_router import LiveRouter
from usance.platform.api.application import application
from usance.platform.api.request_log import RequestLog
from usance.platform.api.serve import bound
from usance.platform.client import calls
from usance.platform.client.calls import Call
from usance.platform.client.client import AsyncClient
from usance.platform.commands.control.clock import set_clock
from usance.platform.commands.lending.applications import Apply
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.bulk_servicing import ServeLoans
from usance.platform.commands.loans.loan_events import ChargeBack, Refund, Waive
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.commands.loans.plans import AnswerPlan, OfferPlan
from usance.platform.commands.loans.servicing import ServeLoan
from usance.platform.commands.people.users import RegisterUser
from usance.platform.commands.unit_of_work import now
from usance.platform.lender import Lender, SourceTerms
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM, Principal
from usance.platform.security.keys import create_key, principal_of_party
from usance.platform.store.database import Database
from usance.platform.vault import Vault
from usance.twin.month.routing import POLICY
from usance.twin.month.timestamps import END_OF_DAY
from usance.world.population import month_days

NAMES = {code: name for name, code in CONVENTION_CODES.items()}


def given(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as JSON has them: what is not known is left out."""
    return {name: value for name, value in inputs.items() if value == value}


CALLS: dict[type, Callable[[Any], Call[Any]]] = {
    RegisterUser: lambda c: calls.register_user(c.client_ref, c.region, kind=c.kind),
    Apply: lambda c: calls.apply(c.user, c.product, inputs=given(c.inputs)),
    Draw: lambda c: calls.draw(c.user, c.product, c.amount_minor, c.months,
                               inputs=given(c.inputs), convention=c.convention),
    BookPayment: lambda c: calls.pay(c.loan, c.amount_minor, c.currency, str(c.effective_on),
                                     c.provider, c.ref),
}  # fmt: skip
"""The call of each command that partners give."""


BY_PEOPLE = (ServeLoan, ServeLoans, ChargeBack, Refund, Waive, OfferPlan, AnswerPlan)
"""Commands that nobody outside gives."""


class LiveDays(DayByDay):
    """The same life, told to a platform as it happens."""

    def connect(self, sandbox: Sandbox) -> None:
        """Open the platform for the whole life."""
        self.loop = asyncio.new_event_loop()
        self.platform = Platform.of_database(
            Database(sandbox.server, sandbox.name), Vault(bytes(32))
        )
        self.asked: dict[str, Any] = {}
        self.late: list[tuple[Any, Fact]] = []
        self.platform.services.answers = self.answer
        self.loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        """Serve the API of this very platform on a port of this machine, without its own clock."""
        outermost = application(nullcontext(self.platform), "sandbox")
        state = outermost.app.state
        state.platform, state.mode = self.platform, "sandbox"
        state.request_log = RequestLog(self.platform.database)
        listening = bound(0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.http = uvicorn.Server(uvicorn.Config(outermost, lifespan="off", log_config=None))
        self.serving = self.loop.create_task(self.http.serve(sockets=[listening]))
        self.clients: dict[str, AsyncClient] = {}
        while not self.http.started:
            await asyncio.sleep(0.01)

    async def _client(self, kind: str, party: str, scope: str) -> AsyncClient:
        """The client of a party, with a key of its own."""
        if party not in self.clients:
            async with self.platform.database.transaction(0) as transaction:
                owner = await principal_of_party(transaction, kind, party, [scope])
                _, key = await create_key(transaction, "sandbox", owner, [scope])
            self.clients[party] = AsyncClient(self.url, key)
        return self.clients[party]

    async def _end(self) -> None:
        for client in self.clients.values():
            await client.close()
        self.http.should_exit = True
        await self.serving

    def close(self) -> None:
        self.loop.run_until_complete(self._end())
        self.loop.run_until_complete(self.platform.close())
        self.loop.close()

    def answer(self, _loan: int, source: int, _day: date) -> bool | None:
        """What the institution says that is being asked."""
        said: bool | None = self.answers(self.asked)(source, 1)
        return said

    def tell_platform(self, who: Principal, command: Any, at: datetime | None = None) -> Any:
        """Do a command at a moment."""
        return self.loop.run_until_complete(self._tell(who, command, at))

    async def _tell(self, who: Principal, command: Any, at: datetime | None) -> Any:
        if at is not None:
            async with self.platform.database.transaction(0) as transaction:
                moment = await now(transaction, self.platform.services)
                await set_clock(transaction, at, moment.lender.business_date(at))
            await self._lender()
        if isinstance(command, BY_PEOPLE):
            return (await self.platform.do(who, command)).answer
        if isinstance(command, BookPayment):
            client = await self._client("provider", str(command.provider), "provider")
        else:
            client = await self._client("channel", who.name, "channel")
        return await self.send(client, command)

    async def send(self, client: AsyncClient, command: Any) -> Any:
        """The answer to a command of a partner."""
        return await client.send(CALLS[type(command)](command))

    async def _lender(self) -> None:
        """The lender as this month has it; nothing of it changes within the month."""
        self.platform.services.last = self.lender

    def begin_month(self, month: int, mandates: Mandates) -> None:
        """Mandates, fees and a fresh router."""
        funding = self.context.institutions.funding_of(month)

        async def read() -> Lender:
            async with self.platform.database.transaction(0) as transaction:
                self.platform.services.last = None
                return (await now(transaction, self.platform.services)).lender

        base = self.loop.run_until_complete(read())
        sources = {
            n: SourceTerms(n, False, timedelta(seconds=30), each.guarantee_fee_ppm,
                           each.service_fee_ppm, each.upfront_fee_ppm)
            for n, each in enumerate(funding, start=1)
        }  # fmt: skip
        prices = list(self.scenario.pricing.rate_ppm)
        document = {**base.document, "prices": prices, "lines": "shared"}
        products = {name: replace(each, months=tuple(range(1, 61)))
                    for name, each in base.products.items()}  # fmt: skip
        self.lender = replace(base, mandates=mandates, sources=sources, document=document,
                              products=products)  # fmt: skip
        flow = replace(self.context.assessor.flow, valid_from=date(2000, 1, 1))
        self.lender.__dict__["decider"] = Decider(flow)
        shared = self.platform.services.router
        shared.router = LiveRouter(mandates, POLICY, plans_itself=True)
        shared.configuration = base.configuration
        self.loop.run_until_complete(self._lender())

    def live(self, month: int) -> None:
        """One month with what happens on a day in the order of its moments."""
        first, last = month_days(month)
        known_at = self.known_at(month)
        self.released[month], self.rules = {}, self.context.rules(month)
        self.hear_late_notices(month)
        self.decide_incidents(month)
        intended = {
            loan: self.decide_payments(account, month) for loan, account in self.accounts.items()
        }
        asks = list(self.decide_requests(month))
        newcomers = list(self.newcomers(month))
        mandates = self.mandates(month)
        self.begin_month(month, mandates)
        self.tell_late_notices(first)
        state, checkpoint = State(), None
        served = list(self.accounts.values())
        self.back = []
        for day in range(first, last + 1):
            events: list[tuple[datetime, int, Any, Any]] = [
                (self.moment(day, NOON), 0, person, None) for person, on in newcomers if on == day
            ]
            events += [(ask["at"], ask["loan_id"], None, ask) for ask in asks if ask["day"] == day]
            for _, _, person, ask in sorted(events, key=lambda each: each[:2]):
                if person is not None:
                    self.register(person, day, month)
                elif self.assess(ask, month):
                    state, checkpoint = self.place(ask, month, mandates, state, checkpoint)
            for account in served:
                self.evening(account, day, month, intended[account.loan_id], known_at)
                self.note_released(account, day, known_at, month)
        self.end_month(month, served, known_at)

    def plain(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs as a channel gives them."""
        declared = self.context.assessor.flow.inputs
        return {name: declared[name].plain(float(values[0])) for name, values in inputs.items()}

    def register(self, person: Any, day: int, month: int) -> None:
        super().register(person, day, month)
        row = self.made["users", month][-1]
        who = self.channel(row["channel"])
        at = self.moment(day, NOON)
        known = RegisterUser(f"u{person.user}", row["region"],
                             ("consumer", "business")[row["kind"]])  # fmt: skip
        answer = self.tell_platform(who, known, at)
        assert answer["user"] == print_id("us", person.user)
        one = np.array([person.user])
        if self.context.population.applies(one)[0]:
            inputs = self.plain(self.context.assessor.application_inputs(one, day))
            self.tell_platform(who, Apply(answer["user"], "instalment", {}, inputs), at)

    def channel(self, number: int) -> Principal:
        """The key of a channel."""
        return self.loop.run_until_complete(self.platform.principal(f"c{number}"))

    def decide(self, person: Any, kind: Any, inputs: Any, at: datetime, month: int) -> Any:
        self.last_inputs = inputs
        return super().decide(person, kind, inputs, at, month)

    def assess(self, ask: Any, month: int) -> bool:
        approved = super().assess(ask, month)
        self.asked = ask
        ask["inputs"] = self.plain(self.last_inputs)
        if not approved:
            self.draw(ask)
        return approved

    def place(self, ask: Any, month: int, *rest: Any) -> Any:
        made = super().place(ask, month, *rest)
        self.draw(ask)
        return made

    def draw(self, ask: Any) -> None:
        """The drawdown of one ask, at its moment."""
        row = self.request_row(ask)
        who = self.channel(row["channel"])
        command = Draw(
            print_id("us", ask["person"].user), Product(ask["product"]).label, ask["amount"],
            ask["months"], inputs=ask["inputs"], convention=NAMES[ask["convention"]],
        )  # fmt: skip
        answer = self.tell_platform(who, command, ask["at"])
        assert answer["loan"] == print_id("ln", ask["loan_id"])

    def take(self, account: Any, fact: Fact, day: int, month: int) -> None:
        known = len(account.facts)
        super().take(account, fact, day, month)
        if len(account.facts) > known:
            part = "morning" if fact.kind is FactKind.FEE_CHARGED else "evening"
            if self.in_morning(account, day, fact):
                part = "morning"
            self.serve(account.loan_id, from_day(day), part)

    def serve(self, loan_id: int, day: date, part: str) -> None:
        """Serve a loan as the day does: by its fold, and by itself where that does not tell all."""
        at = self.moment(to_day(day), END_OF_DAY)
        made = self.tell_platform(SYSTEM, ServeLoans((loan_id,), day, part), at)
        for left in made["left"]:
            self.tell_platform(SYSTEM, ServeLoan(print_id("ln", left), day, part), at)

    def charge_back(self, account: Any, paid: Fact, day: int, *rest: Any) -> None:
        known = len(account.facts)
        super().charge_back(account, paid, day, *rest)
        if len(account.facts) > known:
            self.by_people(ChargeBack(
                print_id("ln", account.loan_id), paid.amount_minor, from_day(day),
                f"{account.loan_id}/{account.facts[-1].ref}", f"p{paid.arg}",
            ), day)  # fmt: skip

    def let_go(self, account: Any, paid: Fact, day: int, *rest: Any) -> None:
        known = len(account.facts)
        super().let_go(account, paid, day, *rest)
        if len(account.facts) > known:
            waived, refunded = account.facts[-2:]
            loan = print_id("ln", account.loan_id)
            self.by_people(Waive(loan, "interest", waived.amount_minor, waived.effective_on,
                                 "complaint upheld"), day)  # fmt: skip
            back = Refund(loan, refunded.amount_minor, from_day(day),
                          f"{account.loan_id}/{refunded.ref}", f"p{refunded.arg}")  # fmt: skip
            self.by_people(back, day)

    def help(self, account: Any, day: int, month: int) -> Any:
        asked = self.plan(account, month)
        offer = super().help(account, day, month)
        if offer is not None:
            user, loan = print_id("us", account.loan_id >> 14), print_id("ln", account.loan_id)
            made = self.by_people(OfferPlan(
                user, loan, asked.kind.value, asked.months, asked.rate_ppm, asked.pause_days
            ), day)  # fmt: skip
            self.by_people(AnswerPlan(made["plan"], accepted=True), day)
        return offer

    def by_people(self, command: Any, day: int) -> Any:
        """A command of the platform's own people at the end of a day."""
        who = self.loop.run_until_complete(self.platform.principal("people"))
        return self.tell_platform(who, command, self.moment(day, END_OF_DAY))

    def in_morning(self, account: Any, day: int, fact: Fact) -> bool:
        """True of a claim on a loan that is in recovery already."""
        return any(
            each.kind is FactKind.COMPENSATED and each.effective_on <= from_day(day)
            for each in account.facts
            if each.ref != fact.ref
        )

    def pay(self, account: Any, day: int, month: int, *rest: Any) -> None:
        known = len(account.facts)
        super().pay(account, day, month, *rest)
        if len(account.facts) > known:
            paid = account.facts[-1]
            if paid.booked_at > self.known_at(month):
                self.late.append((account, paid))
            else:
                self.tell_payment(account, paid, self.moment(day, END_OF_DAY))

    def tell_payment(self, account: Any, paid: Fact, at: datetime) -> None:
        """Tell of a payment."""
        command = BookPayment(paid.amount_minor, self.scenario.currency, paid.effective_on,
                              f"{account.loan_id}/{paid.ref}",
                              print_id("ln", account.loan_id), None, f"p{paid.arg}")  # fmt: skip
        self.tell_platform(SYSTEM, command, at)

    def tell_late_notices(self, first: int) -> None:
        """Tell of payments whose notices did not come in their month."""
        told, self.late = self.late, []
        for account, paid in sorted(told, key=lambda each: (each[0].loan_id, each[1].ref)):
            self.tell_payment(account, paid, self.moment(first, 0))
