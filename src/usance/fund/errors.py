"""Errors of deals, their pools and their payment dates.

InputError
├── DealError             fund.deal         422
├── KernelRefused         fund.kernel       422
├── PoolError             fund.pool         422
└── PaymentDateError      fund.payment      409
"""

from __future__ import annotations

from usance.base.errors import InputError


class DealError(InputError):
    """A deal file contradicts itself or cannot be read; `where` has the file and the line."""

    code = "fund.deal"
    http_status = 422


class KernelRefused(InputError):
    """A deal that only the exact form can run: its numbers do not fit into 64 bits on the way."""

    code = "fund.kernel"
    http_status = 422

    def __init__(self, what: str, *, where: str = "", fix: str = "Use the exact form") -> None:
        super().__init__(what, where=where, fix=fix)


class PoolError(InputError):
    """Loans of a pool cannot be used: not eligible, in two deals, or too few of them."""

    code = "fund.pool"
    http_status = 422


class PaymentDateError(InputError):
    """A payment date does not follow the one before, or its figures do not fit."""

    code = "fund.payment"
    http_status = 409
