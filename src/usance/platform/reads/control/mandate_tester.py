"""Mandates tried on past loans: how many each would have taken, and what kept it from the others.

Rows are those that the caller sees: an institution tries a mandate on its own past loans alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.match.mandates.mandate import Eligibility, Mandates

if TYPE_CHECKING:
    import asyncpg

LOANS = 2_000
"""Past loans that a mandate is tried on."""


async def tried(transaction: asyncpg.Connection, mandates: Mandates) -> list[dict[str, Any]]:
    """Each mandate with loans and principal that it would have taken, and why not the rest."""
    rows = await transaction.fetch(
        "select principal_minor, product, instalments, region, grade, channel from usance.loans "
        "where terms_no = 1 order by loan_id desc limit $1", LOANS,
    )  # fmt: skip
    return [_tried(mandate.name, mandate.eligibility, [dict(row) for row in rows])
            for mandate in mandates.mandates]  # fmt: skip


def _tried(name: str, own: Eligibility, loans: list[dict[str, Any]]) -> dict[str, Any]:
    kept: Counter[str] = Counter()
    taken = 0
    for loan in loans:
        reason = refusal(own, loan)
        if reason:
            kept[reason] += 1
        else:
            taken += loan["principal_minor"]
    kept_by = ", ".join(f"{why} {count}" for why, count in kept.most_common())
    return {"name": name, "tried": len(loans), "taken": len(loans) - kept.total(),
            "taken_minor": taken, "kept_by": kept_by}  # fmt: skip


def refusal(own: Eligibility, loan: Mapping[str, Any]) -> str:
    """The first term of a mandate that keeps a loan out; nothing if it would be taken.

    >>> own = Eligibility(max_amount_minor=500_00, months=frozenset({6}))
    >>> loan = {"principal_minor": 600_00, "instalments": 6, "product": 1, "region": 1,
    ...         "grade": 2, "channel": 1}
    >>> refusal(own, loan), refusal(own, loan | {"principal_minor": 400_00})
    ('amount', '')
    """  # fmt: skip
    if not own.min_amount_minor <= loan["principal_minor"] <= own.max_amount_minor:
        return "amount"
    sets = {"months": (own.months, "instalments"), "product": (own.products, "product"),
            "region": (own.regions, "region"), "grade": (own.grades, "grade"),
            "channel": (own.channels, "channel")}  # fmt: skip
    for name, (allowed, column) in sets.items():
        if allowed and loan[column] not in allowed:
            return name
    return ""
