"""The run of a twin: month by month, from registration to release, resumable at every shard.

The stages of a month are `serve` (every shard by itself) and `book` (requests of all shards meet
the router, in order, and become loans of every shard); a quarter adds `close` and `measure`, the
end `states`. Every shard of a stage leaves an output in the run's folder; when all are there, the
stage is published as one step of the book, with a mark that it is done and the checkpoints the
next stage resumes from. After a kill, finished stages and finished outputs are used as they are.

Nothing waits for metrics but the next ones and the end: they are computed in idle time during the
months that follow, from the book as of the close, which is kept.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from usance.base.array_bytes import pack, unpack
from usance.base.book import Book
from usance.base.book_step import MANIFEST, Step
from usance.base.concurrency import in_background
from usance.base.dates import format_month
from usance.base.manifest import Manifest
from usance.base.parquet import sha256_of
from usance.books.periods import ClosePeriod
from usance.measure.duckdb_connection import use_all_cores
from usance.twin.errors import RunError
from usance.twin.month.loan_terms import cells_table
from usance.twin.month.routing import Routing, route_month
from usance.twin.month.shard import Shard
from usance.twin.run import quarter_close
from usance.twin.run.engine import Engine, Local
from usance.twin.run.folder import book_in, run_content, write_run_file
from usance.twin.run.ledger_facts import GroupFacts
from usance.twin.run.plan import MARKS, RunPlan
from usance.twin.run.run_context import SHARD_BITS, RunContext
from usance.twin.run.run_totals import RunTotals
from usance.twin.run.sources import limits_table, sources_table
from usance.twin.run.stage_output import (
    StageFolder,
    StageOutput,
    finished_outputs,
    remove_outputs,
    shard_name,
)
from usance.twin.run.stages import (
    ROUTING,
    SUMS,
    BookingTask,
    OpeningTask,
    ServingTask,
    ShardTask,
    StatesTask,
    book_view,
    checkpoint_path,
    write_routing,
)
from usance.world.demand import request_chances, request_targets
from usance.world.scenario.scenario import Scenario

Progress = Callable[[str, int, int], None]
OPEN, SERVE, BOOK, CLOSE, MEASURE, STATES = "open", "serve", "book", "close", "measure", "states"
MAX_CACHED_SHARDS = 8
"""Shards that stay in memory from stage to stage, at some 300 MB each; more are read again."""


def no_progress(_stage: str, _done: int, _whole: int) -> None:
    """Report nothing."""


@dataclass
class Run:
    """A finished run."""

    book: Book
    figures: dict[str, Any]


class PendingMetrics(NamedTuple):
    """A quarter whose metrics are being computed."""

    month: int
    result: Callable[[], tuple[pa.Table, float]]
    """Waits for them, and for the seconds they took."""


class RunningStage(NamedTuple):
    """A stage in progress: its step of the book, and the outputs that are finished already."""

    step: Step
    folder: StageFolder
    finished: dict[str, StageOutput]


def run_scenario(
    scenario: Scenario, folder: Path, *, scale: Fraction, first: int, last: int,
    workers: int | None = None, engine: Engine | None = None, progress: Progress = no_progress,
    clock: Callable[[], float], shard_bits: int = SHARD_BITS,
) -> Run:  # fmt: skip
    """Run a scenario into a folder, or go on with the run that is in it."""
    plan = RunPlan(scenario, scale, first, last)
    plan.check(folder)
    with book_in(folder.absolute(), scenario) as book:
        plan.check_other(folder)  # again: until now another process might have begun here
        return Runner(plan, book, engine or Local(workers), progress, clock, shard_bits).run()


class Runner:
    """One run, stage by stage."""

    def __init__(
        self, plan: RunPlan, book: Book, engine: Engine, progress: Progress,
        clock: Callable[[], float], shard_bits: int,
    ) -> None:  # fmt: skip
        self.plan, self.book, self.engine, self.clock = plan, book, engine, clock
        self.context = RunContext(plan.scenario, plan.scale, shard_bits)
        self.group = GroupFacts(self.context)
        self.totals = RunTotals.new(self.context)
        in_memory = engine.in_memory and len(self.context.shards(plan.last)) <= MAX_CACHED_SHARDS
        self.cached_shards: dict[int, Shard] | None = {} if in_memory else None
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.seconds_in_background: defaultdict[str, float] = defaultdict(float)
        self.figures: Counter[str] = Counter()
        self.pending_metrics: PendingMetrics | None = None
        self.pending_routing: Callable[[], Routing] | None = None
        stages = list(self._stages())
        self.progress, self.reached = progress, 0
        self.whole = sum(self._size(month) for month, _ in stages)

    def run(self) -> Run:
        """Every stage that is not done yet."""
        run_stage: dict[str, Callable[[int], None]] = {
            OPEN: self._open, SERVE: self._serve, BOOK: self._book, CLOSE: self._close,
            MEASURE: self._measure, STATES: self._states,
        }  # fmt: skip
        stages, begun = list(self._stages()), self.clock()
        done = [each for each in stages if self._is_done(*each)]
        self._restore(done)
        for month, stage in stages:
            if (month, stage) not in done:
                started = self.clock()
                self.progress(f"{format_month(month)} {stage}", self.reached, self.whole)
                run_stage[stage](month)
                self.seconds[stage] += self.clock() - started
            self.reached += self._size(month)
        with use_all_cores():  # nothing follows that would need the memory again
            self._publish_metrics()
            figures = self._finish(self.clock() - begun)
        self.progress("done", self.whole, self.whole)
        return Run(self.book, figures)

    def _stages(self) -> Iterator[tuple[int, str]]:
        opening = self.context.opening_month
        with_books = bool(self.plan.scenario.group.policies)
        yield opening, OPEN
        if with_books:
            yield opening, CLOSE
        for month in self.plan.months:
            yield month, SERVE
            yield month, BOOK
            if with_books and quarter_close.period_of(month, opening):
                yield month, CLOSE
                yield month, MEASURE
        yield self.plan.last, STATES

    def _size(self, month: int) -> int:
        """Rough duration of a stage, in shards."""
        return len(self.context.shards(month))

    # Marks and checkpoints

    def _mark(self, month: int, stage: str) -> str:
        return f"{MARKS}/{format_month(month)}-{stage}.json"

    def _is_done(self, month: int, stage: str) -> bool:
        return self._mark(month, stage) in self.book.manifest.versions

    def _done(self, step: Step, month: int, stage: str) -> None:
        content = {"key": self.plan.key, "figures": self.figures}
        step.keep(self._mark(month, stage), json.dumps(content, sort_keys=True).encode())

    def _keep_totals(self, stage: RunningStage) -> None:
        path = checkpoint_path(stage.folder.month, f"driver-{stage.folder.stage}")
        stage.step.keep(path, pack(self.totals.arrays()))

    def _restore(self, done: list[tuple[int, str]]) -> None:
        """Restore the totals of the last finished stage."""
        stages = [each for each in done if each[1] in (OPEN, SERVE, BOOK)]
        if not stages:
            return
        month, stage = stages[-1]
        kept = self.book.kept(checkpoint_path(month, f"driver-{stage}"))
        self.totals = RunTotals.of(unpack(kept))
        self.figures = Counter(json.loads(self.book.kept(self._mark(month, stage)))["figures"])

    # Outputs of shards

    @contextmanager
    def _stage(self, month: int, stage: str) -> Iterator[RunningStage]:
        """A step of the book and the outputs it is made of, which are removed when it is done."""
        with self.book.writing() as step:
            after = sha256_of(self.book.path / MANIFEST)
            folder = StageFolder(self.book.path, month, stage, self.plan.key, after)
            yield RunningStage(step, folder, finished_outputs(folder))
            self._done(step, month, stage)
        remove_outputs(folder)

    def _task_arguments(self, folder: StageFolder, month: int | None = None) -> dict[str, Any]:
        """Arguments of every task; it reads the loans and checkpoints of that month, if any."""
        shards = self.context.shards(folder.month)
        names, incidents = [shard_name(each) for each in shards], self.plan.scenario.incidents
        book = book_view(self.book, month, names, with_history=incidents.are_any)
        inner = self.engine.workers if self.engine.in_memory else 1  # for the last shards
        return {
            "context": self.context, "folder": folder, "book": book, "workers": inner,
            "cached_shards": self.cached_shards,
        }  # fmt: skip

    def _outputs(
        self, stage: RunningStage, task: ShardTask, *, instead: bool = False
    ) -> Iterator[StageOutput]:
        """The output of every shard, in order; those that are not finished are made."""
        step, folder, finished = stage
        shards = self.context.shards(folder.month)
        coming = self.engine.outputs(task, [n for n in shards if shard_name(n) not in finished])
        for number in shards:
            output = finished.get(shard_name(number)) or next(coming, None)
            if output is None or output.name != shard_name(number):
                what = f"the engine gave {output and output.name} for {shard_name(number)}"
                raise RunError(what, where=str(folder.path), fix="Use another --engine")
            output.publish(step, instead=instead)
            self.figures.update(output.figures)
            yield output
            self.progress(
                f"{format_month(folder.month)} {folder.stage}, shard {number + 1} of {len(shards)}",
                self.reached + number + 1, self.whole,
            )  # fmt: skip

    # Stages

    def _open(self, month: int) -> None:
        with self._stage(month, OPEN) as stage:
            stage.step.add("cells", cells_table(self.context.institutions))
            stage.step.add("sources", sources_table(self.context))
            task = OpeningTask(**self._task_arguments(stage.folder))
            self.totals.take(map(_sums, self._outputs(stage, task)))
            self.group.open(stage.step, self.totals.owed)
            self._keep_totals(stage)

    def _serve(self, month: int) -> None:
        context, totals = self.context, self.totals
        thresholds = request_chances(context.scenario, context.scale, month, totals.eligible)
        self.figures["asks_wanted"] += sum(request_targets(context.scenario, context.scale, month))
        totals.begin(month)
        with self._stage(month, SERVE) as stage:
            task = ServingTask(
                **self._task_arguments(stage.folder, month - 1), thresholds=thresholds
            )
            totals.take(map(_sums, self._outputs(stage, task)))
            self.pending_routing = in_background(self._to_route(month))
            for each in range(max(month - 2, context.opening_month), month + 1):
                stage.step.add("dues", totals.dues.table(each), month=each, instead=True)
            self._keep_totals(stage)

    def _book(self, month: int) -> None:
        totals = self.totals
        with self._stage(month, BOOK) as stage:
            # While requests are routed:
            limits = limits_table(self.context, month, self.book, totals.released_before)
            stage.step.add("limits", limits, month=month)
            routing = stage.finished.get(ROUTING) or self._write_routing(stage.folder)
            self.pending_routing = None
            totals.requests = {}  # each shard has its own now
            task = BookingTask(**self._task_arguments(stage.folder), routing=routing)
            lent = [_sums(output)["lent"] for output in self._outputs(stage, task)]
            self.figures.update(routing.figures)
            self.group.month(
                stage.step, month, self.book, lent=np.sum(lent, axis=0), owed=totals.owed,
                approved=totals.approved, paid=totals.paid,
            )  # fmt: skip
            self._keep_totals(stage)

    def _write_routing(self, folder: StageFolder) -> StageOutput:
        """Output of the router, which began as soon as all had asked, if that was just now."""
        routing = self.pending_routing or self._to_route(folder.month)
        return write_routing(folder, self.context, routing())

    def _to_route(self, month: int) -> Callable[[], Routing]:
        """Routing of a month: once, in order, whatever engine works on the shards."""
        totals = self.totals
        requests, released = totals.requests, (totals.released, totals.released_before)
        return lambda: route_month(self.context, month, requests, *released)

    def _close(self, month: int) -> None:
        period = self._period(month)
        # A run may have been cut off between the close and its mark.
        if quarter_close.is_open(self.book, period):
            quarter_close.close_period(self.book, self.plan.scenario, period, self.clock)
        manifest = self.book.manifest.to_bytes()
        with self.book.writing() as step:
            step.keep(self._closed_manifest(month), manifest)
            self._done(step, month, CLOSE)

    def _closed_manifest(self, month: int) -> str:
        """Path of the manifest as of the close of a month."""
        return f"run/left/{format_month(month)}.json"

    def _as_closed(self, month: int) -> Book:
        """The book as of a close, but for the states, which are those of an earlier end."""
        manifest = Manifest.from_bytes(
            self.book.kept(self._closed_manifest(month)), where=self._closed_manifest(month)
        )
        tables = {name: entry for name, entry in manifest.tables.items() if name != "state"}
        return Book(self.book.path, replace(manifest, tables=tables))

    def _measure(self, month: int) -> None:
        self._publish_metrics()
        closed = self._as_closed(month)

        def computed() -> tuple[pa.Table, float]:
            begun = self.clock()
            metrics = quarter_close.quarter_metrics(
                closed, self._period(month), self.engine.relations
            )
            return metrics, self.clock() - begun

        self.pending_metrics = PendingMetrics(month, self.engine.in_idle_time(computed))

    def _publish_metrics(self) -> None:
        """Publish the metrics that were being computed, if any were."""
        if self.pending_metrics is None:
            return
        month = self.pending_metrics.month
        self.progress(f"{format_month(month)} {MEASURE}", self.reached, self.whole)
        metrics, seconds = self.pending_metrics.result()
        with self.book.writing() as step:
            step.add("metrics", metrics, month=month, instead=True)
            self._done(step, month, MEASURE)
        self.seconds_in_background[MEASURE] += seconds
        self.pending_metrics = None

    def _states(self, month: int) -> None:
        with self._stage(month, STATES) as stage:
            for _ in self._outputs(
                stage, StatesTask(**self._task_arguments(stage.folder, month)), instead=True
            ):
                pass

    def _period(self, month: int) -> ClosePeriod:
        period = quarter_close.period_of(month, self.context.opening_month)
        assert period is not None
        return period

    # The end

    def _finish(self, seconds: float) -> dict[str, Any]:
        """`run.json`, then the release of the last quarter, then its files in `run.json` too."""
        content = run_content(
            self.plan, self.engine, self.book, self.figures, seconds, self.seconds,
            self.seconds_in_background,
        )  # fmt: skip
        write_run_file(self.book, content)
        month = max((m for m, stage in self._stages() if stage == MEASURE), default=None)
        if month is not None:
            content["release"] = quarter_close.publish_release(
                self.book, self.plan.scenario, self._period(month), self.book.path / "release"
            )
            write_run_file(self.book, content)
        return content


def _sums(output: StageOutput) -> dict[str, Any]:
    return unpack(output.read(SUMS))
