"""Made-up funding sources of a stream: a file of mandates that follows from the seed alone.

About 30 % of all pairs of segment and source are eligible. Budgets are 90 % of a source's even
share of the expected demand; the first sources (one in sixteen) are tight, at 30 % of theirs.

>>> from usance.match.backtest.stream_segments import make_segments
>>> len(make_sources(1, 32, make_segments(1, 40), np.full(40, 10))["sources"])
32
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.match.backtest.stream_segments import (
    CHANNELS,
    GRADES,
    REGIONS,
    SPECIAL_REGION,
    StreamSegments,
)
from usance.match.draws import SOURCES, draw_column, uniform_integers, weighted_choice

FIRST, LAST = date(2024, 6, 1), date(2024, 6, 30)
DAYS = (LAST - FIRST).days + 1
_MODELS = ("capital_heavy", "on_balance_sheet", "capital_light", "ice", "tech_solutions")
# Risk-bearing volume is about 35 % of the whole (business of Q2'24), so is their number here.
_MODEL_WEIGHTS = (30, 10, 22, 28, 10)
_NORMAL, _TIGHT = 900_000, 300_000


def tight_count(sources: int) -> int:
    """Number of sources with tight budgets: ten of 160."""
    return max(1, sources // 16)


def make_sources(seed: int, count: int, segments: StreamSegments, requests: I64) -> dict[str, Any]:
    """The content of MANDATES.yaml; `requests` are expected of each segment."""
    sources = [_source(seed, number, count) for number in range(1, count + 1)]
    eligible = np.array(
        [[_takes(each, segments, row) for each in sources] for row in range(len(segments))]
    )
    demand = requests * segments.amount_minor
    share = demand // np.maximum(eligible.sum(axis=1), 1)
    even_minor = (share[:, None] * eligible).sum(axis=0)
    for number, each in enumerate(sources, start=1):
        part = _TIGHT if number <= tight_count(count) else _NORMAL
        _budget(each, number, int(even_minor[number - 1]) * part // 1_000_000)
    return {
        "currency": "CNY",
        "time_zone": "Asia/Shanghai",
        "period": {"from": FIRST, "to": LAST},
        "regions": [*REGIONS, SPECIAL_REGION],
        "channels": list(CHANNELS),
        "sources": sources,
    }


def _source(seed: int, number: int, count: int) -> dict[str, Any]:
    """Everything but budgets, from the draws of this source."""
    roll = draw_column(seed, SOURCES, np.full(120, number), 0)
    roll = draw_column(seed, SOURCES, np.arange(120) + number * 1000, 1) ^ roll
    whole = iter(roll)

    def one(lowest: int, highest: int) -> int:
        return int(uniform_integers(np.array([next(whole)]), lowest, highest)[0])

    tight = number <= tight_count(count)
    picked = int(weighted_choice(np.array([next(whole)]), np.array(_MODEL_WEIGHTS))[0])
    model = _MODELS[0 if tight else picked]
    source: dict[str, Any] = {
        "source": number,
        "name": f"{'Tight' if tight else 'Source'} {number}",
        "valid": {"from": date(2024, 1, 1), "to": date(2024, 12, 31)},
        "approved_by": ["head of funding", "head of risk"],
        "model": model,
        "approval_rate": f"{one(80, 98)}%",
        "priority": one(1, 3),
    }
    source |= _price(model, one)
    first = one(1, 3)
    source["grades"] = [grade for grade in GRADES if first <= grade <= first + 5]
    source["regions"] = [r for r in REGIONS if one(1, 100) <= 62] or [REGIONS[0]]
    if tight:
        source["regions"].append(SPECIAL_REGION)
    source["channels"] = [c for c in CHANNELS if one(1, 100) <= 63] or [CHANNELS[0]]
    extra = [name for name, odds in (("v_pocket", 60), ("sme", 50)) if one(1, 100) <= odds]
    source["products"] = ["instalment", *extra]
    return source


def _price(model: str, one: Any) -> dict[str, Any]:
    """Funding cost and fees in the ranges public reports show."""
    if model == "capital_heavy":
        return {"coupon": f"{one(550, 800) / 100:.2f}%", "guarantee": {"trigger_days": 60}}
    if model == "on_balance_sheet":
        return {"coupon": f"{one(380, 520) / 100:.2f}%"}
    low, high = {"capital_light": (300, 350), "ice": (240, 300), "tech_solutions": (80, 160)}[model]
    return {"fee": f"{one(low, high) / 100:.2f}%"}


def _takes(source: dict[str, Any], segments: StreamSegments, row: int) -> bool:
    return (
        segments.region_name(row) in source["regions"]
        and int(segments.grade[row]) in source["grades"]
        and CHANNELS[int(segments.channel[row]) - 1] in source["channels"]
        and segments.product_name(row) in source["products"]
    )


def _budget(source: dict[str, Any], number: int, total_minor: int) -> None:
    """Budgets, and for some sources a daily budget, a mix limit, a minimum take, a cut-off."""
    total_minor = max(total_minor, 1_000_000)
    budgets = {"total": f"{total_minor // 100}"}
    if number % 3 == 0:
        budgets["day"] = f"{max(2 * total_minor // DAYS, 1_000_000) // 100}"
    source["budgets"] = budgets
    if number % 8 == 1:
        source["minimum_take"] = {"amount": f"{total_minor // 200}", "shortfall_fee": "1%"}
    if number % 4 == 2:
        source["mix"] = [{"region": source["regions"][0], "share": "10%"}]
    if number % 16 == 3:
        source["mix"] = [{"grade": max(source["grades"]), "share": "12%"}]
    if number % 10 == 5:
        source["cut_off"] = "22:00"
    if number % 40 == 7:
        source["platform_share"] = "30%"
