"""Funding sources as the table the close reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from usance.base.columns import make
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.twin.setting import Setting

HISTORY = 60
"""Months before the opening in which opening loans may have been drawn."""


def sources_table(setting: Setting) -> pa.Table:
    """Every source on its terms, a version whenever they change."""
    scenario = setting.scenario
    begins = [
        setting.opening_month - HISTORY,
        *sorted(each for each in scenario.funding_from if each <= scenario.last_month),
    ]
    ends = [*(each - 1 for each in begins[1:]), scenario.last_month]
    rows = []
    for number in range(1, setting.sources + 1):
        for version, (begin, end) in enumerate(zip(begins, ends, strict=True), start=1):
            terms = setting.institutions.funding_of(end)[number - 1]
            coupon = setting.institutions.coupon_ppm(number, end)
            rows.append((number, version, to_day(first_of_month(begin)),
                         to_day(last_of_month(end)), number, terms.entity, int(terms.model), coupon,
                         terms.fee_ppm, terms.trigger_days, 0, 0, 1))  # fmt: skip
    columns = np.array(rows, np.int64).T
    names = (
        "source", "version", "valid_from", "valid_to", "institution", "entity", "model",
        "coupon_ppm", "fee_ppm", "trigger_days", "guarantor", "co_share_ppm", "settlement_lag",
    )  # fmt: skip
    days = {"valid_from", "valid_to"}
    return make("sources", **{
        name: values.astype(np.int32) if name in days else values
        for name, values in zip(names, columns, strict=True)
    })  # fmt: skip
