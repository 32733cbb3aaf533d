"""Posting templates: the lines of every fact amount in one cell, resolved once and used per fact.

`post` works on columns of cells. For one loan the same lines come from a template in microseconds:
accounts, entities and balances within the group are looked up when the template is made, and a fact
only multiplies. Both give the same lines in the same order; a test holds them together.

>>> from usance.books.loans.amounts import FACT_AMOUNTS
>>> cell = CellKey(cell=1, model=0, entity=1)
>>> template = posting_template(cell, platform=1)
>>> moved = [0] * len(FACT_AMOUNTS)
>>> moved[FACT_AMOUNTS.index("guarantee_received")] = 12_00
>>> [(line.journal, line.rule, line.account, line.amount_minor) for line in template.lines(moved)]
[(1, 102, 1054, 1200), (1, 102, 1210, -1200)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.books.chart import Chart
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNTS
from usance.books.postings import Cells, post
from usance.books.rules import Rule, load_rules


class CellKey(NamedTuple):
    """The dimensions of one cell, as its journal lines need them."""

    cell: int
    model: int
    entity: int
    is_related: bool = False
    fund_cash: int = 0
    payout_cash: int = 0


class PostingLine(NamedTuple):
    """One line of a journal; equal `journal` numbers are one journal, which sums to zero."""

    journal: int
    entity: int
    basis: int
    tag: int
    account: int
    rule: int
    cell: int
    amount_minor: int


class TemplateLine(NamedTuple):
    """A line of one amount: everything but the amount, and its sign."""

    entity: int
    basis: int
    tag: int
    account: int
    rule: int
    sign: int


@dataclass(frozen=True, slots=True)
class PostingTemplate:
    """The lines of one cell, journal by journal, each with the place of its fact amount."""

    cell: int
    journals: tuple[tuple[int, tuple[TemplateLine, ...]], ...]

    def lines(self, moved: Sequence[int]) -> list[PostingLine]:
        """The lines of a difference of fact amounts, in the order of `FACT_AMOUNTS`."""
        lines, journal, cell = list[PostingLine](), 0, self.cell
        for place, parts in self.journals:
            amount = moved[place]
            if amount:
                journal += 1
                for entity, basis, tag, account, rule, sign in parts:
                    lines.append(
                        PostingLine(journal, entity, basis, tag, account, rule, cell, sign * amount)
                    )
        return lines


def posting_template(
    cell: CellKey, platform: int, rules: Sequence[Rule] | None = None, chart: Chart | None = None
) -> PostingTemplate:
    """The template of a cell: what `post` makes of one unit of each fact amount."""
    known = rules or load_rules()
    cells = Cells(
        cell=np.array([cell.cell]), model=np.array([cell.model]), entity=np.array([cell.entity]),
        is_related=np.array([cell.is_related]), fund_cash=np.array([cell.fund_cash]),
        payout_cash=np.array([cell.payout_cash]),
    )  # fmt: skip
    movement: I64 = np.zeros((1, len(AMOUNTS)), np.int64)
    for name in FACT_AMOUNTS:
        movement[0, AMOUNTS.index(name)] = 1
    made = post(movement, cells, known, platform, chart)
    place = {
        rule.number: FACT_AMOUNTS.index(rule.amount)
        for rule in known
        if rule.amount in FACT_AMOUNTS
    }
    columns = (made.entity, made.basis, made.tag, made.account, made.rule, made.amount)
    rows = [TemplateLine(*row) for row in zip(*(each.tolist() for each in columns), strict=True)]
    journals: dict[int, list[TemplateLine]] = {}
    for number, row in zip(made.journal.tolist(), rows, strict=True):
        journals.setdefault(number, []).append(row)
    return PostingTemplate(
        cell.cell, tuple((place[each[0].rule], tuple(each)) for each in journals.values())
    )
