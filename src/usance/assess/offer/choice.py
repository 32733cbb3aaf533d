"""The best option for every applicant under portfolio limits: a multiple-choice knapsack.

Each applicant gets one option (the first is "no offer"). Limits cap what the chosen options use in
sum: balance, expected loss, capital. Prices of the limits (duals) are found by cutting planes: at
given prices everyone takes the option that is worth most after paying for what it uses, and each
such answer is a cut. What the last answer oversteps is taken back where it costs least.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from usance.assess.flow.errors import WrongInput

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDS = 200


@dataclass(frozen=True)
class Choice:
    """The option of each applicant, what it earns, the limits' prices, and a bound on any plan."""

    option: Longs
    profit: int
    used: Longs
    prices: Floats
    bound: float
    """No plan within the limits earns more."""


def choose(profit: Longs, uses: Longs, limits: Longs, rounds: int = ROUNDS) -> Choice:
    """Choose from `profit[applicant, option]`; option 0 earns and uses nothing.

    Args:
        profit: minor units of each option.
        uses: `[limit, applicant, option]`, whole and not negative.
        limits: the most of each.
        rounds: the most cuts.
    """
    _check(profit, uses, limits)
    # Offering nothing to anyone is the first cut.
    cuts: list[tuple[float, Floats]] = [(0.0, np.zeros(len(limits)))]
    most = float(max(profit.max(), 0)) + 1.0
    prices = np.zeros(len(limits))
    best_bound, best_prices = np.inf, prices
    for _ in range(rounds):
        option = _answer(profit, uses, prices)
        earned, used = _totals(profit, uses, option)
        value = float(earned) + float(prices @ (limits - used))
        if value < best_bound:
            best_bound, best_prices = value, prices
        cuts.append((float(earned), used.astype(np.float64)))
        prices, low = _master(cuts, limits, most)
        if best_bound - low <= 1e-9 * max(1.0, abs(best_bound)):
            break
    option = _within(profit, uses, limits, _answer(profit, uses, best_prices), best_prices)
    earned, used = _totals(profit, uses, option)
    return Choice(option, int(earned), used, best_prices, best_bound)


def _check(profit: Longs, uses: Longs, limits: Longs) -> None:
    if profit.ndim != 2 or uses.shape != (len(limits), *profit.shape):
        fix = "Give profit[applicant, option], uses[limit, applicant, option] and limits[limit]"
        raise WrongInput("shapes do not fit together", where="choose", fix=fix)
    if profit[:, 0].any() or uses[:, :, 0].any():
        raise WrongInput("option 0 is no offer", where="choose", fix="Let it earn and use nothing")
    if (uses < 0).any() or (limits < 0).any():
        raise WrongInput("a use or limit is negative", where="choose", fix="Give 0 or more")


def _answer(profit: Longs, uses: Longs, prices: Floats) -> Longs:
    """The option worth most to each applicant at these prices; a tie takes the first."""
    worth = profit - np.tensordot(prices, uses, axes=1)
    return np.asarray(np.argmax(worth, axis=1), np.int64)


def _totals(profit: Longs, uses: Longs, option: Longs) -> tuple[int, Longs]:
    rows = np.arange(len(option))
    return int(profit[rows, option].sum()), uses[:, rows, option].sum(axis=1)


def _master(cuts: list[tuple[float, Floats]], limits: Longs, most: float) -> tuple[Floats, float]:
    """Prices at which the cuts so far allow the least: a small linear programme.

    Uses are whole, so at a price above the largest profit nobody uses anything.
    """
    pywraplp = import_module("ortools.linear_solver.pywraplp")  # its stub lacks the name

    solver = pywraplp.Solver.CreateSolver("GLOP")
    infinity = solver.infinity()
    top = solver.NumVar(-infinity, infinity, "top")
    prices = [solver.NumVar(0, most, f"price {at}") for at in range(len(limits))]
    for earned, used in cuts:
        cut = solver.Constraint(earned, infinity)
        cut.SetCoefficient(top, 1)
        for price, amount in zip(prices, used, strict=True):
            cut.SetCoefficient(price, float(amount))
    objective = solver.Objective()
    objective.SetCoefficient(top, 1)
    for price, limit in zip(prices, limits, strict=True):
        objective.SetCoefficient(price, float(limit))
    objective.SetMinimization()
    solver.Solve()
    return np.array([price.solution_value() for price in prices]), objective.Value()


def _within(profit: Longs, uses: Longs, limits: Longs, option: Longs, prices: Floats) -> Longs:
    """The same choice, moved where it costs least until it is inside every limit, then filled."""
    chosen = option.copy()
    rows = np.arange(len(chosen))
    _, used = _totals(profit, uses, chosen)
    while (used > limits).any():
        over = np.maximum(used - limits, 0)
        now_profit, now_uses = profit[rows, chosen], uses[:, rows, chosen]
        saved = np.minimum(now_uses[:, :, None] - uses, over[:, None, None]).astype(np.float64)
        saved = (np.maximum(saved, 0) / np.maximum(limits, 1)[:, None, None]).sum(axis=0)
        # Nothing may rise, or two limits could push an applicant to and fro for ever.
        worse = (uses > now_uses[:, :, None]).any(axis=0)
        cost = (now_profit[:, None] - profit) - np.tensordot(
            prices, now_uses[:, :, None] - uses, axes=1
        )
        rate = np.where(
            (saved > 0) & ~worse, np.maximum(cost, 0) / np.maximum(saved, 1e-300), np.inf
        )
        row, to = np.unravel_index(int(np.argmin(rate)), rate.shape)
        used = used - uses[:, row, chosen[row]] + uses[:, row, to]
        chosen[row] = to
    return _filled(profit, uses, limits, chosen, used)


def _filled(profit: Longs, uses: Longs, limits: Longs, chosen: Longs, used: Longs) -> Longs:
    """Better options that still fit, the largest gain first, until none does."""
    rows = np.arange(len(chosen))
    while True:
        gain = profit - profit[rows, chosen][:, None]
        after = used[:, None, None] - uses[:, rows, chosen][:, :, None] + uses
        fits = (after <= limits[:, None, None]).all(axis=0)
        gain = np.where(fits, gain, 0)
        row, to = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[row, to] <= 0:
            return chosen
        used = used - uses[:, row, chosen[row]] + uses[:, row, to]
        chosen[row] = to


def choose_exactly(profit: Longs, uses: Longs, limits: Longs) -> Choice:
    """The same by whole-number programming: the best there is, for small cases."""
    from ortools.sat.python import cp_model

    _check(profit, uses, limits)
    model = cp_model.CpModel()
    people, options = profit.shape
    takes = [[model.new_bool_var(f"{i},{j}") for j in range(options)] for i in range(people)]
    for row in takes:
        model.add_exactly_one(row)
    pairs = [(i, j) for i in range(people) for j in range(options)]
    for use, limit in zip(uses, limits, strict=True):
        model.add(sum(int(use[i, j]) * takes[i][j] for i, j in pairs) <= int(limit))
    model.maximize(sum(int(profit[i, j]) * takes[i][j] for i, j in pairs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status == cp_model.OPTIMAL, "no offer to anyone is always inside the limits"
    option = np.array([[solver.value(x) for x in row] for row in takes]).argmax(axis=1)
    earned, used = _totals(profit, uses, option)
    return Choice(option, earned, used, np.zeros(len(limits)), float(earned))
