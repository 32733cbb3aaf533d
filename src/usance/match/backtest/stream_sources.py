"""Made-up segments and funding sources of a stream: mandates that follow from the seed alone.

About 30 % of all pairs of segment and source are eligible. Budgets are 90 % of a source's even
share of the expected demand; the first sources (one in sixteen) are tight, at 30 % of theirs.

>>> len(make_sources(1, 32, make_segments(1, 40), np.full(40, 10))["sources"])
32
>>> segments = make_segments(1, 3)
>>> len(segments), segments.product_name(0)
(3, 'instalment')
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from usance.base.arrays import I64, U64
from usance.base.codes import Product
from usance.match.draws import SEGMENTS, SOURCES, draw_column, uniform_integers, weighted_choice

REGIONS = tuple(f"region_{number:02}" for number in range(1, 32))
SPECIAL_REGION = "free_zone"
CHANNELS = tuple(f"channel_{number:02}" for number in range(1, 13))
GRADES = tuple(range(1, 9))
# Loans of Q2'24: 3.6 of 19.1 million were v_pocket; the mean ticket of all is 5,000 yuan.
_PRODUCT_WEIGHTS = (19, 73, 8)
_GRADE_WEIGHTS = (8, 14, 18, 20, 16, 12, 8, 4)
_MEAN_MINOR = (1_000_00, 5_500_00, 15_000_00)
_TENORS = ((3, 6), (3, 6, 9, 12, 24), (6, 12, 24))
RATE_CAP_PPM = 240_000


@dataclass(frozen=True, slots=True)
class StreamSegments:
    """Segments of demand; each is a mean around which its requests lie."""

    product: I64
    region: I64
    grade: I64
    channel: I64
    months: I64
    amount_minor: I64
    rate_ppm: I64
    weight: I64
    """Relative frequency."""

    def __len__(self) -> int:
        return len(self.weight)

    def region_name(self, row: int) -> str:
        """The region of a segment."""
        return (*REGIONS, SPECIAL_REGION)[int(self.region[row]) - 1]

    def product_name(self, row: int) -> str:
        """The product of a segment."""
        return Product(int(self.product[row])).label


def make_segments(seed: int, count: int) -> StreamSegments:
    """So many segments of demand."""
    rows = np.arange(count, dtype=np.int64)

    def roll(use: int) -> U64:
        return draw_column(seed, SEGMENTS, rows, use)

    product = weighted_choice(roll(0), np.array(_PRODUCT_WEIGHTS))
    grade = 1 + weighted_choice(roll(1), np.array(_GRADE_WEIGHTS))
    tenor = uniform_integers(roll(2), 0, 59)
    months = np.array(
        [_TENORS[p][t % len(_TENORS[p])] for p, t in zip(product, tenor, strict=True)]
    )
    spread_percent = uniform_integers(roll(3), 60, 140)
    amount_minor = np.array(_MEAN_MINOR)[product] * spread_percent // 100 // 100_00 * 100_00
    rate_ppm = 150_000 + 10_000 * grade + 1_000 * uniform_integers(roll(4), -15, 15)
    return StreamSegments(
        product=product,
        region=uniform_integers(roll(5), 1, len(REGIONS)),
        grade=grade,
        channel=uniform_integers(roll(6), 1, len(CHANNELS)),
        months=months.astype(np.int64),
        amount_minor=np.maximum(amount_minor, 300_00),
        rate_ppm=np.minimum(rate_ppm, RATE_CAP_PPM),
        weight=uniform_integers(roll(7), 1, 5),
    )


def amounts_around(amount_minor: I64, rolls: U64) -> I64:
    """Amounts around a mean: 40 % to 160 % of it, in steps of a hundred yuan."""
    whole: I64 = amount_minor * uniform_integers(rolls, 40, 160) // 100 // 100_00 * 100_00
    return np.maximum(whole, 100_00)


def rates_around(rate_ppm: I64, rolls: U64) -> I64:
    """Rates up to one point and a half around a mean, in tenths of a point, within the cap."""
    near: I64 = rate_ppm + 1_000 * uniform_integers(rolls, -15, 15)
    return np.minimum(near, RATE_CAP_PPM)


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
    """Budgets; for some sources also a daily one, a concentration limit, a minimum take, hours."""
    total_minor = max(total_minor, 1_000_000)
    budgets = {"total": f"{total_minor // 100}"}
    if number % 3 == 0:
        budgets["day"] = f"{max(2 * total_minor // DAYS, 1_000_000) // 100}"
    source["budgets"] = budgets
    if number % 8 == 1:
        source["minimum_take"] = {"amount": f"{total_minor // 200}", "shortfall_fee": "1%"}
    if number % 4 == 2:
        source["concentration_limits"] = [{"region": source["regions"][0], "share": "10%"}]
    if number % 16 == 3:
        source["concentration_limits"] = [{"grade": max(source["grades"]), "share": "12%"}]
    if number % 10 == 5:
        source["cut_off"] = "22:00"
    if number % 40 == 7:
        source["platform_share"] = "30%"
