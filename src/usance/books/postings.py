"""From amounts that moved to journals that balance: rules applied to cells, or to single loans.

A journal is one rule at work in one entity. Where the two sides of a rule stand in different
entities, each gets its own journal, joined by a balance within the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.books.chart import Chart, load_chart
from usance.books.loans.amounts import AMOUNTS
from usance.books.rules import CellAccount, Place, Rule, Side


@dataclass(frozen=True, slots=True)
class Cells:
    """The dimensions of rows to post: each row is a cell, or a loan with its cell's dimensions."""

    cell: I64
    model: I64
    entity: I64
    is_related: NDArray[np.bool_]
    fund_cash: I64
    payout_cash: I64

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, rows: NDArray[np.intp]) -> Cells:
        """Some of the rows."""
        return Cells(
            self.cell[rows], self.model[rows], self.entity[rows], self.is_related[rows],
            self.fund_cash[rows], self.payout_cash[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lines:
    """Journal lines as columns; a journal is a run of equal `journal`, and sums to zero."""

    journal: I64
    entity: I64
    basis: I64
    tag: I64
    account: I64
    rule: I64
    cell: I64
    row: I64
    """The row of `Cells` it came from."""
    amount: I64

    def __len__(self) -> int:
        return len(self.amount)


def post(
    movement: I64, cells: Cells, rules: Sequence[Rule], platform: int, chart: Chart | None = None
) -> Lines:
    """The journals of what moved: one per rule, row and entity, in that order."""
    accounts = chart or load_chart()
    parts = [
        part
        for rule in sorted(rules, key=lambda rule: rule.number)
        for part in _of_rule(rule, movement, cells, platform, accounts)
    ]
    columns = [
        np.concatenate([part[n] for part in parts]) if parts else np.empty(0, np.int64)
        for n in range(9)
    ]
    return _numbered(columns)


def _of_rule(
    rule: Rule, movement: I64, cells: Cells, platform: int, chart: Chart
) -> list[list[I64]]:
    """Lines of one rule as columns: order key, side, entity … amount."""
    moved = movement[:, AMOUNTS.index(rule.amount)]
    rows = np.flatnonzero(
        np.isin(cells.model, [int(model) for model in rule.models]) & (moved != 0)
    )
    if len(rows) == 0:
        return []
    some, amount = cells.take(rows), moved[rows]
    sides = [(rule.debit, amount), (rule.credit, -amount)]
    entities = [_entity(side, some, platform) for side, _ in sides]
    parts = [
        _lines(rule, rows, some, side_no, entities[side_no], _account(side, some, chart), signed)
        for side_no, (side, signed) in enumerate(sides)
    ]
    apart = np.flatnonzero(entities[0] != entities[1])
    if len(apart):
        within = np.full(len(apart), chart["within_group"].number, np.int64)
        parts += [
            _lines(rule, rows[apart], some.take(apart), side_no, entities[side_no][apart], within,
                   -signed[apart])
            for side_no, (_, signed) in enumerate(sides)
        ]  # fmt: skip
    return parts


def _lines(
    rule: Rule, rows: NDArray[np.intp], some: Cells, side: int, entity: I64, account: I64,
    amount: I64,
) -> list[I64]:  # fmt: skip
    size = len(rows)
    constants = [
        np.full(size, value, np.int64) for value in (rule.number, rule.basis, rule.tag, side)
    ]
    return [constants[0], rows.astype(np.int64), entity, constants[3], constants[1], constants[2],
            account, some.cell, amount]  # fmt: skip


def _entity(side: Side, cells: Cells, platform: int) -> I64:
    if side.place is Place.OWN:
        return cells.entity
    return np.full(len(cells), platform, np.int64)


def _account(side: Side, cells: Cells, chart: Chart) -> I64:
    if side.account == CellAccount.FUND_CASH.value:
        return cells.fund_cash
    if side.account == CellAccount.PAYOUT_CASH.value:
        return cells.payout_cash
    account = chart[side.account]
    related = chart[account.related].number if account.related else account.number
    return np.where(cells.is_related, related, account.number).astype(np.int64)


def _numbered(columns: list[I64]) -> Lines:
    """Lines sorted by rule, row, entity and side; each such group is a journal, from 1."""
    rule, row, entity, side, basis, tag, account, cell, amount = columns
    order = np.lexsort((account, side, entity, row, rule))
    rule, row, entity = rule[order], row[order], entity[order]
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(rule) != 0) | (np.diff(row) != 0) | (np.diff(entity) != 0)
    return Lines(
        np.cumsum(starts).astype(np.int64), entity, basis[order], tag[order], account[order], rule,
        cell[order], row, amount[order],
    )  # fmt: skip
