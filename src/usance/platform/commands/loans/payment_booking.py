"""Payments booked, one or many at once: read together, folded together, each with its own answer.

Money on a day after the last of a loan is one step on its stored fold. An earlier day, a loan with
events that a late notice may undo, changed terms, a loan of two sources, and money for a user
rather than a loan are replayed from facts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.codes import Component, FactKind, Status
from usance.base.errors import UsanceError
from usance.base.ids import PER_USER, print_id
from usance.loan.batch import instalment_columns
from usance.loan.loan import Loan
from usance.platform.commands.command import (
    DONE,
    CommandCall,
    Decided,
    Ended,
    Moment,
    act_as_platform,
    only,
)
from usance.platform.commands.loans.loan_change import (
    book_facts,
    cannot_take,
    check_day,
    fact,
    fact_row,
    free,
    note_settled,
    poster,
)
from usance.platform.commands.loans.payments import (
    RECOVERY,
    BookPayment,
    check_booked,
    check_payment,
    content_of,
    provider_of,
    reference_of,
)
from usance.platform.errors import StaleRead
from usance.platform.ledger.fact_postings import Books, post
from usance.platform.principals import Principal
from usance.platform.reads.loans.payments import payment_answer
from usance.platform.records.loan_fold import PackedLoan, Receipts, receive
from usance.platform.records.loan_record import LoanRecord, load_loans, open_loans
from usance.platform.records.user_record import UserRecord, not_found, owner_of, read_id, user_of
from usance.platform.refusals import ReferenceUsed
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

_READ = (
    "select g.user_id, p.payment_id as known, u.registered_on, u.channel, u.region, u.kind, "
    "u.client_ref, c.version, c.decisions, c.lines, c.requests, c.journals, c.borrowed, "
    "c.worst_days, c.held_minor, c.records, "
    "exists (select from usance.facts f where f.loan_id = g.loan_id and f.ref = g.ref) as is_told, "
    "exists (select from usance.shares h where h.loan_id = g.loan_id) as is_shared, "
    "s.loan_id, s.version as loan_version, s.is_open, s.form, s.model, s.source, s.cell, "
    "s.trigger_days, s.through, s.terms, s.state, s.posted "
    "from unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) "
    "with ordinality g (provider, reference, loan_id, user_id, ref, n) "
    "left join usance.payments p on p.provider = g.provider and p.reference = g.reference "
    "left join usance.users u on u.user_id = g.user_id "
    "left join usance.user_counters c on c.user_id = g.user_id "
    "left join usance.loan_states s on s.loan_id = g.loan_id order by g.n"
)
_STATE = (
    "loan_id", "loan_version", "is_open", "form", "model", "source", "cell", "trigger_days",
    "through", "terms", "state", "posted",
)  # fmt: skip


@dataclass
class Booking:
    """One payment on its way: what was told, then what was read of it, then what came of it."""

    moment: Moment
    command: BookPayment
    provider: int
    ref: int
    user_id: int
    loan_id: int = 0
    """0 for money of a user, which is for all their loans."""
    user: UserRecord | None = None
    packed: PackedLoan | None = None
    left: int = 0
    allocation: list[dict[str, Any]] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    changes: WriteSet = field(default_factory=WriteSet)

    @property
    def can_step(self) -> bool:
        """True if the payment is one step on the loan's stored fold."""
        today = self.moment.business_date
        return self.packed is not None and self.packed.can_step(self.command.effective_on, today)

    @property
    def payer(self) -> UserRecord:
        """The user, once they were read."""
        assert self.user is not None, "a booking is read before it is decided"
        return self.user


async def book(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: BookPayment
) -> Decided:
    """Book a payment; the same provider and reference again give the stored answer."""
    await act_as_platform(transaction)
    return only(await book_many(transaction, [CommandCall(principal, moment, command)]))


async def book_many(transaction: asyncpg.Connection, asked: Sequence[CommandCall]) -> list[Ended]:
    """Book payments of different users; each ends by itself. Read as the platform."""
    ended: list[Ended | Booking] = [_checked(each) for each in asked]
    told = [each for each in ended if isinstance(each, Booking)]
    rows = await transaction.fetch(
        _READ, [each.provider for each in told], [each.command.ref for each in told],
        [each.loan_id for each in told], [each.user_id for each in told],
        [each.ref for each in told],
    )  # fmt: skip
    found = {id(each): dict(row) for each, row in zip(told, rows, strict=True)}
    ended = [_read(each, found[id(each)]) if isinstance(each, Booking) else each for each in ended]
    for n, each in enumerate(ended):
        if isinstance(each, Booking) and (known := found[id(each)]["known"]) is not None:
            ended[n] = await _known(transaction, each, known)
    waiting = [each for each in ended if isinstance(each, Booking)]
    _step([each for each in waiting if each.can_step])
    slow = [each for each in waiting if not each.can_step]
    refused = await _replay(transaction, slow) if slow else {}
    return [
        refused.get(id(each)) or _answered(each) if isinstance(each, Booking) else each
        for each in ended
    ]


def _checked(asked: CommandCall) -> Booking | UsanceError:
    """A payment as it was told, checked as far as nothing has to be read."""
    moment, command = asked.moment, asked.command
    try:
        provider = provider_of(moment, asked.principal, command.provider)
        check_payment(command)
        ref = reference_of(moment, provider, command.ref)
        if command.loan is None:
            user_id = read_id(command.user, "us", "user")
            return Booking(moment, command, provider, ref, user_id, left=command.amount_minor)
        loan_id = read_id(command.loan, "ln", "loan")
        return Booking(moment, command, provider, ref, owner_of(loan_id), loan_id,
                       left=command.amount_minor)  # fmt: skip
    except UsanceError as error:
        return error


def _read(booking: Booking, row: dict[str, Any]) -> Booking | UsanceError:
    """A payment with its user and loan, or why there is none."""
    if row["known"] is not None:
        return booking
    if row["version"] is None:
        return not_found("ln" if booking.loan_id else "us", booking.loan_id or booking.user_id)
    if booking.loan_id and row["loan_id"] is None:
        return not_found("ln", booking.loan_id)
    if row["is_told"]:
        return ReferenceUsed("another fact of the loan has this reference", where="body.ref",
                             fix="Tell what was told, or give another reference")  # fmt: skip
    try:
        check_booked(booking.moment, booking.command)
    except UsanceError as error:
        return error
    if booking.loan_id and not row["is_shared"]:
        booking.packed = PackedLoan(*(row[name] for name in _STATE))
    booking.user = user_of(row)
    return booking


async def _known(transaction: asyncpg.Connection, booking: Booking, payment_id: int) -> Ended:
    """The answer that a payment had before."""
    row = await transaction.fetchrow(
        "select p.*, exists (select from usance.payment_reversals r "
        "where r.payment_id = p.payment_id) as gone from usance.payments p where payment_id = $1",
        payment_id,
    )  # fmt: skip
    if bytes(row["content"]) != content_of(booking.command):
        return ReferenceUsed("this reference was told with other content", where="body.ref",
                             fix="Tell what was told, or give another reference")  # fmt: skip
    answer = payment_answer(booking.moment.lender, dict(row), is_reversed=row["gone"])
    return Decided(answer, print_id("pm", payment_id), row["user_id"], is_new=False, status=DONE,
                   as_platform=True)  # fmt: skip


def _step(bookings: Sequence[Booking]) -> None:
    """Take one step on the fold of each loan, all at once."""
    if not bookings:
        return
    today = bookings[0].moment.business_date
    try:
        got = receive(
            [each.packed for each in bookings if each.packed is not None],
            [each.command.effective_on for each in bookings],
            [each.command.amount_minor for each in bookings], today,
        )  # fmt: skip
    except UsanceError as error:
        raise cannot_take(error) from error
    allocations = _allocations(got)
    for n, booking in enumerate(bookings):
        if got.taken[n]:
            _note_receipt(booking, got, n, allocations[n])


def _note_receipt(
    booking: Booking, got: Receipts, n: int, allocation: list[dict[str, Any]]
) -> None:
    """Everything that one of the steps writes."""
    moment, command, loan, user = booking.moment, booking.command, got.rows[n], booking.payer
    made = fact(moment, got.kinds[n], command.effective_on, got.taken[n], booking.ref,
                booking.provider)  # fmt: skip
    booking.left -= got.taken[n]
    booking.allocation += allocation
    booking.facts.append({"loan": loan.loan_id, "ref": str(booking.ref)})
    user.counters["worst_days"] = max(user.counters["worst_days"], got.late_days[n])
    books = Books(moment.open_periods, moment.lender.cells)
    moved = tuple(got.moved[n].tolist())
    if any(moved):
        post(booking.changes, poster(moment, user, "payment.book"), loan.loan_id, [loan.cell],
             books, books.single(command.effective_on, moved))  # fmt: skip
    booking.changes.facts.append(fact_row(loan.loan_id, made))
    booking.changes.state_changes.append(loan)
    before, after = got.views
    free(moment, loan.source, int(before[n, _OWED] - after[n, _OWED]), booking.changes)
    note_settled(moment, loan.loan_id, int(before[n, 0]), int(after[n, 0]), booking.changes)


_OWED, _PAID = 3, slice(13, 18)
"""Places of principal outstanding and of amounts paid in a view."""


def _allocations(got: Receipts) -> list[list[dict[str, Any]]]:
    """Amounts that each step paid, by component and instalment."""
    was, now = (
        instalment_columns(got.before.states, workers=1),
        instalment_columns(got.after.states, workers=1),
    )
    moved, ends = now.covered - was.covered, now.offsets
    paid = (got.views[1] - got.views[0])[:, _PAID].tolist()
    found = []
    for n, (loan, rest) in enumerate(zip(got.rows, paid, strict=True)):
        own = moved[ends[n] : ends[n + 1]]
        places = np.flatnonzero(own.any(axis=1))
        by_instalment = [(int(at) + 1, own[at].tolist()) for at in places]
        found.append(allocation(loan.loan_id, by_instalment, rest))
    return found


def allocation(
    loan_id: int, by_instalment: Sequence[tuple[int, Sequence[int]]], rest: list[int]
) -> list[dict[str, Any]]:
    """Amounts paid, by component and instalment; `rest` are those paid in all, by component."""
    found, shown = list[dict[str, Any]](), print_id("ln", loan_id)
    for number, moved in by_instalment:
        for component in range(4):
            amount = min(moved[component], rest[component])
            if amount > 0:
                rest[component] -= amount
                found.append({"loan": shown, "component": Component(component).label,
                              "instalment": number, "amount_minor": amount})  # fmt: skip
    return found + [
        {"loan": shown, "component": Component(n).label, "instalment": None, "amount_minor": amount}
        for n, amount in enumerate(rest)
        if amount
    ]


async def _replay(
    transaction: asyncpg.Connection, bookings: Sequence[Booking]
) -> dict[int, UsanceError]:
    """Book payments that need the facts of their loans; refusals by the booking's identity."""
    loans = await load_loans(transaction, [each.loan_id for each in bookings if each.loan_id])
    by_id = {each.loan_id: each for each in loans}
    refused: dict[int, UsanceError] = {}
    for booking in bookings:
        if booking.loan_id:
            own = [by_id[booking.loan_id]]
        else:
            own = await _owing(transaction, booking)
        try:
            _replay_one(booking, own)
        except UsanceError as error:
            refused[id(booking)] = error
    return refused


async def _owing(transaction: asyncpg.Connection, booking: Booking) -> list[LoanRecord]:
    """All open loans of a user, the oldest due first."""
    day = booking.command.effective_on
    loans = [loan for loan in await open_loans(transaction, [booking.user_id])
             if loan.first["disbursed_on"] <= day]  # fmt: skip

    def due(loan: LoanRecord) -> tuple[date, int]:
        view = loan.at(day).view()
        return view.next_due_on or date.max, -view.days_past_due

    return sorted(loans, key=due)


def _replay_one(booking: Booking, loans: Sequence[LoanRecord]) -> None:
    moment, day, user = booking.moment, booking.command.effective_on, booking.payer
    if booking.loan_id:
        check_day(moment, loans[0], day)
    if any(loan.find(booking.ref) for loan in loans):  # facts were read after the first look
        raise StaleRead("the payment has been booked meanwhile", fix="Read again")
    dues = [loan.due_by(day) for loan in loans]  # paid before anything is paid ahead
    for n, loan in enumerate(loans):
        if not booking.left:
            break
        given = max(min(dues[n], booking.left), booking.left - sum(dues[n + 1 :]))
        taken = pay(moment, loan, day, given, booking.ref, booking.provider) if given else 0
        if taken:
            booking.allocation += allocated(loan, moment.business_date)
            booking.facts.append({"loan": loan.loan_id, "ref": str(booking.ref)})
            book_facts(moment, user, loan, booking.changes, "payment.book")
            booking.left -= taken


def pay(
    moment: Moment, loan: LoanRecord, day: date, amount_minor: int, ref: int, provider: int
) -> int:
    """Add a payment to a loan as far as the loan can take it; the amount taken.

    A loan that is closed on the day takes nothing, wherever the reference would put the payment.
    """
    today = moment.business_date
    if loan.at(day).view().status is Status.CLOSED:
        return 0
    before = loan.at(today).view()
    kind = FactKind.PAID
    if any(each.kind in RECOVERY and each.effective_on <= day and not loan.is_gone(each.ref)
           for each in loan.all_facts):  # fmt: skip
        kind = FactKind.RECOVERED
    whole = fact(moment, kind, day, amount_minor, ref, provider)
    loan.added.append(whole)
    excess = loan.at(today).view().overpaid - before.overpaid
    loan.added.pop()
    taken = amount_minor - max(excess, 0)
    if excess > 0 and before.status is not Status.CLOSED and loan.is_closed_by(whole, today):
        taken = loan.least_that_closes(whole, today, max(taken, 1))
    if taken > 0:
        loan.added.append(whole._replace(amount_minor=taken))
    return max(taken, 0)


def allocated(loan: LoanRecord, today: date) -> list[dict[str, Any]]:
    """Amounts that the command's facts paid, by component and instalment."""
    before, after = loan.at(today, before=True), loan.at(today)
    rest = [new - old for new, old in zip(after.view().paid, before.view().paid, strict=True)]
    return allocation(loan.loan_id, _by_instalment(before, after), rest)


def _by_instalment(before: Loan, after: Loan) -> list[tuple[int, list[int]]]:
    was = {row.number: row.paid for row in before.rows()}
    return [
        (row.number, [new - old for new, old in
                      zip(row.paid, was.get(row.number, (0,) * 5), strict=True)])
        for row in after.rows()
    ]  # fmt: skip


def _answered(booking: Booking) -> Decided:
    """The payment's own row, and the answer."""
    moment, command, user = booking.moment, booking.command, booking.payer
    number = user.next("records")
    row = {
        "payment_id": number, "provider": booking.provider, "reference": command.ref,
        "loan_id": booking.loan_id or _only_loan(booking), "amount_minor": command.amount_minor,
        "currency": int(moment.lender.currency), "effective_on": command.effective_on,
        "booked_at": moment.at, "ref": booking.ref, "unallocated_minor": booking.left,
        "content": content_of(command), "user_id": user.user_id,
        "allocation": json.dumps(booking.allocation), "facts": json.dumps(booking.facts),
    }  # fmt: skip
    booking.changes.payments.append(tuple(row.values()))
    booking.changes.user_changes.append(user.change())
    answer = payment_answer(moment.lender, row, is_reversed=False)
    return Decided(answer, print_id("pm", number), user.user_id, booking.changes, as_platform=True)


def _only_loan(booking: Booking) -> int:
    """The one loan that a user's money went to, else the id before their first."""
    loans = {each["loan"] for each in booking.facts}
    return loans.pop() if len(loans) == 1 else booking.user_id * PER_USER
