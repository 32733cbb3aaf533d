"""A batch of requests through the router: rank, ask, book or ask the next, update prices.

Within a batch the hour does not change and no plan is made; `Router.run` calls it from one such
moment to the next. All state is in the arrays it is handed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I16, I64
from usance.base.compiled import kernel
from usance.base.draws_kernel import draw_kernel, happens_kernel
from usance.base.rates import PPB, PPM
from usance.match.draws import ANSWERS
from usance.match.mandates.columns import (
    CHECK_BORROWERS,
    CHECK_MODELS,
    CHECK_PARTNERS,
    CHECK_PLATFORM,
    UNLIMITED,
    SourceColumns,
)
from usance.match.router.rank_kernel import (
    OWN_BUDGET,
    PARTNER_BUDGET,
    PER_BORROWER,
    borrower_slot,
    concentration_weight,
    partner_of,
    partner_part,
    rank,
)
from usance.match.router.request_rows import RequestRows
from usance.match.router.state import SCALE_STEPS, Ranking, RouterState

# Requests between two first-order updates of the prices: 160 additions spread over 64 decisions.
PRICE_UPDATE_REQUESTS = 64
# Below this a sum of amounts × parts per million is kept where it is: it must not wrap around.
LOWEST = -(1 << 62)


class RoutingInputs(NamedTuple):
    """Inputs of a router that do not change: requests, mandates, ranking rule, seed of answers."""

    rows: RequestRows
    columns: SourceColumns
    rule: int
    seed: int


class Decisions(NamedTuple):
    """Decisions on requests: for each attempt the mandate asked, and what came of it."""

    asked: I16
    """By request and attempt: the column asked, -1 where nobody was."""
    net_ppb: I64
    """By request and attempt: margin less all prices, of the amount."""
    outcome: I8
    """By request: attempts made if the last one was approved, else minus the attempts made."""
    runner_up: I16
    runner_up_net_ppb: I64
    binding: I16
    """By request and attempt: the number of the limit with the highest price, 0 if none has one;
    where nobody was asked, the limit that kept out the best column."""
    margin: I64
    """Margin of the placed loan in minor units, 0 if there is none."""


def no_decisions(requests: int, attempts: int) -> Decisions:
    """Space for the decisions on so many requests."""
    return Decisions(
        asked=np.full((requests, attempts), -1, np.int16),
        net_ppb=np.zeros((requests, attempts), np.int64),
        outcome=np.zeros(requests, np.int8),
        runner_up=np.full(requests, -1, np.int16),
        runner_up_net_ppb=np.zeros(requests, np.int64),
        binding=np.zeros((requests, attempts), np.int16),
        margin=np.zeros(requests, np.int64),
    )


@kernel
def route_batch(
    start: int, stop: int, inputs: RoutingInputs, state: RouterState, decisions: Decisions,
    since_update: int, ranking: Ranking,
) -> int:  # fmt: skip
    """Route the requests from `start` to `stop`, one after the other.

    `since_update` requests have passed since prices were last updated; gives how many have at the
    end.
    """
    rows, columns = inputs.rows, inputs.columns
    attempts = decisions.asked.shape[1]
    for i in range(start, stop):
        count = rank(rows, i, columns, inputs.rule, state.limits, ranking)
        if count == 0:
            decisions.binding[i, 0] = blocking_limit(rows, i, columns, state, ranking)
        if count > 1:
            decisions.runner_up[i] = ranking.column[1]
            decisions.runner_up_net_ppb[i] = ranking.net_ppb[1]
        for attempt in range(min(count, attempts)):
            j = ranking.column[attempt]
            decisions.asked[i, attempt], decisions.net_ppb[i, attempt] = j, ranking.net_ppb[attempt]
            decisions.binding[i, attempt] = priced_limit(rows, i, columns, state, j)
            decisions.outcome[i] = -(attempt + 1)
            state.asked[j] += 1
            if approves(rows, i, columns, state, inputs.seed, j):
                decisions.outcome[i] = attempt + 1
                state.approved[j] += 1
                use_limits(rows, i, columns, state, j, 1)
                decisions.margin[i] = margin_of(rows, i, columns, j)
                break
        since_update += 1
        if since_update == PRICE_UPDATE_REQUESTS:
            update_prices(columns, state, since_update)
            since_update = 0
    return since_update


@kernel
def approves(
    rows: RequestRows, i: int, columns: SourceColumns, state: RouterState, seed: int, j: int
) -> bool:
    """True if the institution says yes, and its partner if it has one."""
    answer = draw_kernel(seed, ANSWERS, rows.loan_id[i], columns.source[j])
    if not happens_kernel(answer, state.threshold[j]):
        return False
    if columns.flags[CHECK_PARTNERS]:
        p = partner_of(rows, i, columns, j)
        if p >= 0:
            answer = draw_kernel(seed, ANSWERS, rows.loan_id[i], columns.source[p])
            if not happens_kernel(answer, state.threshold[p]):
                return False
    return True


@kernel
def blocking_limit(
    rows: RequestRows, i: int, columns: SourceColumns, state: RouterState, ranking: Ranking
) -> int:
    """The number of the limit that kept out the best source, 0 if no limit did."""
    number: int = ranking.blocked[2]
    if ranking.blocked[0] < 0:
        number = 0
    elif number == OWN_BUDGET:
        number = scarcest_budget(columns, state, ranking.blocked[0])
    elif number == PARTNER_BUDGET:
        partner = partner_of(rows, i, columns, ranking.blocked[0])
        number = scarcest_budget(columns, state, partner)
    return number


@kernel
def scarcest_budget(columns: SourceColumns, state: RouterState, j: int) -> int:
    """The number of the budget with the smallest remainder."""
    number: int = columns.budget_limit[2, j]
    if state.total[j] <= min(state.month[j], state.day[j]):
        number = columns.budget_limit[0, j]
    elif state.month[j] <= state.day[j]:
        number = columns.budget_limit[1, j]
    return number


@kernel
def priced_limit(
    rows: RequestRows, i: int, columns: SourceColumns, state: RouterState, j: int
) -> int:
    """The number of the limit that makes a loan with a source most expensive, 0 if none does."""
    highest, number = 0, 0
    own = state.budget_price[j] * (PPM - columns.others_ppm[j]) // PPM
    if own > highest:
        highest, number = own, state.tightest_budget[j]
    if state.other_price[j] > highest:
        highest, number = state.other_price[j], state.other_limit[j]
    for k in range(columns.concentration_start[j], columns.concentration_start[j + 1]):
        weight = concentration_weight(rows, i, columns, k)
        cost = state.limits.concentration_price[k] * weight // PPM
        if cost > highest:
            highest, number = cost, columns.concentration_limit[k]
    return number


@kernel
def use_limits(
    rows: RequestRows, i: int, columns: SourceColumns, state: RouterState, j: int, sign: int
) -> None:
    """Move every limit that a loan with a source uses: 1 takes its headroom, -1 gives it back."""
    amount, limits = sign * rows.amount[i], state.limits
    lent = sign * (rows.amount[i] - rows.amount[i] * columns.others_ppm[j] // PPM)
    if columns.flags[CHECK_PARTNERS]:
        p = partner_of(rows, i, columns, j)
        if p >= 0:
            part = sign * partner_part(rows, i, columns, j)
            lent = amount - part
            lend(columns, state, p, part)
    state.placed[j] += amount
    lend(columns, state, j, lent)
    if columns.flags[CHECK_PLATFORM]:
        for p in range(len(limits.platform_headroom)):
            used = rows.amount[i] * columns.platform_use_ppm[p, j] // PPM
            limits.platform_headroom[p] -= sign * used
    if columns.flags[CHECK_MODELS]:
        for m in range(len(limits.model_excess)):
            own_model = PPM if m == columns.model[j] else 0
            excess = limits.model_excess[m] + amount * (own_model - columns.max_model_share_ppm[m])
            limits.model_excess[m] = max(excess, LOWEST)
    if columns.flags[CHECK_BORROWERS] and columns.borrower[j] >= 0:
        slot = borrower_slot(limits.borrower_keys, rows.user[i], j)
        limits.borrower_keys[slot] = rows.user[i] * PER_BORROWER + j + 1
        limits.borrowed[slot] += amount
    for k in range(columns.concentration_start[j], columns.concentration_start[j + 1]):
        excess = limits.concentration_excess[k] + amount * concentration_weight(rows, i, columns, k)
        limits.concentration_excess[k] = max(excess, LOWEST)


@kernel
def lend(columns: SourceColumns, state: RouterState, j: int, lent: int) -> None:
    """Take what a source itself lends out of its budgets."""
    state.spent[j] += lent
    state.total[j] -= lent
    state.month[j] -= lent
    state.day[j] -= lent
    set_headroom(columns, state, j)
    if len(state.scale_by_use) and state.initial_total[j] < UNLIMITED:
        used = SCALE_STEPS - state.total[j] * SCALE_STEPS // max(state.initial_total[j], 1)
        state.limits.scale[j] = state.scale_by_use[min(max(used, 0), SCALE_STEPS)]


@kernel
def margin_of(rows: RequestRows, i: int, columns: SourceColumns, j: int) -> int:
    """Margin of a loan with a source in minor units."""
    months, grade = rows.months[i], rows.grade[i]
    base, slope = columns.margin_base[months, grade, j], columns.margin_slope[months, grade, j]
    return of_ppb(rows.amount[i], base + slope * rows.rate[i] // PPM)


@kernel
def rank_request(
    i: int, inputs: RoutingInputs, state: RouterState, ranking: Ranking, binding: I64
) -> int:
    """Rank the candidates of one request and name the limit that binds each; how many there are.

    With no candidate, the first binding limit is the one that kept out the best source.
    """
    rows, columns = inputs.rows, inputs.columns
    count = rank(rows, i, columns, inputs.rule, state.limits, ranking)
    if count == 0:
        binding[0] = blocking_limit(rows, i, columns, state, ranking)
    for n in range(count):
        binding[n] = priced_limit(rows, i, columns, state, ranking.column[n])
    return count


@kernel(inline=True)
def of_ppb(amount: int, share: int) -> int:
    """Amount × share // 10^9, where the product alone may not fit into 64 bits."""
    part: int = amount * (share // PPB) + amount * (share % PPB) // PPB
    return part


@kernel
def set_headroom(columns: SourceColumns, state: RouterState, j: int) -> None:
    """Set the largest loan that fits: the part that the source itself lends must."""
    left = min(state.total[j], state.month[j], state.day[j])
    if columns.others_ppm[j]:
        left = left * PPM // (PPM - columns.others_ppm[j]) if left < PPB * PPM else left
    state.limits.headroom[j] = left


@kernel
def set_all_headroom(columns: SourceColumns, state: RouterState) -> None:
    """Set the largest loan that fits into all budgets of each column."""
    for j in range(len(state.total)):
        set_headroom(columns, state, j)


@kernel
def update_prices(columns: SourceColumns, state: RouterState, requests: int) -> None:
    """Take a step of mirror descent: above pace a price rises, below it falls, never under 0."""
    for j in range(len(state.total)):
        if state.step[j] and state.pace[j] >= 0:
            allowed = max(state.pace[j] * requests // 1000, 1)
            excess = state.spent[j] * PPM // allowed - PPM
            moved = state.budget_price[j] + state.step[j] * requests * min(excess, 100 * PPM) // PPM
            state.budget_price[j] = max(moved, 0)
            own = state.budget_price[j] * (PPM - columns.others_ppm[j]) // PPM
            state.limits.price[j] = own + state.other_price[j]
        state.spent[j] = 0
