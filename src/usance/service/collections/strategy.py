"""A strategy: what is done for each segment at each stage, by the champion and its challengers.

>>> from usance.service.collections.strategy_file import shipped_strategy
>>> strategy = shipped_strategy()
>>> [segment.name for segment in strategy.segments], [arm.name for arm in strategy.arms]
(['large', 'likely_to_pay', 'other'], ['champion', 'early_call'])
>>> action = strategy.action("champion", "other", Stage.IN_HOUSE)
>>> action.channel.value, action.desk, action.tone.value, action.every_days
('voice', 'm1', 'friendly', 2)
>>> strategy.segment_column(np.array([9_000_00, 50_000_00]), np.array([0, 0])).tolist()
[2, 0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, time
from enum import Enum
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I64
from usance.service.collections.contact_rules import Channel, Party
from usance.service.collections.experiment import assigned_arms
from usance.service.collections.stages import Stage
from usance.service.errors import StrategyError

APPROVERS = 2


class Tone(Enum):
    """Manner of a contact."""

    FRIENDLY = "friendly"
    FIRM = "firm"
    FORMAL = "formal"


class DeskKind(Enum):
    """Who works at a desk."""

    AUTOMATIC = "automatic"
    IN_HOUSE = "in_house"
    AGENCY = "agency"


class Desk(NamedTuple):
    """A group that works cases, with the minutes one takes."""

    name: str
    kind: DeskKind
    minutes: int
    channels: frozenset[Channel]


class Segment(NamedTuple):
    """Cases that are treated alike; a bound that is not written is None."""

    name: str
    balance_from_minor: int | None
    balance_below_minor: int | None
    pay_from_ppm: int | None
    pay_below_ppm: int | None

    @property
    def takes_all(self) -> bool:
        """True if no case is left over after it."""
        return all(bound is None for bound in self[1:])


class Action(NamedTuple):
    """A contact that is to be made: how, by whom, with which words, how often."""

    channel: Channel
    desk: str
    script: str
    tone: Tone
    every_days: int
    per_day: int
    earliest: time
    latest: time
    party: Party
    cost_minor: int


class Arm(NamedTuple):
    """Champion or challenger: its share of borrowers and its actions."""

    name: str
    share_ppm: int
    actions: Mapping[tuple[str, Stage], Action]


class Strategy(NamedTuple):
    """A strategy file as read; `arms[0]` is the champion."""

    name: str
    valid_from: date
    seed: int
    currency: str
    broken_promise_bonus_ppm: int
    segments: tuple[Segment, ...]
    desks: Mapping[str, Desk]
    arms: tuple[Arm, ...]
    approved_by: tuple[str, ...]

    @property
    def version(self) -> str:
        """Its name with its first day: arms of one name in two versions are two."""
        return f"{self.name} {self.valid_from}"

    def action(self, arm: str, segment: str, stage: Stage) -> Action:
        """The action of an arm, of the champion where a challenger says nothing."""
        champion = self.arms[0]
        own = next(each for each in self.arms if each.name == arm)
        key = (segment, stage)
        return own.actions.get(key) or champion.actions[key]

    def segment_column(self, past_due_minor: I64, pay_ppm: I64) -> I8:
        """The first segment that takes each case, by amount and probability of payment."""
        found = np.full(len(past_due_minor), -1, np.int8)
        for number, segment in enumerate(self.segments):
            fits = found < 0
            for column, low, high in (
                (past_due_minor, segment.balance_from_minor, segment.balance_below_minor),
                (pay_ppm, segment.pay_from_ppm, segment.pay_below_ppm),
            ):
                fits &= True if low is None else column >= low
                fits &= True if high is None else column < high
            found[fits] = number
        return found

    def arm_column(self, user_id: I64) -> I8:
        """The arm of each borrower, fixed for the life of the strategy."""
        return assigned_arms(user_id, self.seed, [arm.share_ppm for arm in self.arms])


def in_force(strategies: Iterable[Strategy], day: date) -> Strategy:
    """The youngest strategy that is valid on a day and approved by two people."""
    begun = [each for each in strategies if each.valid_from <= day]
    approved = [each for each in begun if len(set(each.approved_by)) >= APPROVERS]
    if not approved:
        waits = f"; {begun[-1].name} waits for approval" if begun else ""
        fix = f"Let {APPROVERS} people approve one that begins by then"
        raise StrategyError(f"no strategy is in force on {day}{waits}", where="strategy", fix=fix)
    return max(approved, key=lambda each: each.valid_from)
