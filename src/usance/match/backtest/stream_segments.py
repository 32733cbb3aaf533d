"""Segments of demand that a made-up stream is drawn from, with amounts and rates around them.

>>> segments = make_segments(1, 3)
>>> len(segments), segments.product_name(0)
(3, 'instalment')
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usance.base.arrays import I64, U64
from usance.base.codes import Product
from usance.match.draws import SEGMENTS, draw_column, uniform_integers, weighted_choice

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
