"""A deal at another size: every amount of its file by one share, its last class by what is left.

A pool comes within one loan of what was wanted. The classes with a rate keep their size; the class
that lives on the residual takes the difference, so that the proceeds pay for the pool and fill the
accounts. Numbers inside formulas stay as they are: write them as shares of the pool.

>>> deal = {
...     "pool": {"balance_minor": 1000}, "accounts": {"reserve": 10},
...     "classes": [{"name": "A", "balance_minor": 800, "rate_ppm": 40_000},
...                 {"name": "S", "balance_minor": 210}],
... }
>>> made = scaled_deal(deal, Fraction(1, 2), 498)
>>> [each["balance_minor"] for each in made["classes"]], made["price_minor"], made["accounts"]
([400, 103], 498, {'reserve': 5})
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from fractions import Fraction
from typing import Any

from usance.base.money import half_up


def scaled_deal(given: Mapping[str, Any], share: Fraction, pool_minor: int) -> dict[str, Any]:
    """The mapping of a deal file at a share of its size, on a pool of so much principal."""
    made: dict[str, Any] = deepcopy(dict(given))

    def part(minor: int) -> int:
        return half_up(minor * share.numerator, share.denominator)

    def parts(minor: int | list[int]) -> int | list[int]:
        return [part(each) for each in minor] if isinstance(minor, list) else part(minor)

    for each in made["classes"]:
        for key in ("balance_minor", "targets_minor"):
            if key in each:
                each[key] = parts(each[key])
    for fee in made.get("fees", []):
        if "fixed_minor" in fee:
            fee["fixed_minor"] = part(fee["fixed_minor"])
    if "accounts" in made:
        made["accounts"] = {name: part(minor) for name, minor in made["accounts"].items()}
    if "purchase" in made:
        made["purchase"]["supply_minor"] = parts(made["purchase"]["supply_minor"])
    made["pool"]["balance_minor"] = pool_minor
    held = sum(made.get("accounts", {}).values())
    last = made["classes"][-1]
    if not last.get("rate_ppm"):
        others = sum(each["balance_minor"] for each in made["classes"][:-1])
        last["balance_minor"] = max(pool_minor + held - others, 0)
    made["price_minor"] = sum(each["balance_minor"] for each in made["classes"]) - held
    return made
