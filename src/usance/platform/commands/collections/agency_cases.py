"""Agencies: cases placed and recalled, and the payments that an agency reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.records.user_record import load_user, read_id
from usance.platform.refusals import PlacementRefused
from usance.platform.store.write_set import WriteSet
from usance.service.collections.agencies import PlacementBook

if TYPE_CHECKING:
    import asyncpg

_PPM = 1_000_000
MAX_BATCH = 5_000


@dataclass(frozen=True)
class PlaceCases:
    """A batch of cases for an agency, with the part of what they owe that it is to bring."""

    agency: str
    users: tuple[str, ...]
    target_ppm: int = 0


@dataclass(frozen=True)
class RecallCases:
    """Cases that an agency gives back."""

    users: tuple[str, ...]


@dataclass(frozen=True)
class ReportPayment:
    """A payment as an agency reports it, by its reference."""

    user: str
    reference: str
    paid_on: date
    amount_minor: int


def _numbers(users: tuple[str, ...]) -> list[int]:
    """The users of a batch, each once."""
    numbers = [read_id(str(each), "us", "users") for each in users]
    if not 1 <= len(numbers) <= MAX_BATCH or len(set(numbers)) != len(numbers):
        raise InvalidField("is no batch", where="body.users",
                           fix=f"Give 1 to {MAX_BATCH} users, each once")  # fmt: skip
    return numbers


async def agency_number(transaction: asyncpg.Connection, name: str) -> int:
    """The principal of an agency."""
    found = await transaction.fetchval(
        "select principal_id from usance.principals where kind = 'agency' and name = $1 "
        "and is_active", name,
    )  # fmt: skip
    if found is None:
        raise InvalidField("is no agency", where="body.agency", fix="Put its contract in force")
    return int(found)


async def place(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PlaceCases
) -> Decided:
    """Place a batch with an agency, whole or not at all."""
    numbers = _numbers(command.users)
    agency = await agency_number(transaction, command.agency)
    contract = moment.lender.collections.contract(command.agency)
    if not 0 <= command.target_ppm <= _PPM:
        raise InvalidField("is no part", where="body.target_ppm", fix=f"Give 0 to {_PPM}")
    rows = await transaction.fetch(
        "select user_id, past_due_minor from usance.cases "
        "where user_id = any($1) and closed_on is null", numbers,
    )  # fmt: skip
    owed = {row["user_id"]: row["past_due_minor"] for row in rows}
    if missing := [each for each in numbers if each not in owed]:
        raise PlacementRefused(f"{print_id('us', missing[0])} has no open case",
                               where="body.users", fix="Leave it out")  # fmt: skip
    held = await transaction.fetch(
        "select a.user_id, a.placed_on, a.owed_minor, a.target_ppm, p.name "
        "from usance.agency_placements a join usance.principals p on p.principal_id = a.agency "
        "where a.recalled_on is null and (a.agency = $1 or a.user_id = any($2))", agency, numbers,
    )  # fmt: skip
    contracts = moment.lender.collections.agencies
    book = PlacementBook([moment.lender.collections.contract(name) for name in contracts])
    for row in held:
        book.place_unchecked(row["name"], row["user_id"], row["placed_on"], row["owed_minor"],
                             row["target_ppm"])  # fmt: skip
    owing = [owed[each] for each in numbers]
    try:
        book.place(command.agency, numbers, moment.business_date, target_ppm=command.target_ppm,
                   owed_minor=owing)  # fmt: skip
    except UsanceError as error:
        raise PlacementRefused(str(error), where="body.users", fix=error.fix) from error
    await transaction.execute(
        "select usance.place_cases($1, $2::bigint[], $3::bigint[], $4, $5)", agency, numbers,
        owing, command.target_ppm, moment.business_date,
    )  # fmt: skip
    answer = {"agency": command.agency, "cases": len(numbers), "owed_minor": sum(owing),
              "target_minor": sum(owing) * command.target_ppm // _PPM,
              "commission_ppm": contract.commission_ppm,
              "placed_on": moment.business_date.isoformat()}  # fmt: skip
    return Decided(answer, f"agency/{command.agency}")


async def recall(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: RecallCases
) -> Decided:
    """Take cases back from whoever has them, whole or not at all."""
    numbers = _numbers(command.users)
    held = await transaction.fetch(
        "select user_id from usance.agency_placements "
        "where user_id = any($1) and recalled_on is null", numbers,
    )  # fmt: skip
    if missing := sorted(set(numbers) - {row["user_id"] for row in held}):
        raise PlacementRefused(f"{print_id('us', missing[0])} is with no agency",
                               where="body.users", fix="Leave it out")  # fmt: skip
    await transaction.execute("select usance.recall_cases($1::bigint[], $2)", numbers,
                              moment.business_date)  # fmt: skip
    answer = {"cases": len(numbers), "recalled_on": moment.business_date.isoformat()}
    return Decided(answer, "agencies", status=DONE)


async def report(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ReportPayment
) -> Decided:
    """Keep what an agency says was paid; money counts when it is received."""
    if principal.kind is not PrincipalKind.AGENCY:
        raise InvalidField("only an agency reports payments", where="body",
                           fix="Act with the agency's key")  # fmt: skip
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    if command.amount_minor <= 0 or not 1 <= len(command.reference) <= 64:
        raise InvalidField("is no payment", where="body.amount_minor",
                           fix="Give an amount above zero and its reference")  # fmt: skip
    if command.paid_on > moment.business_date:
        raise InvalidField("is in the future", where="body.paid_on", fix="Give the day of payment")
    answer: dict[str, Any] = {
        "user": command.user, "reference": command.reference,
        "paid_on": command.paid_on.isoformat(), "amount_minor": command.amount_minor,
    }  # fmt: skip
    known = await transaction.fetchrow(
        "select user_id, paid_on, amount_minor from usance.agency_reports "
        "where agency = $1 and reference = $2", principal.principal_id, command.reference,
    )  # fmt: skip
    if known is not None:
        if tuple(known) != (user.user_id, command.paid_on, command.amount_minor):
            raise PlacementRefused("this reference was reported otherwise",
                                   where="body.reference", fix="Give another")  # fmt: skip
        return Decided(answer, command.reference, is_new=False, status=DONE)
    await act_as_platform(transaction)
    changes = WriteSet(user_changes=[user.change()])
    changes.put("agency_reports", agency=principal.principal_id, user_id=user.user_id,
                reference=command.reference, paid_on=command.paid_on,
                amount_minor=command.amount_minor)  # fmt: skip
    return Decided(answer, command.reference, user.user_id, changes, as_platform=True)
