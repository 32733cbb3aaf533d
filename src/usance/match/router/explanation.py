"""Why: for a loan, for a source, for a limit.

A loan is explained from the state of every limit at its moment: the stream is routed up to it,
which gives the same state again. A source is explained from the whole replay. A limit is explained
by its price, and the price is checked by planning again with a little more of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from usance.base.dates import to_day
from usance.base.ids import print_id
from usance.base.rates import PPB, PPM
from usance.match.errors import NotFound
from usance.match.mandates.limits import PLATFORM_ROOMS, LimitKind
from usance.match.mandates.mandate import NO_LIMIT, Mandate, Mandates
from usance.match.plan.demand import Demand
from usance.match.plan.limit_weights import NO_MAX
from usance.match.plan.linear import solve
from usance.match.plan.planner import Plan, plan
from usance.match.router.audit import gone
from usance.match.router.rank_kernel import held, mix_weight
from usance.match.router.requests import Requests
from usance.match.router.router import Routed, Router
from usance.match.router.state import ENGINE

# A price is checked by raising its limit by this part of it.
NUDGE = 0.001


@dataclass(frozen=True)
class Candidate:
    """One source as one request saw it."""

    source: int
    excluded: str
    """The rule that keeps it out, or nothing."""
    margin_minor: int
    price_minor: int
    """What the limits it would use are worth elsewhere."""
    approval_ppm: int

    @property
    def net_minor(self) -> int:
        """Margin less prices: what the order of asking follows."""
        return self.margin_minor - self.price_minor

    @property
    def score_minor(self) -> int:
        """What asking it is worth by itself: approval times net."""
        return self.net_minor * self.approval_ppm // PPM

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source, "excluded": self.excluded, "margin_minor": self.margin_minor,
            "price_minor": self.price_minor, "net_minor": self.net_minor,
            "approval_ppm": self.approval_ppm, "score_minor": self.score_minor,
        }  # fmt: skip


def explain_loan(
    requests: Requests, mandates: Mandates, loan_id: int, demand: Demand | None = None, *,
    seed: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Why a loan went where it went, and what the next best was worth."""
    place = np.flatnonzero(requests.loan_id == loan_id)
    if not len(place):
        what = f"{print_id('ln', loan_id)} is not in this stream"
        raise NotFound(what, fix="Give the loan_id of one of its rows")
    row = int(place[0])
    router = Router(requests, mandates, ENGINE, demand=demand, seed=seed)
    before = router.run(until=row)
    router.ready(row)
    found = [
        _candidate(before, router, mandates, row, column)
        for column in range(len(mandates.mandates))
    ]
    ranked = sorted(found, key=lambda each: (bool(each.excluded), -each.net_minor, each.source))
    router.run(until=row + 1)
    column = int(before.column[row])
    chosen = mandates.mandates[column].source if column >= 0 else 0
    asked = [mandates.mandates[c].source for c in before.answers.asked[row] if c >= 0]
    others = [
        each
        for each in ranked
        if not each.excluded and each.net_minor > 0 and each.source != chosen
    ]
    return {
        "loan": print_id("ln", loan_id),
        "source": chosen,
        "asked": asked,
        "plan": len(before.plans),
        "next_best": others[0].as_dict() if others else None,
        "candidates": [each.as_dict() for each in ranked if not each.excluded],
        "excluded": {each.source: each.excluded for each in ranked if each.excluded},
    }


def _candidate(
    routed: Routed, router: Router, mandates: Mandates, row: int, column: int
) -> Candidate:
    rows, columns, live = routed.rows, routed.columns, routed.live
    amount = int(rows.amount[row])
    months, grade = rows.months[row], rows.grade[row]
    margin = int(columns.margin_base[months, grade, column]) + (
        int(columns.margin_slope[months, grade, column]) * int(rows.rate[row]) // PPM
    )
    price = int(live.price[column])
    for k in range(columns.mix_start[column], columns.mix_start[column + 1]):
        price += int(live.mix_price[k]) * mix_weight(rows, row, columns, k) // PPM
    return Candidate(
        mandates.mandates[column].source,
        _excluded(routed, mandates, row, column),
        amount * margin // PPB,
        amount * price // PPB,
        int(router.experience.rate[column]),
    )


def _excluded(routed: Routed, mandates: Mandates, row: int, column: int) -> str:
    """The first rule that keeps a source from a request."""
    requests, rows, columns, live = routed.requests, routed.rows, routed.columns, routed.live
    mandate = mandates.mandates[column]
    here = int(live.open_set[column // 64]) >> (column % 64) & 1
    if not here:
        return "not in force"
    for name, outside in _rules(mandate, mandates, requests, rows).items():
        if outside[row]:
            return name
    amount = int(rows.amount[row])
    left = {"total budget": live.total, "monthly budget": live.month, "daily budget": live.day}
    for name, budget in left.items():
        if mandate.takes_minor(amount) > int(budget[column]):
            return f"{name}: {int(budget[column])} left"
    if amount > int(live.room[column]):
        return "budgets"
    if (most := mandate.eligibility.borrower_minor) != NO_LIMIT:
        has = int(live.borrowed[held(live.borrowed_keys, rows.user[row], column)])
        if has + amount > most:
            return f"{LimitKind.BORROWER}: {most - has} left"
    for kind, part, room in zip(PLATFORM_ROOMS, columns.rooms, live.platform_room, strict=True):
        if amount * int(part[column]) // PPM > room:
            return f"{kind}: {room} left"
    if live.model_state[mandate.model] > 0:
        return f"{LimitKind.MODEL_MAX}: {mandate.model.label}"
    for k in range(columns.mix_start[column], columns.mix_start[column + 1]):
        if live.mix_state[k] > 0 and mix_weight(rows, row, columns, k) > 0:
            return f"mix: {mandate.mix[k - columns.mix_start[column]].measure}"
    return ""


def _rules(mandate: Mandate, mandates: Mandates, requests: Requests, rows: Any) -> dict[str, Any]:
    """For each rule of a mandate the requests it keeps out."""
    own = mandate.eligibility
    masks = {name: 1 << bit for bit, name in enumerate(mandates.attributes)}
    needs, refuses = (sum(masks[n] for n in names) for names in (own.needs, own.refuses))
    none = np.zeros(len(requests), np.bool_)

    def outside(values: Any, allowed: frozenset[Any]) -> Any:
        return ~np.isin(values, [int(each) for each in allowed]) if allowed else none

    return {
        "amount": (requests.amount_minor < own.least_minor)
        | (requests.amount_minor > own.most_minor),
        "product": outside(requests.product, own.products),
        "region": outside(requests.region, own.regions),
        "grade": outside(requests.grade, own.grades),
        "channel": outside(requests.channel, own.channels),
        "tenor": outside(requests.months, own.months),
        "attributes": (requests.attributes & needs != needs) | (requests.attributes & refuses != 0),
        "blacklist": np.isin(requests.user_id, sorted(own.blacklist)),
        "hours": (rows.second < own.opens) | (rows.second >= own.cut_off),
        "not in force": (rows.day < to_day(mandate.valid_from))
        | (rows.day > to_day(mandate.valid_to))
        | gone(mandate, mandates, requests, np.arange(len(requests))),
    }


def explain_source(
    requests: Requests, mandates: Mandates, source: int, demand: Demand | None = None, *,
    seed: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Why a source got loans or did not: what each rule excludes, what was lost to others."""
    columns = [c for c, each in enumerate(mandates.mandates) if each.source == source]
    if not columns:
        fix = "Give the number of a source in the mandates"
        raise NotFound(f"source {source} is not in {mandates.where}", fix=fix)
    routed = Router(requests, mandates, ENGINE, demand=demand, seed=seed).run()
    return {
        "source": source,
        "versions": [_version(routed, mandates, column) for column in columns],
    }


def _version(routed: Routed, mandates: Mandates, column: int) -> dict[str, Any]:
    mandate, requests = mandates.mandates[column], routed.requests
    amount = requests.amount_minor
    whole = max(int(amount.sum()), 1)
    rules = _rules(mandate, mandates, requests, routed.rows)
    eligible = ~np.logical_or.reduce(list(rules.values()))
    got = routed.column == column
    asked = (routed.answers.asked == column).any(axis=1)
    lent = mandate.takes_minor(int(amount[got].sum()))
    total = mandate.budgets.total_minor
    return {
        "version": mandate.version,
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
        "eligible_placed_elsewhere": int((eligible & ~asked & (routed.column >= 0)).sum()),
        "eligible_without_source": int((eligible & (routed.column < 0)).sum()),
        "price_ppb": int(routed.live.own_price[column]),
        "minimum_take_missing_minor": max(
            (mandate.minimum_take.amount_minor if mandate.minimum_take else 0) - lent, 0
        ),
    }


def explain_limit(demand: Demand, mandates: Mandates, number: int) -> dict[str, Any]:
    """The price of a limit, and what planning again with a little more of it really earns."""
    made = plan(demand, mandates)
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
        "gain_by_planning_again_minor": int(np.rint(again - made.solved.worth)),
    }


def _nudged(made: Plan, place: int) -> tuple[float, float]:
    """How much the limit was raised, and what the plan earns then."""
    count = len(made.problem.bound)
    # As the plan was solved: no limit may be bought off, else the two sums differ by other things.
    problem = replace(made.problem, most_price=np.full(count, NO_MAX))
    if place < count:
        bound = problem.bound.copy()
        nudge = max(abs(bound[place]) * NUDGE, 1.0)
        bound[place] += nudge
        return nudge, solve(replace(problem, bound=bound)).worth
    mix = problem.mix_bound.copy()
    nudge = max(float((problem.rows.weight * problem.rows.amount).sum()) * NUDGE / 100, 1.0)
    mix[place - count] += nudge
    return nudge, solve(replace(problem, mix_bound=mix)).worth
