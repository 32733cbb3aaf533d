"""How often a source says yes, by grade: learned from routing, leaning on what it stated.

An answer counts half after a half-life. An attempt that ran out of time is no yes: what the
router needs is the chance that asking ends in a loan. Withdrawn and open attempts say nothing.

>>> answers = Answers(
...     source=np.array([7, 7, 7]),
...     grade=np.array([1, 1, 2]),
...     outcome=np.array([RoutingOutcome.DECLINED, RoutingOutcome.DECLINED, 1]),
...     day=np.array([100, 100, 100]),
...     times=np.ones(3, np.int64),
... )
>>> learned = learn(answers, {7: 900_000}, grades=3, on=100, lean=10)
>>> learned.rate_ppm[7].tolist(), learned.asked_ppm[7].tolist()
([900000, 750000, 909091], [0, 2000000, 1000000])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import RoutingOutcome
from usance.base.errors import UsanceError, raise_all
from usance.base.rates import PPM
from usance.match.errors import ApprovalError

HALF_LIFE_DAYS = 30
"""About as long as an institution keeps one credit policy before it is tuned again."""
LEAN = 50
"""The stated rate counts as much as this many answers of today."""

_YES = (RoutingOutcome.APPROVED,)
_NO = (RoutingOutcome.DECLINED, RoutingOutcome.TIMED_OUT)


class Answers(NamedTuple):
    """Rows of `routing` with the grade of their request and the day (since 1970-01-01) of each."""

    source: I64
    grade: I64
    outcome: I64
    day: I64
    times: I64
    """How many answers a row stands for."""


class Learned(NamedTuple):
    """By source, for each grade from 0: the rate of approval, and the answers behind it.

    `asked_ppm` is the weight of answers, a million for one of today.
    """

    rate_ppm: dict[int, I64]
    asked_ppm: dict[int, I64]


def learn(
    answers: Answers,
    stated_ppm: Mapping[int, int],
    *,
    grades: int,
    on: int,
    half_life_days: int = HALF_LIFE_DAYS,
    lean: int = LEAN,
) -> Learned:
    """Approval rates as known on a day, whatever the order of the answers.

    Answers of later days and of sources that state no rate are not used.
    """
    raise_all(list(_problems(answers, stated_ppm, grades, half_life_days, lean)), where="approval")
    sources = np.array(sorted(stated_ppm), np.int64)
    is_yes = np.isin(answers.outcome, _YES)
    counts = is_yes | np.isin(answers.outcome, _NO)
    used = counts & (answers.day <= on) & np.isin(answers.source, sources)
    row, grade = np.searchsorted(sources, answers.source[used]), answers.grade[used]
    weight = _weights(half_life_days)[np.minimum(on - answers.day[used], 64 * half_life_days)]
    weight *= answers.times[used]
    asked = np.zeros((len(sources), grades), np.int64)
    agreed = np.zeros((len(sources), grades), np.int64)
    np.add.at(asked, (row, grade), weight)
    np.add.at(agreed, (row, grade), weight * is_yes[used])
    stated = np.array([stated_ppm[source] for source in sources.tolist()], np.int64)[:, None]
    rates = _half_up_ppm(agreed + lean * stated, asked + lean * PPM)
    names = sources.tolist()
    return Learned(dict(zip(names, rates, strict=True)), dict(zip(names, asked, strict=True)))


def _weights(half_life_days: int) -> I64:
    """The weight by age in days, in millionths: whole numbers, so sums do not depend on order."""
    ages = np.arange(64 * half_life_days + 1)
    return np.rint(PPM * 0.5 ** (ages / half_life_days)).astype(np.int64)


def _half_up_ppm(part: I64, whole: I64) -> I64:
    """A ratio in millionths, half-up; in Python's integers, since part × a million is large."""
    exact = (part.astype(object) * (2 * PPM) + whole) // (2 * whole.astype(object))
    return np.asarray(exact, np.int64)


def _problems(
    answers: Answers, stated_ppm: Mapping[int, int], grades: int, half_life_days: int, lean: int
) -> Iterator[UsanceError]:
    for source, ppm in sorted(stated_ppm.items()):
        if not 0 <= ppm <= PPM:
            what = f"source {source} states a rate of {ppm} ppm"
            yield ApprovalError(what, fix="Give one from 0 to 1000000")
    if half_life_days < 1 or lean < 1:
        what = f"half-life of {half_life_days} days, lean of {lean}"
        yield ApprovalError(what, fix="Give at least 1 of each")
    below = np.flatnonzero(answers.times < 0)
    if below.size:
        what = f"row {below[0]} stands for {answers.times[below[0]]} answers"
        yield ApprovalError(what, fix="Give zero or more")
    strange = np.flatnonzero((answers.grade < 0) | (answers.grade >= grades))
    if strange.size:
        what = f"row {strange[0]} has grade {answers.grade[strange[0]]}"
        yield ApprovalError(what, fix=f"Give grades from 0 to {grades - 1}")
