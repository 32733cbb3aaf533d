"""Money as people look through it: newest first, one record with what it is made of."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.money import orders as money_orders
from usance.platform.reads.settlement import settlements
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.loan_record import load_loans
from usance.platform.records.user_record import not_found, read_id

if TYPE_CHECKING:
    import asyncpg

SHOWN_LINES = 500
"""Lines of a file or a batch that a page shows; the file itself has all of them."""
BEYOND = 1 << 62
_DOCUMENT_DAYS = timedelta(days=7)
"""How long after its last event a file may still speak of an order."""
_OVERVIEW = {
    "orders": "select state as name, count(*) as number, sum(amount_minor)::bigint as amount "
              "from usance.orders where state in ('created', 'sending', 'accepted') group by 1",
    "breaks": "select class as name, count(*) as number, "
              "sum(abs(difference_minor))::bigint as amount from usance.breaks "
              "where state in ('open', 'explained') group by 1",
    "unallocated": "select owner as name, count(*) as number, "
                   "sum(amount_minor - used_minor)::bigint as amount from usance.unallocated "
                   "where used_minor < amount_minor group by 1",
    "settlements": "select state as name, count(*) as number, sum(total_minor)::bigint as amount "
                   "from usance.settlements group by 1",
}  # fmt: skip


async def overview(transaction: asyncpg.Connection) -> dict[str, list[dict[str, Any]]]:
    """Everything that waits, with number and amount: orders under way, breaks, cash, batches."""
    return {
        part: [{"name": row["name"], "number": row["number"], "amount_minor": row["amount"]}
               for row in sorted(await transaction.fetch(sql), key=lambda each: each["name"])]
        for part, sql in _OVERVIEW.items()
    }  # fmt: skip


async def clearing_rows(transaction: asyncpg.Connection, lender: Lender) -> list[dict[str, Any]]:
    """Clearing of each provider: the last reconciled day, and the bank's last closing balance."""
    days = await transaction.fetch(
        "select distinct on (name) name, day, result from usance.money_runs "
        "where name like 'reconcile/%' order by name, day desc"
    )
    banks = await transaction.fetch(
        "select provider, closing_on, sum(closing_minor)::bigint as closing from ("
        "select f.*, max(closing_on) over (partition by provider) as latest "
        "from usance.money_files f where in_force and source = 'bank' "
        "and closing_minor is not null) f where closing_on = latest group by 1, 2"
    )
    bank = {lender.party_name("provider", row["provider"]): row for row in banks}
    found = []
    for row in days:
        told, name = parse_json(row["result"]), row["name"].partition("/")[2]
        own = bank.get(name)
        found.append({
            "provider": name, "reconciled_on": row["day"].isoformat(), "matched": told["matched"],
            "breaks": told["breaks"], "in_transit_minor": told["in_transit_minor"],
            "bank_minor": own["closing"] if own else None,
            "bank_on": day_text(own["closing_on"]) if own else None,
        })  # fmt: skip
    return found


async def order_rows(
    transaction: asyncpg.Connection, lender: Lender, state: str, kind: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Payment orders, newest first, by state and kind."""
    rows = await transaction.fetch(
        "select * from usance.orders where order_id < $1 and ($2 = '' or state = $2) "
        "and ($3 = '' or kind = $3) order by order_id desc limit $4",
        _number(before, "or"), state, kind, limit,
    )  # fmt: skip
    return [money_orders.order_answer(lender, row) for row in rows]


async def order_documents(
    transaction: asyncpg.Connection, order: dict[str, Any]
) -> list[dict[str, Any]]:
    """Lines of files that speak of an order, by its own reference or the provider's."""
    days = [date.fromisoformat(each["at"][:10]) for each in order["events"]]
    days.append(date.fromisoformat(order["made_at"][:10]))
    rows = await transaction.fetch(
        "select l.*, f.name, f.source, f.in_force from usance.file_lines l "
        "join usance.money_files f using (file_id) where l.booked_on between $1 and $2 "
        "and (l.reference = $3 or l.reference = $4 or l.bank_ref = $4) order by 1, 2 limit 50",
        min(days) - _DOCUMENT_DAYS, max(days) + _DOCUMENT_DAYS, order["reference"],
        order["provider_ref"] or order["reference"],
    )  # fmt: skip
    return [{"file": print_id("fi", row["file_id"]), "name": row["name"], "source": row["source"],
             "in_force": row["in_force"], **_line(row)} for row in rows]  # fmt: skip


async def file_rows(
    transaction: asyncpg.Connection, lender: Lender, source: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Files of banks and providers that were taken, newest first, each version."""
    rows = await transaction.fetch(
        "select * from usance.money_files where file_id < $1 and ($2 = '' or source = $2) "
        "order by file_id desc limit $3", _number(before, "fi"), source, limit,
    )  # fmt: skip
    return [file_answer(lender, row) for row in rows]


async def one_file(transaction: asyncpg.Connection, lender: Lender, file: str) -> dict[str, Any]:
    """A file with the first of its lines."""
    number = read_id(file, "fi", "file")
    row = await transaction.fetchrow("select * from usance.money_files where file_id = $1", number)
    if row is None:
        raise not_found("fi", number)
    lines = await transaction.fetch(
        "select * from usance.file_lines where file_id = $1 order by no limit $2",
        number, SHOWN_LINES,
    )  # fmt: skip
    return {**file_answer(lender, row), "rows": [_line(each) for each in lines]}


def file_answer(lender: Lender, row: Any) -> dict[str, Any]:
    """The shape of a file that was taken."""
    return {
        "file": print_id("fi", row["file_id"]), "source": row["source"],
        "provider": lender.party_name("provider", row["provider"]) if row["provider"] else None,
        "account": row["account"], "name": row["name"], "profile": row["profile"],
        "lines": row["lines"], "currency": row["currency"], "opening_minor": row["opening_minor"],
        "closing_minor": row["closing_minor"], "closing_on": day_text(row["closing_on"]),
        "replaces": print_id("fi", row["replaces"]) if row["replaces"] else None,
        "in_force": row["in_force"], "digest": row["digest"],
        "taken_at": moment_text(row["taken_at"]),
    }  # fmt: skip


def _line(row: Any) -> dict[str, Any]:
    return {"no": row["no"], "reference": row["reference"], "booked_on": day_text(row["booked_on"]),
            "amount_minor": row["amount_minor"], "fee_minor": row["fee_minor"],
            "is_reversal": row["is_reversal"]}  # fmt: skip


async def break_rows(
    transaction: asyncpg.Connection, lender: Lender, today: date, state: str, owner: str,
    before: str, limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Breaks, newest first, by state and desk; `waiting` are those that nobody has cleared."""
    rows = await transaction.fetch(
        "select * from usance.breaks where break_id < $1 and ($2 = '' or state = $2 "
        "or $2 = 'waiting' and state in ('open', 'explained')) and ($3 = '' or owner = $3) "
        "order by break_id desc limit $4", _number(before, "br"), state, owner, limit,
    )  # fmt: skip
    return [money_orders.break_answer(lender, row, today) for row in rows]


async def one_break(
    transaction: asyncpg.Connection, lender: Lender, today: date, name: str
) -> dict[str, Any]:
    """One break."""
    number = read_id(name, "br", "break")
    row = await transaction.fetchrow("select * from usance.breaks where break_id = $1", number)
    if row is None:
        raise not_found("br", number)
    return money_orders.break_answer(lender, row, today)


async def unallocated_rows(
    transaction: asyncpg.Connection, lender: Lender, today: date, state: str, before: str,
    limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Money that no loan has taken, newest first: what is open, what is used, or all of it."""
    rows = await transaction.fetch(
        "select * from usance.unallocated where unallocated_id < $1 and ($2 = '' "
        "or (used_minor < amount_minor) = ($2 = 'open')) order by unallocated_id desc limit $3",
        _number(before, "un"), state, limit,
    )  # fmt: skip
    return [money_orders.unallocated_answer(lender, row, today) for row in rows]


async def cash_uses(transaction: asyncpg.Connection, name: str) -> list[dict[str, Any]]:
    """Uses of an amount so far: a payment, an order that sends it back, a reversal."""
    prefixes = {"allocated": "pm", "returned": "or", "reversed": "un", "passed_on": "or"}
    rows = await transaction.fetch(
        "select u.*, p.name from usance.unallocated_uses u left join usance.principals p "
        "using (principal_id) where unallocated_id = $1 order by no",
        read_id(name, "un", "unallocated"),
    )  # fmt: skip
    return [{"no": row["no"], "kind": row["kind"], "amount_minor": row["amount_minor"],
             "target": print_id(prefixes[row["kind"]], row["target_id"]), "who": row["name"],
             "at": moment_text(row["at"])} for row in rows]  # fmt: skip


async def settlement_rows(
    transaction: asyncpg.Connection, lender: Lender, state: str, institution: str, before: str,
    limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Settlement batches that the principal sees, newest first, by state and institution."""
    rows = await transaction.fetch(
        "select * from usance.settlements where settlement_id < $1 and ($2 = '' or state = $2) "
        "and ($3 = 0 or institution = $3) order by settlement_id desc limit $4",
        _number(before, "se"), state,
        lender.party("institution", institution) if institution else 0, limit,
    )  # fmt: skip
    return [settlements.settlement_answer(lender, row) for row in rows]


async def claim_rows(
    transaction: asyncpg.Connection, lender: Lender, today: date, state: str, before: str,
    limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Claims that the principal sees, newest first, with what was recovered on each."""
    rows = await transaction.fetch(
        "select * from usance.claims where claim_id < $1 and ($2 = '' or state = $2) "
        "order by claim_id desc limit $3", _number(before, "cl"), state, limit,
    )  # fmt: skip
    found = await load_loans(transaction, {row["loan_id"] for row in rows})
    return settlements.claim_answers(lender, rows, settlements.recovered_of(found, today))


def _number(before: str, prefix: str) -> int:
    """The number that a page ends before."""
    return read_id(before, prefix, "before") if before else BEYOND
