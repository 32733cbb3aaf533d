"""Champion and challengers of a run: what came of first dues that were late, by arm.

A first due has nothing before it, so its outcome is the arm's own: late if nothing was paid by its
day, collected if something was within thirty days of it. Borrowers are drawn into arms as on the
platform; beside each uplift stands the one that the scenario has planted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usance.base.arrays import F64, I8, I64
from usance.base.book import Book
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.dates import first_of_month, from_day, last_of_month, to_day, to_month
from usance.base.errors import InputError
from usance.base.ids import USER_SHIFT
from usance.base.rates import PPM
from usance.service.collections.experiment import Uplift, uplift
from usance.twin.month.collection_effect import effect_of, strategy_of
from usance.world.debtors import WINDOW
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import ShockKind, factor_ppm


class LateDues(NamedTuple):
    """First dues of a run that were late: arm, month, and whether they were collected."""

    arm: I8
    month: I64
    collected: F64


class ArmUplift(NamedTuple):
    """A challenger against the champion, and what the scenario planted."""

    arm: str
    found: Uplift
    planted: float


def late_dues(book: Book, scenario: Scenario) -> LateDues:
    """First dues of loans that were drawn in the run, whose thirty days are over."""
    loans = arrays(book.read("loans", ["loan_id", "first_due_on", "disbursed_on"]))
    facts = arrays(book.read("facts", ["loan_id", "kind", "effective_on"]))
    if not len(facts["loan_id"]):
        raise InputError("has no facts", where=str(book.path), fix="Give the folder of a run")
    last = to_day(last_of_month(int(to_month(from_day(int(facts["effective_on"].max()))))))
    begun = to_day(first_of_month(scenario.first_month))
    due = loans["first_due_on"].astype(np.int64)
    is_ours = (loans["disbursed_on"] >= begun) & (due + WINDOW <= last)
    loan_id, due = loans["loan_id"][is_ours], due[is_ours]
    paid_on = _first_payment(loan_id, facts)
    late = paid_on > due
    due, loan_id, paid_on = due[late], loan_id[late], paid_on[late]
    months = np.array([to_month(from_day(each)) for each in due.tolist()], np.int64)
    arm = strategy_of(scenario.collections).arm_column(loan_id >> USER_SHIFT)
    return LateDues(arm, months, (paid_on <= due + WINDOW).astype(np.float64))


def _first_payment(loan_id: I64, facts: dict[str, Any]) -> I64:
    """Day of the first payment of each loan; far away if there is none."""
    first = np.full(len(loan_id), np.iinfo(np.int64).max, np.int64)
    paid = facts["kind"] == FactKind.PAID
    of, day = facts["loan_id"][paid], facts["effective_on"][paid].astype(np.int64)
    place = np.minimum(np.searchsorted(loan_id, of), max(len(loan_id) - 1, 0))
    known = loan_id[place] == of if len(loan_id) else np.zeros(0, bool)
    np.minimum.at(first, place[known], day[known])
    return first


def arm_uplifts(book: Book, scenario: Scenario) -> list[ArmUplift]:
    """Each challenger of a run against the champion."""
    arms = strategy_of(scenario.collections).arms
    if not scenario.collections.strategy or len(arms) == 1:
        raise InputError("draws nobody into arms", where=scenario.name,
                         fix="Give its collections a strategy with a challenger")  # fmt: skip
    late = late_dues(book, scenario)
    own = [late.collected[late.arm == number] for number in range(len(arms))]
    planted = [_planted(scenario, late.month, number) for number in range(len(arms))]
    return [
        ArmUplift(arms[number].name, uplift(own[0], own[number]), planted[number] - planted[0])
        for number in range(1, len(arms))
    ]


def _planted(scenario: Scenario, months: I64, arm: int) -> float:
    """The chance of an arm that its late dues are collected, over the months they fell in."""
    chances = []
    for month in months.tolist():
        arms = effect_of(scenario, month).arms
        factor = arms.collected30_ppm[arm] / PPM if arms else 1.0
        shock = factor_ppm(scenario, ShockKind.COLLECTION, month) / PPM
        chances.append(min(1.0, scenario.behaviour.collected30_ppm / PPM * shock * factor))
    return float(np.mean(chances)) if chances else 0.0
