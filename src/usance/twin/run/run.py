"""The run of a twin: month by month, from registration to release, resumable at every shard.

The stages of a month are `serve` (every shard by itself) and `book` (requests of all shards meet
the router, in order, and become loans of every shard); a quarter adds `close` and `measure`, the
end `states`. Every shard of a stage leaves a part in the run's folder; when all are there, the
stage is published as one step of the book, with a mark that it is done and the checkpoints the
next stage goes on from. After a kill, finished stages and finished parts are taken as they are.

Nothing waits for metrics but the next ones and the end: they are computed beside the months that
follow, from the book as the close left it, which is kept.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from usance.base.book import Book
from usance.base.concurrency import in_background
from usance.base.dates import format_month
from usance.base.manifest import Manifest
from usance.base.packed import pack, unpack
from usance.base.parquet import sha256_of
from usance.base.publish import replace as replace_file
from usance.base.step import MANIFEST, Step
from usance.books.periods import ClosePeriod
from usance.measure.duckdb_connection import use_all_cores
from usance.twin.errors import RunError
from usance.twin.month.loan_terms import cells_table
from usance.twin.month.routing import Routing, route_month
from usance.twin.month.shard import Shard
from usance.twin.run import quarter_close as closing
from usance.twin.run.driver import Driver
from usance.twin.run.engine import Engine, Local
from usance.twin.run.folder import book_in
from usance.twin.run.ledger_facts import GroupFacts
from usance.twin.run.plan import MARKS, Plan
from usance.twin.run.run_context import SHARD_BITS, Setting
from usance.twin.run.sources import limits_table, sources_table
from usance.twin.run.stage_output import Part, Place, clear, shard_name, standing
from usance.twin.run.stages import (
    ROUTED,
    SUMS,
    Booking,
    Opening,
    Serving,
    Stating,
    Work,
    checkpoint_path,
    only,
    write_routed,
)
from usance.world.demand import chances, targets
from usance.world.scenario.scenario import Scenario

Progress = Callable[[str, int, int], None]
OPEN, SERVE, BOOK, CLOSE, MEASURE, STATES = "open", "serve", "book", "close", "measure", "states"
MAX_HELD = 8
"""Shards that stay in memory from stage to stage, at some 300 MB each; more are read again."""


def no_progress(_stage: str, _done: int, _whole: int) -> None:
    """Say nothing."""


@dataclass
class Run:
    """A finished run."""

    book: Book
    figures: dict[str, Any]


class Measuring(NamedTuple):
    """A quarter whose metrics are being computed."""

    month: int
    made: Callable[[], tuple[pa.Table, float]]
    """Waits for them, and for the seconds they took."""


class Stage(NamedTuple):
    """A stage that is being done: its step of the book, and the parts that are there already."""

    step: Step
    place: Place
    there: dict[str, Part]


def run(
    scenario: Scenario, folder: Path, *, scale: Fraction, first: int, last: int,
    workers: int | None = None, engine: Engine | None = None, progress: Progress = no_progress,
    clock: Callable[[], float], shard_bits: int = SHARD_BITS,
) -> Run:  # fmt: skip
    """Run a scenario into a folder, or go on with the run that is in it."""
    plan = Plan(scenario, scale, first, last)
    plan.check(folder)
    with book_in(folder.absolute(), scenario) as book:
        plan.check_other(folder)  # again: until now another process might have begun here
        return Runner(plan, book, engine or Local(workers), progress, clock, shard_bits).run()


class Runner:
    """One run, stage by stage."""

    def __init__(
        self, plan: Plan, book: Book, engine: Engine, progress: Progress,
        clock: Callable[[], float], shard_bits: int,
    ) -> None:  # fmt: skip
        self.plan, self.book, self.engine, self.clock = plan, book, engine, clock
        self.setting = Setting(plan.scenario, plan.scale, shard_bits)
        self.group = GroupFacts(self.setting)
        self.driver = Driver.new(self.setting)
        in_memory = engine.in_memory and len(self.setting.shards(plan.last)) <= MAX_HELD
        self.held: dict[int, Shard] | None = {} if in_memory else None
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.seconds_beside: defaultdict[str, float] = defaultdict(float)
        self.figures: Counter[str] = Counter()
        self.measuring: Measuring | None = None
        self.answers: Callable[[], Routing] | None = None
        stages = list(self._stages())
        self.progress, self.reached = progress, 0
        self.whole = sum(self._size(month) for month, _ in stages)

    def run(self) -> Run:
        """Every stage that is not done yet."""
        stages, begun = list(self._stages()), self.clock()
        done = [each for each in stages if self._is_done(*each)]
        self._restore(done)
        for month, stage in stages:
            if (month, stage) not in done:
                started = self.clock()
                self.progress(f"{format_month(month)} {stage}", self.reached, self.whole)
                getattr(self, f"_{stage}")(month)
                self.seconds[stage] += self.clock() - started
            self.reached += self._size(month)
        with use_all_cores():  # nothing follows that would need the memory again
            self._take_metrics()
            figures = self._finish(self.clock() - begun)
        self.progress("done", self.whole, self.whole)
        return Run(self.book, figures)

    def _stages(self) -> Iterator[tuple[int, str]]:
        opening = self.setting.opening_month
        with_books = bool(self.plan.scenario.group.policies)
        yield opening, OPEN
        if with_books:
            yield opening, CLOSE
        for month in self.plan.months:
            yield month, SERVE
            yield month, BOOK
            if with_books and closing.period_of(month, opening):
                yield month, CLOSE
                yield month, MEASURE
        yield self.plan.last, STATES

    def _size(self, month: int) -> int:
        """How long a stage takes, roughly, in shards."""
        return len(self.setting.shards(month))

    # Marks and checkpoints

    def _mark(self, month: int, stage: str) -> str:
        return f"{MARKS}/{format_month(month)}-{stage}.json"

    def _is_done(self, month: int, stage: str) -> bool:
        return self._mark(month, stage) in self.book.manifest.versions

    def _done(self, step: Step, month: int, stage: str) -> None:
        content = {"key": self.plan.key, "figures": self.figures}
        step.keep(self._mark(month, stage), json.dumps(content, sort_keys=True).encode())

    def _keep_driver(self, stage: Stage) -> None:
        path = checkpoint_path(stage.place.month, f"driver-{stage.place.stage}")
        stage.step.keep(path, pack(self.driver.arrays()))

    def _restore(self, done: list[tuple[int, str]]) -> None:
        """What the last finished stage left."""
        stages = [each for each in done if each[1] in (OPEN, SERVE, BOOK)]
        if not stages:
            return
        month, stage = stages[-1]
        kept = self.book.kept(checkpoint_path(month, f"driver-{stage}"))
        self.driver = Driver.of(unpack(kept))
        self.figures = Counter(json.loads(self.book.kept(self._mark(month, stage)))["figures"])

    # Parts

    @contextmanager
    def _stage(self, month: int, stage: str) -> Iterator[Stage]:
        """A step of the book and the parts it is made of, which are gone when it is done."""
        with self.book.writing() as step:
            after = sha256_of(self.book.path / MANIFEST)
            place = Place(self.book.path, month, stage, self.plan.key, after)
            yield Stage(step, place, standing(place))
            self._done(step, month, stage)
        clear(place)

    def _told(self, place: Place, month: int | None = None) -> dict[str, Any]:
        """What every work is told; it reads the loans and checkpoints of that month, if any."""
        shards = self.setting.shards(place.month)
        book = only(self.book, month, [shard_name(number) for number in shards])
        inner = self.engine.workers if self.engine.in_memory else 1  # for the last shards
        return {
            "setting": self.setting, "place": place, "book": book, "workers": inner,
            "held": self.held,
        }  # fmt: skip

    def _parts(self, stage: Stage, work: Work, *, instead: bool = False) -> Iterator[Part]:
        """The part of every shard, in order; those that are not there yet are made."""
        step, place, there = stage
        shards = self.setting.shards(place.month)
        coming = self.engine.parts(work, [n for n in shards if shard_name(n) not in there])
        for number in shards:
            part = there.get(shard_name(number)) or next(coming, None)
            if part is None or part.name != shard_name(number):
                what = f"the engine gave {part and part.name} for {shard_name(number)}"
                raise RunError(what, where=str(place.folder), fix="Use another --engine")
            part.publish(step, instead=instead)
            self.figures.update(part.figures)
            yield part
            self.progress(
                f"{format_month(place.month)} {place.stage}, shard {number + 1} of {len(shards)}",
                self.reached + number + 1, self.whole,
            )  # fmt: skip

    # Stages

    def _open(self, month: int) -> None:
        with self._stage(month, OPEN) as stage:
            stage.step.add("cells", cells_table(self.setting.institutions))
            stage.step.add("sources", sources_table(self.setting))
            self.group.open(stage.step)
            work = Opening(**self._told(stage.place))
            self.driver.take(map(_sums, self._parts(stage, work)))
            self._keep_driver(stage)

    def _serve(self, month: int) -> None:
        setting, driver = self.setting, self.driver
        thresholds = chances(setting.scenario, setting.scale, month, driver.eligible)
        self.figures["asks_wanted"] += sum(targets(setting.scenario, setting.scale, month))
        driver.begin(month)
        with self._stage(month, SERVE) as stage:
            work = Serving(**self._told(stage.place, month - 1), thresholds=thresholds)
            driver.take(map(_sums, self._parts(stage, work)))
            self.answers = in_background(self._to_route(month))
            for each in range(max(month - 2, setting.opening_month), month + 1):
                stage.step.add("dues", driver.dues.table(each), month=each, instead=True)
            self._keep_driver(stage)

    def _book(self, month: int) -> None:
        driver = self.driver
        with self._stage(month, BOOK) as stage:
            # While requests are routed:
            limits = limits_table(self.setting, month, self.book, driver.released_before)
            stage.step.add("limits", limits, month=month)
            routed = stage.there.get(ROUTED) or self._routed(stage.place)
            self.answers = None
            driver.requests = {}  # each shard has its own now
            work = Booking(**self._told(stage.place), routed=routed)
            lent = [_sums(part)["lent"] for part in self._parts(stage, work)]
            self.figures.update(routed.figures)
            self.group.month(
                stage.step, month, self.book, lent=np.sum(lent, axis=0), owed=driver.owed,
                approved=driver.approved,
            )  # fmt: skip
            self._keep_driver(stage)

    def _routed(self, place: Place) -> Part:
        """What the router answered, which began as soon as all had asked, if that was just now."""
        answers = self.answers or self._to_route(place.month)
        return write_routed(place, self.setting, answers())

    def _to_route(self, month: int) -> Callable[[], Routing]:
        """Requests are routed once, in order, whoever works on the shards."""
        driver = self.driver
        asked, back = driver.requests, (driver.released, driver.released_before)
        return lambda: route_month(self.setting, month, asked, *back)

    def _close(self, month: int) -> None:
        period = self._period(month)
        # A run may have been cut off between the close and its mark.
        if closing.is_open(self.book, period):
            closing.close_period(self.book, self.plan.scenario, period, self.clock)
        left = self.book.manifest.to_bytes()
        with self.book.writing() as step:
            step.keep(self._left(month), left)
            self._done(step, month, CLOSE)

    def _left(self, month: int) -> str:
        """Where the manifest is kept as the close of a month left it."""
        return f"run/left/{format_month(month)}.json"

    def _as_left(self, month: int) -> Book:
        """The book as the close left it, but for the states, which are those of an earlier end."""
        left = Manifest.from_bytes(self.book.kept(self._left(month)), where=self._left(month))
        tables = {name: entry for name, entry in left.tables.items() if name != "state"}
        return Book(self.book.path, replace(left, tables=tables))

    def _measure(self, month: int) -> None:
        self._take_metrics()
        left = self._as_left(month)

        def made() -> tuple[pa.Table, float]:
            begun = self.clock()
            metrics = closing.measured(left, self._period(month), self.engine.relations)
            return metrics, self.clock() - begun

        self.measuring = Measuring(month, self.engine.in_idle_time(made))

    def _take_metrics(self) -> None:
        """Publish the metrics that were being computed, if any were."""
        if self.measuring is None:
            return
        month = self.measuring.month
        self.progress(f"{format_month(month)} {MEASURE}", self.reached, self.whole)
        metrics, seconds = self.measuring.made()
        with self.book.writing() as step:
            step.add("metrics", metrics, month=month, instead=True)
            self._done(step, month, MEASURE)
        self.seconds_beside[MEASURE] += seconds
        self.measuring = None

    def _states(self, month: int) -> None:
        with self._stage(month, STATES) as stage:
            for _ in self._parts(stage, Stating(**self._told(stage.place, month)), instead=True):
                pass

    def _period(self, month: int) -> ClosePeriod:
        period = closing.period_of(month, self.setting.opening_month)
        assert period is not None
        return period

    # The end

    def _finish(self, seconds: float) -> dict[str, Any]:
        """`run.json`, then the release of the last quarter, then its files in `run.json` too."""
        figures = self._figures(seconds)
        self._tell(figures)
        month = max((m for m, stage in self._stages() if stage == MEASURE), default=None)
        if month is not None:
            figures["release"] = closing.publish_release(
                self.book, self.plan.scenario, self._period(month), self.book.path / "release"
            )
            self._tell(figures)
        return figures

    def _figures(self, seconds: float) -> dict[str, Any]:
        plan = self.plan
        return {
            "scenario": plan.scenario.name, "seed": plan.scenario.seed, "scale": str(plan.scale),
            "from": format_month(plan.first), "to": format_month(plan.last), "key": plan.key,
            "engine": self.engine.name, "workers": self.engine.workers,
            "figures": dict(self.figures), "notes": _notes(self.figures),
            "seconds": round(seconds, 3), "seconds_by_stage": _rounded(self.seconds),
            "seconds_beside": _rounded(self.seconds_beside),
            "disk_bytes_expected": plan.bytes_needed, "release": {},
            "digests": {
                name: str(entry.digest) for name, entry in self.book.manifest.tables.items()
            },
        }  # fmt: skip

    def _tell(self, figures: Mapping[str, Any]) -> None:
        content = json.dumps(figures, indent=1, sort_keys=True) + "\n"
        replace_file(self.book.path / "run.json", content.encode())


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(each, 3) for name, each in seconds.items()}


def _notes(figures: Counter[str]) -> list[str]:
    """What a run did not reach, beyond chance."""
    asked, wanted = figures["asks"], figures["asks_wanted"]
    if wanted - asked <= max(wanted / 20, 4 * wanted**0.5):
        return []
    return [f"users asked {asked:,} of the {wanted:,} times the scenario wants: too few may ask"]


def _sums(part: Part) -> dict[str, Any]:
    return unpack(part.read(SUMS))
