"""Settlement batches by command: closed at a cut-off, paid by an order, answered line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.dates import from_day
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.settlement.claims import file_claim, withdraw
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.settlement.settlements import (
    load_batch,
    load_settlement,
    settlement_answer,
)
from usance.platform.records.order_record import new_order
from usance.platform.records.user_record import read_id
from usance.platform.refusals import WrongState
from usance.platform.settlement.owed_amounts import (
    PIECE,
    Parts,
    as_loaded,
    compensations,
    joined,
    opening_of,
    owed,
    parts_of,
    rows_of,
    settled_rows,
    since_of,
)
from usance.platform.store.write_set import WriteSet
from usance.service.errors import SettlementRefused
from usance.service.orders.payment_order import Purpose
from usance.service.settlement.batch import (
    SettlementBatch,
    SettlementLine,
    acknowledge,
    next_batches,
)
from usance.service.settlement.payable import LineKind, Payable

if TYPE_CHECKING:
    import asyncpg

_MARK = "select day, through_xid from usance.settlement_marks where institution = $1"
_CARRIED = (
    "select (select coalesce(sum(total_minor), 0) from usance.settlements where institution = $1)"
    "::bigint - (select coalesce(sum(amount_minor), 0) from usance.orders "
    "where kind = 'party_payout' and party = $1 "
    "and state not in ('rejected', 'returned', 'expired', 'cancelled'))::bigint"
)
"""Owed of batches before, less what was paid or is on its way; a failed payout is owed still."""
_KINDS = {each.name.lower(): each for each in LineKind}


@dataclass(frozen=True)
class CloseSettlement:
    """The batch of an institution at a cut-off, of loans that something is new about."""

    institution: int
    day: date
    loans: tuple[int, ...] = ()
    through_xid: int = 0
    since: tuple[date, ...] = ()
    """The first day that anything new touches, of each of the loans; all days if left out."""


@dataclass(frozen=True)
class AcknowledgeSettlement:
    """An institution's answer to a batch: agreed, or its own lines."""

    settlement: str
    lines: tuple[Any, ...] | None = None
    total_minor: int | None = None
    day: date | None = None


async def close(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: CloseSettlement
) -> Decided:
    """Close the batch of an institution; none if nothing has changed for it."""
    who = command.institution
    await transaction.execute("select pg_advisory_xact_lock(hashtextextended('settlement', $1))",
                              who)  # fmt: skip
    mark = await transaction.fetchrow(_MARK, who)
    if mark is not None and mark["day"] >= command.day:
        raise WrongState(f"it is settled through {mark['day']}", where=str(command.day),
                         fix="Settle a later day: what is late goes into the next batch"
                         )  # fmt: skip
    changes = WriteSet()
    changes.put("settlement_marks", institution=who, day=command.day,
                through_xid=command.through_xid)  # fmt: skip
    batch, number = None, 0
    parts = await _parts(transaction, moment, command)
    for each in await _batches(transaction, command, parts, mark):
        batch = each
        number = await transaction.fetchval("select usance.next_ids('settlement', 1)")
    row = await _row(transaction, moment, batch, number, changes) if batch is not None else None
    claims = await _claims(transaction, moment, principal, parts, command, number, changes)
    subject = f"institution/{moment.lender.party_name('institution', who)}/{command.day}"
    answer = {"institution": moment.lender.party_name("institution", who),
              "day": command.day.isoformat(), "claims": claims,
              "settlement": settlement_answer(moment.lender, row) if row else None}  # fmt: skip
    return Decided(answer, subject, 0, changes, status=DONE, as_platform=True)


async def _parts(
    transaction: asyncpg.Connection, moment: Moment, command: CloseSettlement
) -> Parts:
    loans, shares = [], dict[int, dict[int, int]]()
    for first in range(0, len(command.loans), PIECE):
        found = await parts_of(transaction, moment.lender, command.loans[first : first + PIECE])
        loans += [each for each in found.loans if command.institution in found.shares[each.loan_id]]
        shares |= found.shares
    return Parts(loans, shares)


async def _batches(
    transaction: asyncpg.Connection, command: CloseSettlement, parts: Parts, mark: Any
) -> list[SettlementBatch]:
    """The batch as the difference of what is owed now to what was settled, of the loans given."""
    ids = [loan.loan_id for loan in parts.loans]
    since = dict(zip(command.loans, command.since, strict=True)) if command.since else {}
    first = [since_of(parts, each, since) for each in ids]
    so_far = await settled_rows(transaction, command.institution, ids, first)
    loaded = await _settled_elsewhere(transaction, command.institution, parts, since)
    if loaded is not None:
        for loan, day in zip(loaded.loan_id.tolist(), loaded.day.tolist(), strict=True):
            so_far.days.setdefault(loan, set()).add(from_day(day))
        so_far = so_far._replace(rows=joined(loaded, so_far.rows))
    now = owed(parts, so_far.days, command.day, since)
    mine = now.rows((now.institution == command.institution).nonzero()[0])
    before: list[SettlementBatch] = []
    if mark is not None or len(so_far.rows.day):
        through = mark["day"] if mark is not None else from_day(int(so_far.rows.day.max()))
        before = [SettlementBatch(command.institution, through, None, so_far.rows)]
    return next_batches(mine, before, command.day)


async def _settled_elsewhere(
    transaction: asyncpg.Connection, institution: int, parts: Parts, since: Mapping[int, date]
) -> Payable | None:
    """Rows of days before the lender was loaded, of loans that something new touches then."""
    opening = await opening_of(transaction, institution)
    if opening is None:
        return None
    old = [each for each in parts.loans if since_of(parts, each.loan_id, since) <= opening.day]
    then = await as_loaded(transaction, Parts(old, parts.shares), opening)
    rows = owed(then, {}, opening.day, since)
    return rows.rows((rows.institution == institution).nonzero()[0])


async def _row(
    transaction: asyncpg.Connection, moment: Moment, batch: SettlementBatch, number: int,
    changes: WriteSet,
) -> dict[str, Any]:  # fmt: skip
    """Keep a batch with its rows, and make the order that pays it."""
    carried = await transaction.fetchval(_CARRIED, batch.institution)
    due = batch.total_minor + carried
    order = 0
    if due > 0:
        order = await transaction.fetchval("select usance.next_ids('order', 1)")
        record = new_order(
            moment.lender, order, kind=Purpose.PARTY_PAYOUT, reference=print_id("se", number),
            provider=moment.lender.payout.provider, amount_minor=due, at=moment.at,
            settles_on=moment.business_date, party=batch.institution,
        )  # fmt: skip
        record.save(changes, moment.lender, moment.at)
    row = {
        "settlement_id": number, "institution": batch.institution, "day": batch.day,
        "settled_through": batch.settled_through, "lines": len(list(batch.lines())),
        "total_minor": batch.total_minor, "corrections_minor": batch.corrections_minor,
        "carried_minor": carried, "digest": batch.digest, "state": "closed", "differences": [],
        "order_id": order, "made_at": moment.at, "answered_at": None,
    }  # fmt: skip
    changes.put("settlements", **row)
    for place, each in enumerate(rows_of(batch), start=1):
        changes.put("settlement_rows", settlement_id=number, no=place,
                    institution=batch.institution, **each)  # fmt: skip
    return row


async def _claims(
    transaction: asyncpg.Connection, moment: Moment, principal: Principal, parts: Parts,
    command: CloseSettlement, number: int, changes: WriteSet,
) -> int:  # fmt: skip
    """Claims of loans that were compensated, once each; withdrawn where it was taken back."""
    who = command.institution
    opening = await opening_of(transaction, who)
    before = await as_loaded(transaction, parts, opening) if opening else Parts([], {})
    told = compensations(before, who)
    there = {key: each for key, each in compensations(parts, who).items() if key not in told}
    known = {
        (row["loan_id"], row["fact_ref"]): dict(row)
        for row in await transaction.fetch(
            "select * from usance.claims where institution = $1 and loan_id = any($2)",
            who, [loan.loan_id for loan in parts.loans],
        )
    }  # fmt: skip
    new = [key for key in there if key not in known]
    if new:
        first = await transaction.fetchval("select usance.next_ids('claim', $1)", len(new))
        for claim, key in enumerate(sorted(new), start=first):
            file_claim(moment, principal, there[key], changes, claim_id=claim, institution=who,
                       settlement_id=number)  # fmt: skip
    for key, row in known.items():
        if key not in there and row["state"] != "withdrawn":
            await withdraw(transaction, moment, principal, row, changes)
    return len(new)


async def answer(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment,
    command: AcknowledgeSettlement,
) -> Decided:  # fmt: skip
    """Note an institution's answer, with its differences line by line; the batch stays."""
    row = await load_settlement(transaction, read_id(command.settlement, "se", "settlement"))
    if command.day not in (None, row["day"]):
        raise InvalidField(f"the batch is of {row['day']}", where="body.day",
                           fix="Answer the batch that the file was made of")  # fmt: skip
    batch = await load_batch(transaction, row)
    gaps = _gaps(batch, command)
    state = "disputed" if gaps else "acknowledged"
    if row["state"] == "acknowledged" or (row["state"], _json(row["differences"])) == (state, gaps):
        if (row["state"], _json(row["differences"])) != (state, gaps):
            raise WrongState("it is acknowledged", where=command.settlement,
                             fix="Tell what is wrong by a later batch")  # fmt: skip
        told = settlement_answer(moment.lender, row)
        return Decided(told, command.settlement, 0, is_new=False, status=DONE, as_platform=True)
    await act_as_platform(transaction)
    row |= {"state": state, "differences": gaps, "answered_at": moment.at}
    changes = WriteSet()
    changes.put("settlements", **row)
    return Decided(settlement_answer(moment.lender, row), command.settlement, 0, changes,
                   status=DONE, event=f"settlement.{state}", as_platform=True)  # fmt: skip


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _gaps(batch: SettlementBatch, command: AcknowledgeSettlement) -> list[dict[str, Any]]:
    """Differences, theirs less ours; of the total where they give no lines."""
    if command.lines is None:
        given = batch.total_minor if command.total_minor is None else command.total_minor
        gap = given - batch.total_minor
        return [_difference(None, batch.day, "total", gap)] if gap else []
    told = [_line(each, place) for place, each in enumerate(command.lines)]
    try:
        found = acknowledge(batch, batch.institution, batch.day, told)
    except SettlementRefused as error:
        raise InvalidField(error.what, where="body.lines", fix=error.fix) from error
    return [_difference(print_id("ln", each.loan_id), each.day, each.kind.name.lower(),
                        each.difference_minor) for each in found]  # fmt: skip


def _difference(loan: str | None, day: date, kind: str, gap: int) -> dict[str, Any]:
    return {"loan": loan, "day": day.isoformat(), "kind": kind, "difference_minor": gap}


def _line(given: Any, place: int) -> SettlementLine:
    where = f"body.lines[{place}]"
    if not isinstance(given, Mapping):
        raise InvalidField("is no object", where=where, fix="Give loan, day, kind, amount_minor")
    kind, amount = given.get("kind"), given.get("amount_minor")
    if kind not in _KINDS:
        raise InvalidField(f"{str(kind)[:40]!r} is no kind", where=f"{where}.kind",
                           fix=f"Give {', '.join(_KINDS)}")  # fmt: skip
    if type(amount) is not int:
        raise InvalidField("is no amount", where=f"{where}.amount_minor", fix="Give an integer")
    try:
        loan = read_id(str(given.get("loan")), "ln", f"lines[{place}].loan")
        day = date.fromisoformat(str(given.get("day")))
    except (UsanceError, ValueError) as error:
        fix = "Give the loan and the day of a line"
        raise InvalidField("is no line of a batch", where=where, fix=fix) from error
    return SettlementLine(loan, day, _KINDS[kind], False, amount)
