"""The kinds of request a made-up stream is drawn from, and the amounts and rates around them.

>>> types = make_types(1, 3)
>>> len(types), types.product_name(0)
(3, 'instalment')
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import Product
from usance.match.chance import TYPES, between, chosen, drawn

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
class Types:
    """Segments of demand; each is a mean around which its requests lie."""

    product: I64
    region: I64
    grade: I64
    channel: I64
    months: I64
    amount_minor: I64
    rate_ppm: I64
    weight: I64
    """How common each is."""

    def __len__(self) -> int:
        return len(self.weight)

    def region_name(self, row: int) -> str:
        """The region of a type."""
        return (*REGIONS, SPECIAL_REGION)[int(self.region[row]) - 1]

    def product_name(self, row: int) -> str:
        """The product of a type."""
        return Product(int(self.product[row])).label


def make_types(seed: int, count: int) -> Types:
    """So many types of request."""
    rows = np.arange(count, dtype=np.int64)

    def roll(use: int) -> NDArray[np.uint64]:
        return drawn(seed, TYPES, rows, use)

    product = chosen(roll(0), np.array(_PRODUCT_WEIGHTS))
    grade = 1 + chosen(roll(1), np.array(_GRADE_WEIGHTS))
    tenor = between(roll(2), 0, 59)
    months = np.array(
        [_TENORS[p][t % len(_TENORS[p])] for p, t in zip(product, tenor, strict=True)]
    )
    spread_percent = between(roll(3), 60, 140)
    amount_minor = np.array(_MEAN_MINOR)[product] * spread_percent // 100 // 100_00 * 100_00
    rate_ppm = 150_000 + 10_000 * grade + 1_000 * between(roll(4), -15, 15)
    return Types(
        product=product,
        region=between(roll(5), 1, len(REGIONS)),
        grade=grade,
        channel=between(roll(6), 1, len(CHANNELS)),
        months=months.astype(np.int64),
        amount_minor=np.maximum(amount_minor, 300_00),
        rate_ppm=np.minimum(rate_ppm, RATE_CAP_PPM),
        weight=between(roll(7), 1, 5),
    )


def around(amount_minor: I64, rolls: NDArray[np.uint64]) -> I64:
    """Amounts around a mean: 40 % to 160 % of it, in steps of a hundred yuan."""
    whole: I64 = amount_minor * between(rolls, 40, 160) // 100 // 100_00 * 100_00
    return np.maximum(whole, 100_00)


def rates_around(rate_ppm: I64, rolls: NDArray[np.uint64]) -> I64:
    """Rates up to one point and a half around a mean, in tenths of a point, within the cap."""
    near: I64 = rate_ppm + 1_000 * between(rolls, -15, 15)
    return np.minimum(near, RATE_CAP_PPM)
