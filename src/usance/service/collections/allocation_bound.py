"""The bound of an allocation: prices of agents and agencies that prove how good it is.

Prices are shortest distances in what the flow left over: an agent with a free slot costs nothing,
a full one what the best of its cases would lose by moving on. Any prices give a bound that no
allocation passes; those of the best one give its own value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.service.collections.candidates import Agents, Candidates

_FAR = 1 << 60


class Prices(NamedTuple):
    """Price of a slot of each agent, and of a place of each agency."""

    agent: I64
    agency: I64


def prices_of(
    pairs: Candidates, taken: I64, agents: Agents, terms: I64, unfair_minor: int
) -> Prices:
    """Prices at which nobody would change the taken pairs, as far as they exist.

    Potentials of agents and agencies by Bellman and Ford over moves of the residual flow; cases
    are passed through, so the matrix has a row for each agent alone.
    """
    size, groups = agents.size, len(terms)
    moves = np.full((size + groups + 1, size + groups + 1), _FAR, np.int64)
    sink = size + groups
    own_value = np.full(int(pairs.case.max(initial=-1)) + 1, 0, np.int64)
    own_agent = np.full(len(own_value), -1, np.int64)
    own_value[pairs.case[taken]] = pairs.value_minor[taken]
    own_agent[pairs.case[taken]] = pairs.agent[taken]
    held = own_agent[pairs.case]
    # A case that moves from its agent to another, or from nobody (the sink) to an agent.
    source = np.where(held >= 0, held, sink)
    np.minimum.at(moves, (source, pairs.agent), own_value[pairs.case] - pairs.value_minor)
    # A case that is given up goes from its agent to the sink.
    to_sink = np.full(size, _FAR, np.int64)
    np.minimum.at(to_sink, pairs.agent[taken], pairs.value_minor[taken])
    moves[:size, sink] = to_sink
    used = np.bincount(pairs.agent[taken], minlength=size)
    by_group = np.bincount(agents.agency[pairs.agent[taken]], minlength=groups)
    for row in range(size):
        group = size + int(agents.agency[row])
        if used[row] < agents.slots[row]:
            moves[row, group] = 0
        if used[row]:
            moves[group, row] = 0
    for number in range(groups):
        most, fair = terms[number].tolist()
        count = int(by_group[number])
        if count < most:
            moves[size + number, sink] = -unfair_minor if count < fair else 0
        if count:
            moves[sink, size + number] = unfair_minor if count <= fair else 0
    distance = _distances(moves, sink)
    return Prices(distance[:size] - distance[size + agents.agency], distance[size:sink])


def _distances(moves: I64, sink: int) -> I64:
    """Shortest distance from every node to the sink."""
    distance = np.full(len(moves), _FAR, np.int64)
    distance[sink] = 0
    for _ in range(len(moves)):
        shorter = np.minimum(distance, (moves + distance[None, :]).min(axis=1))
        if (shorter == distance).all():
            break
        distance = shorter
    return np.minimum(distance, _FAR // 4)


def dual_bound(
    pairs: Candidates, agents: Agents, terms: I64, unfair_minor: int, prices: Prices
) -> int:
    """Value that no allocation can pass, at any prices.

    Cases take their best candidate at its prices, agents sell their slots where they cost more than
    nothing, and each agency sells the number of places that is best for it.
    """
    slot = np.maximum(prices.agent, 0)
    left = pairs.value_minor - slot[pairs.agent] - prices.agency[agents.agency[pairs.agent]]
    best = np.zeros(int(pairs.case.max(initial=-1)) + 1, np.int64)
    np.maximum.at(best, pairs.case, left)
    bound = int(best.sum()) + int((slot * agents.slots).sum())
    for number, (most, fair) in enumerate(terms.tolist()):
        price = int(prices.agency[number])
        bound += max(
            count * price - max(fair - count, 0) * unfair_minor for count in {0, fair, most}
        )
    return bound
