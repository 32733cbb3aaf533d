"""A run day by day, in plain Python: one user, one loan and one request at a time.

It is what a live platform would do, and what the twin's columns must come to. Each room is asked
through its form for one: a loan's state is folded anew from its facts, `due_facts` is asked every
evening, the flow decides one request, the router and the reservation desk place one request. The
world is asked about one user or one loan on the month's first day. Users, lines and loans of the
opening are taken from the opened book, since they are drawn and not lived.

What is known on a day: everything that is effective by then and booked in its month or before. A
notice that comes later in the month is taken as if it had come on its day.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from usance.assess.decision.decide import Decider, Decision
from usance.assess.decision.output_tables import LineState
from usance.base.book import Book
from usance.base.codes import (
    Component,
    DecisionKind,
    FactKind,
    FundingModel,
    Product,
    RoutingOutcome,
    Status,
)
from usance.base.dates import from_day, to_day, to_month
from usance.base.draws import draw
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.loan.batch import States
from usance.loan.columns import TermColumns
from usance.loan.facts import Fact, visible
from usance.loan.loan import replay, schedule, start, step, view
from usance.loan.stored_rows import changed_row, fact_of_row, terms_of_row, view_values
from usance.loan.terms import Terms
from usance.loan.views import VIEW_FIELDS, LoanView
from usance.match.draws import ANSWERS
from usance.match.mandates.mandate import Mandates
from usance.match.reservation.events import LimitSet, State
from usance.match.reservation.placement import ceilings, offer, place, routing_rows
from usance.match.reservation.reservation import step as step_desk
from usance.match.router.checkpoint import RouterCheckpoint, checkpoint_of
from usance.match.router.releases import releases_of
from usance.match.router.requests import from_columns
from usance.match.router.router import Router
from usance.service.help.plan_offers import HelpedLoan, PlanOffer, PlanRequest, offer_plan
from usance.service.help.plan_rules import PlanKind
from usance.service.loan_servicing import ClaimHolder, event_of, is_made_by_rule, loan_events
from usance.service.servicing_events import Holders, due_facts
from usance.twin.month.loan_terms import cells_of, loans_table
from usance.twin.month.mandates import mandates_of
from usance.twin.month.routing import POLICY
from usance.twin.month.timestamps import END_OF_DAY, end_of_month, timestamps
from usance.twin.run.run_context import RunContext
from usance.world import behaviour_kernel as how
from usance.world.behaviour import behaviour_inputs
from usance.world.demand import TICKET_STEP_MINOR, EligibleUsers, request_chances, requesting_users
from usance.world.distributions import threshold_ppm
from usance.world.incidents import Incident, asked_on, days_later, incidents, plan_asked
from usance.world.population import MAX_HAZARD_PPM, month_days
from usance.world.scenario.scenario import SourceEventKind
from usance.world.streams import Stream

PER_USER = 16_384
AGREED = (FactKind.TERMS_CHANGED, FactKind.INTEREST_PAUSED)
NOON = 12 * 3600
NEVER = 2**31 - 1
Row = dict[str, Any]
COMPARED = (
    "users",
    "decisions",
    "lines",
    "requests",
    "routing",
    "loans",
    "shares",
    "facts",
    "tape",
)


@dataclass
class Person:
    """A user as the platform knows them."""

    user: int
    line_minor: int = 0
    grade: int = 0
    decided: int = 0
    asked: int = 0
    borrowed: int = 0
    repaid: int = 0
    worst: int = -1


@dataclass
class Account:
    """One loan: its row, its terms and everything that was ever told of it."""

    row: Row
    trigger: int
    hazard: int
    facts: list[Fact]
    terms: Terms = field(init=False)
    columns: TermColumns = field(init=False)
    worst: dict[int, int] = field(default_factory=dict)
    """The most days past due ever, by month end."""
    states: dict[tuple[int, ...], Any] = field(default_factory=dict)
    later: list[Row] = field(default_factory=list)
    """Rows of changed terms."""
    is_special: bool = False
    incident: Incident = Incident.NONE
    followed: tuple[int, Fact] | None = None
    """The day on which the month's payment is taken back, or a complaint about it upheld."""

    def __post_init__(self) -> None:
        self.terms = terms_of_row(self.row)
        self.columns = TermColumns.of([self.terms])

    @property
    def versions(self) -> list[Terms]:
        return [self.terms, *map(terms_of_row, self.later)]

    @property
    def is_exact(self) -> bool:
        """True of a loan that the kernel does not know any more."""
        return any(fact.kind in AGREED for fact in self.facts)

    def exact(self, day: int, known_at: datetime) -> Any:
        return replay(self.versions, self.facts, from_day(day), known_at, form="exact")

    @property
    def loan_id(self) -> int:
        return int(self.row["loan_id"])

    def known(self, day: int, known_at: datetime) -> list[Fact]:
        return visible(self.facts, as_of=from_day(day), known_at=known_at)

    def state(self, day: int, known_at: datetime) -> States:
        """The state at the end of a day, folded anew whenever other facts are known."""
        on = from_day(day)
        refs = tuple(fact.ref for fact in self.facts
                     if fact.effective_on <= on and fact.booked_at <= known_at)  # fmt: skip
        if refs not in self.states:
            self.states[refs] = step(start(self.columns), [self.known(day, known_at)], on).values
        return States(self.columns, self.states[refs], np.array([day], np.int32))

    def seen(self, day: int, known_at: datetime) -> dict[str, int]:
        """Where it stands at the end of a day."""
        if self.is_exact:
            on = from_day(day)
            key = (day, *(fact.ref for fact in self.facts
                          if fact.effective_on <= on and fact.booked_at <= known_at))  # fmt: skip
            if key not in self.states:
                self.states[key] = view_values(self.exact(day, known_at).view())
            return dict(zip(VIEW_FIELDS, self.states[key], strict=True))
        values = view(self.state(day, known_at), from_day(day)).values[0]
        return dict(zip(VIEW_FIELDS, values.tolist(), strict=True))

    def is_there(self, day: int) -> bool:
        return to_day(self.terms.disbursed_on) <= day

    def is_over(self, day: int, known_at: datetime) -> bool:
        return self.seen(day, known_at)["status"] == Status.CLOSED

    def in_recovery(self, day: int, known_at: datetime) -> bool:
        return any(
            fact.kind in (FactKind.COMPENSATED, FactKind.CHARGED_OFF)
            and to_day(fact.effective_on) <= day
            and fact.booked_at <= known_at
            for fact in self.facts
        )

    def hear(self, fact: Fact) -> None:
        """Take a fact in; one that is known is not taken twice."""
        if all(each.ref != fact.ref for each in self.facts):
            self.facts.append(fact)

    def open_instalments(self, day: int, known_at: datetime) -> list[tuple[int, date, int]]:
        """Number from 0, due day and what is unpaid of each open instalment, by the exact form."""
        loan = self.exact(day, known_at)
        if loan.view().principal_outstanding == 0:
            return []
        rows = ((n, row.due_on, sum(row.outstanding[:4])) for n, row in enumerate(loan.rows()))
        return [each for each in rows if each[2] > 0]


@dataclass
class DayByDay:
    """The whole platform and its world, a day at a time; `made` are the rows of each month."""

    context: RunContext
    book: Book
    release_lag: int = 1
    """Days after which principal that came back may be lent again."""
    people: dict[int, Person] = field(default_factory=dict)
    accounts: dict[int, Account] = field(default_factory=dict)
    made: dict[tuple[str, int], list[Row]] = field(default_factory=dict)
    eligible: EligibleUsers = field(default_factory=lambda: EligibleUsers(0, 0, 0))
    released: dict[int, dict[tuple[int, int], int]] = field(default_factory=dict)
    """By month: principal that came back by source and day."""
    back: list[tuple[int, int, int]] = field(default_factory=list)
    """What the router was told of it this month: from which day on, source and amount."""

    def __post_init__(self) -> None:
        self.scenario, self.zone = self.context.scenario, self.context.zone
        self.decider = Decider(self.context.assessor.flow)
        self.rules = self.context.rules(self.context.opening_month)

    # Time

    def known_at(self, month: int) -> datetime:
        return end_of_month(month, self.zone)

    def moment(self, day: int, second: int) -> datetime:
        micro = int(timestamps(np.array([day]), second, self.zone)[0])
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micro)

    def fact(self, day: int, kind: FactKind, amount: int, ref: int, arg: int, booked: int) -> Fact:
        return Fact(kind, from_day(day), amount, ref, arg, self.moment(booked, END_OF_DAY))

    def tell(self, table: str, month: int, row: Row) -> None:
        self.made.setdefault((table, month), []).append(row)

    # The opening, as it is in the book

    def open(self) -> None:
        month = self.context.opening_month
        for row in self.book.read("users", month=month).to_pylist():
            self.people[row["user_id"]] = Person(row["user_id"])
        for row in self.book.read("decisions", month=month).to_pylist():
            person = self.people[row["decision_id"] // PER_USER]
            person.decided, person.grade = 1, row["grade"]
        for row in self.book.read("lines", month=month).to_pylist():
            self.people[row["line_id"] // PER_USER].line_minor = row["limit_minor"]
        told: dict[int, list[Fact]] = {}
        for row in self.book.read("facts", month=month).to_pylist():
            told.setdefault(row["loan_id"], []).append(fact_of_row(row))
        first, last = month_days(month)
        known_at = self.known_at(month)
        for row in self.book.read("loans", month=month).to_pylist():
            account = self.account(row, told[row["loan_id"]])
            before = account.seen(first - 1, known_at) if account.is_there(first - 1) else {}
            account.worst[month - 1] = before.get("days_past_due", 0)
            person = self.people[account.loan_id // PER_USER]
            person.asked, person.borrowed, person.worst = person.asked + 1, person.borrowed + 1, 0
            if account.is_there(first - 1) and before["principal_outstanding"] == 0:
                del self.accounts[account.loan_id]
        for account in list(self.accounts.values()):
            self.note_worst(account, month)
            if account.is_over(last, known_at):
                del self.accounts[account.loan_id]
            else:
                person = self.people[account.loan_id // PER_USER]
                person.worst = max(person.worst, account.worst[month])
        self.eligible = self.count_eligible(month)
        self.released[month] = {}
        for row in self.book.read("loans", month=month).to_pylist():
            account = Account(row, 0, 0, told[row["loan_id"]])
            for day in range(first, last + 1):
                self.note_released(account, day, known_at, month)

    def account(self, row: Row, facts: list[Fact]) -> Account:
        user, is_first = row["loan_id"] // PER_USER, row["user_loan_no"] == 1
        cohort = (row["disbursed_on"].year - 1970) * 12 + row["disbursed_on"].month - 1
        hazard = self.context.population.hazard_ppm(np.array([user]), np.array([is_first]), cohort)
        funding = self.context.institutions.funding[row["source"] - 1]
        against = self.context.institutions.funding_of(cohort)[row["source"] - 1].hazard_ppm
        own = int(hazard[0])
        own = own if own < 0 else min(own * against // PPM, MAX_HAZARD_PPM)
        made = Account(row, funding.trigger_days, own, facts)
        self.accounts[made.loan_id] = made
        return made

    # A month

    def live(self, month: int) -> None:
        """One month, from its first morning to its last evening."""
        first, last = month_days(month)
        known_at = self.known_at(month)
        self.released[month], self.rules = {}, self.context.rules(month)
        self.hear_late_notices(month)
        self.decide_incidents(month)
        intended = {
            loan: self.decide_payments(account, month) for loan, account in self.accounts.items()
        }
        asks = sorted(self.decide_requests(month), key=lambda each: (each["at"], each["loan_id"]))
        newcomers = list(self.newcomers(month))
        desk, checkpoint, mandates = State(), None, self.mandates(month)
        served = list(self.accounts.values())
        self.back = []
        for day in range(first, last + 1):
            for person, registered_on in newcomers:
                if registered_on == day:
                    self.register(person, day, month)
            for ask in asks:
                if ask["day"] == day and self.assess(ask, month):
                    desk, checkpoint = self.place(ask, month, mandates, desk, checkpoint)
            for account in served:
                self.evening(account, day, month, intended[account.loan_id], known_at)
                self.note_released(account, day, known_at, month)
        self.end_month(month, served, known_at)

    def hear_late_notices(self, month: int) -> None:
        """Loans that turn out to be over, or better than they were thought to be."""
        first, _ = month_days(month)
        for account in list(self.accounts.values()):
            late = [
                fact for fact in account.facts
                if to_day(fact.effective_on) < first
                and self.known_at(month - 1) < fact.booked_at <= self.known_at(month)
            ]  # fmt: skip
            if late:
                self.note_worst(account, month - 1, self.known_at(month))
                self.note_late_release(account, month)
                if account.is_over(first - 1, self.known_at(month)):
                    del self.accounts[account.loan_id]
            for fact in late:
                self.tell_fact(account, fact, month)

    # What the world decides on the first day

    def decide_incidents(self, month: int) -> None:
        """Loans that something happens to, unless a notice of theirs has just come late."""
        first, _ = month_days(month)
        before, known_at = self.known_at(month - 1), self.known_at(month)
        for account in self.accounts.values():
            account.incident, account.followed = Incident.NONE, None
            waits = any(to_day(fact.effective_on) < first and before < fact.booked_at
                        for fact in account.facts)  # fmt: skip
            if waits and not account.is_special:
                continue
            late = account.seen(first - 1, known_at)["days_past_due"] > 0
            found = incidents(self.scenario.seed, self.scenario.incidents, month,
                              np.array([account.loan_id]), np.array([late]))  # fmt: skip
            account.incident = Incident(found[0])
            account.is_special |= account.incident is not Incident.NONE

    def decide_payments(self, account: Account, month: int) -> list[tuple[int, int, int]]:
        """Day, meaning and place of each payment the borrower means to make."""
        first, last = month_days(month)
        known_at = self.known_at(month)
        opens = account.open_instalments(first - 1, known_at)
        oldest, oldest_day = (opens[0][0], to_day(opens[0][1])) if opens else (0, NEVER)
        rows = account.exact(first - 1, known_at).rows() if account.later else schedule(
            account.terms)  # fmt: skip
        own = [n for n, row in enumerate(rows) if first <= to_day(row.due_on) <= last]
        nth, due_on = (own[-1], to_day(rows[own[-1]].due_on)) if own else (0, -1)
        kinds = {fact.kind for fact in account.known(first - 1, known_at)}
        since = month if oldest_day >= first - 1 else to_month(from_day(oldest_day))
        status = how.DueStatus(
            self.hazard(account, oldest, len(rows), since), oldest_day,
            self.hazard(account, nth, len(rows), since), due_on,
            bool(kinds & {FactKind.COMPENSATED, FactKind.CHARGED_OFF}),
            FactKind.CHARGED_OFF in kinds,
        )  # fmt: skip
        out = np.zeros((how.MAX_PAYMENTS, 2), np.int64)
        count = how.decide(
            np.uint64(draw(self.scenario.seed, Stream.PAYMENT, account.loan_id, month * 256)),
            account.loan_id, status, behaviour_inputs(self.scenario, month), out,
        )  # fmt: skip
        return [(int(out[n, 0]), int(out[n, 1]), n) for n in range(count)]

    def hazard(self, account: Account, k: int, count: int, since: int) -> int:
        """Early dues are likelier late, and those of a month in which an income is shaken."""
        early, hazard = self.scenario.behaviour.early_ppm, account.hazard
        has_event = self.context.population.has_life_event(
            np.array([account.loan_id // PER_USER]), since
        )
        if has_event[0] and hazard >= 0:
            more = hazard * self.scenario.behaviour.life_event_hazard_ppm // PPM
            hazard = min(more, MAX_HAZARD_PPM)
        if early == 0 or count < 2 or hazard < 0:
            return hazard
        return hazard * (PPM + early * (count - 1 - 2 * k) // (count - 1)) // PPM

    def count_eligible(self, month: int) -> EligibleUsers:
        """Who may ask in the next month, counted before the month's own loans."""
        never = borrowed = repaid = 0
        overdue = self.overdue(month_days(month)[1], self.known_at(month))
        for person in self.people.values():
            if person.line_minor == 0 or person.user in overdue:
                continue
            if person.borrowed == 0:
                never += 1
            elif person.repaid == month:
                repaid += 1
            else:
                borrowed += 1
        return EligibleUsers(never, borrowed, repaid)

    def overdue(self, day: int, known_at: datetime) -> set[int]:
        return {
            loan // PER_USER
            for loan, account in self.accounts.items()
            if account.is_there(day) and account.seen(day, known_at)["days_past_due"] > 0
        }

    def decide_requests(self, month: int) -> Iterator[Row]:
        """Who asks, for how much and when; what is left of the line is that of the eve."""
        first, _ = month_days(month)
        known_at = self.known_at(month)
        levels = request_chances(self.scenario, self.context.scale, month, self.eligible)
        overdue = self.overdue(first - 1, known_at)
        for person in self.people.values():
            asks = requesting_users(
                self.scenario.seed, month, person.user, np.array([person.line_minor]),
                np.array([person.borrowed], np.int16),
                np.array([person.user in overdue], np.int8),
                np.array([person.repaid], np.int16), levels,
            )  # fmt: skip
            if len(asks):
                yield self.request(person, month, first - 1, known_at)

    def request(self, person: Person, month: int, eve: int, known_at: datetime) -> Row:
        wish = self.context.requests.of(np.array([person.user]), month)
        used = self.used(person.user, eve, known_at)
        whole = max(person.line_minor - used, 0) // TICKET_STEP_MINOR * TICKET_STEP_MINOR
        wanted = int(wish.amount_minor[0])
        person.asked += 1
        day, second = int(wish.day[0]), int(wish.second[0])
        return {
            "person": person, "day": day, "at": self.moment(day, second),
            "loan_id": person.user * PER_USER + person.asked, "product": int(wish.product[0]),
            "amount": min(wanted, whole) if whole else wanted, "months": int(wish.months[0]),
            "convention": int(wish.convention[0]),
        }  # fmt: skip

    def used(self, user: int, day: int, known_at: datetime) -> int:
        return sum(
            account.seen(day, known_at)["principal_outstanding"]
            for loan, account in self.accounts.items()
            if loan // PER_USER == user and account.is_there(day)
        )

    # Users who come

    def newcomers(self, month: int) -> Iterator[tuple[Person, int]]:
        world = self.context.population
        for user in range(world.registered_by(month - 1) + 1, world.registered_by(month) + 1):
            yield Person(user), int(world.registered_on(user, user, month)[0])

    def register(self, person: Person, day: int, month: int) -> None:
        one, world = np.array([person.user]), self.context.population
        self.people[person.user] = person
        self.tell("users", month, {
            "user_id": person.user, "registered_on": from_day(day),
            "channel": int(world.channel(one)[0]), "region": int(world.region(one)[0]),
            "kind": int(world.kind(one)[0]), "client_ref": None,
        })  # fmt: skip
        if not world.applies(one)[0]:
            return
        person.decided += 1
        inputs = self.context.assessor.application_inputs(one, day)
        at = self.moment(day, NOON)
        answer = self.decide(person, DecisionKind.APPLICATION, inputs, at, month)
        person.line_minor, person.grade = answer.number("line_minor"), answer.number("grade")
        if person.line_minor:
            rate = int(self.context.pricer.rate_ppm(np.array([person.grade]))[0])
            self.tell("lines", month, {
                "line_id": person.user * PER_USER + 1, "effective_on": from_day(day),
                "booked_at": at, "product": int(Product.INSTALMENT), "rate_ppm": rate,
                "limit_minor": person.line_minor, "state": int(LineState.ACTIVE),
            })  # fmt: skip

    def decide(
        self, person: Person, kind: DecisionKind, inputs: Row, at: datetime, month: int
    ) -> Any:
        flow = self.context.assessor.flow
        stored = tuple(float(inputs[name][0]) if name in inputs else float("nan")
                       for name in flow.inputs)  # fmt: skip
        answer = self.decider.answer(stored, kind)
        made = Decision(person.user * PER_USER + person.decided, at, kind, answer, flow.number,
                        flow.sha256, stored)  # fmt: skip
        self.tell("decisions", month, made.row())
        return answer

    # Requests, at their moment

    def assess(self, ask: Row, month: int) -> bool:
        """On what was booked before the moment: everything up to the evening before."""
        person, eve = ask["person"], ask["day"] - 1
        person.decided += 1
        ask["decision_id"] = person.user * PER_USER + person.decided
        booked = self.moment(eve, END_OF_DAY)
        own = [account for loan, account in self.accounts.items()
               if loan // PER_USER == person.user and account.is_there(eve)]  # fmt: skip
        seen = [account.seen(eve, booked) for account in own]
        late = max((each["days_past_due"] for each in seen), default=0)
        room = max(person.line_minor - sum(each["principal_outstanding"] for each in seen), 0)
        worst = max([person.worst, *(
            max(account.worst[month - 1], self.worst_in(account, month, eve, booked))
            for account in own
        )])  # fmt: skip
        inputs = self.context.assessor.drawdown_inputs(
            np.array([person.user]), ask["day"], np.array([ask["amount"]]), np.array([room]),
            np.array([worst]), np.array([late]),
        )  # fmt: skip
        answer = self.decide(person, DecisionKind.DRAWDOWN, inputs, ask["at"], month)
        return bool(answer.approved)

    def place(
        self,
        ask: Row,
        month: int,
        mandates: Mandates,
        desk: State,
        checkpoint: RouterCheckpoint | None,
    ) -> tuple[State, RouterCheckpoint]:
        """One request meets the router, then the desk; an institution says yes or no."""
        row = self.request_row(ask)
        self.tell("requests", month, row)
        asked = from_columns(**{
            name: [int(value.timestamp() * 1e6) if name == "requested_at" else value]
            for name, value in row.items()
        })  # fmt: skip
        told = [(day + self.release_lag, source, minor)
                for (source, day), minor in self.released[month].items()
                if day < ask["day"]]  # fmt: skip
        new = [each for each in told if each not in self.back]
        self.back += new
        back = releases_of(
            day=[each[0] for each in new], source=[each[1] for each in new],
            principal_minor=[each[2] for each in new],
        )  # fmt: skip
        router = Router(
            asked, mandates, POLICY, seed=self.scenario.seed, releases=back, checkpoint=checkpoint
        )
        offered = offer(router, 0)
        for event in ceilings(router, 0):
            more = self.come_back(mandates, event.limit, ask["day"])
            desk, _ = step_desk(desk, LimitSet(event.at, event.limit, event.ceiling_minor + more))
        desk, said = place(desk, offered.requested, self.answers(ask))
        router.run()
        for each in routing_rows(offered, said).to_pylist():
            self.tell("routing", month, each)
            if each["outcome"] == RoutingOutcome.APPROVED:
                self.book_loan(ask, each["source"], month)
                self.book_parts(ask, each["source"], month, mandates)
        return desk, checkpoint_of(router)

    def book_parts(self, ask: Row, source: int, month: int, mandates: Mandates) -> None:
        """Parts of a loan that two sources fund together."""
        own = [each for each in mandates.of_source(source)
               if to_day(each.valid_from) <= ask["day"] <= to_day(each.valid_to)]  # fmt: skip
        for who, part in own[0].parts_minor(ask["amount"]).items():
            self.tell("shares", month, {"loan_id": ask["loan_id"], "source": who,
                                        "principal_minor": part})  # fmt: skip

    def come_back(self, mandates: Mandates, limit: str, day: int) -> int:
        """What raises a revolving budget by a day."""
        source, kind, _, since = limit.split("/")
        own = (each for each in mandates.mandates
               if (str(each.source), each.since.isoformat()) == (source, since))  # fmt: skip
        mandate = next(own, None)
        if kind != "total" or mandate is None or mandate.structure is None:
            return 0
        first = to_day(mandate.valid_from)
        return sum(minor for when, source, minor in self.back
                   if source == mandate.source and first <= when <= day)  # fmt: skip

    def mandates(self, month: int) -> Mandates:
        before = self.released[month - 1]
        revolved = {
            source: sum(minor for (own, _), minor in before.items() if own == source)
            for source in range(1, self.context.sources + 1)
        }
        return mandates_of(self.context.institutions, month, revolved)

    def answers(self, ask: Row) -> Any:
        """What institutions say on the day: yes, no, or nothing."""
        institutions, day = self.context.institutions, ask["day"]

        def answer(source: int, _attempt: int) -> bool | None:
            if institutions.events.value_ppm(source, SourceEventKind.OUTAGE, day) is not None:
                return None
            funding = institutions.funding[source - 1]
            rate = institutions.events.approval_ppm(source, funding, day)
            drawn = draw(self.scenario.seed, ANSWERS, ask["loan_id"], source)
            return drawn >> 11 < (1 << 53) * rate // PPM

        return answer

    def request_row(self, ask: Row) -> Row:
        person, world = ask["person"], self.context.population
        one = np.array([person.user])
        grade = min(max(person.grade, 1), len(self.scenario.pricing.rate_ppm))
        return {
            "requested_at": ask["at"], "loan_id": ask["loan_id"],
            "decision_id": ask["decision_id"], "product": ask["product"],
            "amount_minor": ask["amount"], "months": ask["months"],
            "rate_ppm": self.scenario.pricing.rate_ppm[grade - 1], "grade": grade,
            "region": int(world.region(one)[0]), "channel": int(world.channel(one)[0]),
        }  # fmt: skip

    def book_loan(self, ask: Row, source: int, month: int) -> None:
        person, asked = ask["person"], self.request_row(ask)
        terms = self.context.pricer.columns(
            source=np.array([source]), grade=np.array([asked["grade"]]),
            amount_minor=np.array([ask["amount"]]), months=np.array([ask["months"]]),
            convention=np.array([ask["convention"]]), disbursed_on=np.array([ask["day"]]),
            month=month,
        )  # fmt: skip
        request = {name: np.array([asked[name]])
                   for name in ("product", "grade", "channel", "region")}  # fmt: skip
        (row,) = loans_table(
            np.array([ask["loan_id"]]), np.array([person.user * PER_USER + 1]),
            np.array([ask["decision_id"]]), np.array([person.borrowed + 1]),
            {**request, "source": np.array([source])}, terms, self.scenario.currency,
        ).to_pylist()  # fmt: skip
        self.tell("loans", month, row)
        drawn = self.fact(ask["day"], FactKind.DISBURSED, ask["amount"], 1, 0, ask["day"])
        account = self.account(row, [drawn])
        account.worst[month] = 0
        self.tell_fact(account, drawn, month)

    # Evenings

    def evening(
        self, account: Account, day: int, month: int, intended: list[tuple[int, int, int]],
        known_at: datetime,
    ) -> None:  # fmt: skip
        """Fees of the day, what is paid, and claims that have become due; or a recovery last."""
        if account.is_over(day - 1, known_at) and account.followed is None:
            return
        for fact in self.falling_due(account, day, known_at):
            if fact.kind is FactKind.FEE_CHARGED:
                self.take(account, fact, day, month)
        if account.in_recovery(day, known_at):
            self.claim(account, day, month, known_at)
        for paid_on, meaning, nth in intended:
            if paid_on == day:
                self.pay(account, day, month, meaning, nth, known_at)
        self.incident(account, day, month, known_at)
        self.claim(account, day, month, known_at)

    # What does not go as agreed

    def incident(self, account: Account, day: int, month: int, known_at: datetime) -> None:
        first, last = month_days(month)
        if account.incident is Incident.ASKS_FOR_HELP:
            if day == asked_on(self.scenario.seed, account.loan_id, month, first, last):
                self.help(account, day, month)
        elif account.followed is not None and account.followed[0] == day:
            (_, paid), account.followed = account.followed, None
            if account.incident is Incident.CHARGED_BACK:
                self.charge_back(account, paid, day, month, known_at)
            else:
                self.let_go(account, paid, day, month, known_at)

    def after_payment(self, account: Account, paid: Fact, day: int, month: int) -> None:
        """Remember when the first payment of a month is taken back, or complained about."""
        kinds = (Incident.CHARGED_BACK, Incident.COMPLAINT_UPHELD)
        if account.incident not in kinds or paid.kind is not FactKind.PAID:
            return
        if account.followed is not None or any(
            fact.ref // 128 * 128 == month * 256 + 128 for fact in account.facts
        ):
            return
        if account.incident is Incident.COMPLAINT_UPHELD and not account.is_over(
            day, self.known_at(month)
        ):
            return
        if account.incident is Incident.CHARGED_BACK and paid.ref != min(
            fact.ref
            for fact in account.facts
            if fact.kind is FactKind.PAID and month * 256 <= fact.ref < month * 256 + 128
        ):
            return
        lag = days_later(self.scenario.seed, self.scenario.incidents, account.incident,
                         account.loan_id, month)  # fmt: skip
        if day + lag <= month_days(month)[1]:
            account.followed = day + lag, paid

    def incident_ref(self, month: int, nth: int = 0) -> int:
        return month * 256 + 128 + nth

    def happens(self, account: Account, fact: Fact, month: int) -> None:
        account.hear(fact)
        self.tell_fact(account, fact, month)

    def charge_back(
        self, account: Account, paid: Fact, day: int, month: int, known_at: datetime
    ) -> None:
        if not account.in_recovery(day, known_at):
            self.happens(account, self.fact(
                day, FactKind.CHARGED_BACK, paid.amount_minor, self.incident_ref(month), paid.arg,
                day,
            ), month)  # fmt: skip

    def let_go(
        self, account: Account, paid: Fact, day: int, month: int, known_at: datetime
    ) -> None:
        """Interest since the eve's last due is waived as of that eve, and paid back."""
        settled = to_day(paid.effective_on)
        interest = account.exact(settled - 1, known_at).view().accrued_interest
        by_rule = any(is_made_by_rule(fact) and to_day(fact.effective_on) >= settled - 1
                      for fact in account.facts)  # fmt: skip
        if by_rule or interest <= 0:
            return
        waived = self.fact(settled - 1, FactKind.WAIVED, interest, self.incident_ref(month),
                           int(Component.INTEREST), day)  # fmt: skip
        excess = replay(account.versions, [*account.facts, waived], from_day(day),
                        form="exact").view().overpaid  # fmt: skip
        if excess > 0:
            self.happens(account, waived, month)
            self.happens(account, self.fact(
                day, FactKind.REFUNDED, excess, self.incident_ref(month, 1), paid.arg, day
            ), month)  # fmt: skip

    def plan(self, account: Account, month: int) -> PlanRequest:
        given, seed = self.scenario.incidents, self.scenario.seed
        rate = account.versions[-1].rate_ppm
        return PlanRequest(
            PlanKind(plan_asked(seed, given, account.loan_id, month)), months=given.months,
            rate_ppm=rate - rate * given.rate_cut_ppm // PPM, pause_days=given.pause_days,
        )  # fmt: skip

    def help(self, account: Account, day: int, month: int) -> PlanOffer | None:
        """The plan that a borrower past due asks for, if the rules have it."""
        if account.in_recovery(day, self.known_at(month)):
            return None
        plans = sum(fact.kind in AGREED for fact in account.facts)
        helped = HelpedLoan(tuple(account.versions), tuple(account.facts), plans)
        try:
            offer = offer_plan(helped, from_day(day), self.plan(account, month), role="operations")
        except UsanceError:
            return None
        for terms in offer.terms:
            row = changed_row([account.row, *account.later][-1], terms, from_day(day))
            account.later.append(row)
            self.tell("loans", month, row)
        for fact in offer.facts:
            self.happens(account, self.fact(day, fact.kind, 0, self.incident_ref(month), fact.arg,
                                            day), month)  # fmt: skip
        return offer

    def claim(self, account: Account, day: int, month: int, known_at: datetime) -> None:
        for fact in self.falling_due(account, day, known_at):
            if fact.kind is not FactKind.FEE_CHARGED:
                self.take(account, fact, day, month)

    def falling_due(self, account: Account, day: int, known_at: datetime) -> list[Fact]:
        """What one day brings by rule, on what is known of that very day."""
        if account.seen(day, known_at)["days_past_due"] == 0:
            return []
        if account.is_exact:
            known = account.known(day, known_at)
            made = {(event_of(fact.ref), fact.effective_on) for fact in known
                    if is_made_by_rule(fact)}  # fmt: skip
            holder = ClaimHolder(FundingModel(account.row["model"]), account.trigger)
            return [
                fact for fact in loan_events(account.versions, known, holder, self.rules,
                                             from_day(day - 1), from_day(day), form="exact")
                if (event_of(fact.ref), fact.effective_on) not in made
            ]  # fmt: skip
        state = account.state(day, known_at)
        eve = States(state.terms, state.values, np.array([day - 1], np.int32))
        holders = Holders.of([FundingModel(account.row["model"])], [account.trigger])
        return due_facts(eve, holders, self.rules, day).of(0)

    def take(self, account: Account, fact: Fact, day: int, month: int) -> None:
        told = self.fact(day, fact.kind, fact.amount_minor, fact.ref, fact.arg, day)
        if all(each.ref != told.ref for each in account.facts):
            account.hear(told)
            self.tell_fact(account, told, month)

    def pay(
        self, account: Account, day: int, month: int, meaning: int, nth: int, known_at: datetime
    ) -> None:
        """A borrower pays; while the notice of a debit is out, there is no other."""
        if any(fact.booked_at > known_at for fact in account.facts):
            return
        amount = self.amount(account, day, meaning, known_at)
        if amount <= 0:
            return
        providers = self.scenario.providers
        bits = draw(self.scenario.seed, int(Stream.NOTICE), account.loan_id, month * 256 + nth)
        low, booked = bits & 0x7FF, day
        if bits >> 11 < threshold_ppm(providers.late_notice_ppm) and not account.is_special:
            booked += 1 + (low * providers.late_notice_days >> 11)
        kind = FactKind.RECOVERED if account.in_recovery(day, known_at) else FactKind.PAID
        paid = self.fact(
            day, kind, amount, month * 256 + nth, 1 + low % max(providers.providers, 1), booked
        )
        account.hear(paid)
        account.hear(paid)  # a provider may tell it twice
        if paid.booked_at <= known_at:
            self.tell_fact(account, paid, month)
        self.after_payment(account, paid, day, month)

    def amount(self, account: Account, day: int, meaning: int, known_at: datetime) -> int:
        """What the loan says is due, or closes it, on the day."""
        seen: LoanView = account.exact(day, known_at).view()
        if meaning == how.PAYS_DUE:
            return seen.past_due.total if sum(seen.past_due[:4]) else 0
        if meaning == how.PAYS_ONE:
            opens = account.open_instalments(day, known_at)
            return opens[0][2] if opens else 0
        if meaning == how.SETTLES:
            return seen.settlement
        share = self.scenario.behaviour.recovered_share_ppm
        return (2 * seen.settlement * share + PPM) // (2 * PPM)

    def note_released(self, account: Account, day: int, known_at: datetime, month: int) -> None:
        """Principal that the day's facts brought back."""
        if not any(to_day(fact.effective_on) == day for fact in account.facts):
            return
        before = account.seen(day - 1, known_at)["principal_outstanding"]
        after = account.seen(day, known_at)["principal_outstanding"]
        if account.is_there(day - 1) and (before > after or (before != after
                                                              and account.is_special)):  # fmt: skip
            key = (account.row["source"], day)
            own = self.released[month]
            own[key] = own.get(key, 0) + before - after

    def note_late_release(self, account: Account, month: int) -> None:
        """What a payment brought back that is known only now counts on the first day."""
        first, _ = month_days(month)
        thought, is_so = (account.seen(first - 1, self.known_at(each))["principal_outstanding"]
                          for each in (month - 1, month))  # fmt: skip
        if thought > is_so:
            key, own = (account.row["source"], first), self.released[month]
            own[key] = own.get(key, 0) + thought - is_so

    # The month's end

    def note_worst(self, account: Account, month: int, known_at: datetime | None = None) -> None:
        _, last = month_days(month)
        known = known_at or self.known_at(month)
        before = account.worst.get(month - 1, 0)
        account.worst[month] = max(before, self.worst_in(account, month, last, known))

    def worst_in(self, account: Account, month: int, until: int, known_at: datetime) -> int:
        """The most days past due at the end of any day of a month up to one."""
        first, _ = month_days(month)
        days = (day for day in range(first, until + 1) if account.is_there(day))
        return max((account.seen(day, known_at)["days_past_due"] for day in days), default=0)

    def end_month(self, month: int, served: list[Account], known_at: datetime) -> None:
        _, last = month_days(month)
        for account in served:
            self.note_worst(account, month)
        for account in self.accounts.values():
            self.tell("tape", month, self.tape_row(account, month, known_at))
        for account in served:
            person = self.people[account.loan_id // PER_USER]
            person.worst = max(person.worst, account.worst[month])
            waits = any(fact.booked_at > known_at for fact in account.facts)
            if account.is_over(last, known_at):
                person.repaid = month
                if not waits:
                    del self.accounts[account.loan_id]
        self.eligible = self.count_eligible(month)
        for account in self.accounts.values():
            if account not in served:
                self.people[account.loan_id // PER_USER].borrowed += 1

    def tape_row(self, account: Account, month: int, known_at: datetime) -> Row:
        first, last = month_days(month)
        now = account.seen(last, known_at)
        was_there = account.is_there(first - 1)
        before = account.seen(first - 1, known_at) if was_there else None
        owed, dpd, off = (now[name] for name in
                          ("principal_outstanding", "days_past_due", "status"))  # fmt: skip
        is_off = off == Status.CHARGED_OFF
        worst = account.worst[month] if dpd > 0 or is_off else 0
        drawn = account.terms.disbursed_on
        cohort = (drawn.year - 1970) * 12 + drawn.month - 1
        recovered = now["recovered"] - (before["recovered"] if before else 0)
        cell = cells_of(np.array([account.row["source"]]), np.array([account.row["product"]]))
        return {
            "month": month, "loan_id": account.loan_id, "mob": month - cohort, "dpd": dpd,
            "bucket": bucket(dpd, is_off),
            "bucket_prev": bucket(before["days_past_due"], before["status"] == Status.CHARGED_OFF)
            if before else -1,
            "status": off, "principal_minor": owed,
            "principal_prev_minor": before["principal_outstanding"] if before else 0,
            "past_due_minor": sum(value for name, value in now.items()
                                  if name.startswith("past_due")),
            "net30_minor": owed if worst > 30 else 0, "net180_minor": owed if worst > 180 else 0,
            "prepaid_minor": self.prepaid(account, month, known_at),
            "recovered_minor": recovered, "cohort": cohort, "cell": int(cell[0]),
        }  # fmt: skip

    def prepaid(self, account: Account, month: int, known_at: datetime) -> int:
        """Principal that payments of the month met before it was due."""
        first, last = month_days(month)
        known = account.known(last, known_at)
        days = sorted({
            to_day(fact.effective_on) for fact in known
            if fact.kind is FactKind.PAID and to_day(fact.effective_on) >= first
        })  # fmt: skip
        if account.is_special:
            return self.prepaid_by_view(account, days, known_at)
        rows, total = schedule(account.terms), 0
        for day in days:
            met = [account.terms.principal_minor
                   - account.seen(each, known_at)["principal_outstanding"]
                   for each in (day - 1, day)]  # fmt: skip
            due = sum(row.principal for row in rows if to_day(row.due_on) <= day)
            total += max(0, met[1] - max(met[0], due))
        return total

    def prepaid_by_view(self, account: Account, days: list[int], known_at: datetime) -> int:
        """The same where a payment may be taken back and a plan replaced."""
        total = 0
        for day in days:
            eve, now = (account.exact(each, known_at) for each in (day - 1, day))
            today = sum(row.due.principal for row in now.rows() if to_day(row.due_on) == day)
            if not account.later:
                today = sum(row.principal for row in schedule(account.terms)
                            if to_day(row.due_on) == day)  # fmt: skip
            due = eve.view().due.principal + today
            total += max(0, now.view().paid.principal - max(eve.view().paid.principal, due))
        return total

    def tell_fact(self, account: Account, fact: Fact, month: int) -> None:
        self.tell("facts", month, {
            "loan_id": account.loan_id, "effective_on": fact.effective_on, "kind": int(fact.kind),
            "ref": fact.ref, "amount_minor": fact.amount_minor, "arg": fact.arg,
            "booked_at": fact.booked_at,
        })  # fmt: skip


def bucket(dpd: int, is_off: bool) -> int:
    """0 current, 1 to 6 by thirty days past due, 7 beyond or charged off."""
    return 7 if is_off else min(-(-dpd // 30), 7)
