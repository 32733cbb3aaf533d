"""Expected profit of an offer: take-up × drawn × (income − funding − loss − capital − service).

Everything is whole minor units and parts per million; each step is rounded half up once, so one
offer and a column of them give the same numbers.

>>> economics = read_economics()
>>> offer = Offers.of(line_minor=[2_000_000], rate_ppm=[180_000], months=[12])
>>> one = expected_profit(economics, offer, pd_ppm=[20_000], grade=[3], funding_ppm=[43_000])
>>> {name: int(values[0]) for name, values in one.parts().items()}
{'drawn_minor': 572000, 'income_minor': 52613, 'funding_minor': 13323, 'loss_minor': 7882, \
'capital_minor': 4647, 'service_minor': 6656, 'profit_minor': 20105}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from usance.assess.errors import WrongInput
from usance.base.arrays import I64
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import (
    amount_of,
    file_fields,
    rate_of,
    text,
    whole_of,
)
from usance.base.rates import PPM

SHIPPED = Path(__file__).parent / "economics.yaml"
# At these every product of the expectation still fits into 64 bits.
MAX_MINOR, MAX_RATE_PPM, MAX_MONTHS = 10**11, 2 * PPM, 360
MAX_GRADE = 127

Curve = tuple[tuple[int, int], ...]
"""Rates and what holds at them, in parts per million; straight lines between."""


@dataclass(frozen=True)
class Economics:
    """Assumptions about users who are made an offer."""

    vat_ppm: int
    loss_ppm: int
    service_ppm: int
    capital_ppm: int
    capital_cost_ppm: int
    taker_minor: int
    take_up: Curve
    risk_by_price: Curve
    utilisation: Mapping[int, int]


@dataclass(frozen=True)
class Offers:
    """Lines, prices and tenors, one row each."""

    line_minor: I64
    rate_ppm: I64
    months: I64

    @classmethod
    def of(cls, line_minor: Any, rate_ppm: Any, months: Any) -> Offers:
        """From any arrays of whole numbers; impossible values are named."""
        limits = {"line_minor": (0, MAX_MINOR), "rate_ppm": (0, MAX_RATE_PPM),
                  "months": (1, MAX_MONTHS)}  # fmt: skip
        given = {"line_minor": line_minor, "rate_ppm": rate_ppm, "months": months}
        return cls(**_whole(given, limits))


@dataclass(frozen=True)
class ExpectedProfit:
    """Expected results of each offer, a row each."""

    drawn_minor: I64
    income_minor: I64
    funding_minor: I64
    loss_minor: I64
    capital_minor: I64
    service_minor: I64

    @property
    def profit_minor(self) -> I64:
        """Income less everything else."""
        cost = self.funding_minor + self.loss_minor + self.capital_minor + self.service_minor
        return self.income_minor - cost

    def parts(self) -> dict[str, I64]:
        """Every part by name, profit last."""
        names = ("drawn", "income", "funding", "loss", "capital", "service", "profit")
        return {f"{name}_minor": getattr(self, f"{name}_minor") for name in names}


def expected_profit(
    economics: Economics, offers: Offers, pd_ppm: Any, grade: Any, funding_ppm: Any
) -> ExpectedProfit:
    """The expectation of each offer; `pd_ppm` is over the life of the loan."""
    given = {"pd_ppm": pd_ppm, "grade": grade, "funding_ppm": funding_ppm}
    limits = {"pd_ppm": (0, PPM), "grade": (0, MAX_GRADE), "funding_ppm": (0, PPM)}
    pd, graded, funding = _whole(given, limits, rows=len(offers.line_minor)).values()
    take = interpolated(economics.take_up, offers.rate_ppm)
    used = _by_grade(economics.utilisation, graded)
    drawn = share_of(share_of(offers.line_minor, take), used)
    # A level loan of n months owes on average (n + 1) / 2n of its principal, for n / 12 years.
    owed = _half_up(drawn * (offers.months + 1), np.full_like(drawn, 24))
    risk = np.minimum(share_of(pd, interpolated(economics.risk_by_price, offers.rate_ppm)), PPM)
    income = share_of(owed, offers.rate_ppm)
    net = income - _half_up(
        income * economics.vat_ppm, np.full_like(income, PPM + economics.vat_ppm)
    )
    capital = share_of(
        share_of(owed, np.int64(economics.capital_ppm)), np.int64(economics.capital_cost_ppm)
    )
    service = share_of(drawn, np.int64(economics.service_ppm)) + share_of(
        np.full_like(drawn, economics.taker_minor), take
    )
    return ExpectedProfit(
        drawn, net, share_of(owed, funding),
        share_of(share_of(drawn, risk), np.int64(economics.loss_ppm)), capital, service,
    )  # fmt: skip


def _whole(
    given: Mapping[str, Any], limits: Mapping[str, tuple[int, int]], rows: int | None = None
) -> dict[str, I64]:
    """Columns of whole numbers of one length; what is out of range or rounded away is named."""
    arrays = {name: np.asarray(each) for name, each in given.items()}
    length = rows if rows is not None else len(np.atleast_1d(next(iter(arrays.values()))))
    problems: list[UsanceError] = []
    for name, array in arrays.items():
        low, high = limits[name]
        if array.shape != (length,):
            what, fix = f"{name} has another number of rows", f"Give {length} of them"
        elif array.size and array.dtype.kind not in "iu":
            what, fix = f"{name} is not whole", "Give minor units and parts per million"
        elif array.size and (int(array.min()) < low or int(array.max()) > high):
            what, fix = f"{name} is out of range", f"Give {low} to {high}"
        else:
            continue
        problems.append(WrongInput(what, where=name, fix=fix))
    raise_all(problems)
    return {name: array.astype(np.int64) for name, array in arrays.items()}


def share_of(amount: I64, ppm: Any) -> I64:
    """A share of an amount, half up."""
    return _half_up(amount * ppm, np.int64(PPM))


def _half_up(above: I64, below: Any) -> I64:
    return np.asarray((2 * above + below) // (2 * below), np.int64)


def interpolated(curve: Curve, at_ppm: I64) -> I64:
    """A curve between its points, level beyond its ends, in whole parts per million.

    >>> interpolated(((0, 100), (10, 200)), np.array([-5, 5, 50])).tolist()
    [100, 150, 200]
    """
    xs = np.array([x for x, _ in curve], np.int64)
    ys = np.array([y for _, y in curve], np.int64)
    inside = np.clip(at_ppm, xs[0], xs[-1])
    right = np.clip(np.searchsorted(xs, inside, side="left"), 1, len(xs) - 1)
    width = xs[right] - xs[right - 1]
    rise = _half_up((ys[right] - ys[right - 1]) * (inside - xs[right - 1]), width)
    return np.asarray(ys[right - 1] + rise, np.int64)


def _by_grade(utilisation: Mapping[int, int], grade: I64) -> I64:
    strange = sorted(set(np.unique(grade).tolist()) - utilisation.keys())
    if strange:
        fix = f"Give one of {', '.join(map(str, sorted(utilisation)))}, or add it to the economics"
        raise WrongInput(f"no utilisation of grade {strange[0]}", where="grade", fix=fix)
    table = np.zeros(max(utilisation) + 1, np.int64)
    table[list(utilisation)] = list(utilisation.values())
    return table[grade]


def read_economics(path: Path | str = SHIPPED) -> Economics:
    """The economics of a file, or everything that is wrong with them."""
    given = file_fields(path)
    share = rate_of(0, PPM)
    currency = given.take("currency", text) or "CNY"
    vat, loss = given.need("vat", share), given.need("loss_given_default", share)
    service = given.need("service_cost", share)
    capital, cost = given.need("capital", share), given.need("capital_cost", share)
    taker = given.need("cost_per_taker", amount_of(currency, 0, MAX_MINOR))
    take_up, risk = (
        given.need("take_up", _curve(PPM)),
        given.need("risk_by_price", _curve(10 * PPM)),
    )
    grades = given.need("utilisation", _grades)
    given.close()
    raise_all(given.problems, where=str(path))
    return Economics(vat, loss, service, capital, cost, taker, take_up, risk, grades)


def _curve(most_ppm: int) -> Callable[[Any, str], Curve]:
    """A reader of curves that rise to so much at most."""

    def read(given: Any, where: str) -> Curve:
        if not isinstance(given, dict) or len(given) < 2:
            fix = "Write 'rate: share' for two points"
            raise DocumentError("is no curve", where=where, fix=fix)
        rate, value = rate_of(0, 10 * PPM), rate_of(0, most_ppm)
        points = tuple(sorted((rate(x, where), value(y, where)) for x, y in given.items()))
        for (one, _), (two, _) in pairwise(points):
            if one == two:
                raise DocumentError("a rate is there twice", where=where, fix="Keep one of them")
        return points

    return read


def _grades(given: Any, where: str) -> dict[int, int]:
    if not isinstance(given, dict) or not given:
        raise DocumentError("no grades", where=where, fix="Write 'grade: share' for each grade")
    return {
        whole_of(0, MAX_GRADE)(key, where): rate_of(0, PPM)(each, where)
        for key, each in given.items()
    }
