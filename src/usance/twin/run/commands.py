"""`usance twin`: run a scenario from registration to release."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    Session,
    print_answer,
    print_line,
    print_pairs,
    show_help,
)
from usance.base.memory import keep_memory
from usance.twin.run.options import First, Last, Scale, named_scenario, parse_scale, parse_span

LARGE = Fraction(1, 200)
"""The scale from which on a run keeps the memory it has had."""
WARMING = Fraction(1, 10)
"""Of what is to do: so long kernels are compiled, at 8 % of `calm` they are; no pace is known."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def twin(ctx: typer.Context) -> None:
    """Run a simulated economy from registration to release."""
    show_help(ctx)


@app.command()
def run(
    ctx: typer.Context,
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A packaged scenario, or a .yaml file.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The run's folder.")],
    scale: Scale = "1",
    first: First = None,
    last: Last = None,
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="local or spark.")] = "local",
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Cores to use; all of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario, or go on with the run that is in the folder."""
    if parse_scale(scale) >= LARGE:
        keep_memory()  # before anything that has threads is imported
    from usance.twin.run.engine import engine_of
    from usance.twin.run.plan import RunPlan
    from usance.twin.run.runner import no_progress, run_scenario

    session: Session = ctx.obj
    economy = named_scenario(scenario)
    begin, end = parse_span(economy, first, last)
    plan = RunPlan(economy, parse_scale(scale), begin, end)
    plan.check(out)
    worked_by = engine_of(engine, workers)
    shown = sys.stderr.isatty() and not as_json
    if not as_json:
        print_line(f"about {plan.loans:,} loans; needs {plan.bytes_needed / 1e9:,.2f} GB of disk")
    finished = run_scenario(
        economy, out, scale=plan.scale, first=begin, last=end, engine=worked_by,
        progress=Shown(session.seconds) if shown else no_progress, clock=session.seconds,
    )  # fmt: skip
    if as_json:
        shown = dict(finished.figures)
        print_answer(shown, shown.pop("notes"))
        return
    print_pairs(_summary(finished.figures))
    for note in finished.figures["notes"]:
        print_line(f"note: {note}")


def _summary(figures: dict[str, Any]) -> list[tuple[str, str]]:
    counts = [(name.replace("_", " "), f"{n:,}") for name, n in figures["figures"].items()]
    files = list(figures["release"].items())
    return [*counts, ("seconds", f"{figures['seconds']:,.1f}"), *files]


class Shown:
    """One line on a terminal: what is done, how far it is, and the time left."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.first = clock, -1
        self.warm: tuple[float, int] | None = None

    def __call__(self, what: str, done: int, whole: int) -> None:
        """Say it, on the line that stands."""
        end = "\n" if what == "done" else ""
        time_left = "" if end else self._time_left(done, whole)
        sys.stderr.write(f"\r\x1b[K{what} {done / whole:.0%}{time_left}{end}")
        sys.stderr.flush()

    def _time_left(self, done: int, whole: int) -> str:
        """The time left, by the pace since kernels were compiled."""
        # What an earlier run did took no time of this one.
        self.first = done if self.first < 0 else self.first
        if self.warm is None:
            if done - self.first > (whole - self.first) * WARMING:
                self.warm = self.clock(), done
            return ""
        since, before = self.warm
        if done == before:
            return ""
        seconds = (self.clock() - since) * (whole - done) / (done - before)
        return f", {seconds // 60:.0f} min {seconds % 60:.0f} s left"
