"""Group facts of each month of a run, from the run's own volumes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.ageing import LAST_BUCKET
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.book_step import Step
from usance.base.codes import FactKind, FundingModel
from usance.base.ids import PER_USER
from usance.base.rates import PPB
from usance.twin.month.loan_terms import PRODUCTS
from usance.twin.run.group_facts import AfterClose, month_facts, opening_facts
from usance.twin.run.own_loan_funding import platform_of
from usance.twin.run.quarter_close import period_of
from usance.twin.run.run_context import RunContext
from usance.twin.run.trusts import Trusts

OWN = int(FundingModel.ON_BALANCE_SHEET)
_RECEIPTS = (int(FactKind.PAID), int(FactKind.RECOVERED))
MODELS = max(FundingModel) + 1
"""The bucket of loans more than 180 days past due, which are no balance any more."""


def owed_by_model(context: RunContext, tape: pa.Table) -> I64:
    """Unpaid principal of the rows of a tape."""
    models = np.array([int(each.model) for each in context.institutions.funding])
    rows = tape.select(["bucket", "cell", "principal_minor"])
    kept = rows.filter(pc.less(rows["bucket"], LAST_BUCKET))
    of_cell = models[(kept["cell"].to_numpy().astype(np.int64) - 1) // PRODUCTS]
    return _sums(of_cell, kept["principal_minor"].to_numpy(), MODELS)


def lent_by_model(loans: pa.Table) -> I64:
    """Volume of new loans by model."""
    return _sums(loans["model"].to_numpy(), loans["principal_minor"].to_numpy(), MODELS)


def approved_by_channel(context: RunContext, lines: pa.Table | None) -> I64:
    """Users given their first line."""
    channels = max((each.number for each in context.scenario.users.channels), default=0) + 1
    if lines is None:
        return np.zeros(channels, np.int64)
    found = context.population.channel(lines["line_id"].to_numpy() // PER_USER)
    return np.bincount(found, minlength=channels).astype(np.int64)


def received(tables: Mapping[str, pa.Table]) -> I64:
    """Amount and number of payments that became known in a month."""
    facts = tables["facts"].select(["kind", "amount_minor"])
    paid = facts.filter(pc.is_in(facts["kind"], pa.array(_RECEIPTS, pa.int8())))
    return np.array([pc.sum(paid["amount_minor"]).as_py() or 0, paid.num_rows], np.int64)


class GroupFacts:
    """States the group's facts."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.scale_ppb = int(context.scale * PPB)
        scenario = context.scenario
        self.trusts = Trusts(scenario, context.scale, platform_of(scenario))

    @property
    def is_asked(self) -> bool:
        """True if the scenario describes the group."""
        return bool(self.context.scenario.group.policies)

    def open(self, step: Step, owed: I64) -> None:
        """The facts by the opening, whose loans are drawn."""
        if self.is_asked:
            drawn = int(owed[FundingModel.ON_BALANCE_SHEET])
            rows = opening_facts(self.context.scenario, self.scale_ppb, drawn)
            step.add("group_facts", rows, month=self.context.opening_month)

    def month(
        self,
        step: Step,
        month: int,
        book: Book,
        *,
        lent: I64,
        owed: I64,
        approved: I64,
        paid: I64,
    ) -> None:
        """The facts of a month, after its loans are booked; `owed` is without them."""
        if not self.is_asked:
            return
        before = book.read("group_facts")
        first_id = 1 + max(_last_ids(book), default=0)
        closed = period_of(month - 1, self.context.opening_month)
        closes = period_of(month, self.context.opening_month) is not None
        left = AfterClose.of(book) if closed is not None else None
        rows = month_facts(
            self.context.scenario, month, _models(lent), _models(owed + lent),
            dict(enumerate(approved.tolist())), self.scale_ppb, first_id, before, left,
            self.trusts.month(step, month, book, int((owed + lent)[OWN]), closes=closes),
            paid=(int(paid[0]), int(paid[1])),
        )  # fmt: skip
        if rows.num_rows:
            step.add("group_facts", rows, month=month)


def _last_ids(book: Book) -> list[int]:
    return [int(file.last[0]) for file in book.files("group_facts") if file.rows]


def _models(sums: I64) -> dict[FundingModel, int]:
    return {model: int(sums[model]) for model in FundingModel}


def _sums(keys: NDArray[np.int64], amounts: I64, room: int) -> I64:
    found = np.zeros(room, np.int64)
    np.add.at(found, keys, amounts)
    return found
