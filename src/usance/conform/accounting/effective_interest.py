"""Examples of effective interest, by the shape of their inputs.

An adapter only renames: it hands an example's inputs to the functions of the books and gives back
their answers under the example's own names.

>>> answer = ADAPTERS[frozenset({"carrying", "eir", "revised_cash_flows"})]
>>> answer({"carrying": 100, "eir": 0, "revised_cash_flows": {"1": 60, "2": 50}})
{'revised_carrying': Fraction(110, 1), 'gain': Fraction(10, 1)}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from usance.books.effective_interest.contract import (
    bullet,
    by_numbers,
    fee_amortisation,
    level,
    repaid_early,
    revised,
)
from usance.books.effective_interest.instruments import (
    acquisition_cost,
    at_amortised_cost,
    coupon_of,
    dated_bond,
    discount_at_issue,
    level_until_repaid,
    net_investment,
)
from usance.conform.accounting.dates import open_date, yearly

Values = dict[str, Any]


def _dated_bond(given: Values) -> Values:
    cost = acquisition_cost(given["price"], given["fee"])
    acquired, days = open_date(given["acquired"]), yearly(given["coupons"])
    held = at_amortised_cost(cost, dated_bond(acquired, days, given["coupon"], given["face"]))
    return {"eir_pct": held.rate_pct, "opening_interest_cash_closing": held.table}


def _discount_bond(given: Values) -> Values:
    cost = acquisition_cost(given["initial_fair_value"], given["transaction_costs"])
    held = at_amortised_cost(cost, bullet(given["coupon"], given["nominal"], given["years"]))
    return {
        "eir_pct": held.rate_pct,
        "interest": [period.interest for period in held.table],
        "amortised_cost_end": [period.closing for period in held.table],
    }


def _revision(given: Values) -> Values:
    flows = by_numbers(given["revised_cash_flows"])
    found = revised(given["carrying"], flows, given["eir"])
    return {"revised_carrying": found.carrying, "gain": found.gain}


def _bond_below_par(given: Values) -> Values:
    coupon = coupon_of(given["par"], given["coupon"])
    held = at_amortised_cost(given["price"], bullet(coupon, given["par"], given["years"]))
    return {
        "eir_pct": held.rate_pct,
        "year1_interest": held.first_interest,
        "discount": discount_at_issue(given["par"], given["price"]),
    }


def _loan_with_fee(given: Values) -> Values:
    cost = net_investment(given["principal"], given["fee"], given["direct_costs"])
    held = at_amortised_cost(cost, level(given["annual_payment"], given["years"]))
    amortised = fee_amortisation(given["principal"], given["stated_rate"], held.table)
    return {
        "net_carrying": held.cost,
        "eir_pct": held.rate_pct,
        "amortization": amortised.periods,
        "total_amortization": amortised.total,
    }


def _contractual_and_expected(given: Values) -> Values:
    contractual = level_until_repaid(
        given["principal"], given["stated_rate"], given["annual_payment"]
    )
    expected = repaid_early(contractual, given["prepay_after"], given["balance_prepaid"])
    us_gaap = at_amortised_cost(given["net_carrying"], contractual)
    ifrs = at_amortised_cost(given["net_carrying"], expected)
    return {
        "us_gaap_eir_pct": us_gaap.rate_pct,
        "ifrs_eir_pct": ifrs.rate_pct,
        "us_gaap_income_year1": us_gaap.first_interest,
        "ifrs_income_year1": ifrs.first_interest,
    }


ADAPTERS: dict[frozenset[str], Callable[[Values], Values]] = {
    frozenset({"price", "fee", "face", "coupon", "acquired", "coupons"}): _dated_bond,
    frozenset(
        {"initial_fair_value", "transaction_costs", "nominal", "coupon", "years"}
    ): _discount_bond,
    frozenset({"carrying", "eir", "revised_cash_flows"}): _revision,
    frozenset({"price", "par", "coupon", "years"}): _bond_below_par,
    frozenset(
        {"principal", "stated_rate", "annual_payment", "fee", "direct_costs", "years"}
    ): _loan_with_fee,
    frozenset(
        {
            "principal", "stated_rate", "annual_payment", "net_carrying", "prepay_after",
            "balance_prepaid",
        }
    ): _contractual_and_expected,
}  # fmt: skip
"""An adapter for each shape: the names of an example's inputs."""
