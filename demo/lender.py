"""A lender of 20,000 users over 18 months: simulated, closed, published, and written as pages.

`python -m demo.lender` runs it by itself. What it makes stays in `.cache/demo`, so a second time is
quick; on a terminal the pages are then served to this machine until interrupted.
"""

from __future__ import annotations

import os
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from usance.base.errors import Problems, TableError
from usance.pages.server import site_server
from usance.pages.site.write import write_site
from usance.twin.errors import LostManifest, OtherRun
from usance.twin.run.runner import Run, run_scenario
from usance.twin.site.last_plan import last_plan
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

HOME = Path(os.environ.get("USANCE_CACHE", ".cache")) / "demo"
SCENARIO = "calm"


def main() -> None:
    first = lender(HOME)
    if not sys.stdout.isatty():
        return
    with site_server(first.parent) as server:
        print(f"  http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def lender(home: Path) -> Path:
    """Run the lender into a folder and write its site; gives the first page."""
    economy = read_scenario(SCENARIO)
    start = perf_counter()
    made = _run(economy, home / "lender")
    told = made.figures["figures"]
    print(f"  {told['loans']:,} loans, {told['facts']:,} facts: {perf_counter() - start:.0f} s")
    start = perf_counter()
    shutil.rmtree(home / "site", ignore_errors=True)  # the demo's own, of whatever version
    first = write_site(made.book, home / "site", last_plan=last_plan)
    count = sum(1 for _ in first.parent.rglob("*.html"))
    print(
        f"  {count:,} pages: {perf_counter() - start:.0f} s\n\n  Open {first.absolute()}",
        flush=True,
    )
    return first


def _run(economy: Scenario, folder: Path) -> Run:
    def again() -> Run:
        return run_scenario(
            economy, folder, scale=Fraction(1), first=economy.first_month,
            last=economy.last_month, progress=Progress(), clock=perf_counter,
        )  # fmt: skip

    try:
        return again()
    except (OtherRun, LostManifest, TableError, Problems):
        # The demo's own folder: of another version, scenario or form of books, or damaged.
        shutil.rmtree(folder)
        return again()


class Progress:
    """A line for each quarter: how far it is, and the time left."""

    def __init__(self) -> None:
        self.start, self.shown = perf_counter(), -1

    def __call__(self, what: str, done: int, whole: int) -> None:
        if not whole or done * 8 // whole == self.shown or what == "done":
            return
        self.shown = done * 8 // whole
        left = (perf_counter() - self.start) * (whole - done) / done if done else 0
        time = f", {left:.0f} s left" if done else ""
        print(f"  {what.partition(' ')[0]}: {done / whole:.0%}{time}", flush=True)


if __name__ == "__main__":
    main()
