"""Decisions and lines as they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from usance.assess.decision.output_tables import LineState
from usance.base.codes import DecisionKind, Product
from usance.base.ids import PER_USER, print_id
from usance.platform.lender import Lender
from usance.platform.reads.loans.positions import OpenPosition, open_positions
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found, own_ranges

if TYPE_CHECKING:
    from datetime import date, datetime

    import asyncpg

OUTCOMES = ("declined", "approved", "referred")


@dataclass(frozen=True)
class Recorded:
    """A decision's row, the product it was about, the line it opened and its review."""

    row: Mapping[str, Any]
    product: int
    line_id: int | None = None
    review_id: int = 0


def decision_answer(lender: Lender, found: Recorded) -> dict[str, Any]:
    """The shape of a decision, with reasons in the borrower's words."""
    row = found.row
    codes = [row[f"reason_{n}"] for n in range(1, 5) if row[f"reason_{n}"]]
    texts = lender.decider.flow.reasons.with_texts(codes)
    line = None if not found.line_id else {
        "line": print_id("li", found.line_id), "product": Product(found.product).label,
        "limit_minor": row["line_minor"], "used_minor": 0, "available_minor": row["line_minor"],
        "currency": lender.currency.name, "rate_ppm": row["rate_ppm"], "state": "active",
    }  # fmt: skip
    until = lender.business_date(row["booked_at"]) + timedelta(
        days=lender.document.get("decision_days", 30)
    )
    return {
        "decision": print_id("de", row["decision_id"]),
        "user": print_id("us", row["decision_id"] // PER_USER),
        "product": Product(found.product).label, "kind": DecisionKind(row["kind"]).label,
        "outcome": OUTCOMES[row["approved"]], "line": line,
        "reasons": [{"code": each["code"], "text": each["text"]} for each in texts],
        "valid_until": until.isoformat(), "booked_at": moment_text(row["booked_at"]),
        "review": print_id("de", found.review_id) if found.review_id else None,
    }  # fmt: skip


async def decision(
    transaction: asyncpg.Connection, lender: Lender, decision_id: int
) -> dict[str, Any]:
    """One decision."""
    row = await transaction.fetchrow(
        "select d.*, coalesce(a.product, p.product) as product, a.line_id, a.review_id "
        "from usance.decisions d left join usance.applications a using (decision_id) "
        "left join usance.placements p using (decision_id) where d.decision_id = $1", decision_id,
    )  # fmt: skip
    if row is None:
        raise not_found("de", decision_id)
    found = Recorded(row, row["product"] or 0, row["line_id"], row["review_id"] or 0)
    return decision_answer(lender, found)


@dataclass(frozen=True)
class Line:
    """A line with what is used of it."""

    line_id: int
    product: int
    limit_minor: int
    rate_ppm: int
    state: int
    effective_on: date
    used_minor: int

    @property
    def available_minor(self) -> int:
        """The amount that may still be drawn."""
        return max(self.limit_minor - self.used_minor, 0)

    def answer(self, lender: Lender) -> dict[str, Any]:
        """The shape of a line."""
        return {
            "line": print_id("li", self.line_id), "product": Product(self.product).label,
            "limit_minor": self.limit_minor, "used_minor": self.used_minor,
            "available_minor": self.available_minor, "currency": lender.currency.name,
            "rate_ppm": self.rate_ppm, "state": LineState(self.state).label,
        }  # fmt: skip


async def lines_of(
    transaction: asyncpg.Connection, lender: Lender, user_id: int, today: date,
    known_at: datetime | None = None,
) -> list[Line]:  # fmt: skip
    """The lines of a user, the latest of each product, as of a day."""
    loans = await open_positions(transaction, [user_id], today)
    return (await lines_of_users(transaction, lender, loans, today, known_at))[user_id]


async def lines_of_users(
    transaction: asyncpg.Connection, lender: Lender, loans: Mapping[int, Sequence[OpenPosition]],
    today: date, known_at: datetime | None = None,
) -> dict[int, list[Line]]:  # fmt: skip
    """The lines of users whose open loans were read, by user."""
    ids = list(loans)
    lows, highs = own_ranges(ids)
    rows = await transaction.fetch(
        "select l.* from unnest($1::bigint[], $2::bigint[]) g (low, high), lateral ("
        "select distinct on (product) * from usance.lines "
        "where line_id between g.low and g.high and effective_on <= $3 "
        "and ($4::timestamptz is null or booked_at <= $4) "
        "order by product, line_id desc, effective_on desc) l", lows, highs, today, known_at,
    )  # fmt: skip
    waiting = await transaction.fetch(
        "select p.user_id, p.product, sum(p.amount_minor)::bigint as held "
        "from unnest($1::bigint[], $2::bigint[]) g (low, high) cross join lateral ("
        "select user_id, product, amount_minor from usance.placements "
        "where loan_id between g.low and g.high and state in ('pending', 'approved') offset 0) p "
        "group by 1, 2", lows, highs,
    )  # fmt: skip
    used: dict[int, dict[int, int]] = {user: {} for user in ids}
    amounts = [(user, each.product, each.owed_minor) for user in ids for each in loans[user]]
    amounts += [(row["user_id"], row["product"], row["held"]) for row in waiting]
    for user, product, amount in amounts:
        used[user][product] = used[user].get(product, 0) + amount
    found: dict[int, list[Line]] = {user: [] for user in ids}
    for row in rows:
        owner = row["line_id"] // PER_USER
        own = used[owner]
        taken = sum(own.values()) if lender.has_one_line else own.get(row["product"], 0)
        found[owner].append(
            Line(row["line_id"], row["product"], row["limit_minor"], row["rate_ppm"],
                 row["state"], row["effective_on"], taken)
        )  # fmt: skip
    return found
