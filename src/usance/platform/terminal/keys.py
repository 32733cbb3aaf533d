"""`usance keys`: keys of parties and service accounts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from usance.base.command_line import AsJson, print_answer, print_json, print_line, show_help
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def keys(ctx: typer.Context) -> None:
    """Keys of its parties."""
    show_help(ctx)


@app.command()
def create(
    home: Home,
    kind: Annotated[str, typer.Option(help="channel, institution, provider, agency or service.")],
    party: Annotated[str, typer.Option(metavar="NAME", help="The party that it belongs to.")],
    scope: Annotated[list[str], typer.Option(help="A scope; give the option once for each.")],
    per_minute: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests a minute; else no limit.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Days until it expires; else never.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create a key; it is shown once."""
    expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
    key = asyncio.run(_create(home, kind, party, scope, per_minute, expires))
    if as_json:
        print_json({"key": key})
    else:
        print_line(key)


@app.command("rotate-master")
def rotate_master_key(home: Home, as_json: AsJson = False) -> None:
    """Put everything under a new master key; the former one stays beside it for older backups."""
    from usance.platform.terminal.homes import on_platform
    from usance.platform.vault import master_key_path, rotate_master

    former = on_platform(home, lambda platform: rotate_master(platform.database, home))
    if as_json:
        print_answer({"key": str(master_key_path(home)), "former": str(former)})
    else:
        print_line(f"{master_key_path(home)} is new; keep {former} apart, 30 days for old backups")


@app.command("rotate-subjects")
def rotate_keys_of_users(home: Home, as_json: AsJson = False) -> None:
    """Give every user another key, and seal what is kept about them again."""
    from usance.platform.security.key_rotation import rotate_subject_keys
    from usance.platform.terminal.homes import on_platform

    count = on_platform(
        home, lambda platform: rotate_subject_keys(platform.database, platform.services.keys)
    )
    if as_json:
        print_answer({"users": count})
    else:
        print_line(f"{count} users have new keys")


async def _create(
    home: Home, kind: str, party: str, scopes: list[str], per_minute: int | None,
    expires: datetime | None,
) -> str:  # fmt: skip
    from usance.platform.security.keys import create_key, principal_of_party
    from usance.platform.terminal.homes import installed

    async with installed(home) as platform, platform.database.transaction(0) as transaction:
        owner = await principal_of_party(transaction, kind, party, scopes)
        await transaction.execute("select usance.raise_configuration()")
        mode = await transaction.fetchval("select mode from usance.installation")
        _, key = await create_key(
            transaction, "live" if mode else "sandbox", owner, scopes, per_minute=per_minute,
            expires_at=expires,
        )  # fmt: skip
    return key
