"""Cells from plain lists, for tests of posting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.books.chart import load_chart
from usance.books.postings import Cells


def cells_of(
    cell: Sequence[int] | I64, model: Sequence[FundingModel] | I64, entity: Sequence[int] | I64,
    *, related: Sequence[bool] | None = None, fund_cash: str = "cash", payout_cash: str = "cash",
) -> Cells:  # fmt: skip
    """Cells from plain lists, with one cash account for all."""
    chart, size = load_chart(), len(cell)
    return Cells(
        np.asarray(cell, np.int64), np.array([int(each) for each in model], np.int64),
        np.asarray(entity, np.int64), np.array(related or [False] * size, np.bool_),
        np.full(size, chart[fund_cash].number, np.int64),
        np.full(size, chart[payout_cash].number, np.int64),
    )  # fmt: skip
