"""Formulas of decision flows and of deals: the part of zen's language that can be compiled.

A formula has whole numbers, texts, truths, names, `+ - *`, comparisons, `and`, `or`, `not`,
`a ? b : c`, `min([a, b])`, `max([a, b])` and `floor(a / n)` with a number n. A cell is a list of
values and comparisons. What is outside this part is refused, so that a formula means the same thing
to an engine, to `evaluate` and to compiled columns.

>>> parse_formula("min([income * 2, 500]) + floor(age / 3)")
Call(op='+', args=(Call(op='min', args=(Call(op='*', args=(Name(path='income'), \
Literal(value=2))), Literal(value=500))), Call(op='floor', args=(Name(path='age'), \
Literal(value=3)))))
>>> parse_cell(">= 18 and < 25, 99")
((Condition(op='>=', value=18), Condition(op='<', value=25)), (Condition(op='==', value=99),))
>>> evaluate(parse_formula("max([A.balance - A.target, 0])"), {"A.balance": 80, "A.target": 75})
5
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import add, eq, floordiv, ge, gt, le, lt, mul, ne, sub
from typing import Any, NoReturn

from usance.base.errors import FormulaError, InputError

Plain = int | str | bool

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)(?!\w|\.(?!\.))|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<name>\$\.[A-Za-z_]\w*(?:\.\w+)*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<range>\.\.)|(?P<op><=|>=|==|!=|[-+*/<>?:(),\[\]]))"
)
MAX_TOKENS, MAX_DEPTH = 500, 30
"""Words and signs of a formula, and parts of it inside one another; no person reads more."""
MAX_SHOWN = 200
_COMPARE = ("==", "!=", "<=", ">=", "<", ">")


@dataclass(frozen=True, slots=True)
class Literal:
    """A whole number, a text, or a truth."""

    value: Plain


@dataclass(frozen=True, slots=True)
class Name:
    """A value by its name; `$.` marks one made by the same node."""

    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operation on parts."""

    op: str
    args: tuple[Formula, ...]


Formula = Literal | Name | Call


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a cell with the value of its column."""

    op: str
    value: Plain


Cell = tuple[tuple[Condition, ...], ...]
"""Any of these, each of them all of its tests; an empty cell fits everything."""


class _Reader:
    """Tokens of one text, with a look at the next."""

    def __init__(self, text: str, where: str, error: type[InputError]) -> None:
        self.text, self.where, self.error = text, where, error
        self.tokens = list(self._split())
        self.at = self.depth = 0
        if len(self.tokens) > MAX_TOKENS:
            self.fail(f"{len(self.tokens)} words and signs, more than {MAX_TOKENS},")

    def _split(self) -> Iterator[tuple[str, str]]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            found = _TOKEN.match(self.text, position)
            if found is None:
                self.fail(f"cannot read {self.text[position:].strip()[:20]!r}")
            yield str(found.lastgroup), str(found[str(found.lastgroup)])
            position = found.end()

    @property
    def next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def take(self, *wanted: str) -> str:
        found = self.next
        if wanted and (found not in wanted or self.kind == "text"):
            self.fail(f"{found or 'the end'!r} where {' or '.join(wanted)} belongs")
        if not found:
            self.fail("it ends too early")
        self.at += 1
        return found

    def inside(self, read: Callable[[_Reader], Formula]) -> Formula:
        """A part inside another."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"parts more than {MAX_DEPTH} deep")
        found = read(self)
        self.depth -= 1
        return found

    def has(self, *wanted: str) -> bool:
        return self.kind != "text" and self.next in wanted

    def fail(self, what: str) -> NoReturn:
        fix = "Use whole numbers, texts, names, + - *, comparisons, floor(a / 12), min([a, b])"
        raise self.error(f"{what} in {self.text[:MAX_SHOWN]!r}", where=self.where, fix=fix)


def parse_formula(text: str, where: str = "", *, error: type[InputError] = FormulaError) -> Formula:
    """A formula from its text."""
    read = _Reader(text, where, error)
    found = _choice(read)
    if read.kind != "end":
        read.fail(f"{read.next!r} is too much")
    return found


def names_in(formula: Formula) -> Iterator[str]:
    """Every name a formula reads."""
    if isinstance(formula, Name):
        yield formula.path
    elif isinstance(formula, Call):
        for arg in formula.args:
            yield from names_in(arg)


_WORK: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": add, "-": sub, "*": mul, "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
    "floor": floordiv,
}  # fmt: skip


def evaluate(formula: Formula, names: Mapping[str, Plain]) -> Plain:
    """The value of a formula; its types were checked when it was read (`formula_types`)."""
    if isinstance(formula, Literal):
        return formula.value
    if isinstance(formula, Name):
        return names[formula.path]
    op, args = formula.op, formula.args
    if op == "?":
        return evaluate(args[1] if evaluate(args[0], names) else args[2], names)
    if op == "and":
        return bool(evaluate(args[0], names)) and bool(evaluate(args[1], names))
    if op == "or":
        return bool(evaluate(args[0], names)) or bool(evaluate(args[1], names))
    if op == "not":
        return not evaluate(args[0], names)
    values: list[Any] = [evaluate(arg, names) for arg in args]
    if op in ("min", "max"):
        return (min if op == "min" else max)(values)  # type: ignore[no-any-return]
    return _WORK[op](*values)  # type: ignore[no-any-return]


def _choice(read: _Reader) -> Formula:
    condition = _either(read)
    if not read.has("?"):
        return condition
    read.take("?")
    yes = read.inside(_choice)
    read.take(":")
    return Call("?", (condition, yes, read.inside(_choice)))


def _either(read: _Reader) -> Formula:
    found = _both(read)
    while read.has("or"):
        read.take()
        found = Call("or", (found, _both(read)))
    return found


def _both(read: _Reader) -> Formula:
    found = _comparison(read)
    while read.has("and"):
        read.take()
        found = Call("and", (found, _comparison(read)))
    return found


def _comparison(read: _Reader) -> Formula:
    found = _sum(read)
    if read.has(*_COMPARE):
        return Call(read.take(), (found, _sum(read)))
    return found


def _sum(read: _Reader) -> Formula:
    found = _product(read)
    while read.has("+", "-"):
        found = Call(read.take(), (found, _product(read)))
    return found


def _product(read: _Reader) -> Formula:
    found = _part(read)
    while read.has("*"):
        read.take()
        found = Call("*", (found, _part(read)))
    return found


def _part(read: _Reader) -> Formula:
    kind = read.kind
    if kind == "number":
        return Literal(int(read.take()))
    if kind == "text":
        return Literal(read.take()[1:-1])
    if read.has("-"):
        read.take()
        inner = read.inside(_part)
        plain = isinstance(inner, Literal) and isinstance(inner.value, int)
        return Literal(-inner.value) if plain else Call("-", (Literal(0), inner))  # type: ignore[operator,union-attr]
    if read.has("not"):
        read.take()
        return Call("not", (read.inside(_part),))
    if read.has("("):
        read.take()
        found = read.inside(_choice)
        read.take(")")
        return found
    if kind != "name":
        read.fail(f"{read.next or 'the end'!r} where a value belongs")
    word = read.take()
    if word in ("true", "false"):
        return Literal(word == "true")
    if read.has("("):
        return _call(read, word)
    return Name(word)


def _call(read: _Reader, word: str) -> Formula:
    read.take("(")
    if word == "floor":
        above = read.inside(_product)  # a sum needs brackets: zen divides before it adds
        read.take("/")
        divisor = _part(read)
        if not isinstance(divisor, Literal) or type(divisor.value) is not int or divisor.value < 1:
            read.fail("a divisor that is no whole number above zero")
        read.take(")")
        return Call("floor", (above, divisor))
    if word not in ("min", "max"):
        read.fail(f"{word}() is not known")
    read.take("[")
    args = [read.inside(_choice)]
    while read.has(","):
        read.take()
        args.append(read.inside(_choice))
    read.take("]")
    read.take(")")
    return Call(word, tuple(args))


def parse_cell(text: str, where: str = "", *, error: type[InputError] = FormulaError) -> Cell:
    """The tests of one cell of a decision table."""
    read = _Reader(text, where, error)
    choices: list[tuple[Condition, ...]] = []
    while read.kind != "end":
        tests = list(_tests(read))
        while read.has("and"):
            read.take()
            tests += _tests(read)
        choices.append(tuple(tests))
        if read.kind != "end":
            read.take(",")
            if read.kind == "end":
                read.fail("it ends too early")
    return tuple(choices)


def _tests(read: _Reader) -> list[Condition]:
    if read.has("[", "("):
        low = ">=" if read.take() == "[" else ">"
        first = _value(read)
        if read.kind != "range":
            read.fail("a range is written [18..25)")
        read.take()
        last = _value(read)
        high = "<=" if read.take("]", ")") == "]" else "<"
        return [Condition(low, first), Condition(high, last)]
    op = read.take() if read.has(*_COMPARE) else "=="
    return [Condition(op, _value(read))]


def _value(read: _Reader) -> Plain:
    found = _part(read)
    if not isinstance(found, Literal):
        read.fail("a cell compares with numbers, texts and truths only")
    return found.value
