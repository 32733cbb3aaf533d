"""Open loans of users on a day, from their stored folds: what is owed, and how late it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.dates import to_day
from usance.loan.batch import view_columns
from usance.platform.installation import product_of_cell
from usance.platform.records.loan_fold import PackedLoan, unpack
from usance.platform.records.loan_record import load_loans
from usance.platform.records.user_record import own_ranges

if TYPE_CHECKING:
    import asyncpg

_LATE, _OWED = 1, 3
"""Places of days past due and of principal outstanding in a view."""


class OpenPosition(NamedTuple):
    """An open loan on a day."""

    loan_id: int
    product: int
    owed_minor: int
    """Principal that is not paid."""
    days_past_due: int


async def open_positions(
    transaction: asyncpg.Connection, user_ids: Iterable[int], day: date
) -> dict[int, list[OpenPosition]]:
    """The open loans of users on a day, by user; a user without any has none."""
    found: dict[int, list[OpenPosition]] = {user: [] for user in user_ids}
    rows = await transaction.fetch(
        "select s.* from unnest($1::bigint[], $2::bigint[]) g (low, high) cross join lateral ("
        "select loan_id, version, is_open, form, model, source, cell, trigger_days, through, "
        "terms, state, posted from usance.loan_states "
        "where loan_id between g.low and g.high and is_open offset 0) s order by s.loan_id",
        *own_ranges(found),
    )  # one user after the other: joined freely, a few users cost a scan of all loans
    for each in await _positions(transaction, rows, day):
        found[each.loan_id >> 14].append(each)
    return found


async def loan_positions(
    transaction: asyncpg.Connection, loan_ids: Iterable[int], day: date
) -> dict[int, OpenPosition]:
    """Positions of some loans on a day; those that are closed are left out."""
    rows = await transaction.fetch(
        "select loan_id, version, is_open, form, model, source, cell, trigger_days, through, "
        "terms, state, posted from usance.loan_states where loan_id = any($1) and is_open "
        "order by loan_id", list(loan_ids),
    )  # fmt: skip
    return {each.loan_id: each for each in await _positions(transaction, rows, day)}


async def _positions(
    transaction: asyncpg.Connection, rows: Sequence[Any], day: date
) -> list[OpenPosition]:
    """Positions of stored folds, in order of the loans; others are replayed from their facts."""
    loans = [PackedLoan(*row) for row in rows]
    folded = [each for each in loans if each.is_folded and each.through <= day]
    made: list[OpenPosition] = []
    if folded:
        views = view_columns(unpack(folded).states, to_day(day), workers=1).values
        made += [OpenPosition(loan.loan_id, product_of_cell(loan.cell), owed, late) for loan,
                 owed, late in zip(folded, views[:, _OWED].tolist(), views[:, _LATE].tolist(),
                                   strict=True)]  # fmt: skip
    if len(folded) < len(loans):
        known = {each.loan_id for each in folded}
        others = [each.loan_id for each in loans if each.loan_id not in known]
        for loan in await load_loans(transaction, others):
            view = loan.at(day).view()
            made.append(OpenPosition(loan.loan_id, loan.first["product"],
                                     view.principal_outstanding, view.days_past_due))  # fmt: skip
    return sorted(made)
