"""Comparison of computed with expected answers, number by number.

A number is right when, rounded half-up to the decimals the expected one shows, it equals it. A
null is computed and shown, not compared.

>>> from decimal import Decimal
>>> found = list(
...     compare({"eir_pct": Decimal("7.8"), "gain": None}, {"eir_pct": Fraction(779, 100)})
... )
>>> [(value.name, value.is_right, value.expected) for value in found]
[('eir_pct', True, Decimal('7.8')), ('gain', False, None)]
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from usance.base.money import half_up

Number: TypeAlias = int | Decimal | Fraction
DECIMALS = 10
"""Of a printed number that has no end, or a longer one."""


class ComparedNumber(NamedTuple):
    """One number of an answer; `expected` is None if the standard gives none."""

    name: str
    computed: Number | None
    expected: Number | None

    @property
    def is_right(self) -> bool:
        """True if it was computed, and is as expected."""
        if self.computed is None or self.expected is None:
            return False
        scale = 10 ** decimals_of(self.expected)
        computed = Fraction(self.computed) * scale
        rounded = half_up(computed.numerator, computed.denominator)
        return bool(rounded == Fraction(self.expected) * scale)

    @property
    def is_wrong(self) -> bool:
        """True if it was not computed, or is not as expected."""
        return self.computed is None or (self.expected is not None and not self.is_right)


def decimals_of(number: Number) -> int:
    """The decimals a number shows."""
    shown = number.as_tuple().exponent if isinstance(number, Decimal) else 0
    return max(0, -int(shown))


def compare(expected: Any, computed: Any, name: str = "") -> Iterator[ComparedNumber]:
    """Every number of an answer, in the shape of the expected one; a null takes any shape."""
    shape = computed if expected is None else expected
    if isinstance(shape, dict):
        for key in shape:
            inside = f"{name}.{key}" if name else str(key)
            yield from compare(_item(expected, key), _item(computed, key), inside)
    elif isinstance(shape, list | tuple):
        for index in range(len(shape)):
            inside = f"{name}[{index + 1}]"
            yield from compare(_item(expected, index), _item(computed, index), inside)
        if isinstance(computed, list | tuple) and len(computed) > len(shape):
            yield ComparedNumber(f"{name} (how many)", len(computed), len(shape))
    else:
        is_number = isinstance(computed, int | Decimal | Fraction)
        yield ComparedNumber(name, computed if is_number else None, expected)


def _item(whole: Any, key: Any) -> Any:
    """A part of a mapping or a list, None where there is none."""
    if isinstance(whole, dict):
        return whole.get(key)
    is_inside = isinstance(whole, list | tuple) and isinstance(key, int) and key < len(whole)
    return whole[key] if is_inside else None


def in_shape_of(expected: Any, computed: Any) -> Any:
    """The computed answer in the shape of the expected one, with numbers of JSON."""
    if isinstance(expected, dict) and isinstance(computed, dict):
        return {key: in_shape_of(value, computed.get(key)) for key, value in expected.items()}
    if isinstance(computed, dict):
        return {key: in_shape_of(None, value) for key, value in computed.items()}
    if isinstance(computed, list | tuple):
        return [in_shape_of(None, value) for value in computed]
    return None if computed is None else json_number(computed)


def json_number(number: Number) -> int | float:
    """A number as JSON has it: whole if it is, else with up to ten decimals.

    >>> json_number(Fraction(5, 3)), json_number(Fraction(4, 2)), json_number(Decimal("112.50"))
    (1.6666666667, 2, 112.5)
    """
    exact = Fraction(number)
    if exact.denominator == 1:
        return exact.numerator
    scaled = exact * 10**DECIMALS
    return float(Fraction(half_up(scaled.numerator, scaled.denominator), 10**DECIMALS))
