"""Figures of the commands of one worker: how many, how they ended, and how long they took.

>>> figures = CommandFigures()
>>> with figures.timed("payment.book") as ended:
...     ended("done")
>>> [(key, count) for key, count in figures.ended.items()]
[(('payment.book', 'done'), 1)]
>>> figures.took["payment.book"].counts[-1]
1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from usance.base.errors import UsanceError

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends in seconds; one bucket more has all."""


@dataclass
class Latencies:
    """Durations by bucket, each with all that are shorter, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def note(self, seconds: float) -> None:
        """Add one duration."""
        self.seconds += seconds
        self.counts[-1] += 1
        for at, end in enumerate(BUCKETS):
            self.counts[at] += seconds <= end


@dataclass
class CommandFigures:
    """Counts and durations since the worker began."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By command and outcome: done, known, dry_run, the code of a refusal, or failed."""
    took: dict[str, Latencies] = field(default_factory=dict)

    @contextmanager
    def timed(self, command: str) -> Iterator[Callable[[str], None]]:
        """Time a command; whoever does it tells how it ended, a failure tells itself."""
        begun, told = perf_counter(), ["failed"]
        try:
            yield lambda outcome: told.__setitem__(0, outcome)
        except UsanceError as error:
            told[0] = error.code
            raise
        finally:
            self.ended[command, told[0]] += 1
            self.took.setdefault(command, Latencies()).note(perf_counter() - begun)
