"""Candidates of one request, best first: the kernel that every path to a decision runs through.

Eligibility by bit sets, then amount, hours, attributes, headroom and concentration, then

    net = margin × scale − price − prices of the concentration limits it moves   (parts per billion)

and the best few are kept in order. Live routing, every baseline and the dual bound, where headroom
is unlimited, rank by this function.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.base.rates import PPM
from usance.match.mandates.co_funding import partner_part_minor
from usance.match.mandates.columns import (
    CHECK_ATTRIBUTES,
    CHECK_BORROWERS,
    CHECK_HOURS,
    CHECK_MODELS,
    CHECK_PARTNERS,
    CHECK_PLATFORM,
    MEASURES,
    SourceColumns,
)
from usance.match.router.request_rows import RequestRows
from usance.match.router.state import PRIORITY, LimitState, Ranking

_ONE, _ZERO = np.uint64(1), np.uint64(0)
# Multiplying a single bit by this puts a different pattern into the top six bits for each.
_DE_BRUIJN, _TOP = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_POSITIONS = np.zeros(64, np.int64)
for _bit in range(64):
    _POSITIONS[(int(_DE_BRUIJN) << _bit) % (1 << 64) >> 58] = _bit

OWN_BUDGET, PARTNER_BUDGET = -1, -2
# A borrower's slot with a column has the key user × this + column + 1.
PER_BORROWER = 32_768
_part = kernel(partner_part_minor)
# Measures of concentration limits, in the order of `Measure`.
REGION, GRADE, PRODUCT, LOSS, RATE_MAX, _ = range(len(MEASURES))


@kernel(inline=True)
def concentration_weight(rows: RequestRows, i: int, columns: SourceColumns, k: int) -> int:
    """Weight of a request in a concentration limit, in parts per million of its amount."""
    measure, weight = columns.concentration_measure[k], -columns.concentration_bound[k]
    if measure == REGION:
        weight += PPM if rows.region[i] == columns.concentration_member[k] else 0
    elif measure == GRADE:
        weight += PPM if rows.grade[i] == columns.concentration_member[k] else 0
    elif measure == PRODUCT:
        weight += PPM if rows.product[i] == columns.concentration_member[k] else 0
    elif measure == LOSS:
        weight += columns.losses[rows.grade[i]]
    elif measure == RATE_MAX:
        weight += rows.rate[i]
    else:
        weight = -weight - rows.rate[i]
    result: int = weight
    return result


@kernel
def borrower_slot(keys: I64, user: int, column: int) -> int:
    """Slot of what a borrower has from a mandate, in a hash table without deletions."""
    key = user * PER_BORROWER + column + 1
    mask = len(keys) - 1
    place = (key * 0x9E3779B1) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def restore_borrowers(keys: I64, amounts: I64, user: I64, column: I64, amount: I64) -> None:
    """Fill an empty hash table with what borrowers have."""
    for row in range(len(user)):
        place = borrower_slot(keys, user[row], column[row])
        keys[place] = user[row] * PER_BORROWER + column[row] + 1
        amounts[place] = amount[row]


@kernel(inline=True)
def partner_of(rows: RequestRows, i: int, columns: SourceColumns, j: int) -> int:
    """The mandate of a column's partner on the day of a request, -1 if it has none then."""
    found = -1
    for n in range(columns.partner_start[j], columns.partner_start[j + 1]):
        p = columns.partner_column[n]
        if found < 0 and rows.day[i] <= columns.last_day[p]:
            found = p
    return found


@kernel(inline=True)
def partner_part(rows: RequestRows, i: int, columns: SourceColumns, j: int) -> int:
    """Part of a loan that the partner of a column lends."""
    amount, share, least = rows.amount[i], columns.others_ppm[j], columns.partner_least_ppm[j]
    part: int = _part(amount, share, least, columns.partner_is_first[j] != 0)
    return part


@kernel
def takes(rows: RequestRows, i: int, columns: SourceColumns, limits: LimitState, p: int) -> bool:
    """True if a loan lies inside a mandate that is in force, whatever its budgets."""
    word, amount = p // 64, rows.amount[i]
    bits = (
        limits.open_set[word]
        & columns.products[rows.product[i], word]
        & columns.regions[rows.region[i], word]
        & columns.grades[rows.grade[i], word]
        & columns.channels[rows.channel[i], word]
        & columns.months[rows.months[i], word]
    )
    if rows.blacklisted[i] >= 0:
        bits &= ~columns.blacklisted[rows.blacklisted[i], word]
    if (bits >> np.uint64(p % 64)) & _ONE == _ZERO:
        return False
    if columns.needs[p] & ~rows.attributes[i] or columns.refuses[p] & rows.attributes[i]:
        return False
    is_open: bool = columns.opens[p] <= rows.second[i] < columns.cut_off[p]
    return is_open and columns.min_amount[p] <= amount <= columns.max_amount[p]


@kernel
def rank(  # noqa: C901 -- one loop that a compiler wants in one piece
    rows: RequestRows, i: int, columns: SourceColumns, rule: int, limits: LimitState,
    ranking: Ranking,
) -> int:  # fmt: skip
    """Fill the ranking with the candidates of a request; give how many there are.

    The number of the blocking limit is `OWN_BUDGET` for a budget of the column's own, and
    `PARTNER_BUDGET` for one of its partner.
    """
    top, top_net, blocked = ranking
    size, count = len(top), 0
    blocked[0], blocked[1], blocked[2] = -1, 0, 0
    amount, rate = rows.amount[i], rows.rate[i]
    months, grade = rows.months[i], rows.grade[i]
    base, slope = columns.margin_base[months, grade], columns.margin_slope[months, grade]
    # Read once: the compiler cannot know that writing `top` leaves these as they are.
    hours, attributes = columns.flags[CHECK_HOURS] != 0, columns.flags[CHECK_ATTRIBUTES] != 0
    borrowers, models = columns.flags[CHECK_BORROWERS] != 0, columns.flags[CHECK_MODELS] != 0
    partners = columns.flags[CHECK_PARTNERS] != 0
    platform_limits = len(columns.platform_limit) if columns.flags[CHECK_PLATFORM] else 0
    lowest_kept, in_all = 0, 0
    if models:
        for j in range(len(limits.placed)):
            in_all += limits.placed[j]
    for word in range(len(limits.open_set)):
        bits = (
            limits.open_set[word]
            & columns.products[rows.product[i], word]
            & columns.regions[rows.region[i], word]
            & columns.grades[grade, word]
            & columns.channels[rows.channel[i], word]
            & columns.months[months, word]
        )
        if rows.blacklisted[i] >= 0:
            bits &= ~columns.blacklisted[rows.blacklisted[i], word]
        while bits != _ZERO:
            lowest = bits & (~bits + _ONE)
            bits ^= lowest
            j = word * 64 + _POSITIONS[(lowest * _DE_BRUIJN) >> _TOP]
            if amount < columns.min_amount[j] or amount > columns.max_amount[j]:
                continue
            if hours and not (columns.opens[j] <= rows.second[i] < columns.cut_off[j]):
                continue
            if attributes and (
                columns.needs[j] & ~rows.attributes[i] or columns.refuses[j] & rows.attributes[i]
            ):
                continue
            p = -1
            if partners and columns.partner_start[j + 1] > columns.partner_start[j]:
                p = partner_of(rows, i, columns, j)
                if p < 0 or not takes(rows, i, columns, limits, p):
                    continue
            margin = base[j] + slope[j] * rate // PPM
            full, limit = amount > limits.headroom[j], OWN_BUDGET
            if p >= 0 and partner_part(rows, i, columns, j) > limits.headroom[p]:
                full, limit = True, PARTNER_BUDGET
            if models and in_all + amount > columns.platform_ramp[0]:
                m = columns.model[j]
                if limits.model_excess[m] + amount * (PPM - columns.max_model_share_ppm[m]) > 0:
                    full, limit = True, columns.model_limit[m]
            for n in range(platform_limits):
                if amount * columns.platform_use_ppm[n, j] // PPM > limits.platform_headroom[n]:
                    full, limit = True, columns.platform_limit[n]
            if borrowers and columns.borrower[j] >= 0:
                slot = borrower_slot(limits.borrower_keys, rows.user[i], j)
                if limits.borrowed[slot] + amount > columns.borrower[j]:
                    full, limit = True, columns.borrower_limit[j]
            net = margin if limits.scale[j] == PPM else margin * limits.scale[j] // PPM
            net -= limits.price[j]
            for k in range(columns.concentration_start[j], columns.concentration_start[j + 1]):
                weight = concentration_weight(rows, i, columns, k)
                breaks = weight > 0 and limits.concentration_excess[k] + amount * weight > 0
                if breaks and limits.placed[j] + amount > columns.ramp[j]:
                    full, limit = True, columns.concentration_limit[k]
                net -= limits.concentration_price[k] * weight // PPM
            if full:
                if margin > blocked[1]:
                    blocked[0], blocked[1], blocked[2] = j, margin, limit
                continue
            if rule == PRIORITY:
                if margin <= 0:
                    continue
                net = (1001 - columns.priority[j]) * 10_000_000 + limits.scale[j]
            if net <= lowest_kept:
                continue
            place = count if count < size else size - 1
            while place > 0 and top_net[place - 1] < net:
                top[place], top_net[place] = top[place - 1], top_net[place - 1]
                place -= 1
            top[place], top_net[place] = j, net
            count = min(count + 1, size)
            if count == size:
                lowest_kept = top_net[size - 1]
    return count
