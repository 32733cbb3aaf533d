"""Errors of deals, their pools and their payment dates.

InputError
├── DealError             fund.deal         422
├── PoolError             fund.pool         422
└── PaymentDateError      fund.payment      409
"""

from __future__ import annotations

from usance.base.errors import InputError


class DealError(InputError):
    """A deal file contradicts itself or cannot be read; `where` has the file and the line."""

    code = "fund.deal"
    http_status = 422


class PoolError(InputError):
    """Loans of a pool cannot be used: not eligible, in two deals, or too few of them."""

    code = "fund.pool"
    http_status = 422


class PaymentDateError(InputError):
    """A payment date does not follow the one before, or its figures do not fit."""

    code = "fund.payment"
    http_status = 409
