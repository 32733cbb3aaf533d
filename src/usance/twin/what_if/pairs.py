"""Pairs of runs: two scenarios on the same seeds, and the difference of every figure.

A pair is one seed run twice, once with each scenario. Draws are keyed by seed, entity and event, so
a borrower who is the same in both scenarios has the same luck in both. Each run has a folder of its
own, `seed-<number>/base` and `seed-<number>/other`, and goes on after a kill like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from usance.base.dates import format_month
from usance.base.errors import UsanceError, raise_all
from usance.twin.errors import DiskFull, WhatIfError
from usance.twin.run.disk_space import free_if_too_small, readable_sizes, unwritable
from usance.twin.run.plan import RunPlan
from usance.twin.run.runner import Progress, no_progress, run_scenario
from usance.twin.what_if.figures import PARTS, FigureKey, figures_of
from usance.twin.what_if.noise import Difference, difference
from usance.world.scenario.scenario import Scenario

BASE, OTHER = "base", "other"
FEWEST, MAX = 2, 100
"""Pairs: one alone tells nothing about noise."""
SEEDS = 2**63
Figures = Mapping[FigureKey, Fraction]


@dataclass(frozen=True)
class WhatIf:
    """The question: two scenarios at a scale over some months, on a number of seeds."""

    base: Scenario
    other: Scenario
    scale: Fraction
    first: int
    last: int
    pairs: int

    @property
    def seeds(self) -> tuple[int, ...]:
        """The base's own seed and those after it."""
        return tuple((self.base.seed + n) % SEEDS for n in range(self.pairs))

    def plans(self) -> Iterator[tuple[int, str, RunPlan]]:
        """Every run: its seed, its side and what is run."""
        for seed in self.seeds:
            for side, scenario in ((BASE, self.base), (OTHER, self.other)):
                own = replace(scenario, seed=seed)
                yield seed, side, RunPlan(own, self.scale, self.first, self.last)

    def check(self, folder: Path) -> None:
        """Raise every error of the question."""
        raise_all([*self._differ(), *self._problems(folder)], where="what-if")
        for _, _, plan in self.plans():
            plan.check_anywhere()
        raise_all(list(self._disk_space(folder)), where="what-if")
        for seed, side, plan in self.plans():
            plan.check(run_folder(folder, seed, side))

    def _differ(self) -> Iterator[UsanceError]:
        """Errors of scenarios that differ in what both must share."""
        for name, noun in _SHARED.items():
            first, second = (getattr(each, name) for each in (self.base, self.other))
            if first != second:
                shown = [format_month(x) if name == "first_month" else x for x in (first, second)]
                what = f"{noun} is {shown[0]} in {self.base.name} and {shown[1]} in the other"
                fix = f"Give both the same {name}, or write the other as based_on the first"
                yield WhatIfError(what, where=self.other.name, fix=fix)

    def _problems(self, folder: Path) -> Iterator[UsanceError]:
        if not FEWEST <= self.pairs <= MAX:
            fix = f"Give {FEWEST} to {MAX}: noise is what differs from seed to seed"
            yield WhatIfError(f"{self.pairs} seeds", where="--seeds", fix=fix)
        for scenario in (self.base, self.other):
            if not scenario.group.policies:
                fix = "Give it policies under 'group:', so that its quarters are closed"
                yield WhatIfError("has no books to compare", where=scenario.name, fix=fix)
        if not any(month % 3 == 2 for month in range(self.first, self.last + 1)):
            what = f"no quarter ends from {format_month(self.first)} to {format_month(self.last)}"
            yield WhatIfError(what, where="--to", fix="Go on to the end of a quarter")
        bad = list(unwritable(folder))
        yield from bad
        if not bad and (folder / "manifest.json").exists():
            fix = "Choose another folder with --out: every run gets one of its own inside"
            yield WhatIfError("holds a run or another book", where=str(folder), fix=fix)

    def _disk_space(self, folder: Path) -> Iterator[UsanceError]:
        needed = sum(plan.bytes_needed for _, _, plan in self.plans())
        free = free_if_too_small(folder, needed)
        if free is not None:
            shown = readable_sizes(needed, free)
            what = f"{2 * self.pairs} runs need about {shown[0]}, and {shown[1]} are free"
            fix = "Choose another disk, a smaller --scale or fewer --seeds"
            yield DiskFull(what, where=str(folder), fix=fix)


_SHARED = {
    "currency": "the currency", "time_zone": "the time zone", "first_month": "the first month",
    "seed": "the seed",
}  # fmt: skip


@dataclass(frozen=True)
class WhatIfAnswer:
    """The question, and every figure that both sides have, in print order."""

    asked: WhatIf
    rows: Sequence[tuple[FigureKey, Difference]]

    @property
    def last_periods(self) -> frozenset[str]:
        """The names of the last quarter and of its last day."""
        whole = [place.period for place, _ in self.rows]
        return frozenset({max((p for p in whole if "-" not in p), default=""),
                          max((p for p in whole if p.count("-") == 2), default="")})  # fmt: skip


def run_pairs(
    asked: WhatIf, folder: Path, *, workers: int | None = None, progress: Progress = no_progress,
    clock: Callable[[], float],
) -> WhatIfAnswer:  # fmt: skip
    """Run every pair, or go on with those that are there, and set their figures side by side."""
    asked.check(folder)
    found: dict[str, list[Figures]] = {BASE: [], OTHER: []}
    for at, (seed, side, plan) in enumerate(asked.plans()):
        finished = run_scenario(
            plan.scenario, run_folder(folder, seed, side), scale=plan.scale, first=plan.first,
            last=plan.last, workers=workers, clock=clock,
            progress=_part(progress, f"seed {seed} {plan.scenario.name}", at, 2 * asked.pairs),
        )  # fmt: skip
        found[side].append(figures_of(finished.book))
    progress("done", 1, 1)
    return WhatIfAnswer(asked, differences(found[BASE], found[OTHER]))


def run_folder(folder: Path, seed: int, side: str) -> Path:
    """Folder of a run of a pair."""
    return folder / f"seed-{seed}" / side


def differences(
    base: Sequence[Figures], other: Sequence[Figures]
) -> list[tuple[FigureKey, Difference]]:
    """Every figure that both runs of a pair tell, over the pairs that tell it."""
    pairs = list(zip(base, other, strict=True))
    places = {place: None for first, second in pairs for place in first if place in second}
    rows = []
    for place in places:
        both = [(a[place], b[place]) for a, b in pairs if place in a and place in b]
        rows.append((place, difference([a for a, _ in both], [b for _, b in both])))
    order = {name: n for n, name in enumerate(PARTS)}
    # Stable: lines of a part stay in the order their statement prints them.
    return sorted(rows, key=lambda row: order[row[0].part])


def _part(progress: Progress, name: str, at: int, of: int) -> Progress:
    """The progress of one run as part of the whole."""

    def report(what: str, done: int, whole: int) -> None:
        progress(f"{name} {what}", at * whole + done, of * whole)

    return report
