"""Keys and operators of a fresh sandbox, random each time, written to one file of its home."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from usance.platform.live import Platform
from usance.platform.principals import principal_named
from usance.platform.security.keys import create_key
from usance.platform.security.sessions import let_sign_in

FILE = "sandbox.json"
KEYS = ("channel", "channel_2", "institution", "institution_2", "provider", "provider_2",
        "operations", "finance", "control")  # fmt: skip
"""Keys of a sandbox, each named after the principal that it acts as."""
OPERATORS = {"administrator": "administrator", "controller": "finance_controller"}
"""Principals of the operators with the role of each."""


async def give_access(platform: Platform, home: Path) -> bool:
    """Write the file of a sandbox that has no key yet; False if it has some."""
    async with platform.database.transaction(0) as transaction:
        await transaction.execute("select pg_advisory_xact_lock(hashtextextended('sandbox', 0))")
        if await transaction.fetchval("select usance.has_keys()"):
            return False
        keys: dict[str, str] = {}
        for name in KEYS:
            owner = await principal_named(transaction, name)
            _, keys[name] = await create_key(
                transaction, "sandbox", owner.principal_id, owner.scopes
            )
        operators: list[dict[str, str]] = []
        for name, role in OPERATORS.items():
            owner = await principal_named(transaction, name)
            email, password = f"{name}@sandbox.example", secrets.token_urlsafe(18)
            await let_sign_in(transaction, owner.principal_id, email, role, password)
            operators.append({"email": email, "password": password})
        write_private(home / FILE, {"keys": keys, "operators": operators})
    return True


def write_private(path: Path, content: Any) -> None:
    """Write a file that its owner alone reads, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    new.rename(path)
