"""`usance money`: files taken, days reconciled and settled, of a folder or of a live lender."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    number,
    print_answer,
    print_line,
    print_table,
    show_help,
)
from usance.service import commands as of_files

if TYPE_CHECKING:
    from datetime import date

    from usance.platform.commands.money.money_files import TakeFile
    from usance.platform.live import Platform

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Live = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="A live lender, instead of a folder.")
]
Currency = Annotated[str, typer.Option("--currency", metavar="CODE", help="Of the account.")]
Provider = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="Of the live lender.")
]  # fmt: skip


@app.callback()
def money(ctx: typer.Context) -> None:
    """Files of banks and providers, reconciliation and settlement."""
    show_help(ctx)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="camt.053, camt.054 or CSV.")],
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="A shipped profile, or a YAML file of yours.")
    ],
    folder: of_files.Folder = Path("money"),
    home: Live = None,
    provider: Provider = "",
    as_json: AsJson = False,
) -> None:
    """Take a file: new, sent again, or a correction; refused whole if a line is wrong."""
    if home is None:
        _without_home(provider)
        of_files.import_file(file, profile, folder, as_json)
        return
    _import_live(home, file, profile, _named(provider), as_json)


@app.command("reconcile")
def reconcile_day(
    day: Annotated[str, typer.Argument(metavar="DAY", help="The business day, YYYY-MM-DD.")],
    ours: Annotated[
        Path | None, typer.Option("--ours", metavar="FILE", help="Our movements, CSV.")
    ] = None,
    folder: of_files.Folder = Path("money"),
    currency: Currency = "CNY",
    fee: Annotated[str, typer.Option(metavar="RATE", help="Of the provider's contract.")] = "0%",
    home: Live = None,
    provider: Provider = "",
    as_json: AsJson = False,
) -> None:
    """Compare our movements, the providers' files and the bank's statements up to a day."""
    from usance.base.dates import parse_date

    if home is None:
        _without_home(provider)
        of_files.reconcile_day(day, _given(ours, "--ours"), folder, currency, fee, as_json)
        return
    _reconcile_live(home, parse_date(day, where="DAY"), provider, as_json)


@app.command("settle")
def settle_day(
    day: Annotated[str, typer.Argument(metavar="DAY", help="The cut-off, YYYY-MM-DD.")],
    receipts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Receipts as known now, CSV.")
    ] = None,
    shares: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Shares of institutions, CSV.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Batches closed so far.")
    ] = Path("settlements"),
    layout: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Layout of the files, YAML.")
    ] = None,
    currency: Currency = "CNY",
    home: Live = None,
    as_json: AsJson = False,
) -> None:
    """Close the settlement batches of a day, and write their files."""
    from usance.base.dates import parse_date

    if home is None:
        given = _given(receipts, "--receipts"), _given(shares, "--shares")
        of_files.settle_day(day, *given, folder, layout, currency, as_json)
        return
    _settle_live(home, parse_date(day, where="DAY"), folder, as_json)


def _given(file: Path | None, name: str) -> Path:
    if file is None:
        raise typer.BadParameter(f"Give {name} FILE, or --home DIR of a live lender.")
    return file


def _named(provider: str) -> str:
    if not provider:
        raise typer.BadParameter("Give --provider NAME: whose file it is.")
    return provider


def _without_home(provider: str) -> None:
    if provider:
        raise typer.BadParameter("--provider is of a live lender: give --home DIR too.")


def _import_live(home: Path, file: Path, profile: str, provider: str, as_json: bool) -> None:
    from usance.platform.commands.money.money_files import TakeFile
    from usance.platform.refusals import FileRefused
    from usance.platform.terminal.homes import on_platform
    from usance.service.bank_files.profile import load_profile

    encoding = load_profile(profile).encoding
    try:
        text = file.read_bytes().decode(encoding)
    except OSError as error:
        raise FileRefused("cannot be read", where=str(file), fix="Check the name") from error
    except UnicodeDecodeError as error:
        raise FileRefused(f"is not {encoding}", where=file.name,
                          fix="Name its encoding in the profile") from error  # fmt: skip
    command = TakeFile(file.name, text, profile, provider)
    taken, rows = on_platform(home, lambda platform: _taken(platform, command))
    came = (f"{taken['noted']:,} about orders, {taken['received']:,} received for accounts or"
            f" nobody, {taken['unknown']:,} unknown")  # fmt: skip
    if as_json:
        none = "the file states no closing balance"
        print_answer(rows, [came], missing={"closing_minor": none, "closing_on": none})
        return
    shown = [[each["account"], each["source"], f"{each['lines']:,}", each["outcome"]]
             for each in rows]  # fmt: skip
    print_table(["account", "view", "lines", "outcome"], shown)
    print_line(came)


async def _taken(
    platform: Platform, command: TakeFile
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer of a file that was taken, and its statements as a folder would list them."""
    from usance.base.ids import parse_id
    from usance.platform.partners.file_evidence import take_file
    from usance.platform.principals import SYSTEM

    taken = await take_file(platform, command)
    outcomes = {parse_id(each["file"], "fi"): each["outcome"] for each in taken["statements"]}
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        rows = await transaction.fetch(
            "select * from usance.money_files where file_id = any($1) order by file_id",
            list(outcomes),
        )
    names = ("source", "account", "identity", "name", "digest", "lines", "currency",
             "closing_minor", "in_force")  # fmt: skip
    listed = [
        {**{name: row[name] for name in names}, "outcome": outcomes[row["file_id"]],
         "closing_on": row["closing_on"].isoformat() if row["closing_on"] else None}
        for row in rows
    ]  # fmt: skip
    return taken, listed


def _reconcile_live(home: Path, day: date, provider: str, as_json: bool) -> None:
    from usance.platform.terminal.homes import on_platform

    told, breaks, currency = on_platform(
        home, lambda platform: _reconciled(platform, day, provider)
    )
    if as_json:
        names = ("leg", "class", "reference", "amount_minor", "difference_minor", "age_days",
                 "owner", "command")  # fmt: skip
        print_answer({
            "day": day, "matched": sum(each["matched"] for each in told),
            "in_transit_minor": sum(each["in_transit_minor"] for each in told),
            "breaks": [{**{name: each[name] for name in names}, "day": each["arose_on"]}
                       for each in breaks],
        })  # fmt: skip
    else:
        columns = ["provider", "matched", "breaks", "raised", "resolved"]
        print_table([*columns, "in transit"], [
            [*(str(each[name]) for name in columns), number(each["in_transit_minor"], currency)]
            for each in told
        ])  # fmt: skip
    if breaks:
        raise typer.Exit(1)


async def _reconciled(
    platform: Platform, day: date, provider: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Answers of the providers that were reconciled, their breaks that wait, and the currency."""
    from usance.platform.commands.money.reconciliation import ReconcileDay
    from usance.platform.principals import SYSTEM

    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        rows = await transaction.fetch(
            "select p.name from usance.parties p where p.kind = 'provider' and exists "
            "(select from usance.money_files f where f.provider = p.party) order by p.party"
        )
    wanted = [provider] if provider else [row["name"] for row in rows]
    told = [dict((await platform.do(SYSTEM, ReconcileDay(name, day))).answer) for name in wanted]
    async with platform.reading(SYSTEM) as read:
        found = [each for state in ("open", "explained")
                 for each in await read.breaks(state, 0, 1_000_000)]  # fmt: skip
        currency = read.moment.lender.currency.name
    return told, [each for each in found if each["provider"] in wanted], currency


def _settle_live(home: Path, day: date, folder: Path, as_json: bool) -> None:
    from usance.platform.terminal.homes import on_platform

    made, currency = on_platform(home, lambda platform: _settled(platform, day, folder))
    names = ("institution", "lines", "corrections_minor", "total_minor")
    if as_json:
        print_answer([{**{name: each[name] for name in names}, "settlement": each["settlement"],
                       "file": each["file"]} for each in made])  # fmt: skip
        return
    print_table(["institution", "lines", "corrections", "total", "file"], [
        [str(each["institution"]), f"{each['lines']:,}",
         number(each["corrections_minor"], currency), number(each["total_minor"], currency),
         each["file"]]
        for each in made
    ])  # fmt: skip


async def _settled(platform: Platform, day: date, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Settle a day whose evening was served; its batches with their files, and the currency."""
    from usance.platform.api.settlements import settlement_file
    from usance.platform.partners.settle_day import settle_day as close_batches
    from usance.platform.principals import SYSTEM
    from usance.platform.refusals import WrongState

    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        is_over = await transaction.fetchval(
            "select exists (select from usance.business_days where day = $1 and part = 'evening')",
            day,
        )  # fmt: skip
    if not is_over:
        raise WrongState("the day has not ended", where=str(day), fix="Run 'usance day' first")
    await close_batches(platform, day)
    made = []
    async with platform.reading(SYSTEM) as read:
        for each in await read.settlements(None, 0, 1_000_000):
            if each["day"] == day.isoformat():
                name, text = await settlement_file(read, each["settlement"])
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
                who = read.moment.lender.party("institution", each["institution"])
                made.append({**each, "institution": who, "file": str(folder / name)})
        return made, read.moment.lender.currency.name
