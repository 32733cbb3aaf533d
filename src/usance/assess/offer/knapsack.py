"""The best option for every applicant under portfolio limits: a multiple-choice knapsack.

Each applicant gets one option (the first is "no offer"). Limits cap what the chosen options use in
sum: balance, expected loss, capital. Prices of the limits (duals) are found by cutting planes: at
given prices everyone takes the option that is worth most after paying for what it uses, and each
such answer is a cut. What the last answer oversteps is taken back where it costs least, and what
room is left is filled; the best plan inside the limits that came up on the way is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np

from usance.assess.errors import WrongInput
from usance.base.arrays import F64, I64

ROUNDS = 200
FEW_APPLICANTS = 200  # so few applicants can also be filled one by one from nothing
MAX_NUMBER = 10**13  # a hundred thousand such numbers still have an exact sum


@dataclass(frozen=True)
class Choice:
    """The option of each applicant, what it earns, the limits' prices, and a bound on any plan."""

    option: I64
    profit: int
    used: I64
    prices: F64
    bound: float
    """No plan within the limits earns more."""


def choose(profit: I64, uses: I64, limits: I64, rounds: int = ROUNDS) -> Choice:
    """Choose from `profit[applicant, option]`; option 0 earns and uses nothing.

    Args:
        profit: minor units of each option.
        uses: `[limit, applicant, option]`, whole and not negative.
        limits: the most of each.
        rounds: the most cuts.
    """
    _check(profit, uses, limits)
    # Offering nothing to anyone is the first cut.
    cuts: list[tuple[float, F64]] = [(0.0, np.zeros(len(limits)))]
    most = float(profit.max(initial=0)) + 1.0
    prices = np.zeros(len(limits))
    best_bound, best_prices = np.inf, prices
    inside, most_inside = np.zeros(len(profit), np.int64), 0
    for _ in range(rounds):
        option = _best_options(profit, uses, prices)
        earned, used = _totals(profit, uses, option)
        if earned > most_inside and (used <= limits).all():
            inside, most_inside = option, earned
        value = float(earned) + float(prices @ (limits - used))
        if value < best_bound:
            best_bound, best_prices = value, prices
        cuts.append((float(earned), used.astype(np.float64)))
        found = _master(cuts, limits, most)
        if found is None:  # every price so far gives a bound; the least of them is kept
            break
        prices, low = found
        if best_bound - low <= 1e-9 * max(1.0, abs(best_bound)):
            break
    starts = [
        _move_inside_limits(
            profit, uses, limits, _best_options(profit, uses, best_prices), best_prices
        )
    ]
    if most_inside or len(profit) <= FEW_APPLICANTS:
        starts.append(inside)
    plans = [_fill_up(profit, uses, limits, start) for start in starts]
    option = max(plans, key=lambda plan: _totals(profit, uses, plan)[0])
    earned, used = _totals(profit, uses, option)
    return Choice(option, int(earned), used, best_prices, best_bound)


def _check(profit: I64, uses: I64, limits: I64) -> None:
    given = (profit, uses, limits)
    if any(np.asarray(each).dtype.kind not in "iu" for each in given):
        fix = "Give arrays of whole numbers, such as minor units"
        raise WrongInput("profit, uses and limits are not all whole", where="choose", fix=fix)
    shape = np.shape(profit)
    if len(shape) != 2 or not shape[1] or np.shape(uses) != (len(limits), *shape):
        fix = "Give profit[applicant, option], uses[limit, applicant, option] and limits[limit]"
        raise WrongInput("shapes do not fit together", where="choose", fix=fix)
    if any(
        float(np.abs(each.astype(np.float64)).max(initial=0)) > MAX_NUMBER for each in given[:2]
    ):
        raise WrongInput("a number is too large", where="choose", fix=f"Give at most {MAX_NUMBER}")
    if profit[:, 0].any() or uses[:, :, 0].any():
        raise WrongInput("option 0 is no offer", where="choose", fix="Let it earn and use nothing")
    if (uses < 0).any() or (limits < 0).any():
        raise WrongInput("a use or limit is negative", where="choose", fix="Give 0 or more")


def _best_options(profit: I64, uses: I64, prices: F64) -> I64:
    """The option worth most to each applicant at these prices; a tie takes the first."""
    worth = profit - np.tensordot(prices, uses, axes=1)
    return np.asarray(np.argmax(worth, axis=1), np.int64)


def _totals(profit: I64, uses: I64, option: I64) -> tuple[int, I64]:
    rows = np.arange(len(option))
    return int(profit[rows, option].sum()), uses[:, rows, option].sum(axis=1)


def _master(cuts: list[tuple[float, F64]], limits: I64, most: float) -> tuple[F64, float] | None:
    """Prices at which the cuts so far allow the least: a small linear programme.

    Uses are whole, so at a price above the largest profit nobody uses anything. The programme
    counts in whole limits and in the most any cut earns, so that its numbers are all of one size.
    """
    pywraplp = import_module("ortools.linear_solver.pywraplp")  # its stub lacks the name

    size = np.maximum(limits, 1).astype(np.float64)
    unit = max(1.0, *(abs(earned) for earned, _ in cuts))
    solver = pywraplp.Solver.CreateSolver("GLOP")
    infinity = solver.infinity()
    top = solver.NumVar(-infinity, infinity, "top")
    prices = [solver.NumVar(0, most * whole / unit, "price") for whole in size]
    for earned, used in cuts:
        cut = solver.Constraint(earned / unit, infinity)
        cut.SetCoefficient(top, 1)
        for price, amount in zip(prices, used / size, strict=True):
            cut.SetCoefficient(price, float(amount))
    objective = solver.Objective()
    objective.SetCoefficient(top, 1)
    for price, share in zip(prices, limits / size, strict=True):
        objective.SetCoefficient(price, float(share))
    objective.SetMinimization()
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return None
    found = np.array([price.solution_value() for price in prices]) * unit / size
    return np.maximum(found, 0.0), objective.Value() * unit


def _move_inside_limits(profit: I64, uses: I64, limits: I64, option: I64, prices: F64) -> I64:
    """The same choice, moved where it costs least until it is inside every limit."""
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
    return chosen


def _fill_up(profit: I64, uses: I64, limits: I64, option: I64) -> I64:
    """Better options that still fit, the largest gain first, until none does."""
    chosen = option.copy()
    rows = np.arange(len(chosen))
    _, used = _totals(profit, uses, chosen)
    while chosen.size:
        gain = profit - profit[rows, chosen][:, None]
        after = used[:, None, None] - uses[:, rows, chosen][:, :, None] + uses
        fits = (after <= limits[:, None, None]).all(axis=0)
        gain = np.where(fits, gain, 0)
        row, to = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[row, to] <= 0:
            break
        used = used - uses[:, row, chosen[row]] + uses[:, row, to]
        chosen[row] = to
    return chosen
