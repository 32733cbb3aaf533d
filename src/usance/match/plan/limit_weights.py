"""Limits as weights on what is placed by slot of time and column: one form for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns

# A price above this (four times the amount lent) never means anything.
NO_MAX = 4.0 * PPB


@dataclass
class LimitWeights:
    """Limits collected one by one; each has a number in the file, 0 if it stands for none."""

    columns: SourceColumns
    slots: int
    limit: list[I64] = field(default_factory=list)
    cell: list[I64] = field(default_factory=list)
    weight: list[F64] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    most_price: list[float] = field(default_factory=list)
    number: list[int] = field(default_factory=list)

    def lent(self, column: int) -> float:
        """The part of a loan a column lends itself."""
        return 1.0 - int(self.columns.own_ppm[column]) / PPM

    def of_column(
        self, number: int, column: int, slots: I64, bound: float, *, least: bool = False,
        most_price: float = NO_MAX,
    ) -> None:  # fmt: skip
        """A limit on what one column lends in some slots: at most its bound, or at least."""
        sign = -1.0 if least else 1.0
        cells = slots * len(self.columns.source) + column
        weights = np.full(len(cells), sign * self.lent(column))
        self._add(number, cells, weights, sign * bound, most_price)

    def of_all(self, number: int, weights: F64, bound: float) -> None:
        """A limit on everything placed, with a weight for each column."""
        columns = len(self.columns.source)
        cells = np.arange(self.slots * columns)
        kept = np.tile(weights, self.slots)
        self._add(number, cells[kept != 0], kept[kept != 0], bound, NO_MAX)

    def _add(self, number: int, cells: I64, weights: F64, bound: float, most_price: float) -> None:
        self.limit.append(np.full(len(cells), len(self.bound), np.int64))
        self.cell.append(cells)
        self.weight.append(weights)
        self.bound.append(bound)
        self.most_price.append(most_price)
        self.number.append(number)

    def arrays(self) -> tuple[I64, I64, F64, F64, F64]:
        """Limit, cell and weight of every entry; bound and highest price of every limit."""
        empty: list[I64] = [np.zeros(0, np.int64)]
        return (
            np.concatenate(self.limit or empty),
            np.concatenate(self.cell or empty),
            np.concatenate(self.weight or [np.zeros(0)]),
            np.array(self.bound, np.float64),
            np.array(self.most_price, np.float64),
        )


def model_weights(columns: SourceColumns, model: int, share_ppm: int) -> F64:
    """Weights of a limit on a model's share of everything placed."""
    weights: F64 = (columns.model == model).astype(np.float64) - share_ppm / PPM
    return weights
