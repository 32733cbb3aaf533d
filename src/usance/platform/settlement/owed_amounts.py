"""Amounts that are owed to institutions, from the facts of loans; and batches of a cut-off.

What a loan has brought its institution is a fact amount, the one that the ledger posts; between two
readings of it lies what a day brought. A batch is the difference to everything settled before, so
that late facts and reversals need no rule of their own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.calendars import BusinessDays
from usance.base.codes import FactKind, FundingModel
from usance.base.dates import from_day, to_day
from usance.base.money import split
from usance.books.chart import load_chart
from usance.loan.facts import visible
from usance.loan.loan import schedule
from usance.platform.business_calendars import business_days
from usance.platform.lender import Lender
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.settlement.columns import DayAmounts, amounts_by_day
from usance.service.settlement.batch import SettlementBatch
from usance.service.settlement.layout import NAMES, SettlementLayout, parse_layout
from usance.service.settlement.payable import LineKind, Payable, Receipts, Shares, payable

if TYPE_CHECKING:
    import asyncpg

PIECE = 2_000
TO_INSTITUTION, PAYOUT_RULE = 101, 205
"""Posting rules of the same amounts: receipts for an institution, and compensation paid to it."""
SETTLED = (FundingModel.CAPITAL_HEAVY, FundingModel.CAPITAL_LIGHT)
"""Models whose receipts pass through the platform."""
LAYOUT = {"format": "csv", "columns": [{"name": name} for name in NAMES]}
Row = tuple[int, date, LineKind, int]


class InstitutionTerms(NamedTuple):
    """Days on which an institution is settled, days its cut-off lies back, and its layout."""

    calendar: BusinessDays
    lag_days: int
    layout: SettlementLayout

    @classmethod
    def of(cls, lender: Lender, institution: int) -> InstitutionTerms:
        """The terms of an institution as the lender's document states them."""
        name = lender.party_name("institution", institution)
        given: Mapping[str, Any] = lender.document.get("institutions", {}).get(name, {})
        calendar = business_days(lender, "institution", name)
        layout = parse_layout(json.dumps(given.get("layout", LAYOUT)), name)
        return cls(calendar, int(given.get("cut_off_days", 0)), layout)

    def cut_off(self, day: date) -> date | None:
        """The cut-off of a settlement on a day; none if there is none that day."""
        if not self.calendar.is_business(day):
            return None
        return day - timedelta(days=self.lag_days)


class Parts(NamedTuple):
    """Loans with their history, and who has a part in each."""

    loans: list[LoanRecord]
    shares: dict[int, dict[int, int]]
    """Principal by institution, of each loan."""


async def parts_of(
    transaction: asyncpg.Connection, lender: Lender, loan_ids: Iterable[int]
) -> Parts:
    """Loans that pass through the platform, with the institutions that gave their principal."""
    ids = list(loan_ids)
    found = [loan for loan in await load_loans(transaction, ids) if loan.model in SETTLED]
    own: dict[int, dict[int, int]] = defaultdict(dict)
    for row in await transaction.fetch(
        "select * from usance.shares where loan_id = any($1) order by loan_id, source", ids
    ):
        whose = institution_of(lender, row["source"])
        own[row["loan_id"]][whose] = own[row["loan_id"]].get(whose, 0) + row["principal_minor"]
    for loan in found:
        if not own.get(loan.loan_id):
            whose = institution_of(lender, loan.first["source"])
            own[loan.loan_id] = {whose: loan.first["principal_minor"]}
    return Parts([loan for loan in found if set(own[loan.loan_id]) != {0}], dict(own))


def institution_of(lender: Lender, source: int) -> int:
    """The institution behind a source; 0 where it is the platform's own."""
    own = lender.mandates.of_source(source)
    return own[-1].institution if own else 0


def owed(
    parts: Parts, days: Mapping[int, set[date]], through: date,
    since: Mapping[int, date] | None = None,
) -> Payable:  # fmt: skip
    """Amounts that loans have brought their institutions up to a day, by loan, day and kind.

    `days` are further days to read each loan on: those that were settled before. `since` is the
    first day that anything new touches, of loans of one institution: what lies before it is settled
    as it is. Receipts of several are split by what came so far, so that they are read from the
    first.
    """
    new: list[Row] = []
    moved: list[Row] = []
    first_days = [since_of(parts, loan.loan_id, since or {}) for loan in parts.loans]
    asked = [_days(loan, days.get(loan.loan_id, set()), first, through)
             for loan, first in zip(parts.loans, first_days, strict=True)]  # fmt: skip
    read = amounts_by_day(parts.loans, asked)
    for loan, first, on, amounts in zip(parts.loans, first_days, asked, read, strict=True):
        facts = visible(loan.facts, as_of=through)
        made = next((each for each in facts if each.kind is FactKind.DISBURSED), None)
        if made is not None and made.effective_on >= first:
            new.append((loan.loan_id, made.effective_on, LineKind.DISBURSEMENT,
                        made.amount_minor))  # fmt: skip
        moved += _moved(loan, on, amounts, first)
    shares = Shares.of(
        (loan.loan_id, who, principal)
        for loan in parts.loans
        for who, principal in parts.shares[loan.loan_id].items()
    )
    both = [payable(Receipts.of(rows), shares) for rows in (new, moved)]
    return Payable(*(np.concatenate(columns) for columns in zip(*both, strict=True)))


def since_of(parts: Parts, loan_id: int, since: Mapping[int, date]) -> date:
    """The first day that a loan has to be read on again."""
    return since.get(loan_id, date.min) if len(parts.shares[loan_id]) == 1 else date.min


def _days(loan: LoanRecord, more: set[date], first: date, through: date) -> list[date]:
    """Days to read a loan on: the eve of the first, then those on which something happened."""
    start = loan.first["disbursed_on"]
    on = {each.effective_on for each in loan.facts} | more
    found = sorted(each for each in on if max(first, start) <= each <= through)
    return [first - timedelta(days=1), *found] if start < first <= through else found


def _moved(loan: LoanRecord, on: list[date], read: list[DayAmounts], first: date) -> list[Row]:
    """Movements of one loan, day by day."""
    rows: list[Row] = []
    received = paid_out = 0
    for day, now in zip(on, read, strict=True):
        if day >= first:
            if got := now.received - received:
                rows.append((loan.loan_id, day, _kind(loan, day, now), got))
            if got := now.paid_out - paid_out:
                rows.append((loan.loan_id, day, LineKind.COMPENSATION, got))
        received, paid_out = now.received, now.paid_out
    return rows


def _kind(loan: LoanRecord, day: date, now: DayAmounts) -> LineKind:
    """Early settlement where the loan is closed before its last due date."""
    if not now.is_closed:
        return LineKind.RECEIPT
    last_due = schedule(loan.terms[-1])[-1].due_on
    return LineKind.EARLY_SETTLEMENT if day < last_due else LineKind.RECEIPT


class Settled(NamedTuple):
    """Rows that an institution was settled for so far, of some loans, and the days of each."""

    rows: Payable
    days: dict[int, set[date]]


async def settled_rows(
    transaction: asyncpg.Connection, institution: int, loan_ids: Sequence[int],
    since: Sequence[date],
) -> Settled:  # fmt: skip
    """Rows of closed batches of an institution, of some loans, each from a day of its own on."""
    rows = await transaction.fetch(
        "select r.loan_id, r.day, r.kind, r.amount_minor from unnest($2::bigint[], $3::date[]) "
        "g (loan_id, since) join usance.settlement_rows r on r.loan_id = g.loan_id "
        "and r.day >= g.since where r.institution = $1 order by r.settlement_id, r.no",
        institution, loan_ids, since,
    )  # fmt: skip
    days: dict[int, set[date]] = defaultdict(set)
    for row in rows:
        days[row["loan_id"]].add(row["day"])
    return Settled(payable_of(institution, rows), dict(days))


class Opening(NamedTuple):
    """A day through which an institution was settled elsewhere, and the facts that came along."""

    day: date
    through_xid: int
    """Facts of transactions below it were loaded."""


async def opening_of(transaction: asyncpg.Connection, institution: int) -> Opening | None:
    """The opening of an institution whose loans have a history from elsewhere; else none."""
    row = await transaction.fetchrow(
        "select day, through_xid from usance.settlement_openings where institution = $1",
        institution,
    )  # fmt: skip
    return Opening(*row) if row is not None else None


async def as_loaded(transaction: asyncpg.Connection, parts: Parts, opening: Opening) -> Parts:
    """Loans with the part of their history that was settled before the lender was loaded."""
    ids = [loan.loan_id for loan in parts.loans]
    rows = await transaction.fetch(
        "select loan_id, ref from usance.facts where loan_id = any($1) "
        "and xid::text::bigint < $2 and effective_on <= $3", ids, opening.through_xid, opening.day,
    )  # fmt: skip
    there = {(row["loan_id"], row["ref"]) for row in rows}
    loans = [replace(loan, facts=[each for each in loan.facts if (loan.loan_id, each.ref) in there])
             for loan in parts.loans]  # fmt: skip
    return Parts([loan for loan in loans if loan.facts], parts.shares)


def joined(first: Payable, second: Payable) -> Payable:
    """Rows of both."""
    both = (first, second)
    return Payable(*(np.concatenate([getattr(each, name) for each in both])
                     for name in Payable._fields))  # fmt: skip


def payable_of(institution: int, rows: Sequence[Any]) -> Payable:
    """Rows of the database as columns."""
    return Payable(
        np.full(len(rows), institution, np.int16),
        np.array([row["loan_id"] for row in rows], np.int64),
        np.array([to_day(row["day"]) for row in rows], np.int32),
        np.array([row["kind"] for row in rows], np.int16),
        np.array([row["amount_minor"] for row in rows], np.int64),
    )


def rows_of(batch: SettlementBatch) -> list[dict[str, Any]]:
    """The rows of a batch as the database keeps them."""
    return [
        {"loan_id": loan, "day": from_day(day), "kind": kind, "amount_minor": amount}
        for loan, day, kind, amount in zip(
            batch.rows.loan_id.tolist(), batch.rows.day.tolist(), batch.rows.kind.tolist(),
            batch.rows.amount_minor.tolist(), strict=True,
        )
    ]  # fmt: skip


class Compensation(NamedTuple):
    """A compensation in force, with an institution's part of it."""

    loan: LoanRecord
    ref: int
    effective_on: date
    amount_minor: int


def compensations(parts: Parts, institution: int) -> dict[tuple[int, int], Compensation]:
    """Compensations in force of loans that an institution has a part in."""
    found = {}
    for loan in parts.loans:
        shares = parts.shares[loan.loan_id]
        if institution not in shares:
            continue
        whose = sorted(shares)
        for each in loan.facts:
            if each.kind is FactKind.COMPENSATED and not loan.is_gone(each.ref):
                split_up = split(each.amount_minor, [shares[who] for who in whose])
                part = split_up[whose.index(institution)]
                if part:
                    found[loan.loan_id, each.ref] = Compensation(
                        loan, each.ref, each.effective_on, part
                    )
    return found


async def ledger_payable(transaction: asyncpg.Connection, lender: Lender) -> dict[int, int]:
    """Sums that the ledger has posted for each institution: receipts, and compensation paid."""
    chart = load_chart()
    rows = await transaction.fetch(
        "select c.source, p.loan_id, -sum(p.amount_minor)::bigint as amount "
        "from usance.postings p join usance.cells c using (cell) "
        "where (p.rule = $1 and p.account = $2) or (p.rule = $3 and p.account <> $4) "
        "group by c.source, p.loan_id", TO_INSTITUTION, chart["payable_institutions"].number,
        PAYOUT_RULE, chart["contingent"].number,
    )  # fmt: skip
    total: dict[int, int] = defaultdict(int)
    of_loan: dict[int, int] = defaultdict(int)
    shared = await _shared(transaction, lender)
    for row in rows:
        if row["loan_id"] in shared:
            of_loan[row["loan_id"]] += row["amount"]
        else:
            total[institution_of(lender, row["source"])] += row["amount"]
    for loan_id, amount in of_loan.items():
        whole = payable(
            Receipts.of([(loan_id, date(1970, 1, 1), LineKind.RECEIPT, amount)]),
            Shares.of((loan_id, who, part) for who, part in shared[loan_id].items()),
        )
        for who, minor in zip(whole.institution.tolist(), whole.amount_minor.tolist(), strict=True):
            total[who] += minor
    return {who: amount for who, amount in total.items() if who and amount}


async def _shared(transaction: asyncpg.Connection, lender: Lender) -> dict[int, dict[int, int]]:
    own: dict[int, dict[int, int]] = defaultdict(dict)
    for row in await transaction.fetch("select * from usance.shares"):
        whose = institution_of(lender, row["source"])
        own[row["loan_id"]][whose] = own[row["loan_id"]].get(whose, 0) + row["principal_minor"]
    return own
