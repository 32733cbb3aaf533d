"""The journals behind an account: rows of postings, with the loans or the fact each came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import IfrsAdjustment
from usance.base.columns import arrays
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.closed_books import ClosedBooks
from usance.books.group.rules import OPENING, load_group_rules
from usance.books.journal import JournalKind
from usance.books.rules import load_rules
from usance.disclose.drill.composition import AccountEntries
from usance.disclose.drill.loans import LoanShare, LoanShares

_NAMES = (
    "journal_id", "entity", "tag", "account", "period", "rule", "cell", "loan_id",
    "amount_minor", "currency", "fact_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Journal:
    """One line of a journal on an account, with the loans behind it."""

    journal_id: int
    close_no: int
    kind: JournalKind
    rule: int
    amount: str
    """The posting amount that moved."""
    entity: int
    cell: int
    fact_id: int
    is_foreign: bool
    amount_minor: int
    loans: tuple[LoanShare, ...] = ()


@dataclass(frozen=True)
class Journals:
    """The postings of closed books, found by account."""

    closed: ClosedBooks
    shares: LoanShares

    @cached_property
    def _columns(self) -> Mapping[str, I64]:
        found = arrays(self.closed.postings.select(list(_NAMES)))
        return {name: values.astype(np.int64) for name, values in found.items()}

    @cached_property
    def _amounts(self) -> dict[int, str]:
        rules: list[Any] = [*load_rules(), *load_group_rules()]
        return {rule.number: rule.amount for rule in rules}

    def of(self, part: AccountEntries) -> Iterator[Journal]:
        """The journals of a part, in order."""
        for row in np.flatnonzero(self._mask(part)).tolist():
            yield self._journal({name: int(self._columns[name][row]) for name in _NAMES}, part)

    def _mask(self, part: AccountEntries) -> NDArray[np.bool_]:
        columns = self._columns
        opening = columns["rule"] == OPENING
        mask = columns["account"] == load_chart()[part.account].number
        mask &= columns["tag"] == int(part.tag)
        mask &= opening | (columns["period"] <= to_month(part.day))
        if part.before is not None:
            mask &= ~opening & (columns["period"] > to_month(part.before))
        if part.rules is not None:
            mask &= np.isin(columns["rule"], list(part.rules))
        return np.asarray(mask)

    def _journal(self, row: Mapping[str, int], part: AccountEntries) -> Journal:
        kind = JournalKind(row["journal_id"] >> 24 & 15)
        own = int(self.closed.books.entities.currency)
        loans: tuple[LoanShare, ...] = ()
        if kind is JournalKind.LOANS:
            loans = self.shares.of(
                row["journal_id"] >> 28, row["rule"], row["entity"], row["cell"],
                load_chart()[part.account].number, part.tag, row["loan_id"],
            )  # fmt: skip
        return Journal(
            row["journal_id"], row["journal_id"] >> 28, kind, row["rule"],
            self._amounts.get(row["rule"], ""), row["entity"], row["cell"], row["fact_id"],
            row["currency"] != own, row["amount_minor"], loans,
        )  # fmt: skip


def tag_name(tag: IfrsAdjustment) -> str:
    """The name of a tag; entries without one are those of US GAAP."""
    return "us_gaap" if tag is IfrsAdjustment.NONE else tag.label
