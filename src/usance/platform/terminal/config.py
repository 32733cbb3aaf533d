"""`usance config`: the configuration of a lender as a file, and what another file would change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.command_line import AsJson, print_answer, print_line, print_table, show_help
from usance.base.documents import parse_yaml
from usance.platform.commands.control.configuration import (
    FORM,
    differences,
    exported,
    read_configuration,
)
from usance.platform.live import Platform
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def config(ctx: typer.Context) -> None:
    """The configuration of a live lender as a file."""
    show_help(ctx)


@app.command("export")
def write_file(
    home: Home,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")],
    as_json: AsJson = False,
) -> None:
    """Write what is in force, and what will be, to a file."""

    async def work(platform: Platform) -> list[dict[str, Any]]:
        async with platform.database.transaction(0) as transaction:
            return await exported(transaction)

    rows = on_platform(home, work)
    text = json.dumps({"form": FORM, "settings": rows}, ensure_ascii=False, indent=2)
    out.write_text(f"{text}\n", encoding="utf-8")
    if as_json:
        print_answer({"file": str(out), "settings": len(rows)})
    else:
        print_line(f"{len(rows)} settings in {out}")


@app.command("import")
def propose_file(
    home: Home,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of 'usance config export'.")],
    proposer: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="Whoever proposes it; else it is shown only."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show what a file would change, and propose it: two people have to agree."""
    given = read_configuration(parse_yaml(file.read_text(encoding="utf-8")), str(file))

    async def work(platform: Platform) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        async with platform.database.transaction(0) as transaction:
            changes = differences(await exported(transaction), given)
        if not changes or not proposer:
            return changes, None
        principal = await platform.principal(proposer)
        settings = [{name: each[name] for name in ("kind", "name", "valid_from", "document")}
                    for each in changes]  # fmt: skip
        outcome = await platform.do(principal, "config.put", {"settings": settings})
        return changes, dict(outcome.answer)

    changes, proposal = on_platform(home, work)
    shown = [{name: each[name] for name in ("change", "kind", "name", "valid_from")}
             for each in changes]  # fmt: skip
    if as_json:
        why = "nobody proposed it: --as NAME" if shown else "nothing would change"
        print_answer({"changes": shown, "proposal": proposal}, missing={"proposal": why})
        return
    if not shown:
        print_line("nothing would change")
        return
    print_table(["change", "kind", "name", "valid from"], [list(each.values()) for each in shown])
    if proposal:
        print_line(f"{proposal['approval']} waits for {proposal['needed']} people")
    else:
        print_line("not proposed: add --as NAME")
