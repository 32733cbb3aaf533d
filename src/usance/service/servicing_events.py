"""Facts that fall due by rule on loans that nobody pays: one function for one loan and for columns.

>>> from datetime import date
>>> from usance.base.codes import FactKind
>>> from usance.loan import Fact, Terms, start, step
>>> from usance.service.servicing_rules import ServicingRules
>>> terms = Terms(
...     principal_minor=9_000_00, rate_ppm=60_000, instalments=6,
...     disbursed_on=date(2023, 12, 31), first_due_on=date(2024, 1, 31),
... )  # fmt: skip
>>> drawn = [Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1)]
>>> state = step(start(terms), [drawn], date(2024, 1, 31))
>>> heavy = Holders.of([FundingModel.CAPITAL_HEAVY], [60])
>>> due = due_facts(state, heavy, ServicingRules.at(date(2024, 1, 31)), date(2024, 4, 30))
>>> [(fact.kind.label, str(fact.effective_on), fact.amount_minor) for fact in due.of(0)]
[('fee_charged', '2024-02-04', 1526), ('fee_charged', '2024-03-04', 1526), \
('compensated', '2024-04-01', 911274)]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I16, I64
from usance.base.codes import FactKind, FundingModel
from usance.base.compiled import in_threads
from usance.base.dates import from_day, to_day
from usance.loan.batch import States
from usance.loan.columns import FactColumns
from usance.loan.errors import KernelRange
from usance.loan.facts import Fact
from usance.loan.kernel.state import workspace
from usance.service.servicing_kernel import EventArrays, HeldLoans, event_buffer, event_rows
from usance.service.servicing_rules import ServicingRules


class Holders(NamedTuple):
    """Holder of each claim: its funding model, and the days past due its source waits."""

    model: I8
    trigger_days: I16

    @classmethod
    def of(cls, models: Sequence[FundingModel], trigger_days: Sequence[int]) -> Holders:
        """From models and days, one each a loan."""
        return cls(np.array(models, np.int8), np.array(trigger_days, np.int16))


class DueFacts(NamedTuple):
    """Facts that fall due, loan by loan in canonical order, with their references."""

    facts: FactColumns
    ref: I64

    def of(self, row: int) -> list[Fact]:
        """The facts of one loan."""
        facts = self.facts
        return [
            Fact(FactKind(int(facts.kind[at])), from_day(int(facts.day[at])),
                 int(facts.amount_minor[at]), int(self.ref[at]), int(facts.arg[at]))
            for at in range(int(facts.offsets[row]), int(facts.offsets[row + 1]))
        ]  # fmt: skip


def due_facts(
    states: States,
    holders: Holders,
    rules: ServicingRules,
    day: date | int,
    *,
    workers: int | None = None,
) -> DueFacts:
    """Facts of the days after each state, up to and including a day, if nobody pays."""
    until = to_day(day) if isinstance(day, date) else day
    count = len(states.terms)
    if len(holders.model) != count or len(holders.trigger_days) != count:
        raise KernelRange(
            f"there are {len(holders.model)} holders and {count} loans",
            where="holders", fix="Give one for each loan",
        )  # fmt: skip
    counts = np.zeros(count, np.int64)
    loans = HeldLoans(
        states.terms.arrays, states.values, states.through, holders.model, holders.trigger_days
    )

    def run(facts: FactColumns, ref: I64) -> None:
        out = EventArrays(
            facts.offsets, counts, facts.day, facts.kind, facts.amount_minor, facts.arg, ref
        )

        def rows(start: int, stop: int) -> None:
            event_rows(start, stop, workspace(), event_buffer(), loans, rules, until, out)

        in_threads(rows, count, workers)

    run(_empty_facts(np.zeros(count + 1, np.int64)), np.empty(0, np.int64))
    facts = _empty_facts(np.concatenate(([0], np.cumsum(counts))))
    ref = np.empty(len(facts.day), np.int64)
    if len(ref):
        run(facts, ref)
    return DueFacts(facts, ref)


def _empty_facts(offsets: I64) -> FactColumns:
    size = int(offsets[-1])
    return FactColumns(
        offsets, np.empty(size, np.int32), np.empty(size, np.int8), np.empty(size, np.int64),
        np.empty(size, np.int64),
    )  # fmt: skip
