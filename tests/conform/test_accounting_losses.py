"""Worked examples of expected losses, through the functions of the close."""

from __future__ import annotations

import ast
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from usance.base.documents import read_document
from usance.conform.accounting import losses
from usance.conform.accounting.losses import ADAPTERS

# The answers that the file of examples leaves open, from the standards it names.
ANSWERS: dict[str, dict[str, Any]] = {
    "ecl_matrix_flow_rates": {
        "loss_rate_pct": [2, 4, Decimal("8.70"), 25, 100],
        "allowance": [6000, 5600, Decimal("5217.39"), 5750, 5000],
        "total": Decimal("27567.39"),
    },
    "ecl_matrix_ifrs9_ie12": {
        "allowance": [45_000, 120_000, 144_000, 165_000, 106_000],
        "total": 580_000,
        "gross": 30_000_000,
    },
    "ecl_loss_rate_ifrs9_ie9": {
        "X_rate_pct": [Decimal("0.3"), Decimal("0.375")],
        "Y_rate_pct": [Decimal("0.15"), Decimal("0.225")],
    },
    "ecl_lifetime_dcf": {"shortfall_per_year": 400, "lifetime_ecl": Decimal("694.21")},
    "cecl_loss_rate_ex1": {"expected_loss_rate": Decimal("0.0165"), "allowance": 49_500},
    "cecl_vintage_ex3": {
        "remaining": {"20X6": 60, "20X7": 260, "20X8": 430, "20X9": 510},
        "allowance": 1260,
    },
}


def agrees(expected: Any, computed: Any) -> bool:
    """Equal in shape, and in value at the decimals that the expected one shows."""
    if isinstance(expected, dict):
        return all(agrees(value, computed[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return len(expected) == len(computed) and all(map(agrees, expected, computed))
    places = -int(Decimal(expected).as_tuple().exponent)
    scaled = Fraction(computed) * 10**places
    whole = (2 * abs(scaled.numerator) + scaled.denominator) // (2 * scaled.denominator)
    return bool(Fraction(expected) * 10**places == (whole if scaled >= 0 else -whole))


def test_every_example_of_expected_losses_has_its_answer(shared: Path) -> None:
    document = read_document(shared / "cases" / "accounting.json")
    cases = [each for each in document["examples"] if each["topic"] in ("ECL", "CECL")]
    assert len(cases) == 9
    for case in cases:
        computed = ADAPTERS[frozenset(case["inputs"])](case["inputs"])
        assert agrees(ANSWERS.get(case["id"], case["expected"]), computed), case["id"]
        assert set(case["expected"]) <= set(computed)


def test_the_comparison_can_fail() -> None:
    assert agrees([1, Decimal("0.13")], [Fraction(4, 3), Fraction(1, 8)])
    assert not agrees([1], [Fraction(3, 2)])
    assert not agrees({"a": Decimal("0.12")}, {"a": Fraction(1, 8)})
    assert not agrees([1], [1, 1])


@pytest.mark.parametrize("kind", [ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.Compare])
def test_nothing_is_computed_in_the_adapters(kind: type[ast.AST]) -> None:
    tree = ast.parse(Path(losses.__file__).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, kind)]
