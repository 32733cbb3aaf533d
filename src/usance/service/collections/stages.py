"""Stages of collection by days past due, from a dated parameter.

>>> stages = Stages.at(date(2024, 7, 1))
>>> [stages.of(days).label for days in (-2, 1, 4, 30, 31, 75, 180, 181)]
['reminder', 'ai_voice', 'in_house', 'in_house', 'senior_desk', 'agency', 'mediation', \
'charged_off']
>>> parse_stages("1 in_house, 31 voice")
Traceback (most recent call last):
usance.base.errors.CodeError: collections.stages: unknown stage 'voice'. \
Did you mean 'ai_voice'? Choices: reminder, ai_voice, in_house, senior_desk, agency, mediation, \
charged_off.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I64
from usance.base.codes import Code, parse
from usance.base.parameters import Parameters
from usance.service.errors import StrategyError

_STAGES = "collections.stages"


class Stage(Code):
    """Part of the way from a reminder to the collection of what was charged off."""

    REMINDER = 0
    AI_VOICE = 1
    IN_HOUSE = 2
    SENIOR_DESK = 3
    AGENCY = 4
    MEDIATION = 5
    CHARGED_OFF = 6


class Stages(NamedTuple):
    """Stages in force, each from its first day past due on."""

    first_days: tuple[int, ...]
    stages: tuple[Stage, ...]

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> Stages:
        """Stages in force on a day."""
        known = parameters or Parameters.load()
        return parse_stages(str(known.at(_STAGES, day).value))

    def of(self, days_past_due: int) -> Stage:
        """The stage of a number of days past due, at least the first one of all."""
        return Stage(int(self.column(np.array([days_past_due]))[0]))

    def column(self, days_past_due: I64) -> I8:
        """The stage of each number of days past due."""
        place = np.searchsorted(np.array(self.first_days), days_past_due, side="right") - 1
        return np.array(self.stages, np.int8)[np.maximum(place, 0)]


def parse_stages(text: str) -> Stages:
    """Stages as the parameter writes them: `1 ai_voice, 4 in_house`."""
    pairs = [part.strip().partition(" ") for part in text.split(",")]
    for first, _, name in pairs:
        if not first.lstrip("-").isdecimal() or not name:
            fix = "Write a first day and a stage, such as 31 senior_desk"
            raise StrategyError(f"'{first} {name}' is no stage", where=_STAGES, fix=fix)
    days = tuple(int(first) for first, _, _ in pairs)
    for before, after in pairwise(days):
        if after <= before:
            fix = "Write each later day after the one before"
            raise StrategyError(f"day {after} comes after day {before}", where=_STAGES, fix=fix)
    return Stages(days, tuple(parse(Stage, name, where=_STAGES) for _, _, name in pairs))
