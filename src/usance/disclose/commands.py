"""`usance disclose`: publish a period, check published figures, follow them to their facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.command_line import print_json, print_line, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Fact tables, CSV.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A fact table, CSV.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", metavar="FILE", help="A rounding profile; else the house's own."),
]

BookFolder = Annotated[Path, typer.Option("--book", metavar="DIR", help="The book's folder.")]
FilerFile = Annotated[
    Path | None, typer.Option("--filer", metavar="FILE", help="Name, unit, rate and own texts.")
]
AnnouncementFile = Annotated[
    Path | None,
    typer.Option("--announcement", metavar="FILE", help="The day, the outlook, the capital."),
]
Formats = Annotated[
    str, typer.Option("--formats", metavar="LIST", help="Some of csv,html,xlsx,pdf.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")]
Rate = Annotated[
    str | None, typer.Option(metavar="RATE", help="Of the convenience translation, as 7.2672.")
]


@app.callback()
def disclose(ctx: typer.Context) -> None:
    """Publish results and check published figures."""
    show_help(ctx)


@app.command()
def check(files: Files, profile: ProfileFile = None, as_json: AsJson = False) -> None:
    """Tie out one or several documents together: every derivable figure, by kind."""
    from usance.disclose.profile import DEFAULT
    from usance.disclose.tie_out.checker import check as checked

    report = checked(files, profile=profile or DEFAULT)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)


@app.command()
def rebuild(file: File, profile: ProfileFile = None, as_json: AsJson = False) -> None:
    """Make every derived figure again from the primary facts, and compare."""
    from usance.disclose.profile import DEFAULT
    from usance.disclose.tie_out.rebuilder import rebuild as rebuilt

    report = rebuilt(file, profile=profile or DEFAULT)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)


@app.command()
def release(
    period: Annotated[
        str | None, typer.Argument(metavar="PERIOD", help="2024-06, 2024Q2, 2024H1 or 2024.")
    ] = None,
    book: BookFolder = Path(),
    out: Out = Path("release"),
    table: Annotated[
        Path | None,
        typer.Option("--table", metavar="FILE", help="Print this fact table instead of a book."),
    ] = None,
    filer: FilerFile = None,
    rate: Rate = None,
    profile: ProfileFile = None,
    announcement: AnnouncementFile = None,
    formats: Formats = "csv,html,xlsx,pdf",
    as_json: AsJson = False,
) -> None:
    """Publish a closed period, or a fact table, as CSV, HTML, XLSX and PDF."""
    from usance.disclose.release.command import published

    made = published(
        period, book=book, table=table, out=out, filer=filer, rate=rate, profile=profile,
        announcement=announcement, formats=formats,
    )  # fmt: skip
    _written(made, "figures", as_json)


@app.command()
def form(
    dividend: Annotated[
        str, typer.Argument(metavar="DIVIDEND", help="The name of a dividend, as 2023H2.")
    ],
    book: BookFolder = Path(),
    capital: Annotated[
        Path | None,
        typer.Option("--capital", metavar="FILE", help="A capital document instead of a book."),
    ] = None,
    out: Out = Path("release"),
    filer: FilerFile = None,
    formats: Formats = "csv,html,pdf",
    as_json: AsJson = False,
) -> None:
    """Fill in the exchange's form for a cash dividend."""
    from usance.disclose.release.command import filled_form

    made = filled_form(
        dividend, book=book, capital=capital, out=out, filer=filer, formats=formats
    )  # fmt: skip
    _written(made, "fields", as_json)


def _written(made: dict[str, Any], what: str, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    print_line(f"{made['document']}: {made['figures']:,} {what}")
    for path in made["files"].values():
        print_line(path)


@app.command()
def drill(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="document/statement/line/period of a figure.")
    ],
    book: BookFolder = Path(),
    filer: FilerFile = None,
    rate: Rate = None,
    profile: ProfileFile = None,
    announcement: AnnouncementFile = None,
    as_json: AsJson = False,
) -> None:
    """Follow a figure of a release to accounts, journals, loans and facts."""
    from usance.disclose.release.command import drilled

    found = drilled(
        address, book=book, filer=filer, rate=rate, profile=profile, announcement=announcement
    )
    if as_json:
        print_json(found.as_dict())
    else:
        for line in found.lines():
            print_line(line)
