"""The level instalment against exact integers, ties included."""

from __future__ import annotations

from math import gcd
from random import Random

from usance.loan.kernel.level import level_minor

YEAR = 12_000_000


def exact_level(principal: int, rate_ppm: int, count: int) -> int:
    """Half-up of P·i/(1 − (1+i)^−n) in whole numbers."""
    if rate_ppm == 0:
        return (2 * principal + count) // (2 * count)
    grown, base = (YEAR + rate_ppm) ** count, YEAR**count
    numerator, denominator = principal * rate_ppm * grown, YEAR * (grown - base)
    return int((2 * numerator + denominator) // (2 * denominator))


def test_random_loans() -> None:
    draw = Random(1)
    for _ in range(20_000):
        principal = draw.choice(
            (draw.randint(1, 1000), draw.randint(1, 10**7), draw.randint(1, 10**11))
        )
        rate = draw.choice((1, 10**6, draw.randint(1, 10**6), draw.randint(1, 400) * 1000))
        count = draw.randint(1, 360)
        assert level_minor(principal, rate, count) == exact_level(principal, rate, count)


def ties(rate: int, count: int) -> list[int]:
    """Principals for which the instalment is exactly a half: 100.50 at 1 % a month, twice."""
    grown, base = (YEAR + rate) ** count, YEAR**count
    numerator, denominator = 2 * rate * grown, YEAR * (grown - base)
    common = gcd(numerator, denominator)
    smallest, halves = denominator // common, numerator // common
    return [smallest * odd for odd in (1, 3, 77) if halves % 2 and smallest * odd <= 10**11]


def test_true_ties_round_up() -> None:
    found = 0
    for rate in (120_000, 60_000, 240_000, 12_000, 180_000, 1_000_000, 360_000):
        for count in (1, 2, 3, 4):
            for principal in ties(rate, count):
                found += 1
                assert level_minor(principal, rate, count) == exact_level(principal, rate, count)
    assert found > 20


def test_a_known_tie() -> None:
    assert exact_level(10_050, 120_000, 2) == level_minor(10_050, 120_000, 2) == 5_101


def test_nearest_misses_are_told_apart() -> None:
    """Instalments a hair below or above a half, found by search, go the right way."""
    draw = Random(2)
    close = []
    for _ in range(200_000):
        principal, rate, count = (
            draw.randint(1, 10**10),
            draw.randint(1, 500_000),
            draw.randint(2, 60),
        )
        grown, base = (YEAR + rate) ** count, YEAR**count
        numerator, denominator = principal * rate * grown, YEAR * (grown - base)
        rest = (2 * numerator) % (2 * denominator)
        if abs(rest - denominator) * 20_000 < denominator:
            close.append((principal, rate, count))
        if len(close) == 10:
            break
    assert close
    for case in close:
        assert level_minor(*case) == exact_level(*case)
