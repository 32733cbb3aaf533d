"""Types of formulas before any value is known: a span of whole numbers, a text, a truth.

Bounds are followed through every formula, so that a number beyond 2^53, where JSON and the engine
would round, is refused when the flow is read and cannot appear when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from usance.assess.errors import FlowError
from usance.assess.features.declared import EXACT, Declared, ValueType
from usance.assess.flow.formula import Call, Cell, Formula, Literal, Name
from usance.base.errors import unknown


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


def declared_type(declared: Declared) -> FormulaType:
    """The kind of a declared value."""
    if declared.type is ValueType.NAME:
        return Texts(frozenset(declared.names))
    if declared.type is ValueType.TRUTH:
        return Truth()
    return Real() if declared.type is ValueType.REAL else Span(*declared.bounds)


def type_of(formula: Formula, scope: Scope, where: str) -> FormulaType:
    """The type of a formula, or a `FlowError` where its parts do not fit together."""
    if isinstance(formula, Literal):
        return _literal(formula, where)
    if isinstance(formula, Name):
        return _named(formula, scope, where)
    kinds = [type_of(arg, scope, where) for arg in formula.args]
    return _joined(formula, kinds, where)


def fits(given: FormulaType, declared: Declared) -> bool:
    """True if everything a formula can give is inside what is declared."""
    wanted = declared_type(declared)
    if isinstance(given, Span) and isinstance(wanted, Span):
        return wanted.low <= given.low and given.high <= wanted.high
    if isinstance(given, Texts) and isinstance(wanted, Texts):
        return given.values <= wanted.values
    return isinstance(given, Truth) and isinstance(wanted, Truth)


def union(first: FormulaType, second: FormulaType, where: str) -> FormulaType:
    """A value that is either."""
    if isinstance(first, Span) and isinstance(second, Span):
        return Span(min(first.low, second.low), max(first.high, second.high))
    if isinstance(first, Texts) and isinstance(second, Texts):
        return Texts(first.values | second.values)
    if isinstance(first, Truth) and isinstance(second, Truth):
        return first
    raise FlowError("gives once a number and once a text", where=where, fix="Give one kind")


def check_cell(cell: Cell, kind: FormulaType, where: str) -> None:
    """Refuse a cell that compares unlike things, or asks for a text that cannot come."""
    for test in (test for choice in cell for test in choice):
        other = _literal(Literal(test.value), where)
        if isinstance(kind, Real):
            raise FlowError("tests a real number", where=where, fix="Only models read it")
        if type(other) is not type(kind):
            fix = "Compare numbers with numbers, texts with texts, truths with true or false"
            raise FlowError(f"compares with {test.value!r}", where=where, fix=fix)
        if isinstance(kind, Texts) and test.value not in kind.values:
            wrong = unknown("value", str(test.value), sorted(kind.values))
            raise FlowError(wrong.what, where=where, fix=wrong.fix)
        if not isinstance(kind, Span) and test.op not in ("==", "!="):
            raise FlowError(f"uses {test.op} on a text", where=where, fix="Use == or !=")


def _literal(formula: Literal, where: str) -> FormulaType:
    value = formula.value
    if isinstance(value, bool):
        return Truth()
    if isinstance(value, str):
        return Texts(frozenset([value]))
    return _exact(Span(value, value), where)


def _named(formula: Name, scope: Scope, where: str) -> FormulaType:
    if formula.path not in scope:
        wrong = unknown("name", formula.path, scope)
        fix = f"{wrong.fix}; a value of the same node is written $.name"
        raise FlowError(wrong.what, where=where, fix=fix)
    found = scope[formula.path]
    if isinstance(found, Real):
        raise FlowError(f"{formula.path} is real", where=where, fix="Only models read it")
    return found


def _joined(formula: Call, kinds: list[FormulaType], where: str) -> FormulaType:
    op = formula.op
    if op in ("and", "or", "not"):
        if all(isinstance(kind, Truth) for kind in kinds):
            return Truth()
        raise FlowError(f"{op} joins what is not true or false", where=where, fix="Compare first")
    if op == "?":
        if not isinstance(kinds[0], Truth):
            raise FlowError("? asks what is not true or false", where=where, fix="Compare first")
        return union(kinds[1], kinds[2], where)
    if op in ("==", "!="):
        union(kinds[0], kinds[1], where)
        return Truth()
    spans = [kind for kind in kinds if isinstance(kind, Span)]
    if len(spans) < len(kinds):
        raise FlowError(f"{op} on what is no number", where=where, fix="Use numbers")
    if op in ("<", "<=", ">", ">="):
        return Truth()
    return _exact(_arithmetic(op, spans), where)


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


def _exact(span: Span, where: str) -> Span:
    if span.low >= -EXACT and span.high <= EXACT:
        return span
    fix = "Keep every number below 2^53: count in larger units, or narrow the inputs' ranges"
    raise FlowError(f"can reach {span.low} to {span.high}", where=where, fix=fix)
