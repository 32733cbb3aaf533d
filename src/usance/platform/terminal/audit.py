"""`usance audit`: who did what, and that nobody has changed it since."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    print_answer,
    print_line,
    print_pairs,
    print_table,
    show_help,
)
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.reads.control.events_and_audit import audit as audit_rows
from usance.platform.reads.control.events_and_audit import change_lines
from usance.platform.security.access_reads import verify_seals
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.ledger import LedgerBroken
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def audit(ctx: typer.Context) -> None:
    """Who did what at a live lender."""
    show_help(ctx)


@app.command("list")
def list_entries(
    home: Home,
    last: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the last entries: who did what, about what, and how it ended."""

    async def work(platform: Platform) -> list[dict[str, Any]]:
        async with platform.database.transaction(0) as transaction:
            newest = await transaction.fetch(
                "select entry_id from usance.audit order by entry_id desc limit $1", last
            )
            if not newest:
                return []
            return await audit_rows(transaction, newest[-1]["entry_id"] - 1, last)

    rows = on_platform(home, work)
    if as_json:
        print_answer(rows)
        return
    columns = ["id", "at", "principal", "command", "subject", "outcome"]
    print_table([*columns, "changed"], [
        [*(row[name] for name in columns), ", ".join(row["changed"])] for row in rows])  # fmt: skip


@app.command()
def show(
    home: Home,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="Its id, such as ev_1.")],
    as_json: AsJson = False,
) -> None:
    """Show one entry with every setting that it changed, before and after."""

    async def work(platform: Platform) -> dict[str, Any]:
        async with platform.reading(SYSTEM) as read:
            return await read.audit_entry(entry)

    found = on_platform(home, work)
    if as_json:
        print_answer({**found, "changes": _without_nulls(found["changes"])})
        return
    columns = ["at", "principal", "command", "subject", "outcome", "content_sha256"]
    print_pairs([(name, str(found[name])) for name in columns])
    for change in found["changes"]:
        print_line()
        print_line(change["name"])
        for line in change_lines(change):
            print_line(line)


def _without_nulls(value: Any) -> Any:
    """A document without what it does not say: a setting that was not there has no `before`."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


@app.command("verify")
def check_audit(home: Home, as_json: AsJson = False) -> None:
    """Check the seals over the audit log and everything else that is only ever appended."""

    async def work(platform: Platform) -> dict[str, Any]:
        async with platform.database.transaction(0) as transaction:
            found = await verify_seals(transaction)
            entries = await transaction.fetchval("select count(*) from usance.audit")
            return {**found, "entries": entries}

    found = on_platform(home, work)
    if as_json:
        print_answer(found)
        if found["broken"]:
            raise typer.Exit(LedgerBroken.exit_code)
        return
    if found["broken"]:
        first = found["broken"][0]
        raise LedgerBroken(
            f"{len(found['broken'])} seals do not hold, the first: {first['stream']} "
            f"{first['seal']}, {first['problem']}",
            where="audit", fix="Compare with the last backup before anything else is done",
        )  # fmt: skip
    print_pairs([("audit", f"{found['entries']} entries, {found['seals']} seals, all hold")])
