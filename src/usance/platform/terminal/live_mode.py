"""Live mode on the terminal: the lender that a file describes, and its first administrator."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.platform.errors import NotInstalled
from usance.platform.live import Platform
from usance.platform.security.sessions import create_operator

SIMULATED = ("principals", "payout", "globally_numbered")
"""Parts of a document that a simulated lender alone has."""


def live_document(path: Path) -> dict[str, Any]:
    """The lender that a file describes; its mandates are a file beside it, or text."""
    document: dict[str, Any] = read_document(path)
    for name in SIMULATED:
        if name in document:
            raise NotInstalled(f"{name} is for sandboxes", where=f"{path}: {name}",
                               fix="Leave it out; keys and people are made by command")  # fmt: skip
    if not isinstance(document.get("mandates"), str):
        raise NotInstalled("names no mandates", where=f"{path}: mandates",
                           fix="Give the name of a file beside this one")  # fmt: skip
    document["mandates"] = (path.parent / document["mandates"]).read_text(encoding="utf-8")
    document.setdefault("parties", {})
    return document


async def need_administrator(platform: Platform) -> None:
    """Ask for the first administrator on the terminal; there is no default password."""
    async with platform.database.transaction(0) as transaction:
        if await transaction.fetchval("select exists (select from usance.listed_operators())"):
            return
        if not sys.stdin.isatty():
            raise NotInstalled(
                "has no administrator", where="usance up --live",
                fix="Start it once on a terminal, which asks for the first one",
            )  # fmt: skip
        sys.stderr.write("The first administrator of this lender.\n")
        sys.stderr.write("Email: ")
        sys.stderr.flush()
        email = sys.stdin.readline().strip()
        password = getpass.getpass("Password: ", stream=sys.stderr)
        await create_operator(transaction, email, "administrator", password)
