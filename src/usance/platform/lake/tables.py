"""The tables of the lake: how each is filed, and the rows of it that an export adds.

Live journals and postings are not among them: a close makes its own from the facts, and the ledger
control ties the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.ids import SHARD_BITS, USER_SHIFT
from usance.base.schemas import Table
from usance.base.tables import table


class LakeTable(NamedTuple):
    """One table of the lake."""

    name: str
    partitioned_by: str
    """The column whose month a row is filed under; empty for all in one place."""
    owner: str = ""
    """The id that holds the user; empty where no user owns a row."""

    @property
    def declared(self) -> Table:
        """Its declaration in the data contract."""
        return table(self.name)


USERS = LakeTable("users", "registered_on", "user_id")
"""Numbered without gaps in the order of their transactions: an export adds those after the last."""
APPENDED = (
    LakeTable("decisions", "booked_at", "decision_id"),
    LakeTable("decision_inputs", "", "decision_id"),
    LakeTable("lines", "booked_at", "line_id"),
    LakeTable("requests", "requested_at", "loan_id"),
    LakeTable("routing", "at", "loan_id"),
    LakeTable("loans", "effective_on", "loan_id"),
    LakeTable("shares", "", "loan_id"),
    LakeTable("facts", "booked_at", "loan_id"),
    LakeTable("group_facts", "booked_at"),
)
"""Every row carries its transaction: an export adds those below the watermark and not yet there."""
CONFIGURATION = (LakeTable("sources", ""), LakeTable("limits", ""), LakeTable("cells", ""))
"""Small and changed by people: written again when they have changed."""


def partitions(each: LakeTable, rows: pa.Table, zone: str) -> dict[tuple[int, int], pa.Table]:
    """Rows by the month (-1 for none), in the business time zone, and the shard they are filed in.

    >>> from usance.base.columns import make
    >>> midnight = make(
    ...     "routing",
    ...     **dict.fromkeys(table("routing").names, [0])
    ...     | {"loan_id": [1 << 37], "at": [1_719_763_200_000_000]},
    ... )
    >>> routing = next(each for each in APPENDED if each.name == "routing")
    >>> (
    ...     list(partitions(routing, midnight, "UTC")),
    ...     list(partitions(routing, midnight, "Asia/Shanghai")),
    ... )
    ([(653, 2)], [(654, 2)])
    """
    packed = (_months(each, rows, zone) + 1) << 32 | _shards(each, rows)
    return {
        (int(place >> 32) - 1, int(place & 0xFFFF_FFFF)): rows.filter(pa.array(packed == place))
        for place in np.unique(packed)
    }


def _months(each: LakeTable, rows: pa.Table, zone: str) -> I64:
    if not each.partitioned_by:
        return np.full(rows.num_rows, -1, np.int64)
    when = rows.column(each.partitioned_by)
    if pa.types.is_timestamp(when.type):
        when = when.cast(pa.timestamp("us", zone))
    months = pc.add(
        pc.multiply(pc.subtract(pc.year(when), 1970), 12), pc.subtract(pc.month(when), 1)
    )
    return np.asarray(months.to_numpy(), np.int64)


def _shards(each: LakeTable, rows: pa.Table) -> I64:
    if not each.owner:
        return np.zeros(rows.num_rows, np.int64)
    ids = rows.column(each.owner).to_numpy()
    users = ids if each.owner == "user_id" else ids >> USER_SHIFT
    return np.asarray(users >> SHARD_BITS, np.int64)
