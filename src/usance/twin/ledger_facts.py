"""What the group states each month of a run: `group`'s facts, from the run's own volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.book import Book, Step
from usance.base.codes import Model
from usance.base.rates import PPB
from usance.twin.closing import period_of
from usance.twin.group import income_tax_owed, month_facts, opening_facts
from usance.twin.loan_terms import PRODUCTS
from usance.twin.setting import Setting

BEYOND = 7
"""The bucket of loans more than 180 days past due, which are no balance any more."""


class GroupFacts:
    """Gathers a month's volumes while loans are booked, then states the group's facts."""

    def __init__(self, setting: Setting, book: Book) -> None:
        self.setting, self.book = setting, book
        self.scale_ppb = int(setting.scale * PPB)
        self.volumes: dict[Model, int] = {}
        self.balances: dict[Model, int] = {}

    @property
    def is_asked(self) -> bool:
        """Whether the scenario says anything about the group."""
        return bool(self.setting.scenario.group.policies)

    def open(self, step: Step) -> None:
        """The facts by the opening."""
        if self.is_asked:
            rows = opening_facts(self.setting.scenario, self.scale_ppb)
            step.add("group_facts", rows, month=self.setting.opening_month)

    def see(self, loans: pa.Table, tape: pa.Table) -> None:
        """New loans of a shard."""
        _add(self.volumes, loans, "principal_minor", loans["model"].to_numpy())
        _add(self.balances, tape, "principal_minor", loans["model"].to_numpy())

    def month(self, step: Step, month: int, book: Book) -> None:
        """The facts of a month, after its loans are booked."""
        volumes, balances = self.volumes, self.balances
        self.volumes, self.balances = {}, {}
        if not self.is_asked:
            return
        for model, minor in self._balances(book, month).items():
            balances[model] = balances.get(model, 0) + minor
        before = book.read("group_facts", month=month - 1)
        first_id = 1 + max(_last_ids(book), default=0)
        closed = period_of(month - 1, self.setting.opening_month)
        owed = income_tax_owed(book) if closed is not None else None
        rows = month_facts(
            self.setting.scenario, month, volumes, balances, self._approved(book, month),
            self.scale_ppb, first_id, before, owed,
        )  # fmt: skip
        if rows.num_rows:
            step.add("group_facts", rows, month=month)

    def _balances(self, book: Book, month: int) -> dict[Model, int]:
        """Unpaid principal by model of loans that were there before the month."""
        funding = self.setting.institutions.funding
        found: dict[Model, int] = {}
        for file in book.files("tape", month=month):
            rows = book.read("tape", ["principal_minor", "bucket", "cell"], month=month,
                             shard=file.shard)  # fmt: skip
            kept = rows.filter(pc.less(rows["bucket"], BEYOND))
            models = np.array([int(each.model) for each in funding])
            of_cell = models[(kept["cell"].to_numpy().astype(np.int64) - 1) // PRODUCTS]
            _add(found, kept, "principal_minor", of_cell)
        return found

    def _approved(self, book: Book, month: int) -> dict[int, int]:
        """Users given their first line in the month, by channel."""
        found: dict[int, int] = {}
        for file in book.files("lines", month=month):
            lines = book.read("lines", ["line_id"], month=month, shard=file.shard)
            users = lines["line_id"].to_numpy() // 16_384
            channels = self.setting.population.channel(users)
            for channel, count in zip(*np.unique(channels, return_counts=True), strict=True):
                found[int(channel)] = found.get(int(channel), 0) + int(count)
        return found


def _last_ids(book: Book) -> list[int]:
    return [int(file.last[0]) for file in book.files("group_facts") if file.rows]


def _add(sums: dict[Model, int], rows: pa.Table, name: str, model: Any) -> None:
    amounts = rows[name].to_numpy()
    for each in np.unique(model):
        own = int(amounts[model == each].sum())
        sums[Model(int(each))] = sums.get(Model(int(each)), 0) + own
