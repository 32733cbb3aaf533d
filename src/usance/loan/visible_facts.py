"""The visible facts of the `facts` table: known and not reversed, loan by loan.

The same rules as `usance.loan.facts.visible`, on columns. Where nothing is unknown or reversed, the
table's own memory is used and nothing is copied.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.compiled import in_threads
from usance.base.dates import microseconds
from usance.base.errors import UsanceError
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.errors import FactError, OrphanFacts, ReversalError
from usance.loan.facts import END_OF_TIME
from usance.loan.kernel.visible_facts import OUT_OF_ORDER, VALID, mark_visible

_TERMS = (
    "principal_minor", "rate_ppm", "coupon_ppm", "instalments", "disbursed_on", "first_due_on",
    "flat_fee_minor", "guarantee_fee_minor", "convention",
)  # fmt: skip


def term_columns(loans: pa.Table) -> TermColumns:
    """The terms in a `loans` table, one version per loan."""
    columns: dict[str, Any] = arrays(loans)
    return TermColumns(**{name: columns[name] for name in _TERMS})


def fact_columns(
    facts: pa.Table, loan_ids: NDArray[np.int64], known_at: datetime = END_OF_TIME
) -> FactColumns:
    """The visible facts of these loans (ascending ids), in canonical order."""
    columns = arrays(facts)
    owner = columns["loan_id"]
    offsets = np.searchsorted(owner, np.append(loan_ids, np.iinfo(np.int64).max)).astype(np.int64)
    _refuse_orphans(owner, loan_ids, offsets)
    day, kind, amount, arg = (
        columns[name] for name in ("effective_on", "kind", "amount_minor", "arg")
    )
    made = FactColumns(offsets, day, kind, amount, arg)
    return visible_rows(
        made, columns["ref"], loan_ids, columns["booked_at"], known_at_bound(known_at)
    )


def visible_rows(
    facts: FactColumns, ref: I64, loan_ids: I64, booked: I64 | None = None, moment: int = 0
) -> FactColumns:
    """The facts that are known and not reversed; without `booked` all are known."""
    if booked is None:
        booked = np.zeros(len(ref), np.int64)
    keep = np.empty(len(ref), np.bool_)
    verdict = np.zeros(len(loan_ids), np.int32)
    given = facts.arrays
    in_threads(
        lambda start, stop: mark_visible(start, stop, given, ref, booked, moment, keep, verdict),
        len(loan_ids),
    )
    bad = np.flatnonzero(verdict != VALID)
    if len(bad):
        raise invalid_facts(int(loan_ids[bad[0]]), int(verdict[bad[0]]), len(bad))
    if keep.all():
        return facts
    offsets = np.concatenate(([0], np.cumsum(keep)))[facts.offsets]
    columns: Any = (column[keep] for column in given[1:])
    return FactColumns(offsets, *columns)


def known_at_bound(moment: datetime) -> int:
    """A moment as tables hold it; the end of time is after all of them."""
    if moment is END_OF_TIME:
        return int(np.iinfo(np.int64).max)
    return microseconds(moment)


def _refuse_orphans(
    owner: NDArray[np.int64], loan_ids: NDArray[np.int64], offsets: NDArray[np.int64]
) -> None:
    """Refuse facts of loans that are not given, and loans or facts out of ascending order."""
    if len(loan_ids) > 1 and not (loan_ids[:-1] < loan_ids[1:]).all():
        raise FactError("loan ids are not ascending", where="loan_id", fix="Sort loans by id")
    if len(owner) > 1 and not (owner[:-1] <= owner[1:]).all():
        raise FactError(
            "facts are not sorted by loan",
            where="loan_id",
            fix="Sort facts by loan_id, effective_on, kind, ref",
        )
    expected = np.repeat(loan_ids, np.diff(offsets))
    if len(expected) != len(owner) or not (expected == owner).all():
        orphans = np.setdiff1d(owner, loan_ids)
        raise OrphanFacts(
            f"{len(orphans)} loans have facts and no terms, the first {orphans[0]}",
            where="loan_id",
            fix="Give the terms of every loan with facts",
        )


def invalid_facts(loan_id: int, verdict: int, count: int) -> UsanceError:
    """The error of the first loan with invalid facts; says how many more there are."""
    where = f"loan {loan_id}" + (f" (and {count - 1} more)" if count > 1 else "")
    if verdict == OUT_OF_ORDER:
        return FactError(
            "facts are not in canonical order, or one stands twice",
            where=where,
            fix="Sort by effective_on, kind and ref; give each fact its own ref",
        )
    return ReversalError(
        f"a {FactKind.REVERSED.label} fact names no known fact, a reversed one, or a reversal",
        where=where,
        fix="Name the ref of a standing fact in arg",
    )
