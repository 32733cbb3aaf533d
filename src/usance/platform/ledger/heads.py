"""Heads of the seals: each day's last ones, signed, in files that the database cannot reach.

Whoever owns the database can make its rows and all their seals anew. A head says what the seals of
a day were; it is signed by a key that only the machine's account can read, names the head before it
by hash, and is copied wherever `USANCE_HEADS` says, best to a place that can only be added to.
"""

from __future__ import annotations

import json
import os
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.atomic_files import publish
from usance.platform.errors import HeadRefused
from usance.platform.ledger.seals import STREAMS, seal

if TYPE_CHECKING:
    import asyncpg
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FOLDER, KEY_FILE = "heads", "seal.key"
VARIABLE = "USANCE_HEADS"
KEY_BYTES = 32


def heads_folder(home: Path) -> Path:
    """The folder of a lender's heads: named by the environment, else in its home."""
    return Path(os.environ.get(VARIABLE) or home / FOLDER)


async def sign_day(
    connection: asyncpg.Connection, home: Path, day: date, at: datetime
) -> Path | None:
    """Seal what is new and sign the head of a day; none if there is no seal, or it has its head."""
    await seal(connection, at)
    folder = heads_folder(home)
    path = folder / f"{day}.json"
    streams = await _last_seals(connection)
    if not streams or path.exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    before = _files(folder)
    if before and before[-1].stem > path.stem:
        return None
    content = {
        "day": day.isoformat(), "signed_at": at.isoformat(), "streams": streams,
        "previous": _hash_of(before[-1]) if before else "",
    }  # fmt: skip
    key = _key(home, make=not before)
    signed = {**content, "signature": key.sign(_signed_bytes(content)).hex()}
    temporary = folder / f".{path.name}"
    temporary.write_text(json.dumps(signed, indent=1) + "\n", encoding="utf-8")
    publish(temporary, path)
    return path


async def broken_heads(connection: asyncpg.Connection, home: Path) -> list[str]:
    """Heads that were changed or lost, and seals that are not what a head says they were."""
    files = _files(heads_folder(home))
    if not files:
        return []
    public, found = _key(home, make=False).public_key(), []
    rows = await connection.fetch("select stream, no, hash from usance.seals")
    seals = {(row["stream"], row["no"]): row["hash"].hex() for row in rows}
    previous = ""
    for path in files:
        problem = _problem(path, public, previous)
        previous = _hash_of(path)
        if problem:
            found.append(f"head {path.name} {problem}")
            continue
        for stream, head in json.loads(path.read_text(encoding="utf-8"))["streams"].items():
            if seals.get((stream, head["no"])) != head["hash"]:
                found.append(f"seal {head['no']} of {stream} is not the one that head "
                             f"{path.name} signed")  # fmt: skip
    return found


def _problem(path: Path, public: Any, previous: str) -> str:
    """The reason why a head is not believed, empty if it is."""
    from cryptography.exceptions import InvalidSignature

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        public.verify(bytes.fromhex(content.pop("signature")), _signed_bytes(content))
    except (ValueError, KeyError, AttributeError, InvalidSignature):
        return "has been changed: its signature does not hold"
    return "" if content["previous"] == previous else "does not follow the head before it"


async def _last_seals(connection: asyncpg.Connection) -> dict[str, dict[str, Any]]:
    """The last seal of each stream."""
    rows = await connection.fetch(
        "select distinct on (stream) stream, no, hash from usance.seals order by stream, no desc"
    )
    found = {row["stream"]: {"no": row["no"], "hash": row["hash"].hex()} for row in rows}
    return {stream: found[stream] for stream in STREAMS if stream in found}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.json"))


def _hash_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _signed_bytes(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _key(home: Path, *, make: bool) -> Ed25519PrivateKey:
    """The signing key of a home; a lost one is never replaced while there are heads of it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = home / KEY_FILE
    if not path.exists():
        if not make:
            raise HeadRefused(
                "the key that signed the heads is not there", where=str(path),
                fix="Put it back from where it is kept, or move the heads away to begin anew",
            )  # fmt: skip
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(Ed25519PrivateKey.generate().private_bytes_raw())
    content = path.read_bytes()
    if len(content) != KEY_BYTES:
        raise HeadRefused(f"has no {KEY_BYTES} bytes", where=str(path),
                          fix="Put the right key there")  # fmt: skip
    return Ed25519PrivateKey.from_private_bytes(content)
