"""Shards on Spark: a frame of their numbers, and a worker's Python that runs the task of each.

Executors read and write the run's folder themselves. Only the task, which is the scenario, and the
few lines that name the files of each output go over Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from usance.base.compiled import available_cores
from usance.base.errors import UsanceError
from usance.measure.engines import check_spark, spark_session, without_pandas
from usance.twin.run.stage_output import StageOutput
from usance.twin.run.stages import ShardTask

_ANSWER = pa.schema([("answer", pa.binary())])
_SPARK_ANSWER = "answer binary"
T = TypeVar("T")


class Spark:
    """The executors of a Spark session; on this machine, if no other master is named."""

    name, relations, in_memory = "spark", "spark", False

    def __init__(self, workers: int | None = None) -> None:
        check_spark()
        self.workers = workers or available_cores()

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        """Output of each shard; one Spark task a shard, answers in their order."""
        if not numbers:
            return
        session = spark_session(self.workers)
        count = len(numbers)
        tasks = session.range(0, count, 1, numPartitions=count)
        with without_pandas():
            done = tasks.mapInArrow(_answers(task, list(numbers)), _SPARK_ANSWER)
        for row in done.collect():
            answer = pickle.loads(row.answer)  # noqa: S301  # from our own executors
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def in_idle_time(self, work: Callable[[], T]) -> Callable[[], T]:
        """Do the work at once: a session belongs to its thread."""
        result = work()
        return lambda: result


def _answers(task: ShardTask, numbers: list[int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a task runs."""

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        pa.set_cpu_count(1)
        for batch in batches:
            found = [answer(task, numbers[place]) for place in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=_ANSWER)

    return answers


def answer(task: ShardTask, number: int) -> bytes:
    """An output as bytes, or its error: a message must come through as it is."""
    try:
        return pickle.dumps(task.output(number))
    except (UsanceError, OSError) as error:
        return pickle.dumps(error)
