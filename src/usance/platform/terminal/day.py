"""`usance day`: the business day of a live lender, brought to its end."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import AsJson, print_answer, print_line, print_table
from usance.base.dates import parse_date
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

if TYPE_CHECKING:
    from usance.platform.closing.day_end import DayEnd
    from usance.platform.live import Platform

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def day(
    home: Home,
    through: Annotated[
        str, typer.Option(metavar="DAY", help="The last day; else the business date.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """End the business day: what falls due by rule, export, seals, caches compared."""
    last = parse_date(through, where="--through") if through else None
    made = on_platform(home, lambda platform: _end(platform, home, last))
    if as_json:
        print_answer(_plain(made), made.notes, missing={"head": "the day had its head before"})
        if made.differences:
            raise typer.Exit(1)
        return
    rows = [[str(each["day"]), each["part"], f"{each['loans']:,}", f"{each['set_aside']:,}"]
            for each in made.halves]  # fmt: skip
    print_table(["day", "part", "loans served", "set aside"], rows)
    print_line()
    print_table(["step", "seconds"], [[name, f"{s:,.2f}"] for name, s in made.seconds.items()])
    print_line()
    print_line(f"{made.exported:,} rows exported, {made.compared:,} caches compared")
    for note in made.notes:
        print_line(f"note: {note}")
    for each in made.differences:
        print_line(f"differs: {each}")
    if made.differences:
        raise typer.Exit(1)


async def _end(platform: Platform, home: Path, last: date | None) -> DayEnd:
    from usance.platform.closing.day_end import end_day

    return await end_day(platform, home, last)


def _plain(made: DayEnd) -> dict[str, Any]:
    return {
        "business_date": made.business_date.isoformat(),
        "halves": [{**each, "day": each["day"].isoformat()} for each in made.halves],
        "exported": made.exported, "head": made.head or None, "compared": made.compared,
        "differences": [str(each) for each in made.differences],
        "seconds": {name: round(spent, 3) for name, spent in made.seconds.items()},
    }  # fmt: skip
