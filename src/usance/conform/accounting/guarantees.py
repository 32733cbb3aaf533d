"""Examples of financial guarantees, by the shape of their inputs; adapters only rename.

>>> answer = ADAPTERS[frozenset({"unamortised_premium", "ecl"})]
>>> answer({"unamortised_premium": 500, "ecl": 700})
{'liability': Fraction(700, 1), 'top_up': Fraction(200, 1)}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from usance.books.loans.guarantees import (
    fair_value,
    gross_position,
    higher_of,
    net_position,
    straight_line,
)

Values = dict[str, Any]


def _fair_value(given: Values) -> Values:
    value = fair_value(
        given["principal_m"], given["rate_with"], given["rate_without"], given["years"]
    )
    return {"fair_value_m": value, "annual_release_m": straight_line(value, 1, given["years"])}


def _higher_of(given: Values) -> Values:
    found = higher_of(given["unamortised_premium"], given["ecl"])
    return {"liability": found.liability, "top_up": found.top_up}


def _gross_and_net(given: Values) -> Values:
    facts = (
        given["premium"], given["elapsed"], given["months"], given["collected"],
        given["lifetime_ecl"],
    )  # fmt: skip
    gross, net = gross_position(*facts), net_position(*facts)
    return {
        "us_gaap": {
            "financial_assets_receivable": gross.receivable,
            "stand_ready_liability": gross.stand_ready,
            "contingent_liability": gross.contingent,
            "revenue_to_date": gross.revenue,
            "provision_to_date": gross.provision,
        },
        "ifrs_company_policy": {
            "receivable": net.receivable,
            "stand_ready_liability": net.contract_liability,
            "loss_allowance": net.loss_allowance,
            "revenue_to_date": net.revenue,
        },
    }


ADAPTERS: dict[frozenset[str], Callable[[Values], Values]] = {
    frozenset({"principal_m", "rate_with", "rate_without", "years"}): _fair_value,
    frozenset({"unamortised_premium", "ecl"}): _higher_of,
    frozenset({"premium", "months", "elapsed", "lifetime_ecl", "collected"}): _gross_and_net,
}
"""An adapter for each shape: the names of an example's inputs."""
