"""Types of the values of a flow: what is declared, what a formula can give, what a cell may ask."""

from __future__ import annotations

from usance.assess.errors import FlowError
from usance.assess.features.declared import Declared, ValueType
from usance.base.errors import unknown
from usance.base.formula_types import FormulaType, Real, Span, Texts, Truth, TypeRules, literal_type
from usance.base.formulas import Cell, Literal

FLOW_RULES = TypeRules(error=FlowError, hint="; a value of the same node is written $.name")


def declared_type(declared: Declared) -> FormulaType:
    """The kind of a declared value."""
    if declared.type is ValueType.NAME:
        return Texts(frozenset(declared.names))
    if declared.type is ValueType.TRUTH:
        return Truth()
    return Real() if declared.type is ValueType.REAL else Span(*declared.bounds)


def fits(given: FormulaType, declared: Declared) -> bool:
    """True if everything a formula can give is inside what is declared."""
    wanted = declared_type(declared)
    if isinstance(given, Span) and isinstance(wanted, Span):
        return wanted.low <= given.low and given.high <= wanted.high
    if isinstance(given, Texts) and isinstance(wanted, Texts):
        return given.values <= wanted.values
    return isinstance(given, Truth) and isinstance(wanted, Truth)


def check_cell(cell: Cell, kind: FormulaType, where: str) -> None:
    """Refuse a cell that compares unlike things, or asks for a text that cannot come."""
    for test in (test for choice in cell for test in choice):
        other = literal_type(Literal(test.value), where, FLOW_RULES)
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
