"""Small runs that tests share: a scenario with many faults, made once a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path

from usance.base.book import Book
from usance.twin.run.engine import Engine
from usance.twin.run.run_context import SHARD_BITS
from usance.twin.run.runner import Run, run_scenario
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Group, Scenario

SCALE = Fraction(1, 4)
FIRST, LAST = 636, 640


def faulty() -> Scenario:
    """`calm` without books, with late payers, late notices and duplicates in plenty."""
    calm = read_scenario("calm")
    group = replace(calm.group, policies={}, facts="")
    assert isinstance(group, Group)
    return replace(
        calm,
        group=group,
        providers=replace(
            calm.providers, late_notice_ppm=200_000, late_notice_days=9, duplicate_ppm=50_000
        ),
        behaviour=replace(
            calm.behaviour, late_ppm=250_000, collected30_ppm=600_000, partial_ppm=150_000,
            prepay_ppm=60_000, recovery_ppm=300_000, fraud_ppm=50_000,
        ),
    )  # fmt: skip


def ticking() -> Callable[[], float]:
    """A clock that is one second later each time it is looked at."""
    ticks: Iterator[int] = count()
    return lambda: float(next(ticks))


def run_into(
    folder: Path, scenario: Scenario, *, workers: int = 1, shard_bits: int = SHARD_BITS,
    last: int = LAST, progress: Callable[[str, int, int], None] | None = None,
    engine: Engine | None = None,
) -> Run:  # fmt: skip
    """A run of a scenario's first months."""
    said = progress or (lambda _what, _done, _whole: None)
    return run_scenario(
        scenario, folder, scale=SCALE, first=FIRST, last=last, workers=workers, progress=said,
        clock=ticking(), shard_bits=shard_bits, engine=engine,
    )  # fmt: skip


def digests(book: Book) -> dict[str, str]:
    """The digest of every table."""
    return {name: str(book.digest(name)) for name in book.manifest.tables}
