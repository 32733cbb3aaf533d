"""The retry policy of scheduled debits: hours of the day and how much is asked for at each.

>>> policy = DebitPolicy.at(date(2024, 7, 1))
>>> [(each.hour, each.amount.value) for each in policy.attempts], policy.minimum_minor
([(8, 'full'), (14, 'due'), (20, 'minimum')], 10000)
>>> parse_attempts("14 full, 8 due")
Traceback (most recent call last):
usance.service.errors.DebitError: servicing.debit_attempts: hour 8 comes after hour 14. \
Write each later hour after the one before.
"""

from __future__ import annotations

from datetime import date
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from usance.base.errors import unknown
from usance.base.parameters import Parameters
from usance.service.errors import DebitError

_ATTEMPTS, _MINIMUM = "servicing.debit_attempts", "servicing.debit_minimum"
_HOURS = 24


class DebitAmount(Enum):
    """Part of what is owed that an attempt asks for."""

    FULL = "full"
    """All that has fallen due and is unpaid, with penalties."""
    DUE = "due"
    """Instalments that have fallen due, without penalties."""
    MINIMUM = "minimum"
    """The smallest amount worth a debit, or what is owed if that is less."""


class DebitAttempt(NamedTuple):
    """One attempt of a day."""

    hour: int
    amount: DebitAmount


class DebitPolicy(NamedTuple):
    """Attempts of a day and the minimum, in force on that day."""

    attempts: tuple[DebitAttempt, ...]
    minimum_minor: int

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> DebitPolicy:
        """The policy in force on a day."""
        known = parameters or Parameters.load()
        attempts = parse_attempts(str(known.at(_ATTEMPTS, day).value))
        return cls(attempts, known.at(_MINIMUM, day).integer)


def parse_attempts(text: str) -> tuple[DebitAttempt, ...]:
    """Attempts as the parameter writes them: `08 full, 14 due`."""
    attempts = tuple(_attempt(part.strip()) for part in text.split(","))
    for before, after in pairwise(attempts):
        if after.hour <= before.hour:
            raise DebitError(
                f"hour {after.hour} comes after hour {before.hour}", where=_ATTEMPTS,
                fix="Write each later hour after the one before",
            )  # fmt: skip
    return attempts


def _attempt(text: str) -> DebitAttempt:
    hour, _, word = text.partition(" ")
    amounts = {each.value: each for each in DebitAmount}
    if not (hour.isdecimal() and int(hour) < _HOURS):
        fix = "Write an hour from 00 to 23 and an amount, such as 08 full"
        raise DebitError(f"{text!r} is no attempt", where=_ATTEMPTS, fix=fix)
    if word not in amounts:
        raise unknown("debit amount", word, amounts, where=_ATTEMPTS)
    return DebitAttempt(int(hour), amounts[word])
