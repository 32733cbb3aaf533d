"""Worked examples through the functions of the books: `usance conform accounting FILE`.

An example is known by the names of its inputs. `passed` counts the examples that have an answer
and meet it; one without any answer is computed and shown, and neither passes nor fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.base.documents import read_text
from usance.base.errors import UsanceError
from usance.conform.accounting import capital, guarantees, losses
from usance.conform.accounting import effective_interest as effective
from usance.conform.accounting.file import Example, read_examples
from usance.conform.accounting.judgement import Judged, judged, plain, shaped

ADAPTERS = {
    **effective.ADAPTERS, **guarantees.ADAPTERS, **losses.ADAPTERS, **capital.ADAPTERS,
}  # fmt: skip
"""Every shape of inputs that is known."""

# What a function of the books says of values it was never meant for: text for a number, a list
# where one belongs, a term of nothing.
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one example."""

    example: Example
    computed: Any
    numbers: tuple[Judged, ...]
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it could not be computed, or a number of it is wrong."""
        return bool(self.problems) or any(number.is_wrong for number in self.numbers)

    @property
    def has_answer(self) -> bool:
        """Whether there is any number to judge by."""
        return any(number.expected is not None for number in self.numbers)

    @property
    def passed(self) -> bool:
        """Whether it has an answer and meets it."""
        return self.has_answer and not self.failed

    def as_failure(self) -> dict[str, object]:
        """What is wrong with it, for `--json`."""
        wrong = [number for number in self.numbers if number.is_wrong and not self.problems]
        return {
            "id": self.example.id,
            "differences": [
                {"value": n.name, "expected": _plain(n.expected), "computed": _plain(n.computed)}
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
            computed = "nothing" if number.computed is None else str(plain(number.computed))
            yield f"      {number.name:<{width}}  {computed}{beside}{wrong}"


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a file of examples."""

    results: tuple[Result, ...]

    @property
    def failures(self) -> tuple[Result, ...]:
        """The examples that failed."""
        return tuple(result for result in self.results if result.failed)

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        return {
            "total": len(self.results),
            "passed": sum(result.passed for result in self.results),
            "without_answer": sum(not result.has_answer for result in self.results),
            "results": {
                result.example.id: shaped(result.example.expected, result.computed)
                for result in self.results
                if not result.problems
            },
            "failures": [result.as_failure() for result in self.failures],
        }

    def lines(self) -> Iterator[str]:
        """The same for people: every example, then the sums."""
        for result in self.results:
            yield from result.lines()
        passed = sum(result.passed for result in self.results)
        answered = sum(result.has_answer for result in self.results)
        yield f"{passed} of {answered} examples with an answer passed"
        if answered < len(self.results):
            yield f"{len(self.results) - answered} without an answer: computed, not judged"


def run(path: Path | str) -> Report:
    """Run every example of a file."""
    examples = read_examples(read_text(path), where=str(path))
    return Report(tuple(run_example(example) for example in examples))


def run_example(example: Example) -> Result:
    """Compute one example and set it beside what it expects."""
    adapter = ADAPTERS.get(frozenset(example.inputs))
    if adapter is None:
        return _unusable(example, f"no example has these inputs: {_names(example.inputs)}", _KNOWN)
    try:
        computed = adapter(example.inputs)
    except UsanceError as error:
        return _unusable(example, error.what, error.fix)
    except _UNFIT as error:
        what = f"its inputs cannot be computed with: {type(error).__name__}: {error}"
        return _unusable(example, what, "Give numbers where the standard has numbers")
    return Result(example, computed, tuple(judged(example.expected, computed)))


def _unusable(example: Example, what: str, fix: str) -> Result:
    numbers = tuple(judged(example.expected, None))
    return Result(example, None, numbers, (f"{example.where}: {what}. {fix}.",))


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _plain(number: Any) -> int | float | None:
    return None if number is None else plain(number)


_KNOWN = "Known are: " + "; ".join(sorted(_names(shape) for shape in ADAPTERS))
