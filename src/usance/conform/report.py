"""Results of a file of cases with known answers, as text for people and as JSON for programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class CaseResult(Protocol):
    """The result of one case; one without a known answer neither passes nor fails."""

    @property
    def passed(self) -> bool:
        """True if the case has an answer and meets it."""

    @property
    def failed(self) -> bool:
        """True if the case could not be computed, or a value of it is wrong."""


R = TypeVar("R", bound=CaseResult)


@dataclass(frozen=True, slots=True)
class Report(ABC, Generic[R]):
    """The results of a file of cases."""

    results: tuple[R, ...]

    @property
    def failures(self) -> tuple[R, ...]:
        """The cases that failed."""
        return tuple(result for result in self.results if result.failed)

    @property
    def passed(self) -> int:
        """The number of cases that passed."""
        return sum(result.passed for result in self.results)

    @abstractmethod
    def as_dict(self) -> Mapping[str, object]:
        """The answer of `--json`."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """The same for people: every case, then the sums."""
