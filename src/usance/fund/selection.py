"""Selection of a pool: as much principal as a deal wants, within its limits, of the best loans.

Loans fall into strata (grade, region, product, bands of months left and of rate). A linear program
says how much principal to take of each; inside a stratum a draw by loan picks. Then every limit is
made to hold on the loans themselves, and what rounding left is filled up. The gap is what the pool
lacks of the program's bound.

>>> from usance.fund.pool_columns import pool_of_rows
>>> rows = [
...     {
...         "loan_id": n,
...         "principal_minor": 10_000,
...         "rate_ppm": 100_000 + n,
...         "region": n % 4,
...         "months_left": 6,
...     }
...     for n in range(1, 401)
... ]
>>> pool = pool_of_rows(rows)
>>> wanted = SelectionRules(1_000_000, (PoolLimit("region", 300_000),), Objective.YIELD, seed=7)
>>> found = select_pool(pool, wanted)
>>> len(found.rows), found.principal_minor, found.gap_ppm < 1000
(100, 1000000, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.rates import PPM
from usance.fund.deal_terms import PoolLimit
from usance.fund.errors import PoolError
from usance.fund.pool_columns import PoolColumns
from usance.match.draws import draw_column

SELECTION_STREAM = 60
"""The stream of draws inside a stratum; counter 0, the entity is the loan."""
RATE_BAND_PPM = 20_000
MONTHS_BAND = 6
MAX_REPAIRS = 60


class Objective(Enum):
    """The aim of a selection."""

    YIELD = "yield"
    MARGIN = "margin"
    """Rate less the probability of default."""
    AGE = "age"
    """Loans that have paid many instalments first."""


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """How much to take, within which limits, to which end."""

    target_minor: int
    limits: Sequence[PoolLimit] = ()
    objective: Objective = Objective.YIELD
    seed: int = 0
    borrower_minor: int | None = None
    held: PoolColumns | None = None
    """Loans the deal has already: limits are judged on both together."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows taken, and how good they are."""

    rows: I64
    principal_minor: int
    value: float
    bound: float

    @property
    def gap_ppm(self) -> int:
        """The part of the bound that the selection lacks, in parts per million."""
        lacks = max(self.bound - self.value, 0.0)
        return round(lacks / self.bound * PPM) if self.bound > 0 else 0


@dataclass(frozen=True, eq=False)
class _Row:
    """One limit as a linear row: Σ weight × principal ≤ Σ over what is held already."""

    weight: F64
    """Of each loan: what a unit of its principal uses of the limit."""
    everywhere: float
    """The part of the weight that all loans have."""
    slack: float
    """Left of the limit by the loans held."""


def select_pool(pool: PoolColumns, rules: SelectionRules) -> Selection:
    """The selection from loans that are all eligible."""
    principal = pool["principal_minor"]
    worth = _worth(pool, rules.objective)
    order = np.argsort(draw_column(rules.seed, SELECTION_STREAM, pool["loan_id"], 0), kind="stable")
    usable = _within_borrower(pool, rules, order)
    limits = list(_limit_rows(pool, rules))
    stratum, count = _strata(pool)
    size: F64 = np.bincount(stratum[usable], principal[usable], count).astype(np.float64)
    parts, bound = _program(stratum, usable, principal, worth, limits, size, rules.target_minor)
    chosen = _picked(order, usable, stratum, principal, parts)
    for _ in range(MAX_REPAIRS):
        broken = _most_broken(chosen, principal, limits)
        if broken is None:
            break
        _drop(chosen, principal, limits[broken], order)
    _fill(chosen, usable, principal, worth, limits, rules.target_minor)
    rows = np.flatnonzero(chosen)
    if _most_broken(chosen, principal, limits) is not None or not len(rows):
        fix = "Widen the limits, lower the target or offer more loans"
        raise PoolError("no selection keeps every limit", where="limits", fix=fix)
    taken = int(principal[rows].sum())
    return Selection(rows, taken, float((worth * principal)[rows].sum()), bound)


def broken_limits(
    pool: PoolColumns, limits: Sequence[PoolLimit], borrower_minor: int | None = None
) -> list[str]:
    """Limits that a pool does not keep, each in words.

    >>> from usance.fund.pool_columns import pool_of_rows
    >>> rows = [{"loan_id": n << 14, "principal_minor": n, "region": n} for n in (1, 2, 3)]
    >>> broken_limits(pool_of_rows(rows), [PoolLimit("region", 400_000)], 2)
    ['region: above 400000', 'a borrower owes more than 2']
    """
    whole = np.ones(len(pool), np.bool_)
    found = [
        f"{limit.measure}: {'below' if limit.measure.startswith('min') else 'above'} "
        f"{limit.bound_ppm}"
        for limit in limits
        if _most_broken(
            whole, pool["principal_minor"], _limit_rows(pool, SelectionRules(0, (limit,)))
        )
        is not None
    ]
    rules = SelectionRules(0, borrower_minor=borrower_minor)
    if not _within_borrower(pool, rules, np.arange(len(pool))).all():
        found.append(f"a borrower owes more than {borrower_minor}")
    return found


def _worth(pool: PoolColumns, objective: Objective) -> F64:
    if objective is Objective.AGE:
        return pool["instalments_paid"].astype(np.float64)
    if objective is Objective.MARGIN:
        return (pool["rate_ppm"] - pool["pd_ppm"]).astype(np.float64)
    return pool["rate_ppm"].astype(np.float64)


def _within_borrower(pool: PoolColumns, rules: SelectionRules, order: I64) -> Any:
    """Loans that may all be taken together without too much of one borrower."""
    usable = np.ones(len(pool), np.bool_)
    if rules.borrower_minor is None:
        return usable
    user, principal = pool["loan_id"] >> 14, pool["principal_minor"]
    held: dict[int, int] = {}
    if rules.held is not None:
        for who, owed in zip((rules.held["loan_id"] >> 14).tolist(),
                             rules.held["principal_minor"].tolist(), strict=True):  # fmt: skip
            held[who] = held.get(who, 0) + owed
    by_user = order[np.argsort(user[order], kind="stable")]
    owed = principal[by_user]
    running = np.cumsum(owed)
    first = np.flatnonzero(np.r_[True, np.diff(user[by_user]) != 0])
    group = np.cumsum(np.r_[True, np.diff(user[by_user]) != 0]) - 1
    before = np.r_[0, running][first]
    own = running - before[group]
    if held:
        own = own + np.array([held.get(int(who), 0) for who in user[by_user[first]]])[group]
    usable[by_user] = own <= rules.borrower_minor
    return usable


def _limit_rows(pool: PoolColumns, rules: SelectionRules) -> list[_Row]:
    rows = []
    for limit in rules.limits:
        if limit.measure in ("max_pd_ppm", "min_rate_ppm", "max_months"):
            rows.append(_row(pool, rules.held, limit, None))
            continue
        values = pool[limit.measure]
        both = values if rules.held is None else np.r_[values, rules.held[limit.measure]]
        members = np.unique(both) if limit.member is None else np.array([limit.member])
        rows += [_row(pool, rules.held, limit, int(member)) for member in members]
    return rows


def _row(pool: PoolColumns, held: PoolColumns | None, limit: PoolLimit, member: int | None) -> _Row:
    slack = 0.0
    if held is not None and len(held):
        slack = -float((_use(held, limit, member) * held["principal_minor"]).sum())
    everywhere = float(-limit.bound_ppm) if member is not None else 0.0
    return _Row(_use(pool, limit, member), everywhere, slack)


def _use(pool: PoolColumns, limit: PoolLimit, member: int | None) -> F64:
    """Positive where a loan uses up the limit, negative where it makes room."""
    if limit.measure == "max_pd_ppm":
        return (pool["pd_ppm"] - limit.bound_ppm).astype(np.float64)
    if limit.measure == "min_rate_ppm":
        return (limit.bound_ppm - pool["rate_ppm"]).astype(np.float64)
    if limit.measure == "max_months":
        return (pool["months_left"] - limit.bound_ppm).astype(np.float64)
    inside: F64 = (pool[limit.measure] == member) * float(PPM) - float(limit.bound_ppm)
    return inside


def _strata(pool: PoolColumns) -> tuple[I64, int]:
    keys = np.zeros(len(pool), np.int64)
    months, rate = pool["months_left"] // MONTHS_BAND, pool["rate_ppm"] // RATE_BAND_PPM
    for values in (pool["grade"], pool["region"], pool["product"], months, rate):
        _, codes = np.unique(values, return_inverse=True)
        keys = keys * (int(codes.max(initial=0)) + 1) + codes
    _, stratum = np.unique(keys, return_inverse=True)
    return stratum.astype(np.int64), int(stratum.max(initial=-1)) + 1


def _program(
    stratum: I64, usable: Any, principal: I64, worth: F64, limits: Sequence[_Row], size: F64,
    target: int,
) -> tuple[F64, float]:  # fmt: skip
    """Principal of each stratum by linear program, and the value it bounds."""
    from ortools.linear_solver.python import model_builder_helper as helper
    from scipy.sparse import csr_matrix, vstack

    count = len(size)
    whole = np.where(size > 0, size, 1.0)

    def mean(values: F64) -> F64:
        found: F64 = np.bincount(stratum[usable], (values * principal)[usable], count) / whole
        return found

    # The last variable is the principal of the whole pool, so that rows of shares stay sparse.
    unit = max(float(target), 1.0)
    rows = [csr_matrix(np.r_[np.ones(count), -1.0])]
    upper, lower = [0.0], [0.0]
    for limit in limits:
        scale = max(float(np.abs(limit.weight).max(initial=0)), 1.0)
        rows.append(
            csr_matrix(np.r_[mean(limit.weight - limit.everywhere), limit.everywhere] / scale)
        )
        upper.append(limit.slack / scale / unit)
        lower.append(-np.inf)
    value = mean(worth)
    # Principal itself is worth something, so that the target is reached where the limits allow.
    eager = float(np.abs(value).max(initial=1.0)) + 1.0
    model: Any = helper.ModelBuilderHelper()
    model.fill_model_from_sparse_data(
        np.zeros(count + 1), np.r_[size / unit, 1.0], np.r_[value, eager], np.array(lower),
        np.array(upper), vstack(rows).tocsr(),
    )  # fmt: skip
    model.set_maximize(True)
    solver = helper.ModelSolverHelper("glop")
    solver.solve(model)
    if not solver.has_solution():
        fix = "Widen the limits, or offer more loans"
        raise PoolError("no pool keeps every limit", where="limits", fix=fix)
    parts = np.array(solver.variable_values())[:count] * unit
    return parts, float((value * parts).sum())


def _picked(order: I64, usable: Any, stratum: I64, principal: I64, parts: F64) -> Any:
    """Loans of each stratum in the order of their draws, as long as its part lasts."""
    chosen = np.zeros(len(principal), np.bool_)
    candidates = order[usable[order]]
    by_stratum = candidates[np.argsort(stratum[candidates], kind="stable")]
    if not len(by_stratum):
        return chosen
    starts = np.r_[True, np.diff(stratum[by_stratum]) != 0]
    running = np.cumsum(principal[by_stratum])
    before = np.r_[0, running][np.flatnonzero(starts)]
    own = running - before[np.cumsum(starts) - 1]
    chosen[by_stratum[own <= parts[stratum[by_stratum]] + 0.5]] = True
    return chosen


def _over(chosen: Any, principal: I64, limit: _Row) -> float:
    return float((limit.weight * principal)[chosen].sum()) - limit.slack


def _most_broken(chosen: Any, principal: I64, limits: Sequence[_Row]) -> int | None:
    over = [_over(chosen, principal, limit) for limit in limits]
    worst = int(np.argmax(over)) if over else -1
    return worst if over and over[worst] > 0 else None


def _drop(chosen: Any, principal: I64, limit: _Row, order: I64) -> None:
    """Leave out loans that use the limit most, until it holds."""
    over = _over(chosen, principal, limit)
    taken = order[chosen[order] & (limit.weight[order] > 0)]
    taken = taken[np.argsort(-limit.weight[taken], kind="stable")]
    freed = np.cumsum((limit.weight * principal)[taken])
    chosen[taken[: int(np.searchsorted(freed, over)) + 1]] = False


def _fill(
    chosen: Any, usable: Any, principal: I64, worth: F64, limits: Sequence[_Row], target: int
) -> None:
    """Add the best loans that still fit, until less than one is missing."""
    left = target - int(principal[chosen].sum())
    room = np.array([-_over(chosen, principal, limit) for limit in limits])
    candidates = np.flatnonzero(usable & ~chosen & (principal <= left) & (principal > 0))
    smallest = int(principal[candidates].min(initial=target))
    candidates = candidates[np.argsort(-worth[candidates], kind="stable")]
    for row in candidates.tolist():
        if left < smallest:
            return
        size = int(principal[row])
        if size > left:
            continue
        uses = np.array([limit.weight[row] for limit in limits]) * size
        if np.all(uses <= room):
            chosen[row] = True
            left -= size
            room = room - uses
