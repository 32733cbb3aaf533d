"""Mandates and loans as institutions see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.codes import FundingModel
from usance.platform.lender import Lender

if TYPE_CHECKING:
    import asyncpg


async def funded_loans(transaction: asyncpg.Connection, after: int, limit: int) -> list[int]:
    """Loans that the caller sees, by number; row-level security leaves its own."""
    rows = await transaction.fetch(
        "select distinct loan_id from usance.loans where loan_id > $1 order by 1 limit $2",
        after, limit,
    )  # fmt: skip
    return [row["loan_id"] for row in rows]


async def mandate_rows(
    transaction: asyncpg.Connection, lender: Lender, institution: int | None
) -> list[dict[str, Any]]:
    """Mandates by source and version, of one institution or of all."""
    rows = await transaction.fetch(
        "select * from usance.sources where $1::smallint is null or institution = $1 "
        "order by source, version", institution,
    )  # fmt: skip
    return [
        {"source": row["source"], "version": row["version"],
         "name": lender.source_name(row["source"]),
         "institution": lender.party_name("institution", row["institution"]) or None,
         "model": FundingModel(row["model"]).label, "coupon_ppm": row["coupon_ppm"],
         "valid_from": row["valid_from"].isoformat(), "valid_to": row["valid_to"].isoformat()}
        for row in rows
    ]  # fmt: skip


async def limit_rows(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Limits in use, the fullest first: what is held and taken of each, and its ceiling."""
    rows = await transaction.fetch("select * from usance.limit_usage order by 1 limit 200")
    return [dict(row) for row in rows]


async def routing_of(transaction: asyncpg.Connection, loan_id: int) -> list[dict[str, Any]]:
    """Sources that a request was put to, in order, with the best that was passed over."""
    rows = await transaction.fetch(
        "select * from usance.routing where loan_id = $1 order by attempt", loan_id
    )
    return [dict(row) for row in rows]
