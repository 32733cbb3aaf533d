"""Approval rates as experienced on the way: what institutions stated, corrected by their answers.

`approval.learn` does the learning; here answers are gathered between two looks, and an
institution whose answers no longer fit what was believed of it is noticed. What it answered
before is forgotten then, and its latest answers stand for what it stated.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import RoutingOutcome
from usance.base.rates import PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.router.approval import Answers, learn
from usance.match.router.route_kernel import Live

# Stated rates are thought good: they count as much as this many answers.
STATED_WORTH = 200
# An approval rate this many standard deviations off what is believed is a shock.
SHOCK_DEVIATIONS = 8.0
# Nobody is planned with as one who never says yes.
MIN_PPM = 1_000


class Experience:
    """What is believed of each mandate's approval; `look` takes in the answers since the last."""

    def __init__(self, columns: SourceColumns) -> None:
        self.rate = columns.approval.copy()
        self._source = columns.source
        self._stated = dict(enumerate(columns.approval.tolist()))
        self._asked = np.zeros(len(columns.source), np.int64)
        self._approved = self._asked.copy()
        nothing = np.zeros(0, np.int64)
        self._told = Answers(nothing, nothing, nothing, nothing, nothing)

    def state(self) -> dict[str, I64]:
        """What was learned, as named arrays."""
        told = {f"told_{name}": each.copy() for name, each in self._told._asdict().items()}
        return {
            "rate": self.rate.copy(),
            "stated": np.array(list(self._stated.values()), np.int64),
            "looked_asked": self._asked.copy(),
            "looked_approved": self._approved.copy(),
            **told,
        }

    def restore(self, state: Mapping[str, I64]) -> None:
        """Go on from what was learned before."""
        self.rate = state["rate"].copy()
        self._stated = dict(enumerate(state["stated"].tolist()))
        self._asked, self._approved = state["looked_asked"].copy(), state["looked_approved"].copy()
        self._told = Answers(*(state[f"told_{name}"] for name in Answers._fields))

    def shock(self, live: Live) -> str:
        """The first source whose answers since the last look no longer fit, or nothing."""
        strange = self._strange(live)
        if not strange.any():
            return ""
        return f"source {self._source[int(np.argmax(strange))]}: approval rate changed"

    def look(self, live: Live, day: int) -> None:
        """Learn from the answers since the last look."""
        column = np.arange(len(self._source))
        strange = self._strange(live)
        asked, approved = live.asked - self._asked, live.approved - self._approved
        for each in np.flatnonzero(strange).tolist():
            self._stated[each] = int(approved[each] * PPM // asked[each])
        none, today = np.zeros_like(column), np.full_like(column, day)
        kept = ~strange[self._told.source]
        new = [
            Answers(column, none, np.full_like(column, outcome), today, count)
            for outcome, count in (
                (RoutingOutcome.APPROVED, approved), (RoutingOutcome.DECLINED, asked - approved),
            )
        ]  # fmt: skip
        before = Answers(*(values[kept] for values in self._told))
        self._told = Answers(*(np.concatenate(parts) for parts in zip(before, *new, strict=True)))
        made = learn(self._told, self._stated, grades=1, on=day, lean=STATED_WORTH)
        rates = np.array([made.rate_ppm[each][0] for each in column.tolist()], np.int64)
        self.rate = np.clip(rates, MIN_PPM, PPM)
        self._asked, self._approved = live.asked.copy(), live.approved.copy()

    def _strange(self, live: Live) -> NDArray[np.bool_]:
        asked, approved = live.asked - self._asked, live.approved - self._approved
        rate = self.rate / PPM
        usual = np.sqrt(np.maximum(asked * rate * (1 - rate), 1.0))
        off: NDArray[np.bool_] = np.abs(approved - asked * rate) > SHOCK_DEVIATIONS * usual
        return off
