"""The form of a command: what is asked, what it was decided on, and what comes of it.

A command is a frozen dataclass. Its handler reads under the principal of the caller, decides with
the core's functions, and gives a `Decided`: the answer, and all changes as one `WriteSet`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.acquire.identity import IdentityPort
from usance.base.errors import UsanceError
from usance.platform.errors import NotInstalled
from usance.platform.lender import Lender, read_lender
from usance.platform.principals import Principal
from usance.platform.router import SharedRouter
from usance.platform.security.screening import NoLists, ScreeningPort
from usance.platform.store.write_set import WriteSet
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

CREATED, DONE, WAITING = 201, 200, 202
"""How a command ended, as HTTP says it."""


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
    status: int = CREATED
    event: str = ""
    """The event's name where it is not the command's own."""
    once: Mapping[str, Any] = field(default_factory=dict)
    """Fields that are told with the first answer alone and kept nowhere: secrets."""
    echoed: tuple[str, ...] = ()
    """Fields of the answer that the command said itself: told, and not kept in clear with it."""
    as_platform: bool = False
    """True where the handler went on as the platform, after it had found the caller's own id."""


Answers = Callable[[int, int, date], bool | None]
"""The answer of a source to a loan on a day: yes, no, or none in time."""


def always(_loan_id: int, _source: int, _day: date) -> bool | None:
    """Yes, whoever is asked."""
    return True


@dataclass
class Services:
    """Parts of one worker that its commands share: keys, the router, the lender as configured."""

    vault: Vault | None = None
    last: Lender | None = None
    router: SharedRouter = field(default_factory=SharedRouter)
    answers: Answers = always
    """How sources that answer at once do: a sandbox's always say yes."""
    screening: ScreeningPort = field(default_factory=NoLists)
    """Lists that people are compared with."""
    identity: IdentityPort | None = None
    """Whoever says who people are; without one a sandbox takes any true document number."""

    @property
    def keys(self) -> Vault:
        """The keys of personal data."""
        if self.vault is None:
            raise NotInstalled(
                "has no master key", where="the home", fix="Open the platform with one"
            )
        return self.vault

    async def lender(
        self, transaction: asyncpg.Connection, configuration: int, day: date
    ) -> Lender:
        """The lender as configured on a day; read again when its number or a setting has moved."""
        last = self.last
        if last is None or last.configuration != configuration or last.is_past(day):
            self.last = last = await read_lender(transaction)
        return last


@dataclass(frozen=True)
class Moment:
    """Now, as commands see it: the business clock, the business date and the lender."""

    at: datetime
    business_date: date
    lender: Lender
    services: Services
    open_periods: tuple[int, ...] = ()
    """Months that journals may be dated into."""
    full_limits: frozenset[str] = frozenset()
    """Limits that had no headroom when this command was tried before."""

    @property
    def configuration(self) -> int:
        """The number of the configuration that is decided on."""
        return self.lender.configuration

    @property
    def vault(self) -> Vault:
        """The keys of personal data."""
        return self.services.keys


Handler = Callable[["asyncpg.Connection", Principal, Moment, Any], Awaitable[Decided]]


@dataclass(frozen=True)
class CommandCall:
    """One of several commands that are decided together: who asks, when, and what."""

    principal: Principal
    moment: Moment
    command: Any


Ended = Decided | UsanceError
"""How one of several commands ended: decided, or refused by itself."""


class BatchHandler(NamedTuple):
    """How several commands of one kind are decided together."""

    handler: Callable[[asyncpg.Connection, Sequence[CommandCall]], Awaitable[list[Ended]]]
    user_of: Callable[[Any], int]
    """The user that a command is about: each user is in a batch once."""


def only(ended: list[Ended]) -> Decided:
    """The decision of a batch of one; its refusal is raised."""
    (one,) = ended
    if isinstance(one, UsanceError):
        raise one
    return one


@dataclass(frozen=True)
class Spec:
    """One line of the table of commands."""

    name: str
    """Dotted, imperative: `user.register`."""
    event: str
    """Dotted, past tense: `user.registered`."""
    scopes: tuple[str, ...]
    """Any of these is enough."""
    command: type
    handler: Handler
    approvals: int = 1
    """People who have to agree, the proposer one of them."""
    routes: bool = False
    """True for commands that ask or tell the router: they take turns."""
    many: BatchHandler | None = None
    """The same for several at once, of different users, where such commands are batched."""

    def admit(self, principal: Principal) -> None:
        """Refuse whoever has none of its scopes, or came without the password that it takes."""
        principal.need(*self.scopes, self.name)
        principal.check_totp(self.name)


def content_hash(command: Any, vault: Vault | None = None) -> bytes:
    """A hash of what a command says, whatever the order of its fields; keyed, where keys are."""
    assert is_dataclass(command)
    assert not isinstance(command, type)
    given = {each.name: getattr(command, each.name) for each in fields(command)}
    content = json.dumps(given, sort_keys=True, default=_said).encode()
    return sha256(content).digest() if vault is None else vault.digest(content)


def _said(value: Any) -> Any:
    """A value that JSON has no form for: parts of a command by their fields, all else as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return str(value)


async def act_as_platform(transaction: asyncpg.Connection) -> None:
    """Go on as the platform itself, once the caller's own id has been found.

    An institution's answer or a provider's notice changes rows that its sender may not see.
    """
    await transaction.execute("select set_config('usance.principal', '0', true)")
