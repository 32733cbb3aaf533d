"""What a column of requests would do at given prices: the sum inside the dual bound.

For each request the best it can be worth is asking its candidates in order of their net worth,
each with its approval rate, until one says yes. Budgets are not looked at: that is what prices
are for. Beyond the candidates kept, the rest is counted as if the last one said yes for sure, so
the sum is never too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I64
from usance.base.compiled import kernel
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.router.rank_kernel import PRICES, mix_weight, rank
from usance.match.router.rows import Rows


@kernel
def worth_run(
    start: int, stop: int, rows: Rows, slot: I64, columns: SourceColumns,
    open_sets: NDArray[np.uint64], approval: I64, price: I64, mix_price: I64,
    unlimited: I64, no_mix: I64, nothing: I64, amounts: F64, mix_use: F64,
    top: I64, top_net: I64, blocked: I64,
) -> float:  # fmt: skip
    """The worth of requests `start` to `stop`; adds what each column is expected to lend.

    Sets, approval rates and prices are by slot (a stretch of time); `amounts` by slot and column.
    """
    worth = 0.0
    for i in range(start, stop):
        s = slot[i]
        count = rank(
            rows, i, columns, PRICES, open_sets[s], unlimited, unlimited, no_mix, no_mix, nothing,
            nothing, price[s], columns.ones, mix_price, top, top_net, blocked,
        )  # fmt: skip
        left = rows.weight[i] * rows.amount[i]
        for t in range(count):
            j = top[t]
            yes = left * approval[s, j] / PPM
            worth += yes * top_net[t] / PPB
            amounts[s, j] += yes
            left -= yes
            for k in range(columns.mix_start[j], columns.mix_start[j + 1]):
                mix_use[k] += yes * mix_weight(rows, i, columns, k) / PPM
        if count == len(top):
            worth += left * top_net[count - 1] / PPB
    return worth
