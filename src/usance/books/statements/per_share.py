"""Income per share and per ADS of a period, from the register and the awards in the group's facts.

Weighted shares and dilution come from `usance.capital`; the figure per ADS is the printed figure
per share times the ratio.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from usance.base.codes import Currency
from usance.books.group.facts import GroupFact
from usance.books.group.shares import holdings_of, register_of
from usance.capital.dilution import potential_shares
from usance.capital.per_share import (
    PerShare,
    earnings_per_share,
    per_ads_printed,
    per_share_printed,
)
from usance.capital.prices import Number, whole
from usance.capital.share_based_compensation import US_GAAP

_SHARE = "Net income per ordinary share attributable to ordinary shareholders of {}"
_ADS = "Net income per ADS attributable to ordinary shareholders of {}"
_WEIGHTED = "Weighted average shares used in calculating net income per ordinary share"


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A figure per share, or a number of shares, as printed."""

    statement: str
    line: str
    parent: str
    period: str
    unit: str
    value: Decimal


def per_share(
    facts: Iterable[GroupFact], income_minor: int, currency: Currency, first: date, last: date,
    average_price: Number,
) -> PerShare:  # fmt: skip
    """Basic and diluted income per share in major units; `average_price` is that of one share."""
    given = list(facts)
    shares = register_of(given).average(first, last)
    held = [holding for _, holding in holdings_of(given).values()]
    income = Fraction(income_minor, 10**currency.exponent)
    potentials = potential_shares(held, US_GAAP, first, last)
    return earnings_per_share(income, shares, potentials, average_price)


def per_share_rows(
    found: PerShare, income_minor: int, currency: Currency, company: str, period: str,
    ads_ratio: int,
) -> list[ShareRow]:  # fmt: skip
    """The lines below the statement of operations; figures are made from printed share counts."""
    income = Fraction(income_minor, 10**currency.exponent)
    counts = {
        "Basic": whole(found.weighted_shares), "Diluted": whole(found.diluted_shares)
    }  # fmt: skip
    each = {line: per_share_printed(income, count) for line, count in counts.items()}
    ads = {line: per_ads_printed(value, ads_ratio) for line, value in each.items()}
    weighted = {line: Decimal(count) for line, count in counts.items()}
    groups = (
        (_SHARE.format(company), "per_share", each),
        (_ADS.format(company), "per_ads", ads),
        (_WEIGHTED, "shares", weighted),
    )
    return [
        ShareRow("per_share", line, parent, period, unit, value)
        for parent, unit, values in groups
        for line, value in values.items()
    ]
