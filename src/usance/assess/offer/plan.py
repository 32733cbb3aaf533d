"""A plan of offers: which lines, prices and tenors may be offered on a day, and the limits in sum.

    on: 2024-06-30                        # the day gives the rate cap
    lines: [5000.00, 20000.00]
    prices: [12%, 18%, 24%]
    funding: {6: 4.0%, 12: 4.3%}          # cost of funds by tenor, from treasury
    limits: {drawn: 900000.00, loss: 15000.00, capital: 90000.00}
    segments:
      - {segment: prime, grade: 1, pd: 0.4%, line: 50000.00}

Limits are on what is expected to be drawn, to be lost, and to be held as capital. Segments are for
the rate card; single applicants come as a file of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from usance.assess.errors import WrongInput
from usance.assess.offer.knapsack import Choice, choose
from usance.assess.offer.profit import (
    MAX_GRADE,
    MAX_MINOR,
    MAX_MONTHS,
    MAX_RATE_PPM,
    Economics,
    Offers,
    expected_profit,
    share_of,
)
from usance.assess.offer.rate_card import Segment, within_cap
from usance.base.arrays import I64
from usance.base.documents import read_csv
from usance.base.errors import DocumentError, UsanceError, raise_all, unknown
from usance.base.fields import (
    Fields,
    amount_of,
    day,
    file_fields,
    rate_of,
    text,
    whole_of,
)
from usance.base.ids import LIMIT, PER_USER
from usance.base.rates import PPM

LIMITS = ("drawn", "loss", "capital")
COLUMNS = ("user_id", "grade", "pd_ppm", "largest_line_minor")
MAX_LIMIT = 10**16


@dataclass(frozen=True)
class OfferPlan:
    """The offers allowed on a day."""

    on: date
    currency: str
    lines: tuple[int, ...]
    prices_ppm: tuple[int, ...]
    funding_ppm: Mapping[int, int]
    limits: Mapping[str, int] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Applicants:
    """Applicants who may be made an offer, a row each."""

    user_id: I64
    grade: I64
    pd_ppm: I64
    largest_line_minor: I64


@dataclass(frozen=True)
class ChosenOffers:
    """The offer of each applicant, 0 for none, and the prices of the limits."""

    applicants: Applicants
    line_minor: I64
    rate_ppm: I64
    months: I64
    profit_minor: I64
    limits: tuple[str, ...]
    choice: Choice


def choose_offers(
    economics: Economics, plan: OfferPlan, applicants: Applicants, cap_ppm: int
) -> ChosenOffers:
    """The offers that earn most in sum inside the cap, the plan's limits and everyone's line."""
    people = len(applicants.user_id)
    prices = within_cap(plan.prices_ppm, cap_ppm)
    grid = np.array(
        [(line, price, months) for line in plan.lines for price in prices
         for months in plan.funding_ppm], np.int64,
    )  # fmt: skip
    lines, rates, months = (np.tile(column, people) for column in grid.T)
    pd, grade = (np.repeat(each, len(grid)) for each in (applicants.pd_ppm, applicants.grade))
    funding = np.array([plan.funding_ppm[int(each)] for each in grid[:, 2]], np.int64)
    found = expected_profit(
        economics, Offers.of(lines, rates, months), pd, grade, np.tile(funding, people)
    )
    used = {"drawn": found.drawn_minor, "loss": found.loss_minor,
            "capital": share_of(found.drawn_minor, np.int64(economics.capital_ppm))}  # fmt: skip
    allowed = lines <= np.repeat(applicants.largest_line_minor, len(grid))
    profit = _with_no_offer(np.where(allowed, found.profit_minor, -1), people)
    names = tuple(name for name in LIMITS if name in plan.limits)
    uses = np.zeros((len(names), *profit.shape), np.int64)
    for at, name in enumerate(names):
        uses[at] = _with_no_offer(np.where(allowed, used[name], 0), people)
    limits = np.array([plan.limits[name] for name in names], np.int64)
    choice = choose(profit, uses, limits)
    chosen = np.vstack([np.zeros((1, 3), np.int64), grid])[choice.option]
    earned = profit[np.arange(people), choice.option]
    return ChosenOffers(applicants, chosen[:, 0], chosen[:, 1], chosen[:, 2], earned, names, choice)


def _with_no_offer(values: I64, people: int) -> I64:
    """Options of each applicant, a row each; the first is no offer."""
    return np.hstack([np.zeros((people, 1), np.int64), values.reshape(people, -1)])


def read_applicants(path: Path | str) -> Applicants:
    """The applicants of a CSV file, or everything that is wrong with them by line."""
    problems: list[UsanceError] = []
    rows: dict[int, tuple[int, int, int, int]] = {}
    for line, row in read_csv(path):
        missing = [name for name in COLUMNS[:3] if name not in row]
        if missing:
            fix = f"Give the columns {', '.join(COLUMNS)}"
            raise WrongInput(f"has no column {missing[0]}", where=str(path), fix=fix)
        where = f"{path} line {line}"
        try:
            one = _applicant(row, where)
            if one[0] in rows:
                fix = "Give every applicant one row"
                raise WrongInput(f"user {one[0]} is there twice", where=where, fix=fix)
            rows[one[0]] = one
        except UsanceError as error:
            problems.append(error)
    if not rows and not problems:
        raise WrongInput("has no applicants", where=str(path), fix="Give a line for each")
    raise_all(problems, where=str(path))
    return Applicants(*np.array([*rows.values()], np.int64).T)


def _applicant(row: Mapping[str, str], where: str) -> tuple[int, int, int, int]:
    user = whole_of(1, LIMIT // PER_USER - 1)(row["user_id"], f"{where}, user_id")
    grade = whole_of(0, MAX_GRADE)(row["grade"], f"{where}, grade")
    pd = whole_of(0, PPM)(row["pd_ppm"], f"{where}, pd_ppm")
    largest = row.get("largest_line_minor") or str(MAX_MINOR)
    return user, grade, pd, whole_of(0, MAX_MINOR)(largest, f"{where}, largest_line_minor")


def read_offer_plan(path: Path | str) -> OfferPlan:
    """The plan of a file, or everything that is wrong with it."""
    given = file_fields(path)
    on, currency = given.need("on", day), given.take("currency", text) or "CNY"
    amount, rate = amount_of(currency, 1, MAX_MINOR), rate_of(0, MAX_RATE_PPM)
    lines = given.need("lines", partial(_several, amount))
    prices = given.need("prices", partial(_several, rate))
    funding = given.need("funding", _funding)
    limits = given.take("limits", partial(_limits, amount_of(currency, 0, MAX_LIMIT))) or {}
    segments = [_segment(each, amount) for each in given.each("segments")]
    given.close()
    raise_all(given.problems, where=str(path))
    return OfferPlan(
        on, currency, lines, prices, funding, limits,
        tuple(each for each in segments if each is not None),
    )  # fmt: skip


def _segment(given: Fields, amount: Any) -> Segment | None:
    name, grade = given.need("segment", text), given.need("grade", whole_of(0, MAX_GRADE))
    pd, line = given.need("pd", rate_of(0, PPM)), given.need("line", amount)
    given.close()
    if not given.has_needed:
        return None
    return Segment(name, grade, pd, line)


def _several(read: Any, given: Any, where: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not given:
        raise DocumentError("is no list", where=where, fix="Write at least one in [ ]")
    return tuple(sorted({int(read(each, where)) for each in given}))


def _funding(given: Any, where: str) -> dict[int, int]:
    if not isinstance(given, dict) or not given:
        raise DocumentError("is no mapping", where=where, fix="Write 'months: rate' for each tenor")
    months, rate = whole_of(1, MAX_MONTHS), rate_of(0, PPM)
    return {months(tenor, where): rate(cost, where) for tenor, cost in given.items()}


def _limits(read: Any, given: Any, where: str) -> dict[str, int]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping", where=where, fix=f"Write {', '.join(LIMITS)}")
    for name in given:
        if name not in LIMITS:
            raise unknown("limit", str(name), LIMITS, where=where)
    return {name: int(read(amount, where)) for name, amount in given.items()}


def offer_rows(found: ChosenOffers) -> Sequence[tuple[int, ...]]:
    """Applicant, line, price, tenor and expected profit, a row each."""
    columns = (found.applicants.user_id, found.line_minor, found.rate_ppm, found.months,
               found.profit_minor)  # fmt: skip
    return [tuple(row) for row in np.column_stack(columns).tolist()]
