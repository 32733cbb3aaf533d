r"""Stated facts of a group at the scale of a run: amounts and numbers of shares, but no prices.

An entry must still balance when its lines are rounded; the last line of each entity and currency
takes what is left.

>>> print(scaled_facts("facts: [{id: 1, kind: subsidy, amount: 100.00}]", 500_000_000, "CNY"))
{"facts": [{"id": 1, "kind": "subsidy", "amount": "50.00"}]}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from usance.base.documents import parse_yaml
from usance.base.money import Money, half_up
from usance.base.rates import PPB

_AMOUNTS = ("amount", "face", "costs", "non_controlling", "never_paid", "bought")
_COUNTS = ("quantity", "units", "units_each", "shares")
"""Numbers of shares and awards; so many events of a price are counted by the run itself."""
_BALANCED = ("opening_balance", "manual_entry")


def scaled_facts(content: str, scale_ppb: int, currency: str) -> str:
    """The facts of a YAML text at a scale, as JSON."""
    given = parse_yaml(content, where="group facts")
    rows = given.get("facts", []) if isinstance(given, dict) else []
    scaled = [_fact(row, scale_ppb, currency) for row in rows]
    return json.dumps({"facts": scaled}, default=str, ensure_ascii=False)


def _fact(row: Mapping[str, Any], scale_ppb: int, home: str) -> dict[str, Any]:
    currency = str(row.get("currency", home))
    scaled = dict(_scaled(row, scale_ppb, currency))
    if row.get("kind") in _BALANCED and isinstance(row.get("lines"), list):
        scaled["lines"] = _balanced(row, scaled["lines"], currency)
    return scaled


def _scaled(row: Mapping[str, Any], scale_ppb: int, currency: str) -> dict[str, Any]:
    own = str(row.get("currency", currency))
    return {key: _value(key, value, scale_ppb, own) for key, value in row.items()}


def _value(key: str, value: Any, scale_ppb: int, currency: str) -> Any:
    if key in _AMOUNTS:
        return _amount(value, scale_ppb, currency)
    if key in _COUNTS and type(value) is int:
        return max(1, half_up(value * scale_ppb, PPB))
    if key == "entering" and isinstance(value, list):
        return [_amount(each, scale_ppb, currency) for each in value]
    if isinstance(value, list):
        return [
            _scaled(each, scale_ppb, currency) if isinstance(each, dict) else each for each in value
        ]
    return value


def _amount(value: Any, scale_ppb: int, currency: str) -> str:
    number, _, unit = str(value).partition(" ")
    money = Money.parse(Decimal(number), unit or currency)
    scaled = Money(half_up(money.minor * scale_ppb, PPB), unit or currency)
    return f"{scaled.number}{f' {unit}' if unit else ''}"


def _balanced(
    row: Mapping[str, Any], lines: list[dict[str, Any]], currency: str
) -> list[dict[str, Any]]:
    """Lines that sum to zero where those written do."""
    key: Callable[[Mapping[str, Any]], tuple[object, str]] = lambda line: (  # noqa: E731
        line.get("entity", row.get("entity")), str(line.get("currency", currency))
    )  # fmt: skip
    written: dict[Any, int] = {}
    found: dict[Any, int] = {}
    for before, after in zip(row["lines"], lines, strict=True):
        code = key(before)[1]
        minor = Money.parse(Decimal(str(before["amount"])), code).minor
        written[key(before)] = written.get(key(before), 0) + minor
        minor = Money.parse(Decimal(after["amount"]), code).minor
        found[key(before)] = found.get(key(before), 0) + minor
    for place in range(len(lines) - 1, -1, -1):
        group = key(row["lines"][place])
        rest = found.pop(group, 0)
        if rest and not written[group]:
            minor = Money.parse(Decimal(lines[place]["amount"]), group[1]).minor
            lines[place]["amount"] = Money(minor - rest, group[1]).number
    return lines
