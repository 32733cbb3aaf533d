"""Components and neighbours of many users, each as of its own moment, in one walk through time."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.compiled import kernel


@kernel
def _root(parent: I64, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def link_kernel(
    asked: I64, known_at: I64, rows: I64, user: I64, value: I64, booked_at: I64,
    hub: int, starts: I64, by_user: I64, value_starts: I64, members: I64, filled: I64,
    bad_at: I64, parent: I64, size: I64, stamp: I64, out: I64,
) -> None:  # fmt: skip
    """Links come in order of booking; decisions in order of their moment."""
    people = len(stamp)
    link = 0
    for at in range(len(asked)):
        while link < len(user) and booked_at[link] <= known_at[at]:
            who, what = user[link], value[link]
            first = value_starts[what]
            again = False
            for place in range(first, first + filled[what]):
                again |= members[place] == who
            if not again:
                members[first + filled[what]] = who
                filled[what] += 1
                if filled[what] <= hub:
                    one, two = _root(parent, who), _root(parent, people + what)
                    if one != two:
                        parent[two] = one
                        size[one] += size[two]
            link += 1
        me = asked[at]
        degree = 0
        bad = 0
        stamp[me] = at
        for position in range(starts[me], starts[me + 1]):
            mine = by_user[position]
            if booked_at[mine] > known_at[at]:
                continue
            first = value_starts[value[mine]]
            width = min(filled[value[mine]], hub)
            among = False
            for place in range(first, first + width):
                among |= members[place] == me
            if not among:
                continue
            for place in range(first, first + width):
                other = members[place]
                if stamp[other] != at:
                    stamp[other] = at
                    degree += 1
                    bad += bad_at[other] <= known_at[at]
        out[0, rows[at]] = size[_root(parent, me)]
        out[1, rows[at]] = degree
        out[2, rows[at]] = bad
