r"""Worked examples through the functions of the books: `usance conform accounting FILE`.

An example is known by the names of its inputs. `passed` counts the examples that have an answer
and meet it; one without any answer is computed and shown, and neither passes nor fails.
A file is read strictly: every problem is kept with its line.

>>> text = '{"examples": [{"id": "a", "inputs": {"ecl": 7},\n "expected": {"liability": "x"}}]}'
>>> read_examples(text, where="cases.json")
Traceback (most recent call last):
usance.base.errors.DocumentError: cases.json line 2, ...: 'x' is no answer. Give a number, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.base.document_places import DocumentPath, document_places
from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, text
from usance.base.money import is_plain
from usance.conform.accounting import capital, guarantees, losses
from usance.conform.accounting import effective_interest as effective
from usance.conform.accounting.comparison import ComparedNumber, compare, in_shape_of, json_number
from usance.conform.report import Report


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example: what is given, and the answer or its shape."""

    id: str
    title: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    where: str
    """Its place in the file, for a message."""


def read_examples(content: str, *, where: str) -> list[Example]:
    """Every example of a text; all that is wrong with it is one error."""
    problems: list[UsanceError] = []
    places = document_places(where, lambda: content)
    document = Fields(parse_json(content, where=where), places, problems)
    read = [_example(each) for each in document.each("examples")]
    if not read and not problems:
        document.wrong("there are no examples", 'Give {"examples": [...]} with at least one')
    found = [example for example in read if example]
    problems += _repeated(found)
    raise_all(problems, where=where)
    return found


def _repeated(examples: list[Example]) -> Iterator[DocumentError]:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            what, fix = f"{example.id!r} is there twice", "Give each example an id of its own"
            yield DocumentError(what, where=example.where, fix=fix)
        seen.add(example.id)


def _example(fields: Fields) -> Example | None:
    name = fields.need("id", text)
    inputs = fields.need("inputs", _mapping)
    expected = fields.need_or_none("expected", _mapping)
    title = fields.take("title", text)
    if expected is not None:
        for path, value in _leaves(expected, ("expected",)):
            if value is not None and type(value) is not int and not is_plain(value):
                fix = "Give a number, or null where there is none yet"
                fields.wrong(f"{value!r} is no answer", fix, *path)
    if not fields.has_needed or expected is None:
        return None
    return Example(name, title or "", inputs, expected, fields.where("id"))


def _mapping(given: Any, where: str) -> dict[str, Any]:
    if isinstance(given, dict) and given:
        return given
    raise DocumentError("no values by name", where=where, fix='Give {"name": value, ...}')


def _leaves(value: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, (*path, number))
    else:
        yield path, value


ADAPTERS = {
    **effective.ADAPTERS, **guarantees.ADAPTERS, **losses.ADAPTERS, **capital.ADAPTERS,
}  # fmt: skip
"""Every shape of inputs that is known."""

# What a function of the books says of values it was never meant for: text for a number, a list
# where one belongs, a term of nothing.
_INPUT_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one example."""

    example: Example
    computed: Any
    numbers: tuple[ComparedNumber, ...]
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if it could not be computed, or a number of it is wrong."""
        return bool(self.problems) or any(number.is_wrong for number in self.numbers)

    @property
    def has_answer(self) -> bool:
        """True if there is any number to compare with."""
        return any(number.expected is not None for number in self.numbers)

    @property
    def passed(self) -> bool:
        """True if it has an answer and meets it."""
        return self.has_answer and not self.failed

    def as_failure(self) -> dict[str, object]:
        """Its differences and problems, for `--json`."""
        wrong = [number for number in self.numbers if number.is_wrong and not self.problems]
        return {
            "id": self.example.id,
            "differences": [
                {
                    "value": n.name,
                    "expected": _json_number(n.expected),
                    "computed": _json_number(n.computed),
                }
                for n in wrong
            ],
            "problems": list(self.problems),
        }

    def lines(self) -> Iterator[str]:
        """The same for people: a heading, and a line per number."""
        mark = "FAIL" if self.failed else "ok  " if self.has_answer else "open"
        yield f"{mark}  {self.example.id}  {self.example.title}".rstrip()
        yield from (f"      {problem}" for problem in self.problems)
        width = max((len(number.name) for number in self.numbers), default=0)
        for number in () if self.problems else self.numbers:
            beside = "" if number.expected is None else f"  expected {number.expected}"
            wrong = "  WRONG" if number.is_wrong else ""
            computed = "nothing" if number.computed is None else str(json_number(number.computed))
            yield f"      {number.name:<{width}}  {computed}{beside}{wrong}"


class AccountingReport(Report[Result]):
    """The results of a file of worked examples of the standards."""

    __slots__ = ()

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        return {
            "total": len(self.results),
            "passed": self.passed,
            "without_answer": sum(not result.has_answer for result in self.results),
            "results": {
                result.example.id: in_shape_of(result.example.expected, result.computed)
                for result in self.results
                if not result.problems
            },
            "failures": [result.as_failure() for result in self.failures],
        }

    def lines(self) -> Iterator[str]:
        """Every example, then the sums."""
        for result in self.results:
            yield from result.lines()
        answered = sum(result.has_answer for result in self.results)
        yield f"{self.passed} of {answered} examples with an answer passed"
        if answered < len(self.results):
            yield f"{len(self.results) - answered} without an answer: computed, not judged"


def check_accounting(path: Path | str) -> AccountingReport:
    """Run every example of a file."""
    examples = read_examples(read_text(path), where=str(path))
    return AccountingReport(tuple(run_example(example) for example in examples))


def run_example(example: Example) -> Result:
    """Compute one example and set it beside what it expects."""
    adapter = ADAPTERS.get(frozenset(example.inputs))
    if adapter is None:
        return _unusable(
            example, f"no example has these inputs: {_names(example.inputs)}", _KNOWN_SHAPES
        )
    beyond = next(_beyond(example.inputs), None)
    if beyond is not None:
        return _unusable(example, f"{beyond} is beyond all terms", "Give amounts in a larger unit")
    try:
        computed = adapter(example.inputs)
    except UsanceError as error:
        return _unusable(example, error.what, error.fix)
    except _INPUT_ERRORS as error:
        what = f"its inputs cannot be computed with: {type(error).__name__}: {error}"
        return _unusable(example, what, "Give numbers where the standard has numbers")
    return Result(example, computed, tuple(compare(example.expected, computed)))


MAX_NUMBER = 10**15
MAX_PERIOD = 100_000
"""Numbers of examples are below; more digits or periods are slips of the pen."""


def _beyond(inputs: dict[str, Any]) -> Iterator[str]:
    """Inputs that no example has: amounts of too many digits, periods after the end of time."""
    for path, value in _leaves(inputs, ()):
        if (type(value) is int or is_plain(value)) and abs(value) > MAX_NUMBER:
            yield f"{path[0]} of more than 15 digits"
        for key in path:
            if str(key).isdecimal() and (len(str(key)) > 9 or int(key) > MAX_PERIOD):
                yield f"period {str(key)[:20]} of {path[0]}"


def _unusable(example: Example, what: str, fix: str) -> Result:
    numbers = tuple(compare(example.expected, None))
    return Result(example, None, numbers, (f"{example.where}: {what}. {fix}.",))


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _json_number(number: Any) -> int | float | None:
    return None if number is None else json_number(number)


_KNOWN_SHAPES = "Known are: " + "; ".join(sorted(_names(shape) for shape in ADAPTERS))
