"""The form of a command: what is asked, what it was decided on, and what comes of it.

A command is a frozen dataclass. Its handler reads under the principal of the caller, decides with
the core's functions, and gives a `Decided`: the answer, and all changes as one `WriteSet`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.platform.principals import Principal
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class Decided:
    """The outcome of a command before it is written."""

    answer: Mapping[str, Any]
    subject: str
    """The printed id of what it is about."""
    user_id: int = 0
    changes: WriteSet = field(default_factory=WriteSet)
    is_new: bool = True
    """False when the answer was there already: nothing is written, nothing happened."""


@dataclass(frozen=True)
class Moment:
    """Now, as commands see it: the business clock, the business date and the configuration."""

    at: datetime
    business_date: date
    configuration: int


Handler = Callable[["asyncpg.Connection", Principal, Moment, Any], Awaitable[Decided]]


@dataclass(frozen=True)
class Spec:
    """One line of the table of commands."""

    name: str
    """Dotted, imperative: `user.register`."""
    event: str
    """Dotted, past tense: `user.registered`."""
    scope: str
    command: type
    handler: Handler


def content_hash(command: Any) -> bytes:
    """A hash of what a command says, whatever the order of its fields."""
    assert is_dataclass(command)
    assert not isinstance(command, type)
    return sha256(json.dumps(asdict(command), sort_keys=True, default=str).encode()).digest()
