"""The heart of the router: the candidates of one request, best first.

Hard filter by sets of bits, then amount, hours, attributes, room and mix, then

    net = margin × scale − own price − prices of the mix it changes     (parts per billion)

and the best few are kept in order. The same function ranks for the live path, for every baseline
and inside the dual bound, where rooms are infinite.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64, U64
from usance.base.compiled import kernel
from usance.base.rates import PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.router.rows import Rows

_ONE, _ZERO = np.uint64(1), np.uint64(0)
# Multiplying a single bit by this puts a different pattern into the top six bits for each.
_DE_BRUIJN, _TOP = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_POSITIONS = np.zeros(64, np.int64)
for _bit in range(64):
    _POSITIONS[(int(_DE_BRUIJN) << _bit) % (1 << 64) >> 58] = _bit

PRICES, PRIORITY = 0, 1
OWN_BUDGET = -1
# A borrower's place with a column has the key user × this + column + 1.
PER_BORROWER = 32_768
HOURS, ATTRIBUTES, BORROWERS, ROOMS, MODELS = 0, 1, 2, 3, 4
REGION, GRADE, PRODUCT, LOSS, RATE_MAX, RATE_MIN = 0, 1, 2, 3, 4, 5


@kernel(inline=True)
def mix_weight(rows: Rows, i: int, columns: SourceColumns, k: int) -> int:
    """How much a request moves a limit on the mix, in parts per million of its amount."""
    measure, weight = columns.mix_measure[k], -columns.mix_bound[k]
    if measure == REGION:
        weight += PPM if rows.region[i] == columns.mix_member[k] else 0
    elif measure == GRADE:
        weight += PPM if rows.grade[i] == columns.mix_member[k] else 0
    elif measure == PRODUCT:
        weight += PPM if rows.product[i] == columns.mix_member[k] else 0
    elif measure == LOSS:
        weight += columns.losses[rows.grade[i]]
    elif measure == RATE_MAX:
        weight += rows.rate[i]
    else:
        weight = -weight - rows.rate[i]
    result: int = weight
    return result


@kernel
def held(keys: I64, user: int, column: int) -> int:
    """The place of what a borrower has from a source in a table without deletions."""
    key = user * PER_BORROWER + column + 1
    mask = len(keys) - 1
    place = (key * 0x9E3779B1) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def put_back(keys: I64, amounts: I64, user: I64, column: I64, amount: I64) -> None:
    """Fill an empty table with what borrowers have."""
    for row in range(len(user)):
        place = held(keys, user[row], column[row])
        keys[place] = user[row] * PER_BORROWER + column[row] + 1
        amounts[place] = amount[row]


@kernel
def rank(  # noqa: C901 -- one loop that a compiler wants in one piece
    rows: Rows, i: int, columns: SourceColumns, rule: int, open_set: U64, room: I64,
    platform_room: I64, model_state: I64, mix_state: I64, borrowed_keys: I64,
    borrowed: I64, price: I64, scale: I64, mix_price: I64, top: I64,
    top_net: I64, blocked: I64,
) -> int:  # fmt: skip
    """Fill `top` with columns and `top_net` with their worth; give how many there are.

    `blocked` gets the best column that only a limit keeps out, or -1, what it would earn, and the
    number of that limit, `OWN_BUDGET` for one of the column's own.
    """
    size, count = len(top), 0
    blocked[0], blocked[1], blocked[2] = -1, 0, 0
    amount, rate = rows.amount[i], rows.rate[i]
    months, grade = rows.months[i], rows.grade[i]
    base, slope = columns.margin_base[months, grade], columns.margin_slope[months, grade]
    # Read once: the compiler cannot know that writing `top` leaves these as they are.
    hours, tags = columns.flags[HOURS] != 0, columns.flags[ATTRIBUTES] != 0
    borrowers, models = columns.flags[BORROWERS] != 0, columns.flags[MODELS] != 0
    rooms = 3 if columns.flags[ROOMS] else 0
    lowest_kept = 0
    for word in range(len(open_set)):
        bits = (
            open_set[word]
            & columns.products[rows.product[i], word]
            & columns.regions[rows.region[i], word]
            & columns.grades[grade, word]
            & columns.channels[rows.channel[i], word]
            & columns.months[months, word]
        )
        if rows.barred[i] >= 0:
            bits &= ~columns.barred[rows.barred[i], word]
        while bits != _ZERO:
            lowest = bits & (~bits + _ONE)
            bits ^= lowest
            j = word * 64 + _POSITIONS[(lowest * _DE_BRUIJN) >> _TOP]
            if amount < columns.least[j] or amount > columns.most[j]:
                continue
            if hours and not (columns.opens[j] <= rows.second[i] < columns.cut_off[j]):
                continue
            if tags and (
                columns.needs[j] & ~rows.attributes[i] or columns.refuses[j] & rows.attributes[i]
            ):
                continue
            margin = base[j] + slope[j] * rate // PPM
            shut, limit = amount > room[j], OWN_BUDGET
            if models and model_state[columns.model[j]] > 0:
                shut, limit = True, columns.model_limit[columns.model[j]]
            for p in range(rooms):
                if amount * columns.rooms[p, j] // PPM > platform_room[p]:
                    shut, limit = True, columns.room_limit[p]
            if borrowers and columns.borrower[j] >= 0:
                place = held(borrowed_keys, rows.user[i], j)
                if borrowed[place] + amount > columns.borrower[j]:
                    shut, limit = True, columns.borrower_limit[j]
            net = margin if scale[j] == PPM else margin * scale[j] // PPM
            net -= price[j]
            for k in range(columns.mix_start[j], columns.mix_start[j + 1]):
                weight = mix_weight(rows, i, columns, k)
                if mix_state[k] > 0 and weight > 0:
                    shut, limit = True, columns.mix_limit[k]
                net -= mix_price[k] * weight // PPM
            if shut:
                if margin > blocked[1]:
                    blocked[0], blocked[1], blocked[2] = j, margin, limit
                continue
            if rule == PRIORITY:
                if margin <= 0:
                    continue
                net = (1001 - columns.priority[j]) * 10_000_000 + scale[j]
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
