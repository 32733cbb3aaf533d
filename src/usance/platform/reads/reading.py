"""Reads for one principal in one transaction, by printed ids, in the shapes of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from usance.base.codes import Basis, parse
from usance.loan.facts import END_OF_TIME
from usance.platform.commands.command import Moment
from usance.platform.errors import NotFound
from usance.platform.principals import Principal
from usance.platform.reads.control import deals, events_and_audit
from usance.platform.reads.lending import decisions, drawdowns
from usance.platform.reads.loans import loan as loan_answers
from usance.platform.reads.loans import payments
from usance.platform.reads.money import ledger
from usance.platform.reads.money import orders as money_orders
from usance.platform.reads.people import users
from usance.platform.reads.settlement import guarantors, settlements
from usance.platform.reads.shapes import moment_text
from usance.platform.records.loan_record import LoanRecord, load_loan, load_loans
from usance.platform.records.user_record import load_user, not_found, read_id
from usance.platform.refusals import DateBeforeDisbursement, DateInFuture

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class Reading:
    """Everything that can be read; a foreign id is answered like one that is not there."""

    transaction: asyncpg.Connection
    principal: Principal
    moment: Moment

    async def clock(self) -> dict[str, Any]:
        """The business clock and date."""
        return {
            "now": moment_text(self.moment.at),
            "business_date": self.moment.business_date.isoformat(),
            "time_zone": str(self.moment.lender.zone), "known_until": moment_text(self.moment.at),
        }  # fmt: skip

    async def user(self, user: str) -> dict[str, Any]:
        """One user."""
        number = read_id(user, "us", "user")
        return await users.user(self.transaction, self.moment.lender, self.moment.vault, number)

    async def users_named(self, client_ref: str) -> list[dict[str, Any]]:
        """The users of a channel's name."""
        lender, vault = self.moment.lender, self.moment.vault
        return await users.users_named(self.transaction, lender, vault, client_ref)

    async def consents(self, user: str) -> list[dict[str, Any]]:
        """Consents of a user."""
        number = read_id(user, "us", "user")
        await load_user(self.transaction, number)
        return await users.consents(self.transaction, number)

    async def lines(
        self, user: str, as_of: date | None = None, known_at: datetime | None = None
    ) -> list[dict[str, Any]]:
        """Lines of a user with what is used of them."""
        number = read_id(user, "us", "user")
        await load_user(self.transaction, number)
        lender, day = self.moment.lender, as_of or self.moment.business_date
        known = self._known(known_at)
        found = await decisions.lines_of(self.transaction, lender, number, day, known)
        return [line.answer(lender) for line in found]

    async def decision(self, decision: str) -> dict[str, Any]:
        """One decision."""
        number = read_id(decision, "de", "decision")
        return await decisions.decision(self.transaction, self.moment.lender, number)

    async def drawdown(self, loan: str) -> dict[str, Any]:
        """One drawdown."""
        number = read_id(loan, "ln", "loan")
        return await drawdowns.drawdown(self.transaction, self.moment.lender, number)

    async def loan(
        self, loan: str, as_of: date | None = None, known_at: datetime | None = None
    ) -> dict[str, Any]:
        """One loan as of a day, as known at a moment."""
        found = await self._loan(loan)
        day, known = self._times(found, as_of, known_at)
        return loan_answers.loan_answer(found, self.moment.lender, day, known)

    async def schedule(
        self, loan: str, as_of: date | None = None, known_at: datetime | None = None
    ) -> list[dict[str, Any]]:
        """The instalments of a loan."""
        found = await self._loan(loan)
        return loan_answers.schedule_answer(found, *self._times(found, as_of, known_at))

    async def facts(
        self, loan: str, as_of: date | None = None, known_at: datetime | None = None
    ) -> list[dict[str, Any]]:
        """The facts of a loan in the order they were booked."""
        found = await self._loan(loan)
        day, known = self._times(found, as_of, known_at)
        rows = await self.transaction.fetch(
            "select f->>'ref' as ref, p.reference from usance.payments p, "
            "jsonb_array_elements(p.facts) f where p.user_id = $1 union all "
            "select ref::text, reference from usance.fact_references where loan_id = $2",
            found.user_id, found.loan_id,
        )  # fmt: skip
        named = {int(row["ref"]): row["reference"] for row in rows}
        return [
            loan_answers.fact_answer(found.loan_id, each, self.moment.lender, named.get(each.ref))
            for each in found.facts
            if each.effective_on <= day and each.booked_at <= known
        ]

    async def statement(
        self, loan: str, as_of: date | None = None, known_at: datetime | None = None
    ) -> dict[str, Any]:
        """A loan with its instalments and facts, as one document."""
        given = loan, as_of, known_at
        known = moment_text(known_at or self.moment.at)
        return {
            "loan": {**await self.loan(*given), "known_at": known},
            "schedule": await self.schedule(*given), "facts": await self.facts(*given),
        }  # fmt: skip

    async def settlement_quote(self, loan: str, on: date | None = None) -> dict[str, Any]:
        """The amount that closes a loan on a day."""
        found = await self._loan(loan)
        day = on or self.moment.business_date
        if day < found.first["disbursed_on"]:
            raise DateBeforeDisbursement(
                f"the loan was disbursed on {found.first['disbursed_on']}", where="body.on",
                fix="Give that day or a later one",
            )  # fmt: skip
        return loan_answers.settlement_answer(found, day, self.moment.lender)

    async def withdrawal_quote(self, loan: str, on: date | None = None) -> dict[str, Any]:
        """The amount that undoes a loan on a day, and the last day on which it may be undone."""
        found = await self._loan(loan)
        return loan_answers.withdrawal_answer(
            found, on or self.moment.business_date, self.moment.lender
        )

    async def user_loans(self, user: str) -> list[dict[str, Any]]:
        """The loans of a user."""
        number = read_id(user, "us", "user")
        await load_user(self.transaction, number)
        rows = await self.transaction.fetch(
            "select loan_id from usance.loan_states "
            "where loan_id between $1 * 16384 and $1 * 16384 + 16383 order by 1", number,
        )  # fmt: skip
        return await self.loans([row["loan_id"] for row in rows])

    async def loans(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Loans by their numbers as of now, read together."""
        found = {each.loan_id: each for each in await load_loans(self.transaction, numbers)}
        lender = self.moment.lender
        return [
            loan_answers.loan_answer(found[number], lender, *self._times(found[number], None, None))
            for number in numbers
        ]

    async def payment(self, payment: str) -> dict[str, Any]:
        """One payment."""
        number = read_id(payment, "pm", "payment")
        return await payments.payment(self.transaction, self.moment.lender, number)

    async def loan_payments(self, loan: str) -> list[dict[str, Any]]:
        """Payments for a loan, newest first."""
        number = read_id(loan, "ln", "loan")
        return await payments.payments_of(self.transaction, self.moment.lender, number)

    async def offer(self, offer: str) -> dict[str, Any]:
        """One offer, for its institution."""
        return await drawdowns.offer(self.transaction, read_id(offer, "of", "offer"))

    async def offers(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Offers of the institution."""
        return await drawdowns.offers(self.transaction, state, after, limit)

    async def orders(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Payment orders."""
        return await money_orders.orders(self.transaction, self.moment.lender, state, after, limit)

    async def order(self, order: str) -> dict[str, Any]:
        """One payment order with its events."""
        number = read_id(order, "or", "order")
        return await money_orders.order(self.transaction, self.moment.lender, number)

    async def unallocated(
        self, after: int = 0, limit: int = 50, *, is_open: bool = True
    ) -> list[dict[str, Any]]:
        """Money received that no loan has taken."""
        return await money_orders.unallocated(
            self.transaction, self.moment.lender, self.moment.business_date, is_open=is_open,
            after=after, limit=limit,
        )  # fmt: skip

    async def one_unallocated(self, unallocated: str) -> dict[str, Any]:
        """One such amount, with the loans it may be for."""
        number = read_id(unallocated, "un", "unallocated")
        return await money_orders.one_unallocated(
            self.transaction, self.moment.lender, self.moment.business_date, number
        )

    async def breaks(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Breaks of orders and of reconciliation."""
        return await money_orders.breaks(
            self.transaction, self.moment.lender, self.moment.business_date, state, after, limit
        )

    async def settlements(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Settlement batches."""
        return await settlements.settlements(
            self.transaction, self.moment.lender, state, after, limit
        )

    async def settlement(self, settlement: str) -> dict[str, Any]:
        """One settlement batch with its lines."""
        number = read_id(settlement, "se", "settlement")
        row = await settlements.load_settlement(self.transaction, number)
        batch = await settlements.load_batch(self.transaction, row)
        told = settlements.settlement_answer(self.moment.lender, row)
        return {**told, "rows": settlements.line_answers(batch)}

    async def claims(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Claims of loans that were compensated."""
        return await settlements.claims(
            self.transaction, self.moment.lender, self.moment.business_date, state, after, limit
        )

    async def claim(self, claim: str) -> dict[str, Any]:
        """One claim with its answers."""
        moment = self.moment
        return await guarantors.one_claim(
            self.transaction, moment.lender, moment.business_date, claim
        )

    async def guarantors(self) -> list[dict[str, Any]]:
        """Third-party guarantors with their deposits."""
        moment = self.moment
        return await guarantors.guarantors(self.transaction, moment.lender, moment.business_date)

    async def guarantor(self, name: str) -> dict[str, Any]:
        """One guarantor with the movements of its deposit and its calls."""
        moment = self.moment
        return await guarantors.one_guarantor(
            self.transaction, moment.lender, moment.business_date, name
        )

    async def claims_file(self, name: str) -> tuple[str, str]:
        """The file of the claims that wait for a guarantor: its name and its text."""
        number = guarantors.number_of(self.moment.lender, name)
        return await guarantors.claims_file(self.transaction, self.moment.lender, number)

    async def journals(
        self, loan: str | None = None, period: str | None = None, rule: int | None = None,
        after: int = 0, limit: int = 50, as_of: date | None = None,
        known_at: datetime | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Journals with their lines."""
        number = read_id(loan, "ln", "loan") if loan else None
        month = date.fromisoformat(f"{period}-01") if period else None
        code = (month.year - 1970) * 12 + month.month - 1 if month else None
        return await ledger.journals(
            self.transaction,
            loan_id=number,
            period=code,
            rule=rule,
            after=after,
            limit=limit,
            as_of=as_of,
            known_at=self._known(known_at),
        )

    async def journal(self, journal: str) -> dict[str, Any]:
        """One journal."""
        return await ledger.journal(self.transaction, read_id(journal, "jr", "journal"))

    async def balances(
        self, as_of: date | None = None, entity: int | None = None, basis: str | None = None,
        known_at: datetime | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Balances of accounts as of a day."""
        code = int(parse(Basis, basis)) if basis else None
        return await ledger.balances(
            self.transaction, as_of or self.moment.business_date, entity=entity, basis=code,
            known_at=self._known(known_at),
        )  # fmt: skip

    async def trial_balance(
        self, as_of: date | None = None, known_at: datetime | None = None
    ) -> dict[str, Any]:
        """All balances with the sums of both sides."""
        day = as_of or self.moment.business_date
        return await ledger.trial_balance(self.transaction, day, self._known(known_at))

    async def events(self, after: int = 0, limit: int = 50) -> list[dict[str, Any]]:
        """Events that the principal sees."""
        return await events_and_audit.events(self.transaction, after, limit)

    async def deal(self, deal: str) -> dict[str, Any]:
        """One deal of asset-backed funding."""
        return await deals.deal(self.transaction, deal)

    async def deal_dates(self, deal: str) -> list[dict[str, Any]]:
        """The payment dates of a deal."""
        return await deals.dates(self.transaction, deal)

    async def audit(self, after: int = 0, limit: int = 50) -> list[dict[str, Any]]:
        """Entries of the audit."""
        return await events_and_audit.audit(self.transaction, after, limit)

    async def audit_entry(self, entry: str) -> dict[str, Any]:
        """One entry of the audit, with the settings that it changed before and after."""
        shipped = self.moment.lender.shipped_parameters
        number = read_id(entry, "ev", "entry")
        return await events_and_audit.audit_entry(self.transaction, shipped, number)

    async def approvals(
        self, state: str | None = None, after: int = 0, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Approvals."""
        return await events_and_audit.approvals(self.transaction, state, after, limit)

    async def approval(self, approval: str) -> dict[str, Any]:
        """One approval."""
        return await events_and_audit.approval(
            self.transaction, read_id(approval, "ap", "approval")
        )

    async def _loan(self, loan: str) -> LoanRecord:
        """A loan that the principal sees."""
        number = read_id(loan, "ln", "loan")
        try:
            return await load_loan(self.transaction, number)
        except NotFound:
            raise not_found("ln", number) from None

    def _times(
        self, loan: LoanRecord, as_of: date | None, known_at: datetime | None
    ) -> tuple[date, datetime]:
        """The day and the moment of a read; neither is in the future."""
        day = as_of or self.moment.business_date
        known = self._known(known_at) or END_OF_TIME
        if day < loan.first["disbursed_on"] or all(each.booked_at > known for each in loan.facts):
            raise not_found("ln", loan.loan_id)
        return day, known

    def _known(self, known_at: datetime | None) -> datetime | None:
        """The moment by whose knowledge is read; nothing is known of the future."""
        if known_at is not None and known_at > self.moment.at:
            raise DateInFuture("is not known yet", where="query.known_at", fix="Give what has been")
        return known_at
