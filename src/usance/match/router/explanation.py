"""Explanations of a loan, a source, or a limit.

A loan is explained from the state of every limit at its moment: the stream is routed up to it,
which gives the same state again. A source is explained from the whole replay. A limit is explained
by its price, and the price is checked by planning again with a little more of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import Bools
from usance.base.command_line import number
from usance.base.dates import from_day, to_month
from usance.base.errors import DocumentError, InputError
from usance.base.ids import parse_id, print_id
from usance.base.rates import PPB, PPM
from usance.match.errors import NotFound
from usance.match.mandates.limits import PLATFORM_LIMITS, LimitKind
from usance.match.mandates.mandate import NO_LIMIT, Mandate, Mandates
from usance.match.plan.demand_file import Demand, demand_file_of, read_demand
from usance.match.plan.limit_weights import MAX_PRICE
from usance.match.plan.linear_program import solve
from usance.match.plan.planner import Plan, make_plan
from usance.match.router.audit import exclusions
from usance.match.router.rank_kernel import borrower_slot, concentration_weight, partner_of
from usance.match.router.requests import Requests, loan_refs, read_requests
from usance.match.router.router import Router, RoutingResult
from usance.match.router.state import ENGINE

# A price is checked by raising its limit by this part of it.
NUDGE = 0.001


@dataclass(frozen=True)
class CandidateExplanation:
    """One source as one request saw it."""

    source: int
    name: str
    """The mandate as people call it."""
    excluded: str
    """The rule that keeps it out, or nothing."""
    margin_minor: int
    price_minor: int
    """Price of the limits it would use."""
    approval_ppm: int

    @property
    def net_minor(self) -> int:
        """Margin less prices, by which candidates are asked."""
        return self.margin_minor - self.price_minor

    @property
    def score_minor(self) -> int:
        """Value of asking it by itself: approval times net."""
        return self.net_minor * self.approval_ppm // PPM

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source, "name": self.name, "margin_minor": self.margin_minor,
            "price_minor": self.price_minor, "net_minor": self.net_minor,
            "approval_ppm": self.approval_ppm, "score_minor": self.score_minor,
        }  # fmt: skip


def explain_loan(
    requests: Requests, mandates: Mandates, loan_id: int, demand: Demand | None = None, *,
    seed: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Explain the source of a loan, and the next best candidate."""
    place = np.flatnonzero(requests.loan_id == loan_id)
    if not len(place):
        what = f"{print_id('ln', loan_id)} is not in this stream"
        raise NotFound(what, fix="Give the loan_id of one of its rows")
    row = int(place[0])
    router = Router(requests, mandates, ENGINE, demand=demand, seed=seed)
    before = router.run(until=row)
    router.prepare(row)
    found = [
        _candidate(before, router, mandates, row, column)
        for column in range(len(mandates.mandates))
    ]
    ranked = sorted(found, key=lambda each: (bool(each.excluded), -each.net_minor, each.source))
    router.run(until=row + 1)
    column = int(before.column[row])
    chosen = mandates.mandates[column].source if column >= 0 else 0
    name = mandates.label_of(mandates.mandates[column]) if column >= 0 else "no source"
    columns = [int(each) for each in before.decisions.asked[row] if each >= 0]
    asked = [mandates.mandates[each].source for each in columns]
    others = [
        each
        for each in ranked
        if not each.excluded and each.net_minor > 0 and each.source not in (chosen, *asked)
    ]
    return {
        "loan": print_id("ln", loan_id),
        "source": chosen,
        "name": name,
        "asked": asked,
        "declined": [
            mandates.label_of(mandates.mandates[each]) for each in columns if each != column
        ],
        "plan": len(before.plans),
        "next_best": others[0].as_dict() if others else None,
        "candidates": [each.as_dict() for each in ranked if not each.excluded],
        "excluded": {each.name: each.excluded for each in ranked if each.excluded},
    }


def _candidate(
    result: RoutingResult, router: Router, mandates: Mandates, row: int, column: int
) -> CandidateExplanation:
    rows, columns, state = result.rows, result.columns, result.state
    amount = int(rows.amount[row])
    months, grade = rows.months[row], rows.grade[row]
    margin = int(columns.margin_base[months, grade, column]) + (
        int(columns.margin_slope[months, grade, column]) * int(rows.rate[row]) // PPM
    )
    price = int(state.limits.price[column])
    for k in range(columns.concentration_start[column], columns.concentration_start[column + 1]):
        price += (
            int(state.limits.concentration_price[k])
            * concentration_weight(rows, row, columns, k)
            // PPM
        )
    return CandidateExplanation(
        mandates.mandates[column].source,
        mandates.label_of(mandates.mandates[column]),
        _excluded(result, mandates, row, column),
        amount * margin // PPB,
        amount * price // PPB,
        int(router.approval_tracker.rate[column]),
    )


def _excluded(result: RoutingResult, mandates: Mandates, row: int, column: int) -> str:
    """The first rule that keeps a source from a request."""
    requests, rows, columns, state = result.requests, result.rows, result.columns, result.state
    mandate = mandates.mandates[column]
    here = int(state.limits.open_set[column // 64]) >> (column % 64) & 1
    if not here:
        return "not in force"
    for name, outside in exclusions(mandate, mandates, requests, rows).items():
        if outside[row]:
            return name
    amount = int(rows.amount[row])
    left = {"total budget": state.total, "monthly budget": state.month, "daily budget": state.day}
    for name, budget in left.items():
        if mandate.source_part_minor(amount) > int(budget[column]):
            return f"{name}: {number(int(budget[column]), mandates.currency)} left"
    if amount > int(state.limits.headroom[column]):
        return "budgets"
    if mandate.co_funding is not None and (reason := _of_partner(result, mandates, row, column)):
        return f"partner {mandate.co_funding.partner}: {reason}"
    if (most := mandate.eligibility.borrower_minor) != NO_LIMIT:
        has = int(
            state.limits.borrowed[borrower_slot(state.limits.borrower_keys, rows.user[row], column)]
        )
        if has + amount > most:
            return f"{LimitKind.BORROWER}: {number(most - has, mandates.currency)} left"
    for kind, use_ppm, headroom in zip(
        PLATFORM_LIMITS, columns.platform_use_ppm, state.limits.platform_headroom, strict=True
    ):
        if amount * int(use_ppm[column]) // PPM > headroom:
            return f"{kind}: {number(int(headroom), mandates.currency)} left"
    return _full_share(result, row, column, mandate)


def _of_partner(result: RoutingResult, mandates: Mandates, row: int, column: int) -> str:
    """The first rule that keeps the partner of a source from its part, or nothing."""
    columns, state = result.columns, result.state
    place = partner_of(result.rows, row, columns, column)
    if place < 0 or not int(state.limits.open_set[place // 64]) >> (place % 64) & 1:
        return "not in force"
    rules = exclusions(mandates.mandates[place], mandates, result.requests, result.rows)
    outside = next((name for name, mask in rules.items() if mask[row]), "")
    part = mandates.mandates[column].partner_part_minor(int(result.rows.amount[row]))
    has_room = part <= int(state.limits.headroom[place])
    return outside or ("" if has_room else "budgets")


def _full_share(result: RoutingResult, row: int, column: int, mandate: Mandate) -> str:
    """The share or average that a loan would break, or nothing."""
    state, columns, rows = result.state, result.columns, result.rows
    amount, placed = int(rows.amount[row]), state.placed
    above = PPM - int(columns.max_model_share_ppm[mandate.model])
    excess = int(state.limits.model_excess[mandate.model]) + amount * above
    if excess > 0 and int(placed.sum()) + amount > int(columns.platform_ramp[0]):
        return f"{LimitKind.MODEL_MAX}: {mandate.model.label}"
    if int(placed[column]) + amount > mandate.ramp_minor:
        start = int(columns.concentration_start[column])
        for k, limit in enumerate(mandate.concentration_limits, start):
            weight = concentration_weight(rows, row, columns, k)
            if weight > 0 and int(state.limits.concentration_excess[k]) + amount * weight > 0:
                return f"concentration limit: {limit.measure}"
    return ""


def explain_source(
    requests: Requests, mandates: Mandates, source: int, demand: Demand | None = None, *,
    seed: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Explain the loans of a source: volume excluded by each rule, volume placed elsewhere."""
    columns = [c for c, each in enumerate(mandates.mandates) if each.source == source]
    if not columns:
        fix = "Give the number of a source in the mandates"
        raise NotFound(f"source {source} is not in {mandates.where}", fix=fix)
    result = Router(requests, mandates, ENGINE, demand=demand, seed=seed).run()
    return {
        "source": source,
        "versions": [_version(result, mandates, column) for column in columns],
    }


def _version(result: RoutingResult, mandates: Mandates, column: int) -> dict[str, Any]:
    mandate, requests = mandates.mandates[column], result.requests
    amount = requests.amount_minor
    whole = max(int(amount.sum()), 1)
    rules = exclusions(mandate, mandates, requests, result.rows)
    eligible = ~np.logical_or.reduce(list(rules.values()))
    got = result.column == column
    asked = (result.decisions.asked == column).any(axis=1)
    lent = mandate.source_part_minor(int(amount[got].sum()))
    total = mandate.budgets.total_minor
    return {
        "version": mandate.version,
        "name": mandates.label_of(mandate),
        "excluded_ppm": {
            name: int(amount[mask].sum()) * PPM // whole
            for name, mask in rules.items()
            if mask.any()
        },
        "eligible_ppm": int(amount[eligible].sum()) * PPM // whole,
        "asked": int(asked.sum()),
        "declined": int((asked & ~got).sum()),
        "loans": int(got.sum()),
        "lent_minor": lent,
        "total_budget_minor": total,
        **_busiest(result, mandate, got),
        "eligible_placed_elsewhere": int((eligible & ~asked & (result.column >= 0)).sum()),
        "eligible_without_source": int((eligible & (result.column < 0)).sum()),
        "price_ppb": int(result.state.budget_price[column]),
        "minimum_take_missing_minor": max(
            (mandate.minimum_take.amount_minor if mandate.minimum_take else 0) - lent, 0
        ),
    }


def _busiest(result: RoutingResult, mandate: Mandate, got: Bools) -> dict[str, int]:
    """The most of a day's and a month's budget that was used, in parts per million."""
    day = result.rows.day[got]
    month = np.array([to_month(from_day(int(each))) for each in day], np.int64)
    lent = [mandate.source_part_minor(each) for each in result.requests.amount_minor[got].tolist()]
    used = {}
    for name, key, budget in (
        ("day", day, mandate.budgets.day_minor), ("month", month, mandate.budgets.month_minor),
    ):  # fmt: skip
        if budget > 0:
            _, group = np.unique(key, return_inverse=True)
            most = np.bincount(group, lent).max(initial=0) if len(key) else 0
            used[f"most_of_{name}_budget_ppm"] = int(most) * PPM // budget
    return used


def explain_limit(demand: Demand, mandates: Mandates, number: int) -> dict[str, Any]:
    """Explain a limit: its price, and the gain of planning again with a little more of it."""
    made = make_plan(demand, mandates)
    place = [position for position, limit in enumerate(made.limits) if limit.number == number]
    if not place:
        fix = f"Give 1 to {len(made.limits)}; 'match plan --json' lists them"
        fix = fix if made.limits else "These mandates have no limit; ask about a source instead"
        raise NotFound(f"limit {number} does not exist", fix=fix)
    limit, price = made.limits[place[0]], int(made.prices_ppb[place[0]])
    nudge, again = _nudged(made, place[0])
    return {
        "limit": number,
        "what": limit.text,
        "price_ppb": price,
        "more_minor": int(nudge),
        "expected_gain_minor": int(np.rint(nudge * price / PPB)),
        "gain_by_planning_again_minor": int(np.rint(again - made.solved.objective)),
    }


def _nudged(made: Plan, place: int) -> tuple[float, float]:
    """The amount by which the limit was raised, and what the plan earns then."""
    count = len(made.problem.bound)
    # As the plan was solved: no limit may be bought off, else the two sums differ by other things.
    problem = replace(made.problem, max_price=np.full(count, MAX_PRICE))
    if place < count:
        bound = problem.bound.copy()
        nudge = max(abs(bound[place]) * NUDGE, 1.0)
        bound[place] += nudge
        return nudge, solve(replace(problem, bound=bound)).objective
    concentration = problem.concentration_bound.copy()
    nudge = max(float((problem.rows.weight * problem.rows.amount).sum()) * NUDGE / 100, 1.0)
    concentration[place - count] += nudge
    return nudge, solve(replace(problem, concentration_bound=concentration)).objective


def explain_files(
    file: Path, mandates: Mandates, demand_file: Path | None, loan: str, source: int, limit: int,
    seed: int,
) -> dict[str, Any]:  # fmt: skip
    """The explanation of a loan, a source or a limit, from files; exactly one of them is named."""
    if sum((bool(loan), bool(source), bool(limit))) != 1:
        raise InputError(
            "nothing or too much to explain", fix="Give one of --loan --source --limit"
        )
    if limit:
        if "requested_at" in (demand_file or file).read_text("utf-8", "replace")[:1000]:
            what = "is a stream of requests, and limits have their prices in a plan"
            fix = "Give a demand forecast, such as usance match forecast makes of the stream"
            raise DocumentError(what, where=str(demand_file or file), fix=fix)
        return explain_limit(read_demand(demand_file or file, mandates), mandates, limit)
    requests = read_requests(file, mandates)
    chosen = demand_file_of(file, demand_file)
    demand = read_demand(chosen, mandates) if chosen else None
    if source:
        return explain_source(requests, mandates, source, demand, seed=seed)
    refs = loan_refs(file, mandates)
    loan_id = int(requests.loan_id[refs.index(loan)]) if loan in refs else _loan_id(loan, refs)
    found = explain_loan(requests, mandates, loan_id, demand, seed=seed)
    row = int(np.flatnonzero(requests.loan_id == loan_id)[0])
    return {"loan": found.pop("loan"), "loan_ref": refs[row] if refs else None, **found}


def _loan_id(loan: str, refs: list[str]) -> int:
    if loan.isdecimal():
        return int(loan)
    if refs and not loan.startswith("ln_"):
        fix = "Give the loan_ref or the loan_id of one of its rows"
        raise NotFound(f"{loan} is not in this stream", fix=fix)
    return parse_id(loan, "ln")
