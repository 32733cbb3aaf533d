"""Who does the work of shards: threads of this process, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from usance.base.compiled import available_cores
from usance.base.concurrency import in_idle_time, parallel_map
from usance.base.errors import unknown
from usance.measure.duckdb_connection import shared_connection
from usance.twin.run.stage_output import Part
from usance.twin.run.stages import Work

ENGINES = ("local", "spark")
T = TypeVar("T")


class Engine(Protocol):
    """Does a work for shards; the parts come in the order of the shards."""

    name: str
    workers: int
    """Shards that are worked on at once."""
    in_memory: bool
    """Whether a shard may stay in memory from one stage to the next."""
    relations: str
    """The engine of `measure` that metrics are computed on."""

    def parts(self, work: Work, numbers: Sequence[int]) -> Iterator[Part]:
        """The part of each shard, in the order given."""

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin what is needed only later; what is returned waits for it."""


class Local:
    """Threads of this process."""

    name, relations, in_memory = "local", "duckdb", True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or available_cores()
        with (
            shared_connection()
        ):  # it begins before there is memory that it would make others give back
            pass

    def parts(self, work: Work, numbers: Sequence[int]) -> Iterator[Part]:
        """The part of each shard; never more are made at once than there are workers."""
        if len(numbers) <= 1 or self.workers == 1:
            return map(work.part, numbers)
        return parallel_map(work.part, numbers, self.workers)

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """It is done on what the shards leave of the cores."""
        return in_idle_time(work)


def engine_of(name: str, workers: int | None = None) -> Engine:
    """The engine of that name, or why it cannot be had."""
    if name == "local":
        return Local(workers)
    if name != "spark":
        raise unknown("engine", name, ENGINES, where="--engine")
    from usance.twin.run.spark_engine import Spark

    return Spark(workers)
