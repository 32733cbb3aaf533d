"""Errors of records about a company's own shares.

InputError
└── CapitalError                capital                  422
    ├── AwardError              capital.award            422
    ├── PricingError            capital.pricing          422
    ├── RegisterError           capital.register         422
    ├── PerShareError           capital.per_share        422
    ├── DividendError           capital.dividend         422
    └── RepurchaseError         capital.repurchase       422
"""

from __future__ import annotations

from usance.base.errors import InputError


class CapitalError(InputError):
    """A fact about shares, share-based compensation, dividends or repurchases cannot be true."""

    code = "capital"
    http_status = 422


class AwardError(CapitalError):
    """An award contradicts itself, or what happened to it does not fit it."""

    code = "capital.award"


class PricingError(CapitalError):
    """An option cannot be priced from what is given."""

    code = "capital.pricing"


class RegisterError(CapitalError):
    """More shares are taken from the register than it holds."""

    code = "capital.register"


class PerShareError(CapitalError):
    """A figure per share has nothing to be divided by."""

    code = "capital.per_share"


class DividendError(CapitalError):
    """The dates or payments of a dividend do not fit together."""

    code = "capital.dividend"


class RepurchaseError(CapitalError):
    """A repurchase lies outside its programme."""

    code = "capital.repurchase"
