"""The commands of the room: `usance measure …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import print_json, print_line, print_pairs, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def measure(ctx: typer.Context) -> None:
    """Measure a loan tape or a book."""
    show_help(ctx)


@app.command()
def tape(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, .csv.gz or Parquet.")],
    mapping: Annotated[
        Path, typer.Option("--map", metavar="MAP", help="What its columns and statuses mean.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the whole pack there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a loan tape: roll rates, transitions, vintages, cohorts, waterfall."""
    from usance.measure.tape import measure_tape
    from usance.measure.tape_output import summary, write_pack

    pack = measure_tape(file, mapping)
    files = write_pack(pack, out) if out else []
    told = summary(pack)
    if as_json:
        print_json(told | {"files": files})
        return
    print_pairs(
        [
            ("loans", f"{pack.loans:,}"),
            ("loan-months", f"{pack.rows:,}"),
            ("gaps", f"{told['gaps']:,}"),
            ("rows not used", f"{pack.unused:,}"),
            *((f"ever more than {n} days", f"{count:,}") for n, count in pack.ever.items()),
        ]
    )
    if out:
        print_line(f"{len(files)} files in {out}, the page is {out / 'index.html'}")
