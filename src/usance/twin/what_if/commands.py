"""The command `usance twin what-if`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import (
    AsJson,
    Session,
    print_answer,
    print_line,
    print_table,
    show_help,
)
from usance.twin.run.options import First, Last, Scale, named_scenario, parse_scale, parse_span

if TYPE_CHECKING:
    from usance.twin.what_if.pairs import WhatIfAnswer

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def twin(ctx: typer.Context) -> None:
    """The whole life of a portfolio on columns."""
    show_help(ctx)


@app.command("what-if")
def what_if_command(
    ctx: typer.Context,
    base: Annotated[str, typer.Argument(metavar="BASE", help="A scenario: a name or a file.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="What is set beside it.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder for all runs.")],
    scale: Scale = "1",
    first: First = None,
    last: Last = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="Pairs of runs.")] = 5,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Threads; as many as there are cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run two scenarios on the same seeds; every difference between them, with its noise."""
    from usance.twin.run.commands import Shown
    from usance.twin.run.runner import no_progress
    from usance.twin.what_if.pairs import WhatIf, run_pairs
    from usance.twin.what_if.table import as_dict, write_files

    session: Session = ctx.obj
    economy, second = named_scenario(base), named_scenario(other)
    begin, end = parse_span(economy, first, last)
    asked = WhatIf(economy, second, parse_scale(scale), begin, end, seeds)
    tells = sys.stderr.isatty() and not as_json
    answer = run_pairs(
        asked, out, workers=workers, clock=session.seconds,
        progress=Shown(session.seconds) if tells else no_progress,
    )  # fmt: skip
    files = write_files(answer, out)
    if as_json:
        few = "one pair of runs, or none, has no spread"
        print_answer(
            {**as_dict(answer), "files": {kind: str(path) for kind, path in files.items()}},
            missing={
                "relative": "the figure of the base is zero",
                **dict.fromkeys(("se", "reach", "beyond_noise"), few),
            },
        )
        return
    _print(answer)
    print_line(f"written to {', '.join(str(path) for path in files.values())}")


def _print(answer: WhatIfAnswer) -> None:
    """The last quarter's metrics and operations, and how many figures moved."""
    from usance.disclose.release.exact_amounts import OPERATIONS
    from usance.twin.what_if.figures import METRICS
    from usance.twin.what_if.table import cells, main_rows

    names = answer.asked.base.name, answer.asked.other.name
    head = ["figure", "period", *names, "difference", "relative", "se", ""]
    rows = [*main_rows(answer, METRICS), *main_rows(answer, OPERATIONS)]
    print_table(head, [[place.line[:60], place.period, *cells(place, each)]
                       for place, each in rows])  # fmt: skip
    moved = sum(each.is_beyond is True for _, each in answer.rows)
    print_line(f"{moved} of {len(answer.rows)} figures differ beyond noise")
