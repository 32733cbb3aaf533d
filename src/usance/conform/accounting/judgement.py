"""What was computed beside what is expected, number by number.

A number is right when, rounded half-up to the decimals the expected one shows, it equals it. A
null is computed and shown, not judged.

>>> from decimal import Decimal
>>> found = list(judged({"eir_pct": Decimal("7.8"), "gain": None}, {"eir_pct": Fraction(779, 100)}))
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


class Judged(NamedTuple):
    """One number of an answer; `expected` is None where there is none to judge by."""

    name: str
    computed: Number | None
    expected: Number | None

    @property
    def is_right(self) -> bool:
        """Whether it was computed, and is as expected."""
        if self.computed is None or self.expected is None:
            return False
        scale = 10 ** decimals_of(self.expected)
        computed = Fraction(self.computed) * scale
        rounded = half_up(computed.numerator, computed.denominator)
        return bool(rounded == Fraction(self.expected) * scale)

    @property
    def is_wrong(self) -> bool:
        """Whether it was not computed, or is not as expected."""
        return self.computed is None or (self.expected is not None and not self.is_right)


def decimals_of(number: Number) -> int:
    """The decimals a number shows."""
    shown = number.as_tuple().exponent if isinstance(number, Decimal) else 0
    return max(0, -int(shown))


def judged(expected: Any, computed: Any, name: str = "") -> Iterator[Judged]:
    """Every number of an answer, in the shape of the expected one; a null takes any shape."""
    shape = computed if expected is None else expected
    if isinstance(shape, dict):
        for key in shape:
            inside = f"{name}.{key}" if name else str(key)
            yield from judged(_part(expected, key), _part(computed, key), inside)
    elif isinstance(shape, list | tuple):
        for index in range(len(shape)):
            inside = f"{name}[{index + 1}]"
            yield from judged(_part(expected, index), _part(computed, index), inside)
        if isinstance(computed, list | tuple) and len(computed) > len(shape):
            yield Judged(f"{name} (how many)", len(computed), len(shape))
    else:
        is_number = isinstance(computed, int | Decimal | Fraction)
        yield Judged(name, computed if is_number else None, expected)


def _part(whole: Any, key: Any) -> Any:
    """A part of a mapping or a list, None where there is none."""
    if isinstance(whole, dict):
        return whole.get(key)
    is_inside = isinstance(whole, list | tuple) and isinstance(key, int) and key < len(whole)
    return whole[key] if is_inside else None


def shaped(expected: Any, computed: Any) -> Any:
    """What was computed, in the shape of the expected answer and in numbers JSON has."""
    if isinstance(expected, dict) and isinstance(computed, dict):
        return {key: shaped(value, computed.get(key)) for key, value in expected.items()}
    if isinstance(computed, dict):
        return {key: shaped(None, value) for key, value in computed.items()}
    if isinstance(computed, list | tuple):
        return [shaped(None, value) for value in computed]
    return None if computed is None else plain(computed)


def plain(number: Number) -> int | float:
    """A number as JSON has it: whole if it is, else with up to ten decimals.

    >>> plain(Fraction(5, 3)), plain(Fraction(4, 2)), plain(Decimal("112.50"))
    (1.6666666667, 2, 112.5)
    """
    exact = Fraction(number)
    if exact.denominator == 1:
        return exact.numerator
    scaled = exact * 10**DECIMALS
    return float(Fraction(half_up(scaled.numerator, scaled.denominator), 10**DECIMALS))
