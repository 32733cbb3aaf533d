r"""Values of a scenario as written: amounts in words, shares, and figures by period.

A figure by period is a flow, spread evenly over the months of its period, or a level, the same in
each of them. Periods are months, quarters, halves and years.

>>> from usance.base.documents import parse_yaml
>>> from usance.base.document_places import document_places
>>> text = "requests: {2023Q1: 100, 2023-04: 30}"
>>> found: list[UsanceError] = []
>>> fields = Fields(parse_yaml(text), document_places("calm.yaml", lambda: text), found)
>>> by_period(fields, "requests", flow(count))
{636: 33, 637: 33, 638: 34, 639: 30}
>>> amount_in("CNY")("163.5 million", "balance")
16350000000
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from usance.base.dates import parse_month
from usance.base.errors import DateError, DocumentError, UsanceError
from usance.base.fields import Fields, Reader, amount_of, rate_of, whole_of
from usance.base.periods import parse_period
from usance.base.rates import PPM

T = TypeVar("T")

MAX_MINOR = 10**17
_WORDS = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_IN_WORDS = re.compile(r"(\S+) (thousand|million|billion)")

share = rate_of(0, PPM)
factor = rate_of(0, 100 * PPM)
annual = rate_of(0, PPM)
count = whole_of(0, 10**12)
day_count = whole_of(0, 180)
code = whole_of(1, 32_767)


def amount_in(currency: str) -> Reader[int]:
    """A reader of amounts, in figures or with `thousand`, `million` or `billion` behind them."""
    plain = amount_of(currency, 0, MAX_MINOR)

    def amount(given: Any, where: str) -> int:
        words = _IN_WORDS.fullmatch(given) if isinstance(given, str) else None
        if words is None:
            return plain(given, where)
        try:
            number = Decimal(words[1]) * _WORDS[words[2]]
            whole = not number % 1
        except ArithmeticError:  # no number, or one without end
            return plain(words[1], where)
        return plain(int(number) if whole else number, where)

    return amount


def month(given: Any, where: str) -> int:
    """A month such as 2024-06, as its number."""
    return parse_month(str(given), where=where)


Spread = Callable[[Fields, str, int], Sequence[T] | None]
"""Reads what a key of a mapping gives a period of so many months, as a value for each of them."""


def flow(read: Reader[int]) -> Spread[int]:
    """A total of a period, in equal whole parts over its months."""

    def spread(given: Fields, key: str, months: int) -> list[int] | None:
        total = given.take(key, read)
        if total is None:
            return None
        return [total * (k + 1) // months - total * k // months for k in range(months)]

    return spread


def level(read: Reader[T]) -> Spread[T]:
    """A level, the same in each month of a period."""

    def spread(given: Fields, key: str, months: int) -> list[T] | None:
        value = given.take(key, read)
        return None if value is None else [value] * months

    return spread


def shares_of(name: Reader[T]) -> Spread[dict[T, int]]:
    """Shares by name, the same in each month of a period."""

    def spread(given: Fields, key: str, months: int) -> list[dict[T, int]] | None:
        found = by_name(given, key, name, share)
        return None if found is None else [found] * months

    return spread


def by_period(given: Fields, key: str, spread: Spread[T]) -> dict[int, T] | None:
    """The values of a key by month; a month that is given twice is a problem."""
    inner = given.inner(key)
    if inner is None or not inner.is_mapping:
        return None
    found: dict[int, T] = {}
    before = len(inner.problems)
    for written in inner.keys:
        try:
            months = parse_period(written, where=inner.where(written))
        except DateError as error:
            inner.problems.append(error)
            continue
        values = spread(inner, written, len(months))
        if values is None:
            continue
        if found.keys() & set(months):
            inner.wrong(f"{written} was given before", "Give each month once", written)
        found.update(zip(months, values, strict=True))
    return found if len(inner.problems) == before else None


def by_name(given: Fields, key: str, name: Reader[T], read: Reader[int]) -> dict[T, int] | None:
    """The values of a key by the name of what they belong to."""
    inner = given.inner(key)
    if inner is None or not inner.is_mapping:
        return None
    found: dict[T, int] = {}
    before = len(inner.problems)
    for written in inner.keys:
        value = inner.take(written, read)
        try:
            known = name(written, inner.where(written))
        except UsanceError as error:
            inner.problems.append(error)
            continue
        if value is not None:
            found[known] = value
    return found if len(inner.problems) == before else None


def list_of(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list whose items are read alike."""

    def every(given: Any, where: str) -> tuple[T, ...]:
        if not isinstance(given, list) or not given:
            raise DocumentError("is no list", where=where, fix="Write [a, b, c]")
        return tuple(read(each, where) for each in given)

    return every


def with_texts(given: Any) -> Any:
    """A document whose keys are all text, as `Fields` asks for them."""
    if isinstance(given, Mapping):
        return {str(key): with_texts(value) for key, value in given.items()}
    if isinstance(given, list):
        return [with_texts(each) for each in given]
    return given
