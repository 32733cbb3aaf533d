"""Lines of a benchmark: what was measured, against what, and whether the aim is met."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field


def best_seconds(function: Callable[[], object], repeats: int = 15) -> float:
    """The shortest of some runs: the one that the machine's other work disturbed least."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return min(times)


@dataclass
class Report:
    """Results in the order they were measured; printed as they come."""

    missed: list[str] = field(default_factory=list)

    def section(self, title: str) -> None:
        """A heading."""
        sys.stdout.write(f"\n{title}\n")

    def line(self, what: str, measured: str, aim: str = "", met: bool | None = None) -> None:
        """One figure; `met` is None where there is no aim."""
        mark = {True: "ok", False: "MISSED", None: ""}[met]
        sys.stdout.write(f"  {what:<58} {measured:>22}  {aim:<22} {mark}\n")
        sys.stdout.flush()
        if met is False:
            self.missed.append(what)

    def at_least(self, what: str, value: float, aim: float, unit: str) -> None:
        """A figure that should be large."""
        self.line(what, f"{value:,.1f} {unit}", f"aim ≥ {aim:,g} {unit}", value >= aim)

    def at_most(self, what: str, value: float, aim: float, unit: str) -> None:
        """A figure that should be small."""
        self.line(what, f"{value:,.2f} {unit}", f"aim ≤ {aim:,g} {unit}", value <= aim)
