"""The plan as a linear programme: how much of each row of demand goes to each candidate.

A variable is the part of a row's amount placed with a column, at most the column's approval rate;
together the parts of a row are at most the chance that any of its candidates says yes. GLOP gives
exact prices in seconds; above `LARGE` variables PDLP does it on one thread, to 1e-4 and within a
number of iterations, so that the answer is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I64
from usance.base.compiled import kernel
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import MODELS, NO_ROOM_LIMIT, SourceColumns
from usance.match.plan.limit_weights import NO_MAX
from usance.match.plan.prices import Problem
from usance.match.router.rank_kernel import PRICES, mix_weight, rank
from usance.match.router.rows import Rows

LARGE = 150_000
PDLP_ITERATIONS = 20_000
PDLP_GAP = 1e-4
# Candidates further below the best than the first sixteen are never used at nearby prices.
NEAR = 16


@dataclass(frozen=True)
class Solved:
    """An allocation and the price of every limit."""

    worth: float
    """What is earned, minor units."""
    prices: F64
    """Of the problem's limits, parts per billion of what they count."""
    mix_prices: F64
    row: I64
    column: I64
    placed: F64
    """Amount placed of each pair of row and column, minor units."""
    broken: F64
    """By how much each limit had to be relaxed, minor units; zeros where a plan exists."""
    mix_broken: F64
    solver: str
    optimal: bool


@dataclass(frozen=True)
class Pairs:
    """Rows and their candidates."""

    row: I64
    column: I64
    margin: I64
    """Parts per billion of the amount."""


def candidate_pairs(
    problem: Problem, near: tuple[F64, F64] | None, depth: int | None = None
) -> Pairs:
    """Every candidate of every row, or the best few of each at prices thought to be near."""
    count = len(problem.columns.source)
    slots = len(problem.open_sets)
    # Lowering every price alike keeps the order and lets in what is just not worth it.
    below = PPB // 20
    if near is None:
        prices, mix = np.zeros((slots, count), np.int64), np.zeros(len(problem.mix_bound), np.int64)
        below = int(max(problem.most_price[problem.bound < 0], default=0.0))
    else:
        prices, mix = problem.spread(near[0]), np.rint(near[1]).astype(np.int64)
    size = min(count, depth or (count if near is None else NEAR))
    found = np.full((len(problem.rows.amount), size), -1, np.int16)
    work = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(3, np.int64)
    _candidates(
        problem.rows, problem.slot, problem.columns, problem.open_sets, prices - below, mix,
        np.full(max(count, MODELS), NO_ROOM_LIMIT, np.int64),
        np.zeros(max(len(mix), MODELS), np.int64), np.zeros(1, np.int64), found, *work,
    )  # fmt: skip
    row, place = np.nonzero(found >= 0)
    column = found[row, place].astype(np.int64)
    return Pairs(row, column, margins_of(problem.rows, problem.columns, row, column))


def margins_of(rows: Rows, columns: SourceColumns, row: I64, column: I64) -> I64:
    """The margin of pairs of row and column, parts per billion of the amount."""
    base = columns.margin_base[rows.months[row], rows.grade[row], column]
    slope = columns.margin_slope[rows.months[row], rows.grade[row], column]
    margin: I64 = base + slope * rows.rate[row] // PPM
    return margin


def solve(
    problem: Problem,
    near: tuple[F64, F64] | None = None,
    *,
    depth: int | None = None,
    elastic: bool = False,
) -> Solved:
    """The best allocation; `elastic` looks for the smallest relaxation that makes one possible."""
    import scipy.sparse as sparse

    pairs = candidate_pairs(problem, near, depth)
    rows = problem.rows
    amount = (rows.weight * rows.amount)[pairs.row]
    approval = problem.approval[problem.slot[pairs.row], pairs.column] / PPM
    matrix, bound, size = _constraints(problem, pairs, amount, approval)
    # One unit of the objective is a share of all that could be earned, so tolerances fit.
    unit = max(float(np.abs(amount * pairs.margin).sum()) / PPB / 100, 1.0)
    worth = amount * pairs.margin / PPB / unit
    slack, cost = _slack(problem, size, unit, elastic=elastic)
    if elastic:
        worth = np.zeros(len(worth))
    split, count = len(rows.amount), len(problem.bound)
    free = sparse.csr_matrix(
        (-np.ones(len(slack)), (split + slack, np.arange(len(slack)))),
        shape=(matrix.shape[0], len(slack)),
    )
    matrix = sparse.hstack([matrix, free], format="csr")
    worth = np.concatenate([worth, -cost])
    most = np.concatenate([approval, np.full(len(slack), np.inf)])
    solver, optimal, value, dual, parts = _solver(matrix, bound, worth, most)
    prices = np.maximum(dual[split:], 0.0) * unit * PPB / size
    relaxed = np.zeros(len(size))
    relaxed[slack] = parts[len(pairs.row) :] * size[slack]
    return Solved(
        value * unit, np.minimum(prices[:count], problem.most_price), prices[count:], pairs.row,
        pairs.column, parts[: len(pairs.row)] * amount, relaxed[:count], relaxed[count:], solver,
        optimal,
    )  # fmt: skip


def _slack(problem: Problem, size: F64, unit: float, *, elastic: bool) -> tuple[I64, F64]:
    """Limits that may be broken at a cost: all in search of a relaxation, else what is owed.

    A bound below zero (a minimum take, a mix that is one loan over) cannot always be met; a
    shortfall then costs its fee, or more than anything earns.
    """
    if elastic:
        return np.arange(len(size)), np.ones(len(size))
    owed = np.concatenate([problem.bound, problem.mix_bound]) < 0
    price = np.concatenate([problem.most_price, np.full(len(problem.mix_bound), NO_MAX)])
    slack = np.flatnonzero(owed)
    return slack, price[slack] * size[slack] / PPB / unit


def _constraints(
    problem: Problem, pairs: Pairs, amount: F64, approval: F64
) -> tuple[Any, F64, F64]:
    """Rows of demand first, then limits, then limits on the mix; each divided by its size."""
    import scipy.sparse as sparse

    rows, count = problem.rows, len(pairs.row)
    demand, columns = len(rows.amount), len(problem.columns.source)
    none = np.bincount(pairs.row, np.log1p(-np.minimum(approval, 1 - 1e-12)), demand)
    offered = float((rows.weight * rows.amount).sum()) / max(columns, 1) + 1.0
    size = np.maximum(np.abs(problem.bound), offered / 100)
    mix_size = np.full(len(problem.mix_bound), offered)
    cells = sparse.csr_matrix(
        (problem.weight / size[problem.limit], (problem.limit, problem.cell)),
        shape=(len(size), problem.shape[0] * columns),
    )
    cell = problem.slot[pairs.row] * columns + pairs.column
    limits = cells[:, cell].multiply(amount[None, :])
    entry, owner, weight = _mix_entries(problem, pairs)
    mix = sparse.csr_matrix(
        (weight * amount[entry] / mix_size[owner], (owner, entry)), shape=(len(mix_size), count)
    )
    own = sparse.csr_matrix((np.ones(count), (pairs.row, np.arange(count))), shape=(demand, count))
    bound = np.concatenate([1 - np.exp(none), problem.bound / size, problem.mix_bound / mix_size])
    matrix = sparse.vstack([own, limits, mix], format="csr")
    return matrix, bound, np.concatenate([size, mix_size])


def _mix_entries(problem: Problem, pairs: Pairs) -> tuple[I64, I64, F64]:
    """Pair, limit on the mix, and weight for every pair whose column has such limits."""
    columns = problem.columns
    many = np.diff(columns.mix_start)[pairs.column]
    entry = np.repeat(np.arange(len(pairs.row)), many)
    first = np.repeat(np.cumsum(many) - many, many)
    owner = columns.mix_start[pairs.column[entry]] + np.arange(len(entry)) - first
    weight = np.zeros(len(entry))
    _weights(problem.rows, columns, pairs.row[entry], owner, weight)
    return entry, owner, weight


def _solver(matrix: Any, bound: F64, worth: F64, most: F64) -> tuple[str, bool, float, F64, F64]:
    method = _pdlp if matrix.shape[1] > LARGE else _glop
    solver, optimal, value, dual, parts = method(matrix, bound, worth, most)
    return solver, optimal, value, dual, parts


def _glop(matrix: Any, bound: F64, worth: F64, most: F64) -> Any:
    from ortools.linear_solver.python import model_builder_helper as helper

    model: Any = helper.ModelBuilderHelper()
    lowest = np.full(len(bound), -np.inf)
    model.fill_model_from_sparse_data(np.zeros(len(worth)), most, worth, lowest, bound, matrix)
    model.set_maximize(True)
    solver = helper.ModelSolverHelper("glop")
    solver.solve(model)
    if not solver.has_solution():
        return "glop", False, 0.0, np.zeros(len(bound)), np.zeros(len(worth))
    optimal = solver.status() == helper.SolveStatus.OPTIMAL
    dual, parts = np.array(solver.dual_values()), np.array(solver.variable_values())
    return "glop", optimal, solver.objective_value(), dual, parts


def _pdlp(matrix: Any, bound: F64, worth: F64, most: F64) -> Any:
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp

    model = pdlp.QuadraticProgram()
    model.constraint_matrix = matrix.tocsc()
    model.objective_vector = -worth
    model.variable_lower_bounds, model.variable_upper_bounds = np.zeros(len(worth)), most
    model.constraint_lower_bounds = np.full(len(bound), -np.inf)
    model.constraint_upper_bounds = bound
    settings = solvers_pb2.PrimalDualHybridGradientParams()
    settings.num_threads = 1
    ends = settings.termination_criteria
    ends.iteration_limit = PDLP_ITERATIONS
    ends.simple_optimality_criteria.eps_optimal_relative = PDLP_GAP
    ends.simple_optimality_criteria.eps_optimal_absolute = PDLP_GAP
    found = pdlp.primal_dual_hybrid_gradient(model, settings)
    good = solve_log_pb2.TERMINATION_REASON_OPTIMAL
    optimal = found.solve_log.termination_reason == good
    parts = np.array(found.primal_solution)
    return "pdlp", optimal, float(worth @ parts), -np.array(found.dual_solution), parts


@kernel
def _candidates(
    rows: Rows, slot: I64, columns: SourceColumns, open_sets: NDArray[np.uint64],
    price: I64, mix_price: I64, unlimited: I64, unbroken: I64, nothing: I64,
    found: NDArray[np.int16], top: I64, top_net: I64, blocked: I64,
) -> None:  # fmt: skip
    for i in range(len(rows.amount)):
        count = rank(
            rows, i, columns, PRICES, open_sets[slot[i]], unlimited, unlimited, unbroken, unbroken,
            nothing, nothing, price[slot[i]], columns.ones, mix_price, top, top_net, blocked,
        )  # fmt: skip
        for place in range(count):
            found[i, place] = top[place]


@kernel
def _weights(rows: Rows, columns: SourceColumns, row: I64, owner: I64, weight: F64) -> None:
    for entry in range(len(row)):
        weight[entry] = mix_weight(rows, row[entry], columns, owner[entry]) / PPM
