"""A run of requests through the router: rank, ask, keep or go on, with prices that follow use.

Within a run the day does not change and no plan is made; `route` calls it from one such moment to
the next. All state is in the arrays it is handed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64, U64
from usance.base.compiled import kernel
from usance.base.draws_kernel import draw_kernel, happens_kernel
from usance.base.rates import PPB, PPM
from usance.match.chance import ANSWERS
from usance.match.mandates.columns import NO_ROOM_LIMIT, SourceColumns
from usance.match.router.rank_kernel import (
    BORROWERS,
    MODELS,
    OWN_BUDGET,
    PER_BORROWER,
    ROOMS,
    held,
    mix_weight,
    rank,
)
from usance.match.router.rows import Rows

# Requests between two first-order updates of the prices: 160 additions spread over 64 decisions.
BATCH = 64
# Steps of the table of the primal-dual rule.
PHI_STEPS = 1000
# Below this a sum of amounts × parts per million is kept where it is: it must not wrap around.
LOWEST = -(1 << 62)


class Live(NamedTuple):
    """Everything that changes while requests are routed; the axis is the mandate unless said."""

    open_set: U64
    total: I64
    """What is left of the budgets, minor units."""
    month: I64
    day: I64
    room: I64
    """The largest loan that still fits into all three."""
    first_total: I64
    """The total budget at the beginning, for rules that look at use."""
    platform_room: I64
    model_state: I64
    """Per model: Σ amount × (1 if of the model − its most share), parts per million."""
    mix_state: I64
    """Per limit on the mix: Σ amount × weight, above zero when it is broken by the last loan."""
    borrowed_keys: I64
    borrowed: I64
    asked: I64
    approved: I64
    placed: I64
    """Loan amounts placed, minor units."""
    own_price: I64
    """Price of the mandate's own budgets per unit it lends, parts per billion."""
    fixed_price: I64
    """Platform prices less the reward for a minimum take, per unit of loan."""
    price: I64
    """Both, per unit of loan."""
    scale: I64
    mix_price: I64
    pace: I64
    """What may be spent per request from now on, thousandths of a minor unit; -1 no limit."""
    step: I64
    """How far a price moves when use is as far off as the pace itself, per request."""
    spent: I64
    """Since the last update."""
    threshold: I64
    """What the institution's draw is compared with."""
    phi: I64
    """The scale of a margin in parts per million, by use in thousandths; empty if always one."""
    tight: I64
    """Number of the own budget that the pace follows, 0 if none does."""
    fixed_limit: I64
    """Number of the limit that is the largest part of the fixed price."""


class Answers(NamedTuple):
    """What was decided: for each request and attempt the column asked and its worth."""

    asked: NDArray[np.int16]
    """By request and attempt, -1 where nobody was asked."""
    worth: I64
    """By request and attempt: net of all prices, parts per billion of the amount."""
    outcome: NDArray[np.int8]
    """By request: attempts made if the last one was approved, else minus the attempts made."""
    runner_up: NDArray[np.int16]
    runner_up_worth: I64
    binding: NDArray[np.int16]
    """By request and attempt: the number of the limit with the highest price, 0 if none has one;
    where nobody was asked, the limit that kept out the best column."""
    margin: I64
    """Margin of the placed loan in minor units, 0 if there is none."""


@kernel
def route_run(
    start: int, stop: int, rows: Rows, columns: SourceColumns, rule: int, seed: int, live: Live,
    answers: Answers, since: int, top: I64, top_net: I64, blocked: I64,
) -> int:  # fmt: skip
    """Route the requests from `start` to `stop`, one after the other.

    `since` requests have passed since prices last followed use; gives how many have at the end.
    """
    attempts = answers.asked.shape[1]
    for i in range(start, stop):
        count = rank(
            rows, i, columns, rule, live.open_set, live.room, live.platform_room, live.model_state,
            live.mix_state, live.borrowed_keys, live.borrowed, live.price, live.scale,
            live.mix_price, top, top_net, blocked,
        )  # fmt: skip
        if count == 0 and blocked[0] >= 0:
            number = blocked[2]
            if number == OWN_BUDGET:
                number = least_budget(columns, live, blocked[0])
            answers.binding[i, 0] = number
        if count > 1:
            answers.runner_up[i], answers.runner_up_worth[i] = top[1], top_net[1]
        for attempt in range(min(count, attempts)):
            j = top[attempt]
            answers.asked[i, attempt], answers.worth[i, attempt] = j, top_net[attempt]
            answers.binding[i, attempt] = priced_limit(rows, i, columns, live, j)
            answers.outcome[i] = -(attempt + 1)
            live.asked[j] += 1
            answer = draw_kernel(seed, ANSWERS, rows.loan_id[i], columns.source[j])
            if happens_kernel(answer, live.threshold[j]):
                answers.outcome[i] = attempt + 1
                answers.margin[i] = place_loan(rows, i, columns, live, j)
                break
        since += 1
        if since == BATCH:
            follow_use(columns, live, since)
            since = 0
    return since


@kernel
def least_budget(columns: SourceColumns, live: Live, j: int) -> int:
    """The number of the budget of which least is left."""
    number: int = columns.budget_limit[2, j]
    if live.total[j] <= min(live.month[j], live.day[j]):
        number = columns.budget_limit[0, j]
    elif live.month[j] <= live.day[j]:
        number = columns.budget_limit[1, j]
    return number


@kernel
def priced_limit(rows: Rows, i: int, columns: SourceColumns, live: Live, j: int) -> int:
    """The number of the limit that makes a loan with a source most expensive, 0 if none does."""
    most, number = 0, 0
    own = live.own_price[j] * (PPM - columns.own_ppm[j]) // PPM
    if own > most:
        most, number = own, live.tight[j]
    if live.fixed_price[j] > most:
        most, number = live.fixed_price[j], live.fixed_limit[j]
    for k in range(columns.mix_start[j], columns.mix_start[j + 1]):
        cost = live.mix_price[k] * mix_weight(rows, i, columns, k) // PPM
        if cost > most:
            most, number = cost, columns.mix_limit[k]
    return number


@kernel
def place_loan(rows: Rows, i: int, columns: SourceColumns, live: Live, j: int) -> int:
    """Book a loan with a source against every limit it uses; give its margin in minor units."""
    amount = rows.amount[i]
    own = amount * columns.own_ppm[j] // PPM
    lent = amount - own
    live.approved[j] += 1
    live.placed[j] += amount
    live.spent[j] += lent
    live.total[j] -= lent
    live.month[j] -= lent
    live.day[j] -= lent
    set_room(columns, live, j)
    if columns.flags[ROOMS]:
        for p in range(3):
            live.platform_room[p] -= amount * columns.rooms[p, j] // PPM
    if columns.flags[MODELS]:
        for m in range(len(live.model_state)):
            own_model = PPM if m == columns.model[j] else 0
            state = live.model_state[m] + amount * (own_model - columns.model_most[m])
            live.model_state[m] = max(state, LOWEST)
    if columns.flags[BORROWERS] and columns.borrower[j] >= 0:
        place = held(live.borrowed_keys, rows.user[i], j)
        live.borrowed_keys[place] = rows.user[i] * PER_BORROWER + j + 1
        live.borrowed[place] += amount
    for k in range(columns.mix_start[j], columns.mix_start[j + 1]):
        state = live.mix_state[k] + amount * mix_weight(rows, i, columns, k)
        live.mix_state[k] = max(state, LOWEST)
    if len(live.phi) and live.first_total[j] < NO_ROOM_LIMIT:
        used = PHI_STEPS - live.total[j] * PHI_STEPS // max(live.first_total[j], 1)
        live.scale[j] = live.phi[min(max(used, 0), PHI_STEPS)]
    months, grade = rows.months[i], rows.grade[i]
    base, slope = columns.margin_base[months, grade, j], columns.margin_slope[months, grade, j]
    return of_ppb(amount, base + slope * rows.rate[i] // PPM)


@kernel(inline=True)
def of_ppb(amount: int, share: int) -> int:
    """Amount × share // 10^9, where the product alone may not fit into 64 bits."""
    part: int = amount * (share // PPB) + amount * (share % PPB) // PPB
    return part


@kernel
def set_room(columns: SourceColumns, live: Live, j: int) -> None:
    """The largest loan that fits: the source's own part of it must."""
    left = min(live.total[j], live.month[j], live.day[j])
    if columns.own_ppm[j]:
        left = left * PPM // (PPM - columns.own_ppm[j]) if left < PPB * PPM else left
    live.room[j] = left


@kernel
def set_rooms(columns: SourceColumns, live: Live) -> None:
    """The largest loan that fits into all budgets of each column."""
    for j in range(len(live.room)):
        set_room(columns, live, j)


@kernel
def follow_use(columns: SourceColumns, live: Live, requests: int) -> None:
    """A step of mirror descent: above pace the price rises, below it falls, never under zero."""
    for j in range(len(live.price)):
        if live.step[j] and live.pace[j] >= 0:
            allowed = max(live.pace[j] * requests // 1000, 1)
            excess = live.spent[j] * PPM // allowed - PPM
            moved = live.own_price[j] + live.step[j] * requests * min(excess, 100 * PPM) // PPM
            live.own_price[j] = max(moved, 0)
            own = live.own_price[j] * (PPM - columns.own_ppm[j]) // PPM
            live.price[j] = own + live.fixed_price[j]
        live.spent[j] = 0
