"""Agents, cases, and the agents that each case may go to.

>>> agents = Agents.of([Agent("anna", slots=9), Agent("bo", slots=9, stages=(3,))])
>>> cases = CaseValues.of(user_id=[7, 8], value_minor=[100, 100], stage=[2, 3])
>>> pairs = candidates_of(cases, agents, 20)
>>> list(zip(pairs.case.tolist(), pairs.agent.tolist()))
[(0, 0), (1, 0), (1, 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I64
from usance.service.collections.experiment import draw_column
from usance.service.collections.stages import Stage
from usance.service.errors import AllocationError

IN_HOUSE = ""
_PPM = 1_000_000
_STREAM = 2
"""Of the draw that spreads candidates evenly over agents."""


class Agent(NamedTuple):
    """A person who works cases: cases a day, stages and languages, and skill against the mean."""

    name: str
    slots: int
    stages: tuple[int, ...] = tuple(Stage)
    languages: str = "zh"
    """Words of language codes."""
    agency: str = IN_HOUSE
    skill_ppm: int = _PPM


class Agents(NamedTuple):
    """Agents as columns; agencies are numbered, 0 is the house."""

    names: tuple[str, ...]
    slots: I64
    skill_ppm: I64
    agency: I64
    agencies: tuple[str, ...]
    can: tuple[tuple[frozenset[int], frozenset[str]], ...]

    @classmethod
    def of(cls, agents: Sequence[Agent]) -> Agents:
        """From agents with names that differ."""
        names = tuple(each.name for each in agents)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise AllocationError(f"{twice} is there twice", where="agents", fix="Keep one of them")
        for each in agents:
            if each.slots < 0 or each.skill_ppm < 0:
                fix = "Give zero or more cases a day and a skill of zero or more"
                raise AllocationError(f"{each.name} has less than none", where="agents", fix=fix)
        agencies = tuple(dict.fromkeys([IN_HOUSE, *(each.agency for each in agents)]))
        return cls(
            names,
            np.array([each.slots for each in agents], np.int64),
            np.array([each.skill_ppm for each in agents], np.int64),
            np.array([agencies.index(each.agency) for each in agents], np.int64),
            agencies,
            tuple((frozenset(each.stages), frozenset(each.languages.split())) for each in agents),
        )

    @property
    def size(self) -> int:
        """The number of agents."""
        return len(self.names)


class CaseValues(NamedTuple):
    """Cases of a morning, with the expected value of working each."""

    user_id: I64
    value_minor: I64
    stage: I8
    language: tuple[str, ...]
    last_agent: I64
    """Number of the agent who spoke with the debtor last, −1 if none."""
    continuity_minor: int

    @classmethod
    def of(
        cls, user_id: Sequence[int] | I64, value_minor: Sequence[int] | I64,
        stage: Sequence[int] | I8, language: Sequence[str] = (),
        last_agent: Sequence[int] | I64 = (), continuity_minor: int = 0,
    ) -> CaseValues:  # fmt: skip
        """From sequences; without languages Chinese, without a last agent none."""
        count = len(user_id)
        last = np.asarray(last_agent, np.int64) if len(last_agent) else np.full(count, -1)
        spoken = tuple(language) or ("zh",) * count
        if {len(value_minor), len(stage), len(spoken), len(last)} != {count}:
            fix = "Give each case a value, a stage, a language and its last agent"
            raise AllocationError("columns differ in length", where="cases", fix=fix)
        return cls(
            np.asarray(user_id, np.int64), np.asarray(value_minor, np.int64),
            np.asarray(stage, np.int8), spoken, last.astype(np.int64), continuity_minor,
        )  # fmt: skip


class Candidates(NamedTuple):
    """Pairs of a case and an agent who may work it, with the value of that, by case."""

    case: I64
    agent: I64
    value_minor: I64


def candidates_of(
    cases: CaseValues, agents: Agents, max_candidates: int, *, keep_worthless: bool = False
) -> Candidates:
    """Up to so many agents for each case: who spoke with the debtor last, and others by draw."""
    languages = {name: number for number, name in enumerate(dict.fromkeys(cases.language))}
    spoken = np.array([languages[name] for name in cases.language], np.int64)
    kinds = cases.stage.astype(np.int64) * max(len(languages), 1) + spoken
    start = draw_column(0, _STREAM, cases.user_id)
    found: list[tuple[I64, I64]] = []
    for kind in np.unique(kinds).tolist():
        stage, language = divmod(kind, len(languages))
        name = list(languages)[language]
        able = [row for row, (stages, tongues) in enumerate(agents.can)
                if stage in stages and name in tongues]  # fmt: skip
        rows = np.flatnonzero(kinds == kind)
        if able:
            found.append(_spread(rows, np.array(able), start[rows], cases.last_agent[rows],
                                 max_candidates))  # fmt: skip
    if not found:
        empty = np.zeros(0, np.int64)
        return Candidates(empty, empty, empty)
    case, agent = (np.concatenate(each) for each in zip(*found, strict=True))
    value = cases.value_minor[case] * agents.skill_ppm[agent] // _PPM
    value += np.where(agent == cases.last_agent[case], cases.continuity_minor, 0)
    keep = np.flatnonzero((value > 0) | keep_worthless)
    order = keep[np.lexsort((agent[keep], case[keep]))]
    return Candidates(case[order], agent[order], value[order])


def _spread(rows: I64, able: I64, start: I64, last: I64, limit: int) -> tuple[I64, I64]:
    """Pairs of a case and one of a run of able agents that begins by draw; the last agent too."""
    width = min(limit, len(able))
    place = (start[:, None] % len(able) + np.arange(width)) % len(able)
    agent = able[place]
    knows = np.isin(last, able) & ~(agent == last[:, None]).any(axis=1)
    agent[knows, 0] = last[knows]
    return np.repeat(rows, width), agent.ravel()
