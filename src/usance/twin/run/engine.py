"""Engines that run the tasks of shards: threads of this process, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from usance.base.compiled import available_cores
from usance.base.concurrency import in_idle_time, parallel_map
from usance.base.errors import unknown
from usance.measure.duckdb_connection import shared_connection
from usance.twin.run.stage_output import StageOutput
from usance.twin.run.stages import ShardTask

ENGINES = ("local", "spark")
T = TypeVar("T")


class Engine(Protocol):
    """Runs a task for shards; outputs come in the order of the shards."""

    name: str
    workers: int
    """Shards that are worked on at once."""
    in_memory: bool
    """True if a shard may stay in memory from one stage to the next."""
    relations: str
    """The engine of `measure` that metrics are computed on."""

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        """Output of each shard, in the order given."""

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin work that is needed only later; the function returned waits for its result."""


class Local:
    """Threads of this process."""

    name, relations, in_memory = "local", "duckdb", True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or available_cores()
        with (
            shared_connection()
        ):  # it begins before there is memory that it would make others give back
            pass

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        """Output of each shard; never more are made at once than there are workers."""
        if len(numbers) <= 1 or self.workers == 1:
            return map(task.output, numbers)
        return parallel_map(task.output, numbers, self.workers)

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """Work on the cores that shards leave free."""
        return in_idle_time(work)


def engine_of(name: str, workers: int | None = None) -> Engine:
    """The engine of that name; an unknown one is refused."""
    if name == "local":
        return Local(workers)
    if name != "spark":
        raise unknown("engine", name, ENGINES, where="--engine")
    from usance.twin.run.spark_engine import Spark

    return Spark(workers)
