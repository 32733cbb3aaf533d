"""The run of a twin: month by month, from registration to release, resumable at every stage.

The stages of a month are `serve` (every shard by itself) and `book` (requests of all shards meet
the router, in order, and become loans); a quarter adds `close` and `measure`. Each stage is
published as one step of the book, together with a mark that it is done and the checkpoints the
next stage goes on from. What a kill cuts short was never there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from errno import ENOSPC
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from usance.base.book import Book, Step
from usance.base.compiled import available_cores
from usance.base.dates import format_month
from usance.base.publish import replace as replace_file
from usance.twin import closing
from usance.twin.checkpoint import dues_bytes, dues_of, shard_bytes, shard_of
from usance.twin.dues import DueSums
from usance.twin.errors import NoRoom, OtherRun
from usance.twin.ledger_facts import GroupFacts
from usance.twin.loan_terms import cells_table
from usance.twin.opened import open_shard
from usance.twin.packed import pack, unpack
from usance.twin.plan import Plan
from usance.twin.routed import Routing, book_shard, in_order, route_month
from usance.twin.served import serve_shard
from usance.twin.serving import MONTH_DAYS
from usance.twin.setting import SHARD_BITS, Setting
from usance.twin.shard import Served, Shard, empty_shard, new_loans
from usance.twin.sources import sources_table
from usance.twin.tape import state_table
from usance.world.asking import Eligible, chances
from usance.world.scenario import Scenario

I64 = NDArray[np.int64]
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
MARKS = "run/done"
OPEN, SERVE, BOOK, CLOSE, MEASURE = "open", "serve", "book", "close", "measure"


def no_progress(_stage: str, _done: int, _whole: int) -> None:
    """Say nothing."""


@dataclass
class Run:
    """A finished run."""

    book: Book
    figures: dict[str, Any]


@dataclass
class Driver:
    """What is known across shards between two stages."""

    dues: DueSums
    released: I64
    released_before: I64
    eligible: Eligible = field(default_factory=lambda: Eligible(0, 0, 0))
    requests: dict[str, NDArray[Any]] = field(default_factory=dict)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays."""
        return {
            **dues_bytes(self.dues), "released": self.released,
            "released_before": self.released_before, "eligible": np.array(self.eligible),
            **{f"requests.{name}": values for name, values in self.requests.items()},
        }  # fmt: skip

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> Driver:
        """From the arrays that were kept."""
        requests = {
            name.removeprefix("requests."): values
            for name, values in arrays.items()
            if name.startswith("requests.")
        }
        eligible = Eligible(*(int(each) for each in arrays["eligible"]))
        return cls(
            dues_of(arrays), arrays["released"], arrays["released_before"], eligible, requests
        )


def run(
    scenario: Scenario, folder: Path, *, scale: Fraction, first: int, last: int,
    workers: int | None = None, progress: Progress = no_progress, clock: Callable[[], float],
    shard_bits: int = SHARD_BITS,
) -> Run:  # fmt: skip
    """Run a scenario into a folder, or go on with the run that is in it."""
    plan = Plan(scenario, scale, first, last)
    plan.check(folder)
    try:
        return Runner(plan, folder, workers, progress, clock, shard_bits).run()
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        fix = "Make room, and run the same command again: it goes on where it was"
        raise NoRoom("the disk is full", where=str(folder), fix=fix) from error


class Runner:
    """One run, stage by stage."""

    def __init__(
        self, plan: Plan, folder: Path, workers: int | None, progress: Progress,
        clock: Callable[[], float], shard_bits: int,
    ) -> None:  # fmt: skip
        self.plan, self.progress, self.clock = plan, progress, clock
        self.setting = Setting(plan.scenario, plan.scale, shard_bits)
        self.workers = workers or available_cores()
        self.book = _book(plan, folder)
        self.group = GroupFacts(self.setting, self.book)
        self.held: dict[int, Shard] = {}
        room = (self.setting.sources + 1, MONTH_DAYS)
        self.driver = Driver(
            DueSums(self.setting.cells), np.zeros(room, np.int64), np.zeros(room, np.int64)
        )
        self.seconds: dict[str, float] = {}
        self.figures: dict[str, int] = {}

    def run(self) -> Run:
        """Every stage that is not done yet."""
        stages = list(self._stages())
        begun = self.clock()
        restored = False
        for place, (month, stage) in enumerate(stages):
            self.progress(f"{format_month(month)} {stage}", place, len(stages))
            if self._is_done(month, stage):
                continue
            if not restored:
                self._restore(stages[:place])
                restored = True
            started = self.clock()
            getattr(self, f"_{stage}")(month)
            self.seconds[stage] = self.seconds.get(stage, 0.0) + self.clock() - started
        if not restored:
            self._restore(stages)
        self.progress("done", len(stages), len(stages))
        return Run(self.book, self._finish(self.clock() - begun))

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

    # Marks and checkpoints

    def _mark(self, month: int, stage: str) -> str:
        return f"{MARKS}/{format_month(month)}-{stage}.json"

    def _is_done(self, month: int, stage: str) -> bool:
        return self._mark(month, stage) in self.book.manifest.versions

    def _done(self, step: Step, month: int, stage: str, figures: dict[str, int]) -> None:
        for name, number in figures.items():
            self.figures[name] = self.figures.get(name, 0) + number
        content = {"key": self.plan.key, "figures": self.figures}
        step.keep(self._mark(month, stage), json.dumps(content, sort_keys=True).encode())

    def _place(self, month: int, name: str) -> str:
        """Checkpoints of even and odd months take turns: the older one stands until the end."""
        return f"run/{month % 2}/{name}"

    def _restore(self, done: list[tuple[int, str]]) -> None:
        """What the last finished stage left."""
        stages = [each for each in done if each[1] in (OPEN, SERVE, BOOK)]
        if not stages:
            return
        month, stage = stages[-1]
        kept = self.book.kept(self._place(month, f"driver-{stage}"))
        self.driver = Driver.of(unpack(kept))
        self.figures = json.loads(self.book.kept(self._mark(month, stage)))["figures"]

    def _shard(self, number: int, month: int) -> Shard:
        """A shard as it stood at the end of a month."""
        found = self.held.pop(number, None)
        if found is not None:
            return found
        place = self._place(month, f"s{number:04}")
        return shard_of(self.book.kept(place))

    def _hold(self, shard: Shard) -> None:
        """Keep a shard in memory while there are no more of them than workers."""
        if len(self.setting.shards(self.plan.last)) <= self.workers:
            self.held[shard.number] = shard

    # Stages

    def _open(self, month: int) -> None:
        setting = self.setting
        inner = self._inner(len(setting.shards(month)))
        with self.book.writing() as step:
            step.add("cells", cells_table(setting.institutions))
            step.add("sources", sources_table(setting))
            self.group.open(step)
            figures = self._take(
                step, month, setting.shards(month),
                lambda number: open_shard(setting, number, workers=inner),
            )  # fmt: skip
            self._write_driver(step, month, OPEN)
            self._done(step, month, OPEN, figures)

    def _serve(self, month: int) -> None:
        setting, driver = self.setting, self.driver
        thresholds = chances(setting.scenario, setting.scale, month, driver.eligible)
        shards = setting.shards(month)
        inner = self._inner(len(shards))
        driver.dues.begin(month)
        driver.released_before = driver.released
        known = set(setting.shards(month - 1))

        def one(number: int) -> Served:
            if number not in known:
                shard, booked = empty_shard(setting, number), None
            else:
                shard = self._shard(number, month - 1)
                first = month == setting.scenario.first_month
                booked = None if first else self.book.read("loans", month=month - 1, shard=number)
            return serve_shard(setting, shard, month, thresholds, booked, workers=inner)

        with self.book.writing() as step:
            figures = self._take(step, month, shards, one)
            for each in range(max(month - 2, setting.opening_month), month + 1):
                step.add("dues", driver.dues.table(each), month=each, instead=True)
            self._write_driver(step, month, SERVE)
            self._done(step, month, SERVE, figures)

    def _take(
        self, step: Step, month: int, shards: range, work: Callable[[int], Served]
    ) -> dict[str, int]:
        """Shards one after the other into the book; the next are made while one is written."""
        driver, figures, requests = self.driver, dict[str, int](), []
        driver.eligible, driver.released = Eligible(0, 0, 0), np.zeros_like(driver.released)
        for served in self._in_turn(work, shards):
            for name, rows in served.tables.items():
                if rows.num_rows:
                    step.add(name, rows, month=month, shard=served.shard.number)
            driver.dues.join(served.dues)
            driver.released = driver.released + served.released
            driver.eligible = driver.eligible + served.eligible
            requests.append(served.requests)
            for name, number in served.figures.items():
                figures[name] = figures.get(name, 0) + number
            place = self._place(month, f"s{served.shard.number:04}")
            step.keep(place, shard_bytes(served.shard))
            self._hold(served.shard)
            self.progress(f"{format_month(month)} shard {served.shard.number + 1}", 0, 0)
        asked = [each for each in requests if each]
        driver.requests = in_order(asked) if asked else {}
        return figures

    def _write_driver(self, step: Step, month: int, stage: str) -> None:
        step.keep(self._place(month, f"driver-{stage}"), pack(self.driver.arrays()))

    def _book(self, month: int) -> None:
        setting, driver = self.setting, self.driver
        routing = route_month(
            setting, month, driver.requests, driver.released, driver.released_before
        )
        with self.book.writing() as step:
            loans = self._booked(step, routing, month)
            self.group.month(step, month, self.book)
            driver.requests = {}
            self._write_driver(step, month, BOOK)
            taken = {"loans": loans, "plans": routing.plans}
            self._done(step, month, BOOK, taken)

    def _booked(self, step: Step, routing: Routing, month: int) -> int:
        """The new loans of every shard; how many."""
        count = 0
        for number in self.setting.shards(month):
            made = book_shard(self.setting, routing, number, month)
            for name, rows in made._asdict().items():
                if rows.num_rows:
                    step.add(name, rows, month=month, shard=number)
            self.group.see(made.loans, made.tape)
            count += made.loans.num_rows
        return count

    def _close(self, month: int) -> None:
        period = closing.period_of(month, self.setting.opening_month)
        assert period is not None
        # A run may have been cut off between the close and its mark.
        if closing.is_open(self.book, period):
            closing.close_period(self.book, self.plan.scenario, period, self.clock)
        with self.book.writing() as step:
            self._done(step, month, CLOSE, {})

    def _measure(self, month: int) -> None:
        period = closing.period_of(month, self.setting.opening_month)
        assert period is not None
        closing.measure_quarter(self.book, period)
        with self.book.writing() as step:
            self._done(step, month, MEASURE, {})

    def _write_states(self) -> None:
        """The states of all open loans at the run's end, by shard."""
        month, setting = self.plan.last, self.setting
        with self.book.writing() as step:
            for number in setting.shards(month):
                shard = shard_of(self.book.kept(self._place(month, f"s{number:04}")))
                booked = self.book.read("loans", month=month, shard=number)
                loans = shard.loans.joined(new_loans(setting, booked))
                if len(loans):
                    step.add("state", state_table(loans, month), shard=number, instead=True)

    def _finish(self, seconds: float) -> dict[str, Any]:
        """The states, the release of the last quarter, and `run.json`."""
        self._write_states()
        plan, files = self.plan, dict[str, str]()
        month = max((m for m, stage in self._stages() if stage == MEASURE), default=None)
        if month is not None:
            period = closing.period_of(month, self.setting.opening_month)
            assert period is not None
            files = closing.publish_release(
                self.book, plan.scenario, period, self.book.path / "release"
            )
        figures = {
            "scenario": plan.scenario.name, "seed": plan.scenario.seed, "scale": str(plan.scale),
            "from": format_month(plan.first), "to": format_month(plan.last), "key": plan.key,
            "engine": "local", "figures": self.figures, "seconds": round(seconds, 3),
            "seconds_by_stage": {name: round(each, 3) for name, each in self.seconds.items()},
            "disk_bytes_expected": plan.bytes_needed, "release": files,
            "digests": {
                name: str(entry.digest) for name, entry in self.book.manifest.tables.items()
            },
        }  # fmt: skip
        content = json.dumps(figures, indent=1, sort_keys=True) + "\n"
        replace_file(self.book.path / "run.json", content.encode())
        return figures

    # Shards in threads

    def _inner(self, shards: int) -> int:
        """Threads inside a shard: all of them where it is alone, else one."""
        return self.workers if shards == 1 else 1

    def _in_turn(self, work: Callable[[int], T], shards: range) -> Iterator[T]:
        """Results in order of shard, never more at once than there are workers."""
        if len(shards) == 1 or self.workers == 1:
            yield from map(work, shards)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            coming = [pool.submit(work, number) for number in shards[: self.workers]]
            for number in shards:
                yield coming.pop(0).result()
                following = number + self.workers
                if following < len(shards):
                    coming.append(pool.submit(work, following))


def _book(plan: Plan, folder: Path) -> Book:
    """The book of the run: a new one, or that of the same run."""
    if not (folder / "manifest.json").exists():
        scenario = plan.scenario
        return Book.create(folder, currency=scenario.currency, time_zone=scenario.time_zone)
    book = Book.open(folder)
    marks = [path for path in book.manifest.versions if path.startswith(f"{MARKS}/")]
    keys = {json.loads(book.kept(path))["key"] for path in marks}
    if keys - {plan.key} or (book.manifest.tables and not keys):
        fix = "Choose another folder with --out, or ask for the run that is in it"
        raise OtherRun("holds another run or another book", where=str(folder), fix=fix)
    reached = max((path.removeprefix(f"{MARKS}/")[:7] for path in marks), default="")
    if reached > format_month(plan.last):
        what = f"holds a run that has come to {reached}"
        raise OtherRun(what, where=str(folder), fix=f"Give --to {reached} or a later month")
    return book
