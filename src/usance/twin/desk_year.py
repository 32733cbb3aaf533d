"""A simulated year at a desk: three ways to share out each morning's cases, on the same debtors.

Debtors fall late every day, pay by themselves or because a call reached them (`world.debtors`), and
are called again after two days at the earliest. There are fewer agents than cases. Whether a debtor
would pay on a day, be reached on it, and be moved by it, is drawn by debtor and day, so each way
meets the same people; what it brought is what was paid beyond a year in which nobody called.

The allocation knows what a C-score knows: the chances of payment and of contact, with an error. The
other ways know the queue and the balance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from usance.base.arrays import F64, I64
from usance.service.collections.action_value import action_value, added_ppm
from usance.service.collections.allocation import allocate, by_balance, first_come
from usance.service.collections.candidates import Agent, Agents, CaseValues
from usance.service.collections.contact_rules import Channel
from usance.service.collections.experiment import draw_column
from usance.service.collections.stages import Stage
from usance.world.debtors import EFFECT, FATIGUE, REACH

ALLOCATION, BY_BALANCE, FIRST_COME, NOBODY = "allocation", "by balance", "first come", "nobody"
WAYS = (ALLOCATION, BY_BALANCE, FIRST_COME)
DAYS_OPEN, AGAIN = 27, 2
"""Days that a case stays at the desk, from the 4th past due to the 30th, and from call to call."""
MINUTES, CALL_COST_MINOR, CONTINUITY_MINOR = 6, 4_00, 5_00
MEDIAN_DUE_MINOR, DUE_SPREAD = 700_00, 0.9
"""Of what is past due: the deciles of `collection_effect` as a log-normal [assumption]."""
PAY_10_MEAN, PAY_10_SPREAD = 0.4, 1.3
"""Chance of paying within ten days uncalled: its middle is that of the stage on the platform, the
spread of its log odds that of the deciles of `collection_effect` [assumption]."""
REACH_SPREAD, WILLING_SPREAD = 0.8, 0.4
"""Spread of the log odds of being reached, and of the log of how much a call moves [assumption]."""
SCORE_ERROR = 0.6
"""Error of a C-score, in log odds [assumption]: its rank power is then about that of real ones."""
ENGLISH, SKILL_SPREAD = 0.06, 0.2
_PPM = 1_000_000
_PAYS, _REACHED, _MOVED = 11, 12, 13
_PER_CASE = 64
"""Draws of a stream that each case has, one for each day."""


class Desk(NamedTuple):
    """People and cases of a year: new cases a day, agents, calls of each a day, working days."""

    arrivals: int = 120
    agents: int = 3
    slots: int = 80
    days: int = 250


class Debtors(NamedTuple):
    """Debtors of a year, in the order in which they fall late."""

    day: I64
    owed_minor: I64
    pays: F64
    """Chance of paying on a day uncalled."""
    reach: F64
    moved: F64
    """Chance that a call which reached them brings the payment."""
    is_english: I64
    pay_ppm: I64
    """Chance of paying within ten days, as a C-score says it."""
    reach_ppm: I64


class Year(NamedTuple):
    """A year under one way."""

    way: str
    paid_minor: int
    minutes: int
    """Of agents."""
    brought_minor: int
    """Paid beyond a year in which nobody called."""

    @property
    def per_hour_minor(self) -> int:
        """Amount that an hour of an agent brought."""
        return self.brought_minor * 60 // self.minutes if self.minutes else 0


class Morning(NamedTuple):
    """Cases that may be called today, and who called each debtor last."""

    debtors: Debtors
    rows: I64
    last: I64
    day: int


def years(desk: Desk, seed: int) -> list[Year]:
    """The same year under each way."""
    debtors = drawn_debtors(desk, seed)
    agents = drawn_agents(desk, seed)
    by_itself, _ = _year(desk, seed, debtors, agents, NOBODY)
    found = []
    for way in WAYS:
        paid, minutes = _year(desk, seed, debtors, agents, way)
        found.append(Year(way, paid, minutes, paid - by_itself))
    return found


def drawn_debtors(desk: Desk, seed: int) -> Debtors:
    """The debtors of a seed."""
    number = np.arange(desk.arrivals * desk.days)

    def normal(stream: int) -> F64:
        """A standard normal draw of each debtor, after Box and Muller."""
        radius = np.sqrt(-2 * np.log1p(-_drawn(seed, stream, 2 * number)))
        turn: F64 = radius * np.cos(2 * np.pi * _drawn(seed, stream, 2 * number + 1))
        return turn

    owed = np.exp(np.log(MEDIAN_DUE_MINOR) + DUE_SPREAD * normal(1))
    pays_10 = _logit(PAY_10_MEAN) + PAY_10_SPREAD * normal(2)
    reach = _logit(REACH["voice"]) + REACH_SPREAD * normal(3)
    willing = np.exp(WILLING_SPREAD * normal(4) - WILLING_SPREAD**2 / 2)
    told = [column + SCORE_ERROR * normal(stream) for stream, column in ((5, pays_10), (6, reach))]
    return Debtors(
        number // desk.arrivals, owed.astype(np.int64),
        1 - (1 - _chance(pays_10)) ** 0.1, _chance(reach),
        np.minimum(EFFECT["voice"] * willing, 1.0),
        (_drawn(seed, 7, number) < ENGLISH).astype(np.int64),
        *((_chance(column) * _PPM).astype(np.int64) for column in told),
    )  # fmt: skip


def drawn_agents(desk: Desk, seed: int) -> Agents:
    """The agents of a seed; one in three speaks English too."""
    skills = 1 + SKILL_SPREAD * (2 * _drawn(seed, 8, np.arange(desk.agents)) - 1)
    return Agents.of([
        Agent(f"a{number}", desk.slots, languages="zh en" if number % 3 == 0 else "zh",
              skill_ppm=int(skill * _PPM))
        for number, skill in enumerate(skills.tolist())
    ])  # fmt: skip


def _year(desk: Desk, seed: int, debtors: Debtors, agents: Agents, way: str) -> tuple[int, int]:
    """Amount paid in a year, and minutes of agents that it took."""
    count = len(debtors.day)
    is_open, next_on = np.ones(count, bool), np.zeros(count, np.int64)
    last, reached = np.full(count, -1), np.zeros(count, np.int64)
    paid = calls = 0
    for day in range(desk.days):
        first = max(0, (day - DAYS_OPEN + 1) * desk.arrivals)
        rows = first + np.flatnonzero(is_open[first : (day + 1) * desk.arrivals])
        place = rows * _PER_CASE + day - debtors.day[rows]
        pays = _drawn(seed, _PAYS, place) < debtors.pays[rows]
        free = np.flatnonzero(next_on[rows] <= day)
        agent = _SHARED[way](Morning(debtors, rows[free], last, day), agents)
        worked, who = free[agent >= 0], agent[agent >= 0]
        own = rows[worked]
        is_reached = _drawn(seed, _REACHED, place[worked]) < debtors.reach[own]
        moved = debtors.moved[own] * agents.skill_ppm[who] / _PPM * (1 - FATIGUE) ** reached[own]
        pays[worked] |= is_reached & (_drawn(seed, _MOVED, place[worked]) < moved)
        reached[own] += is_reached
        last[own], next_on[own] = who, day + AGAIN
        calls += len(own)
        is_open[rows[pays]] = False
        paid += int(debtors.owed_minor[rows[pays]].sum())
    return paid, calls * MINUTES


def _cases(morning: Morning) -> CaseValues:
    """Cases of a morning with the value that the C-scores give them."""
    debtors, rows = morning.debtors, morning.rows
    left = DAYS_OPEN - (morning.day - debtors.day[rows])
    # A case rolls if it is not paid on any of its days left: the counterpart of the score `rolled`.
    stays = (1 - debtors.pay_ppm[rows] / _PPM) ** (left / 10)
    pay = ((1 - stays) * _PPM).astype(np.int64)
    added = added_ppm(Channel.VOICE, pay, debtors.reach_ppm[rows])
    value = action_value(added, debtors.owed_minor[rows], np.full(len(rows), CALL_COST_MINOR))
    spoken = np.array(["zh", "en"])[debtors.is_english[rows]].tolist()
    stage = np.full(len(rows), int(Stage.IN_HOUSE))
    return CaseValues.of(rows + 1, value, stage, spoken, morning.last[rows], CONTINUITY_MINOR)


def _by_value(morning: Morning, agents: Agents) -> I64:
    return allocate(_cases(morning), agents).agent.astype(np.int64)


def _by_balance(morning: Morning, agents: Agents) -> I64:
    owed = morning.debtors.owed_minor[morning.rows]
    return by_balance(_cases(morning), owed, agents).astype(np.int64)


def _by_queue(morning: Morning, agents: Agents) -> I64:
    return first_come(_cases(morning), agents).astype(np.int64)


def _by_nobody(morning: Morning, _agents: Agents) -> I64:
    return np.full(len(morning.rows), -1, np.int64)


_SHARED: dict[str, Callable[[Morning, Agents], I64]] = {
    ALLOCATION: _by_value, BY_BALANCE: _by_balance, FIRST_COME: _by_queue, NOBODY: _by_nobody,
}  # fmt: skip


def _drawn(seed: int, stream: int, place: I64) -> F64:
    return draw_column(seed, stream, place) / float(1 << 53)


def _logit(chance: float) -> float:
    return float(np.log(chance / (1 - chance)))


def _chance(log_odds: F64) -> F64:
    return np.asarray(1 / (1 + np.exp(-log_odds)), np.float64)
