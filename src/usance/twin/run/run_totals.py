"""Totals of a run over its shards between two stages: sums, and the requests of a month."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.twin.month.dues import DueSums
from usance.twin.month.loan_month import MONTH_DAYS
from usance.twin.month.routing import in_order
from usance.twin.month.shard import ShardMonth
from usance.twin.run.checkpoint import dues_bytes, dues_of
from usance.twin.run.ledger_facts import MODELS, approved_by_channel
from usance.twin.run.run_context import RunContext
from usance.world.demand import EligibleUsers

Arrays = dict[str, NDArray[Any]]
_OPEN, _REQUESTS = "open.", "requests."


def sums_of(month: ShardMonth, owed: I64, approved: I64, paid: I64) -> Arrays:
    """Arrays that one shard adds to the totals."""
    return {
        **dues_bytes(month.dues), **_with(_OPEN, month.dues.open),
        **_with(_REQUESTS, month.requests), "released": month.released,
        "eligible": np.array(month.eligible), "owed": owed, "approved": approved, "paid": paid,
    }  # fmt: skip


@dataclass
class RunTotals:
    """Everything that is summed over shards."""

    dues: DueSums
    released: I64
    released_before: I64
    owed: I64
    """Unpaid principal by model, of loans that were there before the month."""
    approved: I64
    """Users given their first line in the month, by channel."""
    paid: I64 = field(default_factory=lambda: np.zeros(2, np.int64))
    """Amount and number of payments that became known in the month."""
    eligible: EligibleUsers = field(default_factory=lambda: EligibleUsers(0, 0, 0))
    requests: Arrays = field(default_factory=dict)

    @classmethod
    def new(cls, context: RunContext) -> RunTotals:
        """Nothing has happened yet."""
        room = (context.sources + 1, MONTH_DAYS)
        return cls(
            DueSums(context.cells), np.zeros(room, np.int64), np.zeros(room, np.int64),
            np.zeros(MODELS, np.int64), approved_by_channel(context, None),
        )  # fmt: skip

    def begin(self, month: int) -> None:
        """A month begins: what was released in the one before is remembered, sums are empty."""
        self.dues.begin(month)
        self.released_before, self.released = self.released, np.zeros_like(self.released)
        self.owed, self.approved = np.zeros_like(self.owed), np.zeros_like(self.approved)
        self.eligible, self.requests = EligibleUsers(0, 0, 0), {}
        self.paid = np.zeros_like(self.paid)

    def take(self, parts: Iterable[Arrays]) -> None:
        """Add what the shards of a stage give, one after the other."""
        asked = []
        for sums in parts:
            dues = dues_of(sums)
            dues.open = {int(month): each for month, each in _named(_OPEN, sums).items()}
            self.dues.join(dues)
            self.released = self.released + sums["released"]
            self.owed, self.approved = self.owed + sums["owed"], self.approved + sums["approved"]
            self.eligible = self.eligible + _eligible(sums)
            self.paid = self.paid + sums["paid"]
            asked.append(_named(_REQUESTS, sums))
        some = [requests for requests in asked if requests]
        self.requests = in_order(some) if some else {}

    def arrays(self) -> Arrays:
        """Everything that the next stage needs, as arrays; open dues are made anew each month."""
        return {
            **dues_bytes(self.dues), **_with(_REQUESTS, self.requests),
            "released": self.released, "released_before": self.released_before,
            "owed": self.owed, "approved": self.approved, "eligible": np.array(self.eligible),
            "paid": self.paid,
        }  # fmt: skip

    @classmethod
    def of(cls, arrays: Arrays) -> RunTotals:
        """From the arrays that were kept."""
        names = ("released", "released_before", "owed", "approved", "paid")
        plain = {name: arrays[name] for name in names}
        requests = _named(_REQUESTS, arrays)
        return cls(dues_of(arrays), **plain, eligible=_eligible(arrays), requests=requests)


def _eligible(arrays: Arrays) -> EligibleUsers:
    return EligibleUsers(*(int(each) for each in arrays["eligible"]))


def _with(start: str, arrays: Mapping[Any, NDArray[Any]]) -> Arrays:
    return {f"{start}{name}": values for name, values in arrays.items()}


def _named(start: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(start): values
        for name, values in arrays.items()
        if name.startswith(start)
    }
