"""Allocation against every possible one on small cases, its limits, and the rules it replaces."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.arrays import I16, I64
from usance.service import (
    AgencyTerms,
    Agent,
    Agents,
    AllocationError,
    CaseValues,
    allocate,
    by_balance,
    first_come,
)

agent = st.builds(
    Agent, name=st.just(""), slots=st.integers(0, 2),
    stages=st.sampled_from([(2,), (3,), (2, 3)]), languages=st.sampled_from(["zh", "en", "zh en"]),
    agency=st.sampled_from(["", "north", "south"]),
    skill_ppm=st.sampled_from([500_000, 1_000_000, 1_500_000]),
)  # fmt: skip
case = st.tuples(st.integers(-3, 90), st.sampled_from([2, 3]), st.sampled_from(["zh", "en"]),
                 st.integers(-1, 2))  # fmt: skip


def value_of(row: tuple[int, int, str, int], number: int, worker: Agent, bonus: int) -> int | None:
    worth, stage, language, last = row
    if stage not in worker.stages or language not in worker.languages.split():
        return None
    value = worth * worker.skill_ppm // 1_000_000 + (bonus if last == number else 0)
    return value if value > 0 else None


@given(st.lists(agent, min_size=3, max_size=3), st.lists(case, min_size=1, max_size=5),
       st.integers(0, 3), st.integers(0, 2), st.integers(0, 40), st.integers(0, 9))  # fmt: skip
def test_it_is_the_best_of_all_allocations(  # type: ignore[no-untyped-def]
    given_agents, rows, most, fair, unfair, bonus
) -> None:
    staff = [each._replace(name=f"a{n}") for n, each in enumerate(given_agents)]
    agents = Agents.of(staff)
    terms = [AgencyTerms(name, most, min(fair, most)) for name in agents.agencies if name]
    slots = {t.name: sum(a.slots for a in staff if a.agency == t.name) for t in terms}
    cases = CaseValues.of(
        np.arange(1, len(rows) + 1), [r[0] for r in rows], [r[1] for r in rows],
        [r[2] for r in rows], [r[3] for r in rows], bonus,
    )  # fmt: skip
    best = None
    for choice in product(range(-1, 3), repeat=len(rows)):
        values = [value_of(rows[n], a, staff[a], bonus) for n, a in enumerate(choice) if a >= 0]
        counts = {name: sum(a >= 0 and staff[a].agency == name for a in choice) for name in slots}
        if None in values or any(choice.count(n) > each.slots for n, each in enumerate(staff)):
            continue
        if any(counts[each.name] > each.max_cases for each in terms):
            continue
        lacking = sum(max(min(t.fair_cases, slots[t.name]) - counts[t.name], 0) for t in terms)
        total = sum(v for v in values if v) - lacking * unfair
        best = total if best is None else max(best, total)
    done = allocate(cases, agents, terms, unfair_minor=unfair)
    assert done.value_minor == best == done.bound_minor


def morning(count: int, size: int, seed: int) -> tuple[CaseValues, I64, Agents]:
    random = np.random.default_rng(seed)
    staff = [Agent(f"a{n}", slots=count // (2 * size), agency=["", "north", "south"][n % 3],
                   languages="zh en" if n % 4 == 0 else "zh",
                   skill_ppm=int(random.integers(700_000, 1_300_000)))
             for n in range(size)]  # fmt: skip
    balance = np.exp(random.normal(10, 1, count)).astype(np.int64)
    added = random.beta(2, 8, count)
    cases = CaseValues.of(
        np.arange(1, count + 1), (balance * added).astype(np.int64) - 400,
        random.integers(2, 5, count).tolist(),
        random.choice(["zh", "en"], count, p=[0.9, 0.1]).tolist(),
    )  # fmt: skip
    return cases, balance, Agents.of(staff)


def test_limits_hold_and_the_gap_is_none_on_a_whole_morning() -> None:
    cases, _, agents = morning(2_000, 20, 1)
    terms = [AgencyTerms("north", 200, 150), AgencyTerms("south", 100, 100)]
    done = allocate(cases, agents, terms, unfair_minor=10_000)
    assert done.gap_ppm == 0
    assert (done.by_agent <= agents.slots).all()
    assert 150 <= done.by_agency["north"] <= 200
    assert done.by_agency["south"] == 100
    for row in np.flatnonzero(done.agent >= 0).tolist():
        _, languages = agents.can[done.agent[row]]
        assert cases.language[row] in languages


def test_it_brings_more_than_the_queue_and_than_the_largest_balance_first() -> None:
    cases, balance, agents = morning(2_000, 20, 2)

    def brought(agent: I16) -> int:
        has = agent >= 0
        skill = agents.skill_ppm[agent[has]]
        return int((cases.value_minor[has] * skill // 1_000_000).sum())

    best = brought(allocate(cases, agents).agent)
    assert best > 1.10 * brought(by_balance(cases, balance, agents))
    assert best > 1.10 * brought(first_come(cases, agents))


def test_the_same_agent_is_kept_when_it_costs_less_than_it_is_worth() -> None:
    agents = Agents.of([Agent("anna", 1), Agent("bo", 1, skill_ppm=1_010_000)])
    cases = CaseValues.of([1], [1_000], [2], ["zh"], [0], continuity_minor=50)
    assert allocate(cases, agents).agent_of(0, agents) == "anna"


@pytest.mark.parametrize(
    ("terms", "what"),
    [([AgencyTerms("west", 5)], "west has no agent"),
     ([AgencyTerms("north", 5, 6)], "6 fair and 5 most")],
)  # fmt: skip
def test_terms_that_cannot_hold_are_refused(terms: list[AgencyTerms], what: str) -> None:
    cases, _, agents = morning(50, 5, 3)
    with pytest.raises(AllocationError, match=what):
        allocate(cases, agents, terms)
