"""Pre-aggregations: sums of a table that many aggregates share, made in one scan.

>>> from usance.measure.definitions import load_definitions
>>> late = load_definitions()["vintage_30"][0].numerator
>>> preaggregation_for("tape", late, ["cohort", "mob", "cell"]).dimensions
('month', 'cohort', 'mob', 'cell')
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from usance.measure.definitions import Aggregate
from usance.measure.expressions import columns_of

ROW_COUNT = "rows"
"""The column with the number of rows of the table that were summed."""
IN_PERIOD = "inside"
"""The column that replaces a moment: 1 in the period, 0 before it."""


class PreAggregation(NamedTuple):
    """A table's amounts added up by some of its columns."""

    table: str
    dimensions: tuple[str, ...]
    amounts: tuple[str, ...]

    def of(self, rows: Any) -> Any:
        """The sums of some rows of the table, as an Ibis expression."""
        sums = {name: rows[name].cast("int64").sum().cast("int64") for name in self.amounts}
        return rows.group_by(list(self.dimensions)).agg(**sums, **{ROW_COUNT: rows.count()})


PREAGGREGATIONS = (
    PreAggregation(
        "tape", ("month", "bucket", "bucket_prev", "state", "cell"),
        ("principal_minor", "principal_prev_minor", "prepaid_minor"),
    ),
    PreAggregation("tape", ("month", "cohort", "mob", "cell"), ("net30_minor", "net180_minor")),
    PreAggregation("approvals", ("channel", "region", IN_PERIOD), ()),
)  # fmt: skip


def preaggregation_for(
    table: str, part: Aggregate, columns: Collection[str]
) -> PreAggregation | None:
    """The first pre-aggregation that has an aggregate's sums by these columns."""
    # A number of its own would count once for each row, a product is no sum of products.
    plain = all(len(each) == 1 and isinstance(each[0], str) for _, each in part.amount)
    if part.distinct or not plain:
        return None
    for cube in PREAGGREGATIONS:
        has_all = {*columns} <= {*cube.dimensions} and columns_of(part.amount) <= {*cube.amounts}
        if cube.table == table and has_all:
            return cube
    return None
