"""Shards on Spark: a frame of their numbers, and a worker's Python that does the work of each.

Executors read and write the run's folder themselves. What goes over Spark is the work, which is
what the scenario says, and of each part a few lines that name its files.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from usance.base.compiled import available_cores
from usance.base.errors import UsanceError
from usance.measure.engines import check_spark, spark_session, without_pandas
from usance.twin.run.stage_output import Part
from usance.twin.run.stages import Work

_ANSWER = pa.schema([("answer", pa.binary())])
_SPARK_ANSWER = "answer binary"
T = TypeVar("T")


class Spark:
    """The executors of a Spark session; on this machine, if no other master is named."""

    name, relations, in_memory = "spark", "spark", False

    def __init__(self, workers: int | None = None) -> None:
        check_spark()
        self.workers = workers or available_cores()

    def parts(self, work: Work, numbers: Sequence[int]) -> Iterator[Part]:
        """The part of each shard; one task a shard, answers in the order of the tasks."""
        if not numbers:
            return
        session = spark_session(self.workers)
        count = len(numbers)
        tasks = session.range(0, count, 1, numPartitions=count)
        with without_pandas():
            done = tasks.mapInArrow(_answers(work, list(numbers)), _SPARK_ANSWER)
        for row in done.collect():
            answer = pickle.loads(row.answer)  # noqa: S301  # from our own executors
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """It is done at once: a session belongs to its thread."""
        made = work()
        return lambda: made


def _answers(work: Work, numbers: list[int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a task runs."""

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        pa.set_cpu_count(1)
        for batch in batches:
            found = [answer(work, numbers[place]) for place in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=_ANSWER)

    return answers


def answer(work: Work, number: int) -> bytes:
    """A part as bytes, or what went wrong with it: a message must come through as it is."""
    try:
        return pickle.dumps(work.part(number))
    except (UsanceError, OSError) as error:
        return pickle.dumps(error)
