"""Messages to borrowers by a port: an outbox of files is what ships.

    HOME/messages/new/20240701T010000-4f1c….json    {"to": "+86…", "text": "…", "at": "…"}

Whoever carries messages takes files from `new`, and removes each when it is on its way. A live
lender without the folder `messages` carries none, and says so.

>>> from tempfile import mkdtemp
>>> outbox = FileOutbox(Path(mkdtemp()))
>>> outbox.send("+8613800000001", "Your code is 123456.", datetime(2024, 7, 1, 1))
>>> [each["text"] for each in outbox.waiting()]
['Your code is 123456.']
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

LOG = logging.getLogger("usance.messages")
FOLDER, NEW = "messages", "new"
_ON_THEIR_WAY: set[asyncio.Future[None]] = set()


class MessagePort(Protocol):
    """Somebody who carries messages to phones."""

    def send(self, phone: str, text: str, at: datetime) -> None:
        """Take a message."""


@dataclass(frozen=True)
class FileOutbox:
    """A folder in which each message is a file, whole or not there, for its owner alone."""

    folder: Path

    def send(self, phone: str, text: str, at: datetime) -> None:
        """Put a message into the folder."""
        place = self.folder / NEW
        place.mkdir(mode=0o700, exist_ok=True)
        name = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
        part = self.folder / f"{name}.part"
        content = json.dumps({"to": phone, "text": text, "at": at.isoformat()}, ensure_ascii=False)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.rename(place / f"{name}.json")

    def waiting(self) -> list[dict[str, str]]:
        """Messages that nobody has taken yet, the oldest first."""
        return [json.loads(file.read_text("utf-8"))
                for file in sorted((self.folder / NEW).glob("*.json"))]  # fmt: skip


def messages_of(home: Path | None) -> FileOutbox | None:
    """The outbox of a home, where there is one."""
    if home is None or not (home / FOLDER).is_dir():
        return None
    return FileOutbox(home / FOLDER)


def send_soon(port: MessagePort, phone: str, text: str, at: datetime) -> None:
    """Hand a message over without waiting: the time of an answer tells nobody that it was sent."""
    sending = asyncio.get_running_loop().run_in_executor(None, port.send, phone, text, at)
    _ON_THEIR_WAY.add(sending)
    sending.add_done_callback(_ended)


def _ended(sending: asyncio.Future[None]) -> None:
    _ON_THEIR_WAY.discard(sending)
    if not sending.cancelled() and (error := sending.exception()) is not None:
        LOG.error("a message was not taken: %s", error)
