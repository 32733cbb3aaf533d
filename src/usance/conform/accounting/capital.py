"""Examples of share-based compensation and of earnings per share, by the shape of their inputs.

An adapter only renames: it hands an example's inputs to the functions of `capital` and gives back
their answers under the example's own names.

>>> answer = ADAPTERS[frozenset({"options", "average_price"})]
>>> answer({"options": [[999, 10]], "average_price": 13})
{'bought_back': Fraction(9990, 13), 'incremental_shares': Fraction(2997, 13)}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from usance.capital.attribution import (
    costs,
    cumulative,
    differences,
    expected_to_vest,
    graded,
    parts,
    retained_share,
    share_of,
    straight_line,
    straight_line_with_floor,
    units_granted,
)
from usance.capital.per_share import (
    PotentialShares,
    dilution,
    earnings_per_share,
    option_shares,
)

Values = dict[str, Any]


def _patterns(given: Values) -> Values:
    tranches = given["tranches"]
    return {
        "graded_pct": costs(parts(tranches, 100), graded),
        "graded_48ths": costs(parts(tranches, 48), graded),
        "straight_line_pct": costs(parts(tranches, 100), straight_line),
    }


def _floor(given: Values) -> Values:
    award = parts(given["tranches"], given["total"])
    return {
        "straight_line_cumulative": cumulative(award, straight_line),
        "with_floor_cumulative": cumulative(award, straight_line_with_floor),
    }


def _cliff(given: Values) -> Values:
    units = units_granted(given["employees"], given["options"])
    award = parts([(units, given["years"])], given["fair_value"])
    return {
        "expense": costs(
            expected_to_vest(award, [retained_share(given["expected_leavers_pct"])]), graded
        )
    }


def _reestimated(given: Values) -> Values:
    shares = [*given["expected_vest"], share_of(given["vested_options"], given["options"])]
    award = parts([(given["options"], len(shares))], given["fair_value"])
    due = [
        graded(expected_to_vest(award, [share]), year) for year, share in enumerate(shares, start=1)
    ]
    return {"expense": differences(due)}


def _options(given: Values) -> list[PotentialShares]:
    listed = [*given.get("options", ()), *given.get("warrants", ())]
    return [option_shares(shares, exercise_price) for shares, exercise_price in listed]


def _dilution(given: Values) -> Values:
    return {"incremental_shares": dilution(_options(given), given["average_price"]).incremental}


def _bought_back(given: Values) -> Values:
    found = dilution(_options(given), given["average_price"])
    return {"bought_back": found.bought_back, "incremental_shares": found.incremental}


def _per_share(given: Values) -> Values:
    income = given["net_income"] if "net_income" in given else given["profit"]
    found = earnings_per_share(
        income, given["weighted_shares"], _options(given), given["average_price"]
    )
    return {
        "incremental_shares": found.dilution.incremental,
        "basic_eps": found.basic,
        "diluted_eps": found.diluted,
    }


ADAPTERS: dict[frozenset[str], Callable[[Values], Values]] = {
    frozenset({"tranches"}): _patterns,
    frozenset({"total", "tranches"}): _floor,
    frozenset({"employees", "options", "fair_value", "expected_leavers_pct", "years"}): _cliff,
    frozenset({"options", "fair_value", "expected_vest", "vested_options"}): _reestimated,
    frozenset({"average_price", "options"}): _bought_back,
    frozenset({"average_price", "options", "warrants"}): _dilution,
    frozenset({"net_income", "weighted_shares", "options", "average_price"}): _per_share,
    frozenset({"profit", "weighted_shares", "options", "average_price"}): _per_share,
}
"""An adapter for each shape: the names of an example's inputs."""
