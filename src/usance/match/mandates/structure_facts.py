"""Funding of a trust or microcredit source as rows of `group_facts`.

Money raised when the mandate begins and repaid when it ends, the investors' interest on each
distribution day (actual/365, cumulative, rounded once), loans bought out, and the platform's part
of what is left. Kinds are words; the books number them by the same words.

>>> from datetime import date
>>> from usance.base.codes import FundingModel
>>> from usance.match.mandates.mandate import Mandate, Structure
>>> trust = Mandate(
...     source=7, entity=4, valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31),
...     model=FundingModel.ON_BALANCE_SHEET, coupon_ppm=73_000,
...     structure=Structure(capital_minor=1_000_000_00, residual_ppm=900_000),
... )  # fmt: skip
>>> made = structure_facts(
...     trust, "CNY", until=date(2024, 2, 29), left_over=[(date(2024, 2, 1), 50)]
... )
>>> [
...     (str(each.effective_on), each.kind, each.amount_minor) for each in made
... ]  # doctest: +NORMALIZE_WHITESPACE
[('2024-01-01', 'funding_raised', 100000000),
 ('2024-01-31', 'funding_interest_paid', 600000),
 ('2024-02-01', 'residual_distributed', 45),
 ('2024-02-29', 'funding_interest_paid', 580000)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from usance.base.dates import last_of_month, to_month
from usance.base.daycount import DayCount, year_fraction
from usance.base.errors import AmountError, raise_all
from usance.base.money import half_up
from usance.base.rates import PPM, Rate
from usance.match.mandates.mandate import Distribution, Mandate, Structure

RAISED, REPAID, INTEREST = "funding_raised", "funding_repaid", "funding_interest_paid"
BOUGHT_OUT, RESIDUAL = "trust_buy_out", "residual_distributed"
INVESTORS, LENDERS = "trust_investors", "short_term_loans"
_EVERY = {Distribution.MONTHLY: 1, Distribution.QUARTERLY: 3, Distribution.YEARLY: 12}

Amounts = Sequence[tuple[date, int]]


@dataclass(frozen=True, slots=True)
class SourceFact:
    """One row of `group_facts`, its kind as a word and its detail as plain JSON values."""

    kind: str
    entity: int
    effective_on: date
    currency: str
    amount_minor: int
    party: int = 0
    detail: dict[str, Any] = field(default_factory=dict)


def structure_facts(
    mandate: Mandate, currency: str, *, until: date, buyer: int = 1, bought_out: Amounts = (),
    left_over: Amounts = (),
) -> list[SourceFact]:  # fmt: skip
    """Facts of a mandate's structure up to a day, in order of day.

    `bought_out` is what the entity `buyer` paid for loans past `buy_out_days`; `left_over` what
    remained after the investors, of which the structure's residual part is distributed.
    """
    structure = mandate.structure
    if structure is None:
        return []
    raise_all(
        [
            AmountError(
                f"{amount} on {day}", where=f"source {mandate.source}", fix="Give 0 or more"
            )
            for day, amount in (*bought_out, *left_over)
            if amount < 0
        ]
    )
    deal = f"source {mandate.source}, version {mandate.version}"
    rows = list(_funding(mandate, structure, deal))
    rows += [(day, BOUGHT_OUT, amount, {"buyer": buyer}) for day, amount in bought_out]
    rows += [
        (day, RESIDUAL, amount * structure.residual_ppm // PPM, {}) for day, amount in left_over
    ]
    party = mandate.institution or mandate.source
    return [
        SourceFact(kind, mandate.entity, day, currency, amount, party, detail)
        for day, kind, amount, detail in sorted(rows, key=lambda row: row[0])
        if amount and day <= until
    ]


def _funding(
    mandate: Mandate, structure: Structure, deal: str
) -> Iterator[tuple[date, str, int, dict[str, Any]]]:
    capital, start, end = structure.capital_minor, mandate.valid_from, mandate.valid_to
    lender = LENDERS if mandate.microcredit else INVESTORS
    terms = {"deal": deal, "lender": lender, "rate": str(Rate(mandate.coupon_ppm))}
    yield start, RAISED, capital, terms
    days = [start, *_distribution_days(structure.distribution, start, end)]
    owed = [_interest(capital, mandate.coupon_ppm, start, day) for day in days]
    for day, (before, now) in zip(days[1:], pairwise(owed), strict=True):
        yield day, INTEREST, now - before, {"deal": deal}
    yield end, REPAID, capital, {"deal": deal}


def _distribution_days(how: Distribution, start: date, end: date) -> Iterator[date]:
    """Month ends of every month, quarter or year before the end, and the end itself."""
    every = _EVERY.get(how)
    for month in range(to_month(start), to_month(end) + 1) if every else ():
        last = last_of_month(month)
        if (month + 1) % (every or 1) == 0 and start < last < end:
            yield last
    if end > start:
        yield end


def _interest(capital_minor: int, coupon_ppm: int, start: date, day: date) -> int:
    share = year_fraction(start, day, DayCount.ACT_365) * coupon_ppm
    return half_up(capital_minor * share.numerator, share.denominator * PPM)
