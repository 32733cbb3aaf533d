"""Third-party guarantors of a lender: which loans they guarantee, their terms, their deposits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.dates import to_day
from usance.loan.batch import view_columns
from usance.platform.lender import Lender
from usance.platform.records.loan_columns import fold_columns
from usance.platform.records.loan_record import load_loans
from usance.service.guarantees.claim import Claim, ClaimState
from usance.service.guarantees.deposit import DepositTerms

if TYPE_CHECKING:
    import asyncpg

_DEPOSIT = (
    "select coalesce((select balance_minor from usance.deposit_balances where guarantor = $1), 0)"
    " as balance, (select count(*) from usance.deposit_moves where guarantor = $1) as moves"
)


def guarantor_of(lender: Lender, source: int) -> int:
    """The third party that guarantees a source's loans; 0 where it is the platform itself."""
    own = lender.mandates.of_source(source)
    return own[-1].guarantee.guarantor if own else 0


def guarantor_name(lender: Lender, number: int) -> str:
    """The name of a guarantor; `platform` for ourselves."""
    if not number:
        return "platform"
    return lender.party_name("guarantor", number) or f"guarantor_{number}"


def guarantors_of(lender: Lender) -> list[int]:
    """Guarantors that the lender knows, by number."""
    named = {number for (kind, _), number in lender.parties.items() if kind == "guarantor"}
    return sorted(named | {each.guarantee.guarantor for each in lender.mandates.mandates} - {0})


def terms_of(lender: Lender, number: int) -> DepositTerms:
    """The contract with a guarantor as the lender's document states it."""
    name = guarantor_name(lender, number)
    return DepositTerms.of(lender.document.get("guarantors", {}).get(name, {}), name)


def claim_of(row: Mapping[str, Any]) -> Claim:
    """A row of the database as a claim."""
    return Claim(row["amount_minor"], ClaimState(row["state"]), row["deposit_minor"],
                 row["own_minor"], row["passed_minor"], row["reason"])  # fmt: skip


async def guaranteed_minor(
    transaction: asyncpg.Connection, lender: Lender, day: date
) -> dict[int, int]:
    """Principal outstanding of open loans, by the third party that guarantees it."""
    whose = {each.source: each.guarantee.guarantor for each in lender.mandates.mandates}
    sources = [source for source, number in whose.items() if number]
    total: dict[int, int] = defaultdict(int)
    if not sources:
        return total
    async for folds in fold_columns(transaction, open_only=True):
        mine = folds.only(np.isin(folds.rows["source"].astype(np.int64), sources))
        if len(mine.rows):
            view = view_columns(mine.booked().states, to_day(day))
            owed = view.column("principal_outstanding")
            for source in sources:
                total[whose[source]] += int(owed[mine.rows["source"] == source].sum())
        for loan in await load_loans(transaction, folds.others):
            if number := whose.get(loan.first["source"], 0):
                total[number] += loan.at(day).view().principal_outstanding
    return total


class Deposit(NamedTuple):
    """The deposit with a guarantor as one command sees it."""

    guarantor: int
    balance_minor: int
    moves: int


async def load_deposit(transaction: asyncpg.Connection, guarantor: int) -> Deposit:
    """The deposit with a guarantor; empty where there is none."""
    row = await transaction.fetchrow(_DEPOSIT, guarantor)
    return Deposit(guarantor, row["balance"], row["moves"])
