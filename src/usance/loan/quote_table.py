"""Quotes of many loans from a file: cost and annual rates of each, a row each.

A loan that may not be offered, such as one above the cap, keeps its row: its figures are empty and
`refused` says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from usance.base.dates import from_day
from usance.base.errors import UsanceError
from usance.base.packs import CountryPack
from usance.base.progress import with_progress
from usance.loan.convention import CONVENTIONS
from usance.loan.documents.terms import vat_on
from usance.loan.loan_tables import KERNEL_NAMES, LoanTable
from usance.loan.quote import Quote, quote
from usance.loan.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {number: name for name, number in KERNEL_NAMES.items()}
AMOUNTS = ("instalment_minor", "total_to_pay_minor", "cost_minor", "vat_minor")
RATES = ("nominal_ppb", "effective_ppb", "simple_ppb", "us_apr_ppb", "eu_apr_ppb")


def quote_table(loans: LoanTable, pack: CountryPack) -> pa.Table:
    """The quote of every loan of a table under the rules of a country pack."""
    import pyarrow as pa

    rows = [_row(terms, pack) for terms in
            with_progress("pricing loans", _terms(loans, pack), len(loans.loans))]  # fmt: skip
    columns: dict[str, Any] = {"loan": pa.array(loans.loans, pa.string())}
    for name in ("principal_minor", *AMOUNTS, *RATES):
        columns[name] = pa.array([each.get(name) for each in rows], pa.int64())
    columns["refused"] = pa.array([each.get("refused", "") for each in rows], pa.string())
    return pa.table(columns)


def _terms(loans: LoanTable, pack: CountryPack) -> Iterator[Terms]:
    """The terms of each row."""
    given = loans.terms
    for row in range(len(given)):
        start = from_day(int(given.disbursed_on[row]))
        yield Terms(
            principal_minor=int(given.principal_minor[row]), rate_ppm=int(given.rate_ppm[row]),
            instalments=int(given.instalments[row]), disbursed_on=start,
            first_due_on=from_day(int(given.first_due_on[row])),
            convention=CONVENTIONS[_NAMES[int(given.convention[row])]], currency=pack.currency,
            coupon_ppm=int(given.coupon_ppm[row]),
            flat_fee_minor=int(given.flat_fee_minor[row]),
            guarantee_fee_minor=int(given.guarantee_fee_minor[row]),
            vat_ppm=vat_on(start, pack.parameters),
        )  # fmt: skip


def _row(terms: Terms, pack: CountryPack) -> dict[str, Any]:
    principal = {"principal_minor": terms.principal_minor}
    try:
        offer: Quote = quote(terms, pack.parameters)
    except UsanceError as error:
        return {**principal, "refused": error.what}
    figures = {name: getattr(offer, name) for name in AMOUNTS}
    return {**principal, **figures, **{name: getattr(offer.rates, name) for name in RATES}}
