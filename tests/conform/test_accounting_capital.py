"""Adapters of the examples on share-based compensation and per share: every shape and answer."""

from __future__ import annotations

import ast
import inspect
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from usance.capital.prices import exact, rounded
from usance.conform.accounting import capital
from usance.conform.accounting.capital import ADAPTERS

# What the standards say where the case file leaves its answers open.
ANSWERS: dict[str, dict[str, Any]] = {
    "sbc_floor": {
        "straight_line_cumulative": [Decimal("333.33"), Decimal("666.67"), 1000],
        "with_floor_cumulative": [500, 750, 1000],
    },
    "sbc_ifrs2_reestimate": {"expense": [212_500, 227_500, 224_500]},
    "eps_tsm_1": {
        "incremental_shares": 4_000, "basic_eps": Decimal("2.26"), "diluted_eps": Decimal("2.09"),
    },
    "eps_tsm_3": {
        "incremental_shares": 10_909, "basic_eps": Decimal("2.88"), "diluted_eps": Decimal("2.84"),
    },
    "eps_tsm_rounding": {"bought_back": 768, "incremental_shares": 231},
    "eps_ias33_ie5": {
        "incremental_shares": 25_000, "basic_eps": Decimal("2.40"), "diluted_eps": Decimal("2.29"),
    },
}  # fmt: skip


def shown(found: Any, expected: Any) -> Any:
    """The found value at the decimals the expected value shows."""
    if isinstance(expected, dict):
        return {key: shown(found[key], value) for key, value in expected.items()}
    if isinstance(expected, list):
        assert len(found) == len(expected)
        return [shown(one, other) for one, other in zip(found, expected, strict=True)]
    assert isinstance(found, int | Fraction | Decimal)
    places = -int(expected.as_tuple().exponent) if isinstance(expected, Decimal) else 0
    return rounded(exact(found), places)


def has_answers(expected: Any) -> bool:
    values = expected.values() if isinstance(expected, dict) else expected
    return all(has_answers(each) if isinstance(each, list | dict) else each is not None
               for each in values)  # fmt: skip


def test_every_example_of_these_topics_is_answered(shared: Path) -> None:
    text = (shared / "cases" / "accounting.json").read_text(encoding="utf-8")
    examples = json.loads(text, parse_float=Decimal)["examples"]
    ours = [each for each in examples if each["topic"] in ("SBC", "EPS")]
    for example in ours:
        found = ADAPTERS[frozenset(example["inputs"])](example["inputs"])
        assert set(found) == set(example["expected"])
        known = example["expected"] if has_answers(example["expected"]) else ANSWERS[example["id"]]
        assert shown(found, known) == known, example["id"]
    assert len(ours) == 10


@pytest.mark.parametrize("keys", ADAPTERS, ids=lambda keys: "+".join(sorted(keys)))
def test_no_adapter_answers_without_looking(keys: frozenset[str]) -> None:
    """A changed input changes the answer."""
    plain: dict[str, Any] = {
        "tranches": [[Decimal("0.5"), 1], [Decimal("0.5"), 2]], "total": 100, "employees": 10,
        "options": 100, "fair_value": 15, "expected_leavers_pct": 20, "years": 3,
        "expected_vest": [Decimal("0.9")], "vested_options": 80, "average_price": 20,
        "warrants": [[100, 4]], "net_income": 500, "profit": 500, "weighted_shares": 100,
    }  # fmt: skip
    if "average_price" in keys:
        plain["options"] = [[100, 5]]
    given = {key: plain[key] for key in keys}
    before = ADAPTERS[keys](given)
    for key, value in given.items():
        assert ADAPTERS[keys]({**given, key: _more(value)}) != before, key


def _more(value: Any) -> Any:
    """Twice as large, or the first of its items in another size."""
    if not isinstance(value, list):
        return value * 2
    first = value[0]
    return [[first[0] / 2, first[1] + 2] if isinstance(first, list) else first / 2, *value[1:]]


def test_adapters_do_no_arithmetic() -> None:
    tree = ast.parse(inspect.getsource(capital))
    assert [node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.AugAssign)] == []
    assert [node for node in ast.walk(tree) if isinstance(node, ast.UnaryOp)] == []
