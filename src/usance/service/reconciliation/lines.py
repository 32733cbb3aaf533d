"""Lines of one view as columns: what was expected, what a provider reports, what a bank booked.

>>> from usance.service.bank_files.statement import FileLine
>>> lines = Lines.of(
...     [FileLine(2, "OR1", 900_00, "CNY", date(2024, 7, 1), batch="B1", fee_minor=90)]
... )
>>> len(lines), lines.reference.to_pylist(), int(lines.amount_minor[0] - lines.fee_minor[0])
(1, ['OR1'], 89910)
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from usance.base.arrays import I32, I64
from usance.base.dates import to_day
from usance.service.bank_files.statement import FileLine
from usance.service.errors import LineError
from usance.service.orders.payment_order import PaymentOrder, Purpose

_TEXTS = ("reference", "party", "batch", "currency")


class Lines(NamedTuple):
    """Columns of a view; money that comes in is positive, an empty text says nothing."""

    reference: pa.Array
    amount_minor: I64
    day: I32
    party: pa.Array
    batch: pa.Array
    fee_minor: I64
    loan_id: I64
    """0 where a line names none."""
    currency: pa.Array

    def __len__(self) -> int:
        return len(self.amount_minor)

    @classmethod
    def of(cls, lines: Iterable[FileLine]) -> Lines:
        """Lines of files."""
        rows = list(lines)
        return cls.columns(
            reference=[each.reference for each in rows],
            amount_minor=[each.amount_minor for each in rows],
            day=[to_day(each.booked_on) for each in rows],
            party=[each.party for each in rows],
            batch=[each.batch for each in rows],
            fee_minor=[each.fee_minor for each in rows],
            loan_id=[each.loan_id for each in rows],
            currency=[each.currency for each in rows],
        )

    @classmethod
    def of_orders(cls, orders: Iterable[PaymentOrder], day: date) -> Lines:
        """Movements of a day that orders state: one line each, returns the other way.

        An order for several loans names none here; its split is its own.
        """
        rows = [
            (order, sign * moved.amount_minor)
            for order in orders
            for sign, movements in ((1, order.settlements), (-1, order.returns))
            for moved in movements
            if moved.on == day
        ]
        return cls.columns(
            reference=[order.reference for order, _ in rows],
            amount_minor=[_signed(order, amount) for order, amount in rows],
            day=[to_day(day)] * len(rows),
            loan_id=[order.splits[0].loan_id if len(order.splits) == 1 else 0 for order, _ in rows],
            currency=[order.currency for order, _ in rows],
        )

    @classmethod
    def columns(cls, **given: Any) -> Lines:
        """Lines from columns by name; those that are left out say nothing."""
        size = len(given["amount_minor"])
        made: dict[str, Any] = {}
        for name in cls._fields:
            if name in _TEXTS:
                values = given.get(name)
                made[name] = (
                    pa.array([""] * size, pa.string()) if values is None
                    else pa.array(values, pa.string())
                )  # fmt: skip
            else:
                kind = np.int32 if name == "day" else np.int64
                values = given.get(name)
                made[name] = np.zeros(size, kind) if values is None else np.asarray(values, kind)
        lengths = {name: len(values) for name, values in made.items()}
        if len(set(lengths.values())) > 1:
            raise LineError(f"columns of lengths {lengths}", where="lines", fix="Align them")
        return cls(**made)


def _signed(order: PaymentOrder, amount_minor: int) -> int:
    return amount_minor if order.purpose is Purpose.DEBIT else -amount_minor
