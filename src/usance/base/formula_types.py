"""Types of formulas before any value is known: a span of whole numbers, a text, a truth.

Bounds are followed through every formula, so that a number beyond a limit is refused when the
formula is read and cannot appear when it runs. The limit of decision flows is 2^53, where JSON and
the engine would round; that of money in kernels is 2^63.

>>> from usance.base.formulas import parse_formula
>>> type_of(parse_formula("min([a * 2, 500]) > 7 ? a : 3"), {"a": Span(0, 9)}, "")
Span(low=0, high=9)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from usance.base.errors import FormulaError, InputError, unknown
from usance.base.formulas import Call, Formula, Literal, Name

EXACT = 2**53
"""Whole numbers up to here survive JSON, JavaScript and decision tables."""


@dataclass(frozen=True, slots=True)
class TypeRules:
    """How large a number may become, what to say about a larger one, and the error to raise."""

    limit: int = EXACT
    fix: str = "Keep every number below 2^53: count in larger units, or narrow the inputs' ranges"
    hint: str = ""
    """Added to the choices when a name is unknown."""
    error: type[InputError] = FormulaError


PLAIN_RULES = TypeRules()


@dataclass(frozen=True, slots=True)
class Span:
    """A whole number from the first to the second."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Texts:
    """One of these texts."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Real:
    """A number for models alone."""


FormulaType = Span | Texts | Truth | Real
Scope = Mapping[str, FormulaType]


def type_of(
    formula: Formula, scope: Scope, where: str, rules: TypeRules = PLAIN_RULES
) -> FormulaType:
    """The type of a formula, or a error where its parts do not fit together."""
    if isinstance(formula, Literal):
        return literal_type(formula, where, rules)
    if isinstance(formula, Name):
        return _named(formula, scope, where, rules)
    kinds = [type_of(arg, scope, where, rules) for arg in formula.args]
    return _joined(formula, kinds, where, rules)


def union(
    first: FormulaType, second: FormulaType, where: str, rules: TypeRules = PLAIN_RULES
) -> FormulaType:
    """A value that is either."""
    if isinstance(first, Span) and isinstance(second, Span):
        return Span(min(first.low, second.low), max(first.high, second.high))
    if isinstance(first, Texts) and isinstance(second, Texts):
        return Texts(first.values | second.values)
    if isinstance(first, Truth) and isinstance(second, Truth):
        return first
    raise rules.error("gives once a number and once a text", where=where, fix="Give one kind")


def literal_type(formula: Literal, where: str, rules: TypeRules = PLAIN_RULES) -> FormulaType:
    """The type of a number, a text or a truth that stands for itself."""
    value = formula.value
    if isinstance(value, bool):
        return Truth()
    if isinstance(value, str):
        return Texts(frozenset([value]))
    return _exact(Span(value, value), where, rules)


def _named(formula: Name, scope: Scope, where: str, rules: TypeRules = PLAIN_RULES) -> FormulaType:
    if formula.path not in scope:
        wrong = unknown("name", formula.path, scope)
        fix = f"{wrong.fix}{rules.hint}"
        raise rules.error(wrong.what, where=where, fix=fix)
    found = scope[formula.path]
    if isinstance(found, Real):
        raise rules.error(f"{formula.path} is real", where=where, fix="Only models read it")
    return found


def _joined(
    formula: Call, kinds: list[FormulaType], where: str, rules: TypeRules = PLAIN_RULES
) -> FormulaType:
    op = formula.op
    if op in ("and", "or", "not"):
        if all(isinstance(kind, Truth) for kind in kinds):
            return Truth()
        raise rules.error(f"{op} joins what is not true or false", where=where, fix="Compare first")
    if op == "?":
        if not isinstance(kinds[0], Truth):
            raise rules.error("? asks what is not true or false", where=where, fix="Compare first")
        return union(kinds[1], kinds[2], where, rules)
    if op in ("==", "!="):
        union(kinds[0], kinds[1], where, rules)
        return Truth()
    spans = [kind for kind in kinds if isinstance(kind, Span)]
    if len(spans) < len(kinds):
        raise rules.error(f"{op} on what is no number", where=where, fix="Use numbers")
    if op in ("<", "<=", ">", ">="):
        return Truth()
    return _exact(_arithmetic(op, spans), where, rules)


def _arithmetic(op: str, spans: list[Span]) -> Span:
    first, second = spans[0], spans[-1]
    if op == "+":
        return Span(first.low + second.low, first.high + second.high)
    if op == "-":
        return Span(first.low - second.high, first.high - second.low)
    if op == "floor":
        return Span(first.low // second.low, first.high // second.low)
    if op == "*":
        ends = [a * b for a in (first.low, first.high) for b in (second.low, second.high)]
        return Span(min(ends), max(ends))
    pick = min if op == "min" else max
    return Span(pick(span.low for span in spans), pick(span.high for span in spans))


def _exact(span: Span, where: str, rules: TypeRules) -> Span:
    if span.low >= -rules.limit and span.high <= rules.limit:
        return span
    raise rules.error(f"can reach {span.low} to {span.high}", where=where, fix=rules.fix)
