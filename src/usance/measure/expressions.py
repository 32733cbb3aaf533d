"""Amounts and conditions of a definition: small texts over columns, as Ibis expressions.

An amount is columns and whole numbers joined by `+`, `-` and `*`. A condition is a column with a
value, a list of values, or bounds `from` and `to`; a value may be the name of a code.

>>> parse_amount("overdue_minor - collected30_minor")
((1, ('overdue_minor',)), (-1, ('collected30_minor',)))
>>> parse_amount("principal_minor * 30")
((1, ('principal_minor', 30)),)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from operator import and_, mul, or_
from typing import Any, TypeAlias

from usance.base.codes import code_lists
from usance.base.errors import unknown
from usance.base.tables import TABLES
from usance.measure.errors import DefinitionError

Amount: TypeAlias = tuple[tuple[int, tuple[str | int, ...]], ...]
"""Signed products of columns and numbers."""

_MIN_RUNS = 8
"""Values from which on it is worth to test for runs of neighbours."""
_AMOUNT = re.compile(r"-?\s*[a-z0-9_]+(\s*[-+*]\s*[a-z0-9_]+)*")
_TERM = re.compile(r"([-+]?)\s*([a-z0-9_]+(?:\s*\*\s*[a-z0-9_]+)*)")


def parse_amount(text: str, *, where: str = "") -> Amount:
    """The products of a text."""
    if not _AMOUNT.fullmatch(text.strip()):
        fix = "Write columns and whole numbers joined by +, - and *"
        raise DefinitionError(f"{text!r} is no amount", where=where, fix=fix)
    return tuple(
        (
            -1 if sign == "-" else 1,
            tuple(
                int(part) if part.isdigit() else part
                for part in (each.strip() for each in product.split("*"))
            ),
        )
        for sign, product in _TERM.findall(text)
    )


def columns_of(amount: Amount) -> set[str]:
    """The columns an amount is made of."""
    return {part for _, parts in amount for part in parts if isinstance(part, str)}


def amount_expression(table: Any, amount: Amount) -> Any:
    """An amount over an Ibis table, in 64 bits."""
    import ibis

    total: Any = None
    for sign, parts in amount:
        factors = [
            table[part].cast("int64") if isinstance(part, str) else ibis.literal(part, "int64")
            for part in parts
        ]
        product = reduce(mul, factors)
        total = (product if total is None else total + product) if sign > 0 else (
            -product if total is None else total - product
        )  # fmt: skip
    return total


def resolve_codes(name: str, column: str, value: Any, *, where: str = "") -> Any:
    """A condition with the names of codes replaced by their numbers."""
    spec = TABLES.get(name)
    known = {each.name: each.codes for each in spec.columns} if spec else {}
    codes = known.get(column, "") or ("model" if column == "model" else "")

    def number(one: Any) -> int:
        if isinstance(one, int) and not isinstance(one, bool):
            return one
        numbers = code_lists().get(codes, {})
        if str(one) not in numbers:
            raise unknown(column, str(one), numbers, where=where)
        return numbers[str(one)]

    if isinstance(value, list):
        return tuple(number(one) for one in value)
    if isinstance(value, Mapping):
        if not value or not set(value) <= {"from", "to"}:
            fix = "Give from, to, or both"
            raise DefinitionError(f"{column} has no bounds", where=where, fix=fix)
        return {key: number(one) for key, one in value.items()}
    return (number(value),)


def condition_expression(column: Any, value: Any) -> Any:
    """A condition over an Ibis column."""
    if not isinstance(value, Mapping):
        return _among(column, sorted(set(value)))
    checks = []
    if "not" in value:
        checks.append(column.notin(list(value["not"])))
    if "from" in value:
        checks.append(column >= value["from"])
    if "to" in value:
        checks.append(column <= value["to"])
    return reduce(and_, checks)


def _among(column: Any, values: list[int]) -> Any:
    """True where a column has one of some values; many neighbours are tested as runs."""
    if len(values) < _MIN_RUNS:
        # No value at all is a condition nothing meets.
        return column.isin(values or [-1]) if len(values) != 1 else column == values[0]
    starts = [n for n, each in enumerate(values) if n == 0 or values[n - 1] != each - 1]
    runs = [
        (column >= values[first]) & (column <= values[last - 1])
        for first, last in pairwise([*starts, len(values)])
    ]
    return reduce(or_, runs) if len(runs) < _MIN_RUNS else column.isin(values)
