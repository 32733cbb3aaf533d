"""`usance disclose`: publish a period, check published figures, follow them to their facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import AsJson, print_answer, print_json, print_line, show_help
from usance.base.errors import InputError

if TYPE_CHECKING:
    from usance.books.periods import ClosePeriod
    from usance.disclose.profile import Profile
    from usance.disclose.release.filer import Filer
    from usance.disclose.release.release import Release
    from usance.disclose.tie_out.checker import Report
    from usance.disclose.tie_out.rebuilder import Rebuilt

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Fact tables, CSV.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A fact table, CSV.")]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", metavar="FILE", help="A rounding profile; else that of the pack."),
]
ReleasePack = Annotated[
    str | None,
    typer.Option("--pack", metavar="PACK", help="The country; that of the book if left out."),
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
def check(
    files: Files, profile: ProfileFile = None, pack: ReleasePack = None, as_json: AsJson = False
) -> None:
    """Tie out one or several documents together: every derivable figure, by kind."""
    from usance.disclose.tie_out.checker import check as checked

    report = checked(files, profile=_profile_file(profile, None, pack))
    _print_report(report, as_json)
    if report.is_broken:
        raise typer.Exit(1)


@app.command()
def rebuild(
    file: File, profile: ProfileFile = None, pack: ReleasePack = None, as_json: AsJson = False
) -> None:
    """Make every derived figure again from the primary facts, and compare."""
    from usance.disclose.tie_out.rebuilder import rebuild as rebuilt

    report = rebuilt(file, profile=_profile_file(profile, None, pack))
    _print_report(report, as_json)
    if report.is_broken:
        raise typer.Exit(1)


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
    pack: ReleasePack = None,
    announcement: AnnouncementFile = None,
    formats: Formats = "csv,html,xlsx,pdf",
    as_json: AsJson = False,
) -> None:
    """Publish a closed period, or a fact table, as CSV, HTML, XLSX and PDF."""
    from usance.books.periods import parse_close_period
    from usance.disclose.release.filer import read_filer
    from usance.disclose.release.publication import publish, publish_table, read_formats
    from usance.pages.reports.release import RELEASE_WRITERS

    wanted = read_formats(formats)
    if (period is None) == (table is None):
        fix = "Give PERIOD for a book, or --table FILE for a fact table"
        raise InputError("a release is made of one period or of one table", fix=fix)
    rules = _profile(profile, book if table is None else None, pack)
    who = read_filer(filer).at(rate)
    if table is None:
        closed = parse_close_period((period or "").removeprefix("FY"))
        files = publish(_release(book, closed, announcement, rules, who), out, wanted,
                        writers=RELEASE_WRITERS)  # fmt: skip
    elif announcement is not None:
        fix = "Leave it out: a table says its dividends and outlook itself"
        raise InputError("goes with a book", where="--announcement", fix=fix)
    else:
        files = publish_table(table, rules, who, out, wanted, writers=RELEASE_WRITERS)
    _print_files(files, rules, "figures", as_json)


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
    from usance.base.book import Book
    from usance.capital.documents.record import read_capital
    from usance.disclose.release.corporate_actions import CorporateActions
    from usance.disclose.release.filer import read_filer
    from usance.disclose.release.publication import publish_dividend_form, read_formats
    from usance.pages.reports.release import RELEASE_WRITERS

    wanted, rules = read_formats(formats), _profile(None, None if capital else book)
    if capital is not None:
        actions = CorporateActions.of_capital(read_capital(capital))
    else:
        actions = CorporateActions.of_book(Book.open(book))
    files = publish_dividend_form(actions, dividend, rules, read_filer(filer), out, wanted,
                                  writers=RELEASE_WRITERS)  # fmt: skip
    _print_files(files, rules, "fields", as_json)


def _print_report(report: Report | Rebuilt, as_json: bool) -> None:
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)


def _print_files(files: dict[str, Path], rules: Profile, what: str, as_json: bool) -> None:
    from usance.disclose.fact_table_file import read_facts

    facts = read_facts([files["csv"]], rules)
    paths = {name: str(path) for name, path in files.items()}
    document = facts[0].document
    if as_json:
        print_answer({"document": document, "figures": len(facts), "files": paths})
        return
    print_line(f"{document}: {len(facts):,} {what}")
    for path in paths.values():
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
    from usance.disclose.drill.drill import drill as drilled
    from usance.disclose.drill.drill import release_period
    from usance.disclose.release.filer import read_filer

    rules, who = _profile(profile, book), read_filer(filer).at(rate)
    made = _release(book, release_period(address), announcement, rules, who)
    found = drilled(made, address)
    if as_json:
        counted = "the figure is a metric: 'metric' has its numbers"
        print_answer(
            found.as_dict(),
            missing={
                "metric": "the figure comes from journals",
                **dict.fromkeys(("exact_minor", "printed_minor", "rounding_minor"), counted),
            },
        )
        return
    for line in found.lines():
        print_line(line)


def _profile(given: Path | None, book: Path | None, pack: str | None = None) -> Profile:
    from usance.disclose.profile import load_profile

    return load_profile(_profile_file(given, book, pack))


def _profile_file(given: Path | None, book: Path | None, pack: str | None) -> Path:
    """The profile that is named, else that of the pack that is named, else that of the book's."""
    from usance.base.book import Book
    from usance.base.packs import CountryPack
    from usance.disclose.profile import DEFAULT

    if given is not None:
        return given
    if pack is not None:
        return CountryPack.load(pack).profile or DEFAULT
    return (Book.open(book).pack if book else CountryPack.load()).profile or DEFAULT


def _release(
    book: Path, period: ClosePeriod, announcement: Path | None, rules: Profile, who: Filer
) -> Release:
    from usance.base.book import Book
    from usance.disclose.release.announcement import read_announcement
    from usance.disclose.release.publication import release_of

    announced = read_announcement(announcement)
    return release_of(Book.open(book), period, rules, who, announced)
