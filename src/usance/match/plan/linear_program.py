"""The plan as a linear programme: the amount of each row of demand placed with each candidate.

A variable is the part of a row's amount placed with a column, at most the column's approval rate;
together the parts of a row are at most the chance that any of its candidates approves. GLOP gives
exact prices in seconds; above `LARGE` variables PDLP does it on one thread, to 1e-4 and within a
number of iterations, so that the answer is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usance.base.arrays import F64, I16, I64
from usance.base.compiled import kernel
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.plan.dual_bound import LimitProblem, PricedDemand, priced_limits
from usance.match.plan.limit_weights import MAX_PRICE
from usance.match.router.rank_kernel import concentration_weight, rank
from usance.match.router.request_rows import RequestRows
from usance.match.router.state import PRICES, Ranking, make_ranking

LARGE = 150_000
PDLP_ITERATIONS = 20_000
PDLP_GAP = 1e-4
# Candidates beyond the best sixteen are never used near the prices of a warm start.
NEAR = 16
PricePair = tuple[F64, F64]
"""Prices of limits, and of concentration limits, parts per billion."""


@dataclass(frozen=True)
class LinearSolution:
    """An allocation and the price of every limit."""

    objective: float
    """Margin earned less the cost of broken limits, minor units."""
    prices: F64
    """Of the problem's limits, parts per billion of what they count."""
    concentration_prices: F64
    row: I64
    column: I64
    placed: F64
    """Amount placed of each pair of row and column, minor units."""
    broken: F64
    """Amount by which each limit had to be relaxed, minor units; zeros where a plan exists."""
    concentration_broken: F64
    solver: str
    optimal: bool


@dataclass(frozen=True)
class CandidatePairs:
    """Rows and their candidates."""

    row: I64
    column: I64
    margin: I64
    """Parts per billion of the amount."""


def candidate_pairs(problem: LimitProblem, warm_start: PricePair | None) -> CandidatePairs:
    """Every candidate of every row, or the best few of each near the prices of a warm start."""
    count = len(problem.columns.source)
    # Lowering every price alike keeps the order and lets in what is just not worth it.
    if warm_start is None:
        price = np.zeros((len(problem.open_sets), count), np.int64)
        concentration = np.zeros(len(problem.concentration_bound))
        below, size = int(max(problem.max_price[problem.bound < 0], default=0.0)), count
    else:
        price, concentration = problem.price_by_column(warm_start[0]), warm_start[1]
        below, size = PPB // 20, min(count, NEAR)
    found = np.full((len(problem.rows.amount), size), -1, np.int16)
    _candidates(problem.priced(price - below, concentration), found, make_ranking(size))
    row, place = np.nonzero(found >= 0)
    column = found[row, place].astype(np.int64)
    return CandidatePairs(row, column, margins_of(problem.rows, problem.columns, row, column))


def margins_of(rows: RequestRows, columns: SourceColumns, row: I64, column: I64) -> I64:
    """The margin of pairs of row and column, parts per billion of the amount."""
    base = columns.margin_base[rows.months[row], rows.grade[row], column]
    slope = columns.margin_slope[rows.months[row], rows.grade[row], column]
    margin: I64 = base + slope * rows.rate[row] // PPM
    return margin


def solve(
    problem: LimitProblem, warm_start: PricePair | None = None, *, elastic: bool = False
) -> LinearSolution:
    """The best allocation; `elastic` looks for the smallest relaxation that makes one possible.

    A warm start, prices of limits and of concentration limits, narrows the candidates.
    """
    import scipy.sparse as sparse

    pairs = candidate_pairs(problem, warm_start)
    rows = problem.rows
    amount = (rows.weight * rows.amount)[pairs.row]
    approval = problem.approval[problem.slot[pairs.row], pairs.column] / PPM
    matrix, bound, size = _constraints(problem, pairs, amount, approval)
    # One unit of the objective is a share of all that could be earned, so tolerances fit.
    unit = max(float(np.abs(amount * pairs.margin).sum()) / PPB / 100, 1.0)
    objective = amount * pairs.margin / PPB / unit
    slack, cost = _slack(problem, size, unit, elastic=elastic)
    if elastic:
        objective = np.zeros(len(objective))
    split, count = len(rows.amount), len(problem.bound)
    free = sparse.csr_matrix(
        (-np.ones(len(slack)), (split + slack, np.arange(len(slack)))),
        shape=(matrix.shape[0], len(slack)),
    )
    matrix = sparse.hstack([matrix, free], format="csr")
    objective = np.concatenate([objective, -cost])
    upper = np.concatenate([approval, np.full(len(slack), np.inf)])
    solver, optimal, value, dual, parts = _solver(matrix, bound, objective, upper)
    prices = np.maximum(dual[split:], 0.0) * unit * PPB / size
    relaxed = np.zeros(len(size))
    relaxed[slack] = parts[len(pairs.row) :] * size[slack]
    return LinearSolution(
        value * unit, np.minimum(prices[:count], problem.max_price), prices[count:], pairs.row,
        pairs.column, parts[: len(pairs.row)] * amount, relaxed[:count], relaxed[count:], solver,
        optimal,
    )  # fmt: skip


def _slack(problem: LimitProblem, size: F64, unit: float, *, elastic: bool) -> tuple[I64, F64]:
    """Limits that may be broken at a cost: all if elastic, else those with a bound below zero.

    A bound below zero (a minimum take, a concentration one loan over) cannot always be met; a
    shortfall then costs its fee, or more than anything earns.
    """
    if elastic:
        return np.arange(len(size)), np.ones(len(size))
    owed = np.concatenate([problem.bound, problem.concentration_bound]) < 0
    price = np.concatenate(
        [problem.max_price, np.full(len(problem.concentration_bound), MAX_PRICE)]
    )
    slack = np.flatnonzero(owed)
    return slack, price[slack] * size[slack] / PPB / unit


def _constraints(
    problem: LimitProblem, pairs: CandidatePairs, amount: F64, approval: F64
) -> tuple[Any, F64, F64]:
    """Rows of demand first, then limits, then concentration limits; each divided by its size."""
    import scipy.sparse as sparse

    rows, count = problem.rows, len(pairs.row)
    demand, columns = len(rows.amount), len(problem.columns.source)
    none = np.bincount(pairs.row, np.log1p(-np.minimum(approval, 1 - 1e-12)), demand)
    offered = problem.offered / max(columns, 1) + 1.0
    size = np.maximum(np.abs(problem.bound), offered / 100)
    concentration_size = np.full(len(problem.concentration_bound), offered)
    cells = sparse.csr_matrix(
        (problem.weight / size[problem.limit], (problem.limit, problem.cell)),
        shape=(len(size), problem.shape[0] * columns),
    )
    cell = problem.slot[pairs.row] * columns + pairs.column
    limits = cells[:, cell].multiply(amount[None, :])
    entry, owner, weight = _concentration_entries(problem, pairs)
    concentration = sparse.csr_matrix(
        (weight * amount[entry] / concentration_size[owner], (owner, entry)),
        shape=(len(concentration_size), count),
    )
    own = sparse.csr_matrix((np.ones(count), (pairs.row, np.arange(count))), shape=(demand, count))
    bound = np.concatenate(
        [1 - np.exp(none), problem.bound / size, problem.concentration_bound / concentration_size]
    )
    matrix = sparse.vstack([own, limits, concentration], format="csr")
    return matrix, bound, np.concatenate([size, concentration_size])


def _concentration_entries(problem: LimitProblem, pairs: CandidatePairs) -> tuple[I64, I64, F64]:
    """Pair, concentration limit and weight, for every pair whose column has such limits."""
    columns = problem.columns
    many = np.diff(columns.concentration_start)[pairs.column]
    entry = np.repeat(np.arange(len(pairs.row)), many)
    first = np.repeat(np.cumsum(many) - many, many)
    owner = columns.concentration_start[pairs.column[entry]] + np.arange(len(entry)) - first
    weight = np.zeros(len(entry))
    _weights(problem.rows, columns, pairs.row[entry], owner, weight)
    return entry, owner, weight


def _solver(
    matrix: Any, bound: F64, objective: F64, upper: F64
) -> tuple[str, bool, float, F64, F64]:
    method = _pdlp if matrix.shape[1] > LARGE else _glop
    solver, optimal, value, dual, parts = method(matrix, bound, objective, upper)
    return solver, optimal, value, dual, parts


def _glop(matrix: Any, bound: F64, objective: F64, upper: F64) -> Any:
    from ortools.linear_solver.python import model_builder_helper as helper

    model: Any = helper.ModelBuilderHelper()
    lowest = np.full(len(bound), -np.inf)
    model.fill_model_from_sparse_data(
        np.zeros(len(objective)), upper, objective, lowest, bound, matrix
    )
    model.set_maximize(True)
    solver = helper.ModelSolverHelper("glop")
    solver.solve(model)
    if not solver.has_solution():
        return "glop", False, 0.0, np.zeros(len(bound)), np.zeros(len(objective))
    optimal = solver.status() == helper.SolveStatus.OPTIMAL
    dual, parts = np.array(solver.dual_values()), np.array(solver.variable_values())
    return "glop", optimal, solver.objective_value(), dual, parts


def _pdlp(matrix: Any, bound: F64, objective: F64, upper: F64) -> Any:
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp

    model = pdlp.QuadraticProgram()
    model.constraint_matrix = matrix.tocsc()
    model.objective_vector = -objective
    model.variable_lower_bounds, model.variable_upper_bounds = np.zeros(len(objective)), upper
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
    return "pdlp", optimal, float(objective @ parts), -np.array(found.dual_solution), parts


@kernel
def _candidates(demand: PricedDemand, found: I16, ranking: Ranking) -> None:
    for i in range(len(demand.rows.amount)):
        limits = priced_limits(demand, demand.slot[i])
        count = rank(demand.rows, i, demand.columns, PRICES, limits, ranking)
        for place in range(count):
            found[i, place] = ranking.column[place]


@kernel
def _weights(rows: RequestRows, columns: SourceColumns, row: I64, owner: I64, weight: F64) -> None:
    for entry in range(len(row)):
        weight[entry] = concentration_weight(rows, row[entry], columns, owner[entry]) / PPM
