"""The shapes that travel between Python and the kernel."""

from __future__ import annotations

from typing import TypeAlias

from usance.base.arrays import I8, I16, I32, I64

Plan: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The terms of one loan with what follows from its dates; `plan` names the places."""

State: TypeAlias = I64
"""The eighteen slots of a loan, with work space behind them; `fold` names the slots."""

TermArrays: TypeAlias = tuple[I64, I32, I32, I16, I32, I32, I64, I64, I16]
"""principal, rate, coupon, instalments, disbursed day, first due day, flat fee, guarantee fee,
convention code."""

FactArrays: TypeAlias = tuple[I64, I32 | I64, I8 | I64, I64, I64]
"""offsets (one more than loans), day, kind, amount, arg; of one loan all have 64 bits."""

Order: TypeAlias = I8
"""Thirteen buckets in order, `when * 4 + component` and 12 for penalties; then 1 if swept by
instalment; then the first bucket of coming instalments if what is due comes before it, else 0."""
