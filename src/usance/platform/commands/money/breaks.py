"""Breaks in people's hands: raised once, owned, explained and cleared; above a limit by two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.ids import print_id
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.commands.command import DONE, WAITING, Decided, Moment
from usance.platform.commands.settlement.deposits import state_fact
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.money.orders import break_answer
from usance.platform.records.user_record import not_found, read_id
from usance.platform.refusals import ApprovalSamePerson, WrongState
from usance.platform.store.write_set import WriteSet
from usance.service.reconciliation.breaks import BreakClass, Leg, clearing_limit_minor

if TYPE_CHECKING:
    import asyncpg

OWNERS = ("operations", "finance", "treasury")


class Raised(NamedTuple):
    """A difference that somebody has to look at."""

    provider: int
    leg: str
    kind: str
    reference: str
    amount_minor: int
    difference_minor: int
    arose_on: date
    owner: str
    command: str

    @property
    def key(self) -> str:
        """The same difference has the same key, whenever it is found."""
        return f"{self.provider}/{self.leg}/{self.kind}/{self.reference}/{self.arose_on}"


@dataclass(frozen=True)
class AssignBreak:
    """A break goes to another desk."""

    break_id: str
    owner: str


@dataclass(frozen=True)
class ClearBreak:
    """A break is explained, and cleared; above the limit by somebody else than who explained it."""

    break_id: str
    reason: str


@dataclass(frozen=True)
class BookFee:
    """A fee that a provider or bank has withheld is a cost of ours."""

    break_id: str


async def raise_breaks(
    transaction: asyncpg.Connection, moment: Moment, found: list[Raised], changes: WriteSet
) -> int:
    """Add the breaks that are not there yet; the number of new ones."""
    unique = {each.key: each for each in found}
    known = await transaction.fetch(
        "select key from usance.breaks where key = any($1)", list(unique)
    )
    new = [unique[key] for key in unique.keys() - {row["key"] for row in known}]
    if not new:
        return 0
    first = await transaction.fetchval("select usance.next_ids('break', $1)", len(new))
    for number, each in enumerate(sorted(new, key=lambda one: one.key), start=first):
        changes.put(
            "breaks", break_id=number, key=each.key, provider=each.provider, leg=each.leg,
            **{"class": each.kind}, reference=each.reference, amount_minor=each.amount_minor,
            difference_minor=each.difference_minor, arose_on=each.arose_on, owner=each.owner,
            command=each.command, state="open", reason="", proposed_by=0, cleared_by=0,
            opened_at=moment.at, ended_at=None,
        )  # fmt: skip
    return len(new)


async def _load(transaction: asyncpg.Connection, given: str) -> dict[str, Any]:
    number = read_id(given, "br", "break")
    row = await transaction.fetchrow("select * from usance.breaks where break_id = $1", number)
    if row is None:
        raise not_found("br", number)
    if row["state"] in ("cleared", "resolved"):
        raise WrongState(f"it is {row['state']}", where=given, fix="Look at open breaks")
    return dict(row)


async def assign(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: AssignBreak
) -> Decided:
    """Hand a break to a desk."""
    if command.owner not in OWNERS:
        raise InvalidField("is no desk", where="body.owner", fix=f"Give {', '.join(OWNERS)}")
    row = {**await _load(transaction, command.break_id), "owner": command.owner}
    return _written(moment, row, DONE)


async def clear(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ClearBreak
) -> Decided:
    """Explain a break, or clear one that somebody has explained."""
    if not command.reason.strip():
        raise InvalidField("is empty", where="body.reason", fix="Say why it is as it is")
    await transaction.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))", command.break_id
    )
    row = await _load(transaction, command.break_id)
    limit = clearing_limit_minor(moment.business_date, moment.lender.parameters)
    needs_two = abs(row["amount_minor"]) > limit
    if not needs_two:
        who = principal.principal_id
        row |= {"state": "cleared", "reason": command.reason, "ended_at": moment.at,
                "proposed_by": who, "cleared_by": who}  # fmt: skip
        return _written(moment, row, DONE)
    if row["state"] == "open":
        row |= {"state": "explained", "reason": command.reason,
                "proposed_by": principal.principal_id}  # fmt: skip
        return _written(moment, row, WAITING, "break.explained")
    proposer = await transaction.fetchval(
        "select coalesce(nullif(human, ''), name) from usance.principals where principal_id = $1",
        row["proposed_by"],
    )  # fmt: skip
    if proposer == (principal.human or principal.name):
        raise ApprovalSamePerson(
            f"{row['amount_minor']} is above {limit}, and {proposer} explained it",
            where=command.break_id, fix="Let a second person clear it",
        )  # fmt: skip
    row |= {"state": "cleared", "cleared_by": principal.principal_id, "ended_at": moment.at}
    return _written(moment, row, DONE)


async def book_fee(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: BookFee
) -> Decided:
    """State a withheld fee as a cost of servicing that is paid, and clear its break."""
    await transaction.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))", command.break_id
    )
    row = await _load(transaction, command.break_id)
    is_fee = row["class"] == BreakClass.FEE.value
    of_bank = row["leg"] == Leg.BANK.value
    cost = -row["difference_minor"] if of_bank else row["amount_minor"]
    if not is_fee or cost <= 0:
        raise WrongState("it is no fee that was withheld", where=command.break_id,
                         fix="Clear it with its reason")  # fmt: skip
    changes = WriteSet()
    for kind, detail in ((GroupFactKind.COST_INCURRED, {"function": "servicing_cost"}),
                         (GroupFactKind.COST_PAID, {})):  # fmt: skip
        await state_fact(transaction, moment, changes, moment.business_date, cost, kind, detail)
    who = principal.principal_id
    row |= {"state": "cleared", "reason": "booked as a cost", "ended_at": moment.at,
            "proposed_by": who, "cleared_by": who}  # fmt: skip
    return _written(moment, row, DONE, changes=changes)


def _written(
    moment: Moment, row: Mapping[str, Any], status: int, event: str = "",
    changes: WriteSet | None = None,
) -> Decided:  # fmt: skip
    changes = changes or WriteSet()
    changes.put("breaks", **row)
    subject = print_id("br", row["break_id"])
    return Decided(break_answer(moment.lender, row, moment.business_date), subject, 0, changes,
                   status=status, event=event, as_platform=True)  # fmt: skip
