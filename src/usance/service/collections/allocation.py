"""Allocation of a morning: cases to agents, the greatest expected value under every limit.

A case goes to one agent at most who has its stage and its language. An agent takes as many as the
minutes of the day allow, an agency as many as its contract allows; an agency that is offered less
than its fair share of cases costs `unfair_minor` for each it lacks. The same agent as before is
worth a bonus. All of this is one flow of least cost (OR-Tools), which has whole numbers by itself;
`dual_bound` proves from prices of its own how far the result is from the best there can be.

>>> from usance.service.collections.candidates import Agent
>>> agents = Agents.of(
...     [
...         Agent("anna", slots=1, languages="zh en"),
...         Agent("bo", slots=2),
...         Agent("cy", slots=2, agency="north"),
...     ]
... )
>>> cases = CaseValues.of(
...     user_id=[1, 2, 3, 4],
...     value_minor=[900, 500, 400, -5],
...     stage=[2, 2, 2, 2],
...     language=["en", "zh", "zh", "zh"],
... )
>>> done = allocate(cases, agents)
>>> [done.agent_of(row, agents) for row in range(4)], done.value_minor, done.gap_ppm
(['anna', 'bo', 'bo', ''], 1800, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I16, I64
from usance.service.collections.allocation_bound import dual_bound, prices_of
from usance.service.collections.candidates import Agents, Candidates, CaseValues, candidates_of
from usance.service.errors import AllocationError

_PPM = 1_000_000


class AgencyTerms(NamedTuple):
    """Contract of an agency for a morning: cases at most, and its fair share of those placed."""

    name: str
    max_cases: int
    fair_cases: int = 0


class Allocation(NamedTuple):
    """Agent of each case (−1: none today), its value, and the bound that no allocation passes."""

    agent: I16
    value_minor: int
    bound_minor: int
    by_agent: I64
    by_agency: dict[str, int]

    @property
    def gap_ppm(self) -> int:
        """Distance to the bound, as a part of it."""
        gap = self.bound_minor - self.value_minor
        return -(-gap * _PPM // self.bound_minor) if self.bound_minor else 0

    def agent_of(self, row: int, agents: Agents) -> str:
        """Name of the agent of a case; empty if it has none today."""
        number = int(self.agent[row])
        return agents.names[number] if number >= 0 else ""


def allocate(
    cases: CaseValues, agents: Agents, agencies: Sequence[AgencyTerms] = (),
    *, unfair_minor: int = 0, max_candidates: int = 20,
) -> Allocation:  # fmt: skip
    """The best allocation among the candidates of each case."""
    terms = _terms_by_number(agents, agencies)
    pairs = candidates_of(cases, agents, max_candidates)
    taken = _flow(pairs, cases, agents, terms, unfair_minor)
    agent = np.full(len(cases.user_id), -1, np.int16)
    agent[pairs.case[taken]] = pairs.agent[taken]
    by_agent = np.bincount(pairs.agent[taken], minlength=agents.size)
    by_agency = np.bincount(agents.agency[pairs.agent[taken]], minlength=len(terms))
    short = np.maximum(terms[:, 1] - by_agency, 0).sum()
    value = int(pairs.value_minor[taken].sum()) - int(short) * unfair_minor
    prices = prices_of(pairs, taken, agents, terms, unfair_minor)
    bound = dual_bound(pairs, agents, terms, unfair_minor, prices)
    names = {name: int(by_agency[number]) for number, name in enumerate(agents.agencies)}
    return Allocation(agent, value, max(bound, value), by_agent, names)


def first_come(cases: CaseValues, agents: Agents, *, max_candidates: int = 20) -> I16:
    """Agents by the rule of the queue: each case in order of arrival to the first free agent."""
    return _in_order(np.arange(len(cases.user_id)), cases, agents, max_candidates)


def by_balance(
    cases: CaseValues, past_due_minor: I64, agents: Agents, *, max_candidates: int = 20
) -> I16:
    """Agents by the rule of balances: the largest first, each to the first free agent."""
    order = np.argsort(-past_due_minor, kind="stable")
    return _in_order(order, cases, agents, max_candidates)


def _in_order(order: I64, cases: CaseValues, agents: Agents, max_candidates: int) -> I16:
    pairs = candidates_of(cases, agents, max_candidates, keep_worthless=True)
    starts = np.searchsorted(pairs.case, np.arange(len(order) + 1))
    free = agents.slots.copy()
    agent = np.full(len(order), -1, np.int16)
    for row in order.tolist():
        for each in pairs.agent[starts[row] : starts[row + 1]].tolist():
            if free[each]:
                free[each] -= 1
                agent[row] = each
                break
    return agent


def _terms_by_number(agents: Agents, agencies: Sequence[AgencyTerms]) -> I64:
    """Most and fair cases of each agency by its number; without terms, as many as it has slots."""
    slots = np.bincount(agents.agency, agents.slots, len(agents.agencies)).astype(np.int64)
    terms = np.stack([slots, np.zeros_like(slots)], axis=1)
    for each in agencies:
        if each.name not in agents.agencies:
            fix = "Give terms of agencies that have agents"
            raise AllocationError(f"agency {each.name} has no agent", where="agencies", fix=fix)
        if not 0 <= each.fair_cases <= each.max_cases:
            what = f"agency {each.name} has {each.fair_cases} fair and {each.max_cases} most cases"
            fix = "Give a fair share from 0 to the most"
            raise AllocationError(what, where="agencies", fix=fix)
        number = agents.agencies.index(each.name)
        terms[number] = (min(each.max_cases, slots[number]), min(each.fair_cases, slots[number]))
    return terms


def _flow(
    pairs: Candidates, cases: CaseValues, agents: Agents, terms: I64, unfair_minor: int
) -> I64:
    """Row numbers of the pairs that are taken: case → agent → agency → sink, or case → sink."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    count, size, sink = len(cases.user_id), agents.size, 0
    first_agent, first_agency = 1 + count, 1 + count + size
    flow = SimpleMinCostFlow()
    arcs = flow.add_arcs_with_capacity_and_unit_cost

    def ones(number: int) -> I64:
        return np.ones(number, np.int64)

    arcs(1 + pairs.case, first_agent + pairs.agent, ones(len(pairs.case)), -pairs.value_minor)
    arcs(1 + np.arange(count), np.full(count, sink), ones(count), 0 * ones(count))
    arcs(first_agent + np.arange(size), first_agency + agents.agency, agents.slots, 0 * ones(size))
    agency = first_agency + np.arange(len(terms))
    to_sink = np.full(len(terms), sink)
    # The first cases of an agency bring what a lack of them would cost.
    arcs(agency, to_sink, terms[:, 1], np.full(len(terms), -unfair_minor))
    arcs(agency, to_sink, terms[:, 0] - terms[:, 1], 0 * ones(len(terms)))
    nodes = 1 + count + size + len(terms)
    supply = np.zeros(nodes, np.int64)
    supply[1 : 1 + count] = 1
    supply[sink] = -count
    flow.set_nodes_supplies(np.arange(nodes), supply)
    status = flow.solve()
    if status != SimpleMinCostFlow.OPTIMAL:
        fix = "Give smaller values, or fewer cases at once"
        raise AllocationError(f"the flow ended as {status}", where="allocation", fix=fix)
    taken: I64 = np.flatnonzero(flow.flows(np.arange(len(pairs.case))))
    return taken
