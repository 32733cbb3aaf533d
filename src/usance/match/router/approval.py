"""Approval rates of sources by grade, estimated from routing with the stated rate as prior.

An answer counts half after a half-life. An attempt that ran out of time is no approval: the router
needs the chance that asking ends in a loan. Withdrawn and open attempts say nothing.

>>> answers = ApprovalAnswers(
...     source=np.array([7, 7, 7]),
...     grade=np.array([1, 1, 2]),
...     outcome=np.array([RoutingOutcome.DECLINED, RoutingOutcome.DECLINED, 1]),
...     day=np.array([100, 100, 100]),
...     times=np.ones(3, np.int64),
... )
>>> estimated = estimate_approval_rates(answers, {7: 900_000}, grades=3, on=100, prior_answers=10)
>>> estimated.rate_ppm[7].tolist(), estimated.asked_ppm[7].tolist()
([900000, 750000, 909091], [0, 2000000, 1000000])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.codes import RoutingOutcome
from usance.base.errors import UsanceError, raise_all
from usance.base.rates import PPM
from usance.match.errors import ApprovalError
from usance.match.mandates.columns import SourceColumns
from usance.match.router.state import RouterState

HALF_LIFE_DAYS = 30
"""About as long as an institution keeps one credit policy before it is tuned again."""
PRIOR_ANSWERS = 50
"""The stated rate counts as much as this many answers of today."""
# The same for the router, which thinks stated rates good.
STATED_RATE_ANSWERS = 200
# An approval rate this many standard deviations off the estimate is a shock.
SHOCK_DEVIATIONS = 8.0
# No source is planned with a lower rate.
MIN_PPM = 1_000

_YES = (RoutingOutcome.APPROVED,)
_NO = (RoutingOutcome.DECLINED, RoutingOutcome.TIMED_OUT)


class ApprovalAnswers(NamedTuple):
    """Rows of `routing` with the grade of their request and the day (since 1970-01-01) of each."""

    source: I64
    grade: I64
    outcome: I64
    day: I64
    times: I64
    """Number of answers that a row stands for."""


class ApprovalRates(NamedTuple):
    """By source, for each grade from 0: the rate of approval, and the answers behind it.

    `asked_ppm` is the weight of answers, a million for one of today.
    """

    rate_ppm: dict[int, I64]
    asked_ppm: dict[int, I64]


def estimate_approval_rates(
    answers: ApprovalAnswers,
    stated_ppm: Mapping[int, int],
    *,
    grades: int,
    on: int,
    half_life_days: int = HALF_LIFE_DAYS,
    prior_answers: int = PRIOR_ANSWERS,
) -> ApprovalRates:
    """Approval rates as known on a day, whatever the order of the answers.

    Answers of later days and of sources that state no rate are not used.
    """
    raise_all(
        list(_problems(answers, stated_ppm, grades, half_life_days, prior_answers)),
        where="approval",
    )
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
    rates = _half_up_ppm(agreed + prior_answers * stated, asked + prior_answers * PPM)
    names = sources.tolist()
    return ApprovalRates(dict(zip(names, rates, strict=True)), dict(zip(names, asked, strict=True)))


def _weights(half_life_days: int) -> I64:
    """The weight by age in days, in millionths: whole numbers, so sums do not depend on order."""
    ages = np.arange(64 * half_life_days + 1)
    return np.rint(PPM * 0.5 ** (ages / half_life_days)).astype(np.int64)


def _half_up_ppm(part: I64, whole: I64) -> I64:
    """A ratio in millionths, half-up; in Python's integers, since part × a million is large."""
    exact = (part.astype(object) * (2 * PPM) + whole) // (2 * whole.astype(object))
    return np.asarray(exact, np.int64)


def _problems(
    answers: ApprovalAnswers,
    stated_ppm: Mapping[int, int],
    grades: int,
    half_life_days: int,
    prior_answers: int,
) -> Iterator[UsanceError]:
    for source, ppm in sorted(stated_ppm.items()):
        if not 0 <= ppm <= PPM:
            what = f"source {source} states a rate of {ppm} ppm"
            yield ApprovalError(what, fix="Give one from 0 to 1000000")
    if half_life_days < 1 or prior_answers < 1:
        what = f"half-life of {half_life_days} days, lean of {prior_answers}"
        yield ApprovalError(what, fix="Give at least 1 of each")
    below = np.flatnonzero(answers.times < 0)
    if below.size:
        what = f"row {below[0]} stands for {answers.times[below[0]]} answers"
        yield ApprovalError(what, fix="Give zero or more")
    deviating = np.flatnonzero((answers.grade < 0) | (answers.grade >= grades))
    if deviating.size:
        what = f"row {deviating[0]} has grade {answers.grade[deviating[0]]}"
        yield ApprovalError(what, fix=f"Give grades from 0 to {grades - 1}")


class ApprovalTracker:
    """Estimated approval rate of each mandate, updated with the answers since the last update.

    A source whose answers no longer fit its estimate is noticed; its earlier answers are dropped
    then, and its latest ones take the place of its stated rate.
    """

    def __init__(self, columns: SourceColumns) -> None:
        self.rate = columns.approval.copy()
        self._source = columns.source
        self._stated = dict(enumerate(columns.approval.tolist()))
        self._asked = np.zeros(len(columns.source), np.int64)
        self._approved = self._asked.copy()
        nothing = np.zeros(0, np.int64)
        self._answers = ApprovalAnswers(nothing, nothing, nothing, nothing, nothing)

    def to_arrays(self) -> dict[str, I64]:
        """The estimates as named arrays."""
        answers = {f"answer_{name}": each.copy() for name, each in self._answers._asdict().items()}
        return {
            "rate": self.rate.copy(),
            "stated": np.array(list(self._stated.values()), np.int64),
            "counted_asked": self._asked.copy(),
            "counted_approved": self._approved.copy(),
            **answers,
        }

    def restore(self, arrays: Mapping[str, I64]) -> None:
        """Resume from earlier estimates."""
        self.rate = arrays["rate"].copy()
        self._stated = dict(enumerate(arrays["stated"].tolist()))
        self._asked = arrays["counted_asked"].copy()
        self._approved = arrays["counted_approved"].copy()
        self._answers = ApprovalAnswers(
            *(arrays[f"answer_{name}"] for name in ApprovalAnswers._fields)
        )

    def shock(self, state: RouterState) -> str:
        """The first source whose answers since the last update no longer fit, or nothing."""
        deviating = self._deviating(state)
        if not deviating.any():
            return ""
        return f"source {self._source[int(np.argmax(deviating))]}: approval rate changed"

    def updated(self, state: RouterState, day: int) -> ApprovalTracker:
        """The estimates with the answers since the last update; these stay as they are."""
        later = copy(self)
        later.update(state, day)
        return later

    def update(self, state: RouterState, day: int) -> None:
        """Take in the answers since the last update; copies of this object keep theirs."""
        column = np.arange(len(self._source))
        deviating = self._deviating(state)
        asked, approved = state.asked - self._asked, state.approved - self._approved
        self._stated = dict(self._stated)
        for each in np.flatnonzero(deviating).tolist():
            self._stated[each] = int(approved[each] * PPM // asked[each])
        none, today = np.zeros_like(column), np.full_like(column, day)
        kept = ~deviating[self._answers.source]
        new = [
            ApprovalAnswers(column, none, np.full_like(column, outcome), today, count)
            for outcome, count in (
                (RoutingOutcome.APPROVED, approved), (RoutingOutcome.DECLINED, asked - approved),
            )
        ]  # fmt: skip
        before = ApprovalAnswers(*(values[kept] for values in self._answers))
        answers = ApprovalAnswers(
            *(np.concatenate(parts) for parts in zip(before, *new, strict=True))
        )
        self._answers = ApprovalAnswers(*(values[answers.times > 0] for values in answers))
        estimated = estimate_approval_rates(
            self._answers, self._stated, grades=1, on=day, prior_answers=STATED_RATE_ANSWERS
        )
        rates = np.array([estimated.rate_ppm[each][0] for each in column.tolist()], np.int64)
        self.rate = np.clip(rates, MIN_PPM, PPM)
        self._asked, self._approved = state.asked.copy(), state.approved.copy()

    def _deviating(self, state: RouterState) -> Bools:
        asked, approved = state.asked - self._asked, state.approved - self._approved
        rate = self.rate / PPM
        usual = np.sqrt(np.maximum(asked * rate * (1 - rate), 1.0))
        off: Bools = np.abs(approved - asked * rate) > SHOCK_DEVIATIONS * usual
        return off
