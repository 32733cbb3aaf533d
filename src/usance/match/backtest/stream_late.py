"""The late demand of an adversarial stream: worth more, and only the tight sources take it.

The last requests come from a region that the tight sources alone serve. Their rate is set so that
they earn 1.5 to 2 times what an ordinary request earns with those sources, within the rate cap.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Product
from usance.base.rates import PPM
from usance.match.backtest.stream_types import RATE_CAP_PPM, REGIONS, Types
from usance.match.chance import ARRIVALS, between, drawn
from usance.match.mandates.mandate import Mandates
from usance.match.mandates.margins import margin_tables

MONTHS = 12


def late_requests(
    columns: dict[str, I64], first: int, seed: int, mandates: Mandates, types: Types
) -> None:
    """Make every request from position `first` on a late one, in place."""
    special = len(REGIONS) + 1
    tight = tuple(each for each in mandates.mandates if special in each.eligibility.regions)
    losses = mandates.platform.losses
    grades = np.array(sorted(losses), np.int64)
    loss_ppm = np.array([losses[int(grade)] for grade in grades], np.int64)
    tables = margin_tables(tight, mandates.platform, np.arange(64, dtype=np.int64), loss_ppm)
    base, slope = (table.sum(axis=2) // len(tight) for table in tables)
    usual = base[types.months, types.grade - 1] + (
        slope[types.months, types.grade - 1] * types.rate_ppm // PPM
    )
    earning = usual > 0
    ordinary = int((usual * types.weight)[earning].sum() // types.weight[earning].sum())
    rows = np.arange(first, len(columns["grade"]), dtype=np.int64)
    # Every tight source takes grades 3 to 6 whatever its own range is; 3 loses least of them.
    grade = np.full(len(rows), 3, np.int64)
    wanted = ordinary * between(drawn(seed, ARRIVALS, rows, 7), 150, 200) // 100
    line = base[MONTHS, grade - 1], slope[MONTHS, grade - 1]
    rate_ppm = np.clip((wanted - line[0]) * PPM // line[1] // 1000 * 1000, 0, RATE_CAP_PPM)
    for name, value in {
        "product": int(Product.INSTALMENT), "region": special, "months": MONTHS,
    }.items():  # fmt: skip
        columns[name][rows] = value
    columns["grade"][rows] = grade
    columns["rate_ppm"][rows] = rate_ppm
