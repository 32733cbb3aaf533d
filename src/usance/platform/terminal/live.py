"""`usance live`: every command and read of a lender, from a terminal.

usance live do user.register client_ref=anna region=3 --as channel --home lender
usance live read loan ln_00000000G01 --as operations --home lender --json
"""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from usance.base.command_line import (
    AsJson,
    null_names,
    print_answer,
    print_pairs,
    print_table,
    show_help,
)
from usance.base.documents import read_document, read_text
from usance.base.errors import InputError, unknown
from usance.platform.live import Platform, spec_of
from usance.platform.principals import SYSTEM
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

As = Annotated[str, typer.Option("--as", metavar="NAME", help="The principal who acts.")]


@app.callback()
def live(ctx: typer.Context) -> None:
    """Do commands and reads of a live lender."""
    show_help(ctx)


@app.command("install")
def install(
    home: Home,
    clock: Annotated[
        str, typer.Option(metavar="MOMENT", help="First moment of the sandbox.")
    ] = "2024-07-01T01:00:00Z",
    as_json: AsJson = False,
) -> None:
    """Make a folder a sandbox lender; one that is a lender stays as it is."""
    first = datetime.fromisoformat(clock)

    async def work() -> Any:
        async with (
            Platform.of_home(home, clock=first) as platform,
            platform.reading(SYSTEM) as reading,
        ):
            return await reading.clock()

    _print(asyncio.run(work()), as_json=as_json)


@app.command("commands")
def list_commands(as_json: AsJson = False) -> None:
    """List every command with its fields and who may do it."""
    from dataclasses import fields

    from usance.platform.commands.registry import COMMANDS

    rows = [
        (name, " ".join(each.name for each in fields(spec.command)), " ".join(spec.scopes))
        for name, spec in sorted(COMMANDS.items())
    ]
    if as_json:
        print_answer([{"command": a, "fields": b.split(), "scopes": c.split()} for a, b, c in rows])
    else:
        print_table(["command", "fields", "scopes"], rows)


@app.command()
def do(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="Such as payment.book.")],
    home: Home,
    who: As,
    fields: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD=VALUE]...", help="JSON, else text.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Fields as JSON or YAML.")
    ] = None,
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="Once for this key, however often.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Answer, and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Do a command as a principal."""
    body = dict(read_document(file)) if file else {}
    texts = _text_fields(command)
    body |= dict(_field(each, texts) for each in fields or ())

    async def work(platform: Platform) -> Any:
        principal = await platform.principal(who)
        return await platform.do(principal, command, body, key=key, dry_run=dry_run)

    outcome = on_platform(home, work)
    _print(outcome.answer, as_json=as_json)


@app.command()
def read(
    what: Annotated[str, typer.Argument(metavar="READ", help="Such as loan or trial_balance.")],
    home: Home,
    who: As,
    given: Annotated[
        list[str] | None, typer.Argument(metavar="[ID | FIELD=VALUE]...", help="What to read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read as a principal."""
    from usance.platform.reads.reading import Reading

    names = [name for name, each in vars(Reading).items() if inspect.iscoroutinefunction(each)]
    names = [name for name in names if not name.startswith("_")]
    if what not in names:
        raise unknown("read", what, names)
    ids = [each for each in given or () if "=" not in each]
    texts = frozenset({"state", "period", "basis", "as_of", "on", "known_at"})
    options = dict(_field(each, texts) for each in given or () if "=" in each)
    for name, kind in (("as_of", date), ("on", date), ("known_at", datetime)):
        if name in options:
            options[name] = kind.fromisoformat(options[name])

    async def work(platform: Platform) -> Any:
        async with platform.reading(await platform.principal(who)) as reading:
            return await getattr(reading, what)(*ids, **options)

    _print(on_platform(home, work), as_json=as_json)


@app.command("take-file")
def take_money_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="camt.053, camt.054 or CSV.")],
    home: Home,
    provider: Annotated[str, typer.Option(metavar="NAME", help="Whose money it is about.")],
    profile: Annotated[str, typer.Option(metavar="NAME", help="A profile, or your YAML file.")],
    as_json: AsJson = False,
) -> None:
    """Take a file of a provider or its bank, and book what its lines say about our orders."""
    from usance.platform.commands.money.money_files import TakeFile
    from usance.platform.partners.file_evidence import take_file

    command = TakeFile(file.name, read_text(file), profile, provider)
    _print(on_platform(home, lambda platform: take_file(platform, command)), as_json=as_json)


def _text_fields(command: str) -> frozenset[str]:
    """Fields of a command that are text: `ref=1001` is no number."""
    hints = get_type_hints(spec_of(command).command)
    return frozenset(name for name, kind in hints.items() if kind in (str, str | None))


def _field(text: str, texts: frozenset[str]) -> tuple[str, Any]:
    """A field from `name=value`: text where the field is, else JSON where the value is."""
    name, is_there, value = text.partition("=")
    if not is_there or not name:
        raise InputError(f"{text!r} is no field", fix="Write name=value")
    if name in texts:
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _print(answer: Any, *, as_json: bool) -> None:
    """An answer as JSON, as pairs, or as a table."""
    if as_json or not isinstance(answer, dict | list):
        nothing = dict.fromkeys(sorted(null_names(answer)), "there is none so far")
        print_answer(answer, missing=nothing)
    elif isinstance(answer, dict):
        print_pairs([(name, _shown(value)) for name, value in answer.items()])
    elif answer:
        names = list(answer[0])
        print_table(names, [[_shown(row[name]) for name in names] for row in answer])


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "total_minor" in value:
        return str(value["total_minor"])
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)
