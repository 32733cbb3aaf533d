"""Worked examples of expected losses: each goes to the function the close uses, by its inputs.

Nothing is computed here; names are changed and that is all.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from usance.books.effective_interest.contract import interest_on
from usance.books.losses.expectation import (
    adjusted_rate,
    discounted_shortfalls,
    expected_loss,
    loss_rate,
    remaining_losses,
    shortfall,
)
from usance.books.losses.provision_matrices import flow_rates, provision_matrix

Given = dict[str, Any]


def _by_default(given: Given) -> Given:
    loss = expected_loss(given["gross_carrying_amount"], given["pd_12m"], given["lgd"])
    return {"loss_allowance": loss}


def _by_age(given: Given) -> Given:
    matrix = provision_matrix(given["buckets"])
    return {
        "exact": list(matrix.allowances),
        "as_published": list(matrix.published),
        "allowance": list(matrix.allowances),
        "total": matrix.total,
        "gross": matrix.gross,
    }


def _impaired(given: Given) -> Given:
    return {"interest_revenue": interest_on(given["net_carrying_amount"], given["eir"])}


def _by_flow(given: Given) -> Given:
    entering, closing = given["outstanding_entering_bucket"], given["closing_ageing"]
    rates = dict(
        zip(entering, flow_rates(list(entering.values()), given["never_paid"]), strict=True)
    )
    matrix = provision_matrix((amount, rates[age]) for age, amount in closing.items())
    return {
        "loss_rate_pct": [expected_loss(100, rate) for rate in rates.values()],
        "allowance": list(matrix.allowances),
        "total": matrix.total,
    }


def _by_group(given: Given) -> Given:
    return {
        f"{name}_rate_pct": [
            expected_loss(100, loss_rate(loss, group["exposure_per_client"], group["clients"]))
            for loss in group["pv_loss"]
        ]
        for name, group in given.items()
    }


def _by_cash(given: Given) -> Given:
    yearly = shortfall(given["face"], given["coupon"], given["expected_return"])
    lifetime = discounted_shortfalls(repeat(yearly, given["years"]), given["eir"])
    return {"shortfall_per_year": yearly, "lifetime_ecl": lifetime}


def _by_rate(given: Given) -> Given:
    history = given["historical_lifetime_loss_rate"]
    rate = adjusted_rate(history, given["adj_real_estate"], given["adj_unemployment"])
    return {
        "expected_loss_rate": rate,
        "allowance": expected_loss(given["amortized_cost"], rate),
    }


def _by_vintage(given: Given) -> Given:
    losses, elapsed = given["losses_by_vintage_and_age"], given["elapsed_years"]
    remaining = {name: remaining_losses(losses[name], years) for name, years in elapsed.items()}
    return {"remaining": remaining, "allowance": remaining_losses([*remaining.values()], 0)}


ADAPTERS: dict[frozenset[str], Callable[[Given], Given]] = {
    frozenset({"gross_carrying_amount", "pd_12m", "lgd"}): _by_default,
    frozenset({"buckets"}): _by_age,
    frozenset({"net_carrying_amount", "eir"}): _impaired,
    frozenset({"sales", "outstanding_entering_bucket", "never_paid", "closing_ageing"}): _by_flow,
    frozenset({"X", "Y"}): _by_group,
    frozenset({"face", "coupon", "eir", "years", "expected_return"}): _by_cash,
    frozenset(
        {"amortized_cost", "historical_lifetime_loss_rate", "adj_real_estate", "adj_unemployment"}
    ): _by_rate,
    frozenset({"losses_by_vintage_and_age", "elapsed_years"}): _by_vintage,
}
"""By the names of an example's inputs. What is not asked for in an answer is left out by the
reader: one matrix can be asked for its exact or its published allowances."""
