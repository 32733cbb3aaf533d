"""Capital: the company's own shares, share-based compensation, dividends and repurchases.

The room states facts and computes amounts, all of them cumulative and exact; it never posts.

>>> from datetime import date
>>> from usance.capital import Register, ShareChange, ShareKind
>>> opening = ShareChange(ShareKind.ISSUED, date(2023, 12, 31), 1_000, "USD")
>>> Register((opening,)).outstanding(date(2024, 6, 30))
1000
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.capital.awards import (
        Award,
        CostFunction,
        Estimate,
        Grant,
        Holding,
        Source,
        Tranche,
        UnitChange,
        UnitKind,
    )
    from usance.capital.dilution import income_per_share
    from usance.capital.dividends import (
        Dividend,
        DividendPaid,
        Entitlement,
        Market,
        payable_minor,
        payout,
    )
    from usance.capital.documents.record import read_capital
    from usance.capital.errors import (
        AwardError,
        CapitalError,
        DividendError,
        PerShareError,
        PricingError,
        RegisterError,
        RepurchaseError,
    )
    from usance.capital.facts import CapitalFact, facts_of, records_of
    from usance.capital.options import Pricing, option_value
    from usance.capital.per_share import (
        PerShare,
        PotentialShares,
        earnings_per_share,
        option_shares,
    )
    from usance.capital.records import Capital
    from usance.capital.register import Register, ShareChange, ShareKind
    from usance.capital.repurchases import Programme, Utilisation, utilisation
    from usance.capital.share_based_compensation import (
        IFRS,
        US_GAAP,
        RecognitionPolicy,
        compensation_by_function,
        cost_by_function,
        cost_minor,
    )

__all__ = [
    "IFRS", "US_GAAP", "Award", "AwardError", "Capital", "CapitalError", "CapitalFact",
    "CostFunction", "Dividend", "DividendError", "DividendPaid", "Entitlement", "Estimate", "Grant",
    "Holding", "Market", "PerShare", "PerShareError", "PotentialShares", "Pricing", "PricingError",
    "Programme", "RecognitionPolicy", "Register", "RegisterError", "RepurchaseError", "ShareChange",
    "ShareKind", "Source", "Tranche", "UnitChange", "UnitKind", "Utilisation",
    "compensation_by_function", "cost_by_function", "cost_minor", "earnings_per_share", "facts_of",
    "income_per_share", "option_shares", "option_value", "payable_minor", "payout", "read_capital",
    "records_of", "utilisation",
]  # fmt: skip

_MODULES = {
    "awards": (
        "Award",
        "CostFunction",
        "Estimate",
        "Grant",
        "Holding",
        "Source",
        "Tranche",
        "UnitChange",
        "UnitKind",
    ),
    "dilution": ("income_per_share",),
    "dividends": ("Dividend", "DividendPaid", "Entitlement", "Market", "payable_minor", "payout"),
    "documents.record": ("read_capital",),
    "errors": (
        "CapitalError",
        "AwardError",
        "PricingError",
        "RegisterError",
        "PerShareError",
        "DividendError",
        "RepurchaseError",
    ),
    "facts": ("CapitalFact", "facts_of", "records_of"),
    "options": ("Pricing", "option_value"),
    "per_share": ("PerShare", "PotentialShares", "earnings_per_share", "option_shares"),
    "records": ("Capital",),
    "register": ("Register", "ShareChange", "ShareKind"),
    "repurchases": ("Programme", "Utilisation", "utilisation"),
    "share_based_compensation": (
        "IFRS",
        "US_GAAP",
        "RecognitionPolicy",
        "compensation_by_function",
        "cost_by_function",
        "cost_minor",
    ),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
