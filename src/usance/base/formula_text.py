"""Formulas as people read them: the text that a formula is read from again.

>>> from usance.base.formulas import parse_formula
>>> given = "defaulted_to_date*100>pool_original*(2+3) and not (A.due == 0)"
>>> formula_text(parse_formula(given))
'defaulted_to_date * 100 > pool_original * (2 + 3) and not (A.due == 0)'
>>> parse_formula(formula_text(parse_formula(given))) == parse_formula(given)
True
"""

from __future__ import annotations

from usance.base.formulas import Formula, Literal, Name

_CHOICE, _PART = 0, 6
_LEVELS = {
    "or": 1, "and": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "+": 4, "-": 4, "*": 5,
}  # fmt: skip
"""How strongly the signs between two parts bind."""
_COMPARED = 3


def formula_text(formula: Formula) -> str:
    """The text of a formula."""
    return _text(formula, _CHOICE)


def _text(formula: Formula, least: int) -> str:
    """A part of a formula, in brackets if it binds less than its place asks for."""
    level, text = _level_and_text(formula)
    return f"({text})" if level < least else text


def _level_and_text(formula: Formula) -> tuple[int, str]:
    if isinstance(formula, Name):
        return _PART, formula.path
    if isinstance(formula, Literal):
        return _PART, _literal(formula)
    op, args = formula.op, formula.args
    if op in ("min", "max"):
        return _PART, f"{op}([{', '.join(map(formula_text, args))}])"
    if op == "floor":
        return _PART, f"floor({_text(args[0], _LEVELS['*'])} / {_text(args[1], _PART)})"
    if op == "not":
        return _PART, f"not {_text(args[0], _PART)}"
    if op == "?":
        condition, yes, no = _text(args[0], _LEVELS["or"]), *map(formula_text, args[1:])
        return _CHOICE, f"{condition} ? {yes} : {no}"
    level = _LEVELS[op]
    left = _text(args[0], level + (level == _COMPARED))
    return level, f"{left} {op} {_text(args[1], level + 1)}"


def _literal(formula: Literal) -> str:
    if isinstance(formula.value, bool):
        return "true" if formula.value else "false"
    if isinstance(formula.value, int):
        return str(formula.value)
    quote = "'" if '"' in formula.value else '"'
    return f"{quote}{formula.value}{quote}"
