"""The ledger as it is answered: journals, balances, the trial balance and periods, by query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.codes import Basis
from usance.base.dates import format_month
from usance.base.ids import print_id
from usance.books.chart import load_chart
from usance.platform.commands.control.periods import PERIOD_STATES
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found

if TYPE_CHECKING:
    from datetime import date, datetime

    import asyncpg

MAX_PERIODS = 36


def account_name(number: int) -> str:
    """The name of an account."""
    return load_chart().of(number).name


async def journals(
    transaction: asyncpg.Connection, *, loan_id: int | None = None, period: int | None = None,
    rule: int | None = None, after: int = 0, limit: int = 50, as_of: date | None = None,
    known_at: datetime | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Journals by id, with all their lines; of them those of a day, as known at a moment."""
    ids = await transaction.fetch(
        "select distinct journal_id from usance.postings p where journal_id > $1 "
        "and ($2::bigint is null or loan_id = $2) and ($3::smallint is null or period = $3) "
        "and ($4::smallint is null or rule = $4) and ($6::date is null or effective_on <= $6) "
        "and ($7::timestamptz is null or exists (select from usance.journals j "
        "where j.journal_id = p.journal_id and j.booked_at <= $7)) order by journal_id limit $5",
        after, loan_id, period, rule, limit, as_of, known_at,
    )  # fmt: skip
    rows = await transaction.fetch(
        "select p.*, j.booked_at from usance.postings p join usance.journals j using (journal_id) "
        "where journal_id = any($1) order by journal_id, line", [each[0] for each in ids],
    )  # fmt: skip
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        journal = found.setdefault(row["journal_id"], _journal(row))
        journal["lines"].append(_line(row))
    return list(found.values())


def _journal(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "journal": print_id("jr", row["journal_id"]),
        "loan": print_id("ln", row["loan_id"]) if row["loan_id"] else None,
        "effective_on": row["effective_on"].isoformat(), "booked_at": moment_text(row["booked_at"]),
        "period": format_month(row["period"]), "lines": [],
    }  # fmt: skip


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "line": row["line"], "entity": row["entity"], "basis": Basis(row["basis"]).label,
        "account": row["account"], "account_name": account_name(row["account"]),
        "rule": row["rule"], "amount_minor": row["amount_minor"],
    }  # fmt: skip


async def journal(transaction: asyncpg.Connection, journal_id: int) -> dict[str, Any]:
    """One journal."""
    rows = await journals(transaction, after=journal_id - 1, limit=1)
    if not rows or rows[0]["journal"] != print_id("jr", journal_id):
        raise not_found("jr", journal_id)
    return rows[0]


async def balances(
    transaction: asyncpg.Connection, as_of: date, *, entity: int | None = None,
    basis: int | None = None, known_at: datetime | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The balance of every account as of a day, by entity and basis; debits are above zero."""
    rows = await transaction.fetch(
        "select p.entity, p.basis, p.account, sum(p.amount_minor)::bigint as balance, "
        "sum(greatest(p.amount_minor, 0))::bigint as debits, "
        "sum(greatest(-p.amount_minor, 0))::bigint as credits "
        "from usance.postings p join usance.journals j using (journal_id) "
        "where p.effective_on <= $1 and ($2::smallint is null or p.entity = $2) "
        "and ($3::smallint is null or p.basis = $3) "
        "and ($4::timestamptz is null or j.booked_at <= $4) group by 1, 2, 3 order by 1, 2, 3",
        as_of, entity, basis, known_at,
    )  # fmt: skip
    return [
        {"entity": row["entity"], "basis": Basis(row["basis"]).label, "account": row["account"],
         "account_name": account_name(row["account"]), "balance_minor": row["balance"],
         "debits_minor": row["debits"], "credits_minor": row["credits"]}
        for row in rows
    ]  # fmt: skip


async def trial_balance(
    transaction: asyncpg.Connection, as_of: date, known_at: datetime | None = None
) -> dict[str, Any]:
    """All balances, and the sums that have to be equal."""
    rows = await balances(transaction, as_of, known_at=known_at)
    return {
        "as_of": as_of.isoformat(), "accounts": rows,
        "debits_minor": sum(row["debits_minor"] for row in rows),
        "credits_minor": sum(row["credits_minor"] for row in rows),
    }  # fmt: skip


async def periods(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Periods with their state and the moment their knowledge was fixed, newest first."""
    rows = await transaction.fetch(
        "select * from usance.periods order by period desc limit $1", MAX_PERIODS
    )
    return [
        {"period": format_month(row["period"]), "state": PERIOD_STATES[row["state"]],
         "known_at": moment_text(row["known_at"]) if row["known_at"] else None}
        for row in rows
    ]  # fmt: skip
