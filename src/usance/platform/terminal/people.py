"""`usance people`: operators of the platform."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from usance.base.command_line import print_json, print_line, show_help
from usance.platform.errors import WeakPassword
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def people(ctx: typer.Context) -> None:
    """Operators of the live platform."""
    show_help(ctx)


@app.command()
def create(
    home: Home,
    email: Annotated[str, typer.Option(help="The address they sign in with.")],
    role: Annotated[str, typer.Option(help="One of the roles of the console.")],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    human: Annotated[str, typer.Option(help="The person, where one has several accounts.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create an operator; the password comes from standard input, never from arguments."""
    if not password_stdin:
        raise WeakPassword("no password is given", where="usance people create",
                           fix="Add --password-stdin and send it there")  # fmt: skip
    password = sys.stdin.readline().rstrip("\r\n")
    asyncio.run(_create(home, email, role, password, human))
    if as_json:
        print_json({"email": email.strip().lower(), "role": role})
    else:
        print_line(f"{email.strip().lower()} can sign in as {role}")


async def _create(home: Home, email: str, role: str, password: str, human: str) -> None:
    from usance.platform.security.sessions import create_operator
    from usance.platform.terminal.homes import installed

    async with installed(home) as platform, platform.database.transaction(0) as transaction:
        await create_operator(transaction, email, role, password, human=human)
