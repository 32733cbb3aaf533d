"""The command of fraud findings: `usance assess links`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import AsJson, PackName, print_answer, print_csv

app = typer.Typer(rich_markup_mode=None, add_completion=False)

File = Annotated[Path, typer.Argument(metavar="APPLICATIONS", help="A CSV: user_id, at, device.")]
LinkFile = Annotated[
    Path, typer.Argument(metavar="LINKS", help="A CSV: user_id, attribute, value, booked_at.")
]


@app.callback()
def fraud() -> None:
    """Links, velocity and lists."""


@app.command()
def links(
    applications: File,
    file: LinkFile,
    bads: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV of bads: user_id, booked_at.")
    ] = None,
    lists: Annotated[Path | None, typer.Option(metavar="FILE", help="Lists: YAML.")] = None,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Show lists, velocity and links of applications, each as it was known then."""
    from datetime import timedelta
    from zoneinfo import ZoneInfo

    from usance.assess.errors import WrongInput
    from usance.assess.fraud.fraud_inputs import (
        APPLICATIONS,
        BADS,
        EPOCH,
        LINKS,
        findings,
        read_columns,
        read_lists,
    )
    from usance.base.packs import CountryPack

    asked = read_columns(applications, APPLICATIONS)
    if not len(asked["at"]):
        fix = "Give a line for each application"
        raise WrongInput("has no applications", where=str(applications), fix=fix)
    nobody = dict.fromkeys(BADS, asked["at"][:0])
    first = EPOCH + timedelta(microseconds=int(asked["at"].min()))
    zone = CountryPack.load(pack).time_zone(first.date())
    found = findings(
        asked, read_columns(file, LINKS), read_columns(bads, BADS) if bads else nobody,
        read_lists(lists) if lists else (), ZoneInfo(zone),
    )  # fmt: skip
    names = ["user_id", *found]
    columns = [asked["user_id"].tolist(), *(list(map(_plain, each)) for each in found.values())]
    rows = list(zip(*columns, strict=True))
    if as_json:
        print_answer([dict(zip(names, row, strict=True)) for row in rows])
        return
    print_csv(names, rows)


def _plain(value: object) -> object:
    return value if isinstance(value, str) else int(value)  # type: ignore[call-overload]
