"""The commands of the room: `usance acquire …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import AsJson, number, print_answer, print_table, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

ChannelFile = Annotated[
    Path | None, typer.Option("--channels", metavar="FILE", help="Channels and contracts.")
]


@app.callback()
def acquire(ctx: typer.Context) -> None:
    """Channels, funnel and cost of acquisition."""
    show_help(ctx)


@app.command()
def funnel(
    events: Annotated[Path, typer.Argument(metavar="EVENTS", help="A CSV of events.")],
    channels: ChannelFile = None,
    as_json: AsJson = False,
) -> None:
    """Count events by channel, cohort and day, with the cost of each approved user."""
    from usance.acquire.channels import SHIPPED, read_channels
    from usance.acquire.funnel import acquisition_funnel, read_events

    known = read_channels(channels or SHIPPED)
    found = acquisition_funnel(known, read_events(events, known)).as_dict()
    if as_json:
        print_answer(found, missing={"unit_cost_minor": "nobody was approved"})
        return
    steps = ("click", "registered", "identified", "applied", "approved", "drawn")
    rows = []
    for cell in found["by_channel"]:
        unit = cell["unit_cost_minor"]
        money = [number(cell["cost_minor"], known.currency)]
        money.append("" if unit is None else number(unit, known.currency))
        rows.append([cell["channel"], *(f"{cell[step]:,}" for step in steps), *money])
    print_table(["channel", *steps, "cost", "per approved"], rows)
