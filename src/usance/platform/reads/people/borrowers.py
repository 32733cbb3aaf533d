"""A borrower as operators see them: payments, decisions, contacts, help, the same person again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.codes import DecisionKind
from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.lending.decisions import OUTCOMES
from usance.platform.reads.loans.payments import payment_answer
from usance.platform.reads.people.users import users_of
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.user_record import read_id
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

SHOWN = 50


async def user_rows(
    transaction: asyncpg.Connection,
    lender: Lender,
    vault: Vault,
    channel: str,
    before: str,
    limit: int,
) -> list[dict[str, Any]]:
    """Users of a channel or of all, newest first."""
    last = read_id(before, "us", "before") if before else (1 << 62)
    rows = await transaction.fetch(
        "select u.user_id, c.borrowed from usance.users u "
        "join usance.user_counters c using (user_id) "
        "where u.user_id < $1 and ($2::smallint is null or u.channel = $2) "
        "order by u.user_id desc limit $3",
        last, lender.party("channel", channel) if channel else None, limit,
    )  # fmt: skip
    borrowed = {print_id("us", row["user_id"]): row["borrowed"] for row in rows}
    found = await users_of(transaction, lender, vault, [row["user_id"] for row in rows])
    return [
        {**{name: value for name, value in user.items() if name != "person"},
         "borrowed": borrowed[user["user"]]}
        for user in reversed(found)
    ]  # fmt: skip


async def payments_of_user(
    transaction: asyncpg.Connection, lender: Lender, user_id: int
) -> list[dict[str, Any]]:
    """The latest payments of a user over all loans."""
    rows = await transaction.fetch(
        "select p.*, r.payment_id is not null as is_reversed from usance.payments p "
        "left join usance.payment_reversals r using (payment_id) "
        "where p.payment_id between $1::bigint * 16384 and $1::bigint * 16384 + 16383 "
        "order by p.payment_id desc limit $2", user_id, SHOWN,
    )  # fmt: skip
    return [payment_answer(lender, row, is_reversed=row["is_reversed"]) for row in rows]


async def decisions_of(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Decisions about a user, newest first."""
    rows = await transaction.fetch(
        "select * from usance.decisions where decision_id between $1::bigint * 16384 "
        "and $1::bigint * 16384 + 16383 order by decision_id desc limit $2", user_id, SHOWN,
    )  # fmt: skip
    return [
        {"decision": print_id("de", row["decision_id"]), "at": moment_text(row["booked_at"]),
         "kind": DecisionKind(row["kind"]).label, "outcome": OUTCOMES[row["approved"]],
         "score": row["score"], "grade": row["grade"]}
        for row in rows
    ]  # fmt: skip


async def linked_users(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, user_id: int
) -> list[dict[str, Any]]:
    """Other users of the same person, in whatever channel."""
    rows = await transaction.fetch(
        "select o.user_id from usance.user_persons p join usance.user_persons o using (person_id) "
        "where p.user_id = $1 and o.user_id <> $1 order by 1 limit $2", user_id, SHOWN,
    )  # fmt: skip
    return await users_of(transaction, lender, vault, [row["user_id"] for row in rows])


async def cases_of(transaction: asyncpg.Connection, user_id: int) -> dict[str, Any]:
    """The case of a user with contacts, promises, stops, complaints and offers of help."""

    async def rows(query: str) -> list[Any]:
        found: list[Any] = await transaction.fetch(query, user_id)
        return found

    case = await rows("select * from usance.cases where user_id = $1")
    contacts = await rows("select * from usance.contact_attempts where user_id = $1 "
                          "order by began_at desc limit 50")  # fmt: skip
    promises = await rows("select * from usance.promises where user_id = $1 "
                          "order by promise_id desc limit 50")  # fmt: skip
    stops = await rows("select * from usance.stops where user_id = $1 order by 1 desc limit 50")
    complaints = await rows("select * from usance.complaints where user_id = $1 "
                            "order by complaint_id desc limit 50")  # fmt: skip
    plans = await rows("select * from usance.plan_offers where user_id = $1 "
                       "order by plan_id desc limit 50")  # fmt: skip
    return {
        "case": dict(case[0]) if case else None,
        "contacts": [{"at": moment_text(row["began_at"]), "channel": row["channel"],
                      "state": row["reached"]} for row in contacts],
        "promises": [{"made_on": day_text(row["made_on"]), "due_on": day_text(row["due_on"]),
                      "amount_minor": row["amount_minor"], "state": row["state"]}
                     for row in promises],
        "stops": [{"reason": row["reason"], "begun_at": moment_text(row["begun_at"]),
                   "ended_at": moment_text(row["ended_at"]) if row["ended_at"] else None}
                  for row in stops],
        "complaints": [{"subject": row["subject"], "received_on": day_text(row["received_on"]),
                        "answered_on": day_text(row["answered_on"])} for row in complaints],
        "plans": [{"loan": print_id("ln", row["loan_id"]), "kind": row["kind"],
                   "offered_on": day_text(row["offered_on"]), "state": row["state"]}
                  for row in plans],
    }  # fmt: skip
