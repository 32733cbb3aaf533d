"""Capital: the company's own shares, pay in shares, dividends and repurchases.

The room states facts and computes amounts, all of them cumulative and exact; it never posts.

>>> from datetime import date
>>> from usance.capital import Register, ShareChange, ShareKind
>>> opening = ShareChange(ShareKind.ISSUED, date(2023, 12, 31), 1_000, "USD")
>>> Register((opening,)).outstanding(date(2024, 6, 30))
1000
"""

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
from usance.capital.dividends import (
    Dividend,
    DividendPaid,
    Entitlement,
    Market,
    payable_minor,
    payout,
)
from usance.capital.documents.capital import read_capital
from usance.capital.facts import CapitalFact, facts_of, records_of
from usance.capital.options import Pricing, option_value
from usance.capital.pay import IFRS, US_GAAP, Policy, cost_by_function, cost_minor
from usance.capital.per_share import PerShare, Potential, earnings_per_share, option
from usance.capital.period import income_per_share, pay_by_function
from usance.capital.records import Capital
from usance.capital.register import Register, ShareChange, ShareKind
from usance.capital.repurchases import Programme, Utilisation, utilisation

__all__ = [
    "IFRS", "US_GAAP", "Award", "Capital", "CapitalFact", "CostFunction", "Dividend",
    "DividendPaid", "Entitlement", "Estimate", "Grant", "Holding", "Market", "PerShare",
    "Policy", "Potential", "Pricing", "Programme", "Register", "ShareChange", "ShareKind",
    "Source", "Tranche", "UnitChange", "UnitKind", "Utilisation", "cost_by_function",
    "cost_minor", "earnings_per_share", "facts_of", "income_per_share", "option",
    "option_value", "pay_by_function", "payable_minor", "payout", "read_capital", "records_of",
    "utilisation",
]  # fmt: skip
