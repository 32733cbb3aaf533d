"""The platform, opened: commands and reads for whoever acts, on one database.

    async with Platform.of_home(Path("lender")) as platform:
        channel = await platform.principal("channel")
        outcome = await platform.do(channel, "user.register", {"client_ref": "anna", "region": 3})
        async with platform.reading(channel) as read:
            await read.user(outcome.answer["user"])

`do` takes a command by its dataclass, or by its name with the fields of a document.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance.base.errors import unknown
from usance.platform.assistant.model_port import LanguageModel
from usance.platform.clock import clock_turn, run_until
from usance.platform.command_figures import CommandFigures
from usance.platform.commands.batches import BatchQueue
from usance.platform.commands.command import Services, Spec
from usance.platform.commands.control.clock import AdvanceClock, advance_after
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.commands.unit_of_work import Outcome, Work, do, now
from usance.platform.errors import Forbidden, NotInstalled
from usance.platform.installation import FIRST_MOMENT, check_mode, install, is_installed
from usance.platform.lender import LIVE, SANDBOX, sandbox_document
from usance.platform.principals import Principal, principal_named
from usance.platform.reads.reading import Reading
from usance.platform.refusals import ClockBackwards
from usance.platform.security.keys import KeyLookups
from usance.platform.security.screening import lists_of
from usance.platform.store.database import Database, server_of
from usance.platform.store.server import Embedded
from usance.platform.store.write_set import AuditEntry, WriteSet, write
from usance.platform.vault import Vault, unlock
from usance.service.collections.channels import ChannelPort
from usance.service.collections.contact_rules import Channel
from usance.service.orders.provider_port import Provider

UNREAD = sha256().digest()
"""The hash of a command that was refused before its body was read."""


@dataclass
class Platform:
    """One lender, ready for commands and reads."""

    database: Database
    services: Services = field(default_factory=Services)
    server: Embedded | None = None
    """The server that is stopped with it, where this process started one."""
    providers: dict[int, Provider] = field(default_factory=dict)
    """Payment providers that are connected, by number; the sandbox's own needs no connection."""
    channels: dict[Channel, ChannelPort] = field(default_factory=dict)
    """Ports that contacts go by; one that is not here is local, and keeps what it would send."""
    model: LanguageModel | None = None
    """Drafts for people at work; without one they are made by rule."""
    queues: dict[str, BatchQueue] = field(default_factory=lambda: defaultdict(BatchQueue))
    """Commands that wait for their batch, by name."""
    home: Path | None = None
    """The folder of its keys, its lake and its releases."""
    figures: CommandFigures = field(default_factory=CommandFigures)
    clock_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @cached_property
    def key_lookups(self) -> KeyLookups:
        """Keys of requests that wait for their owners."""
        return KeyLookups(self.database)

    @classmethod
    @asynccontextmanager
    async def of_home(
        cls,
        home: Path,
        *,
        clock: datetime = FIRST_MOMENT,
        document: Mapping[str, Any] | None = None,
        mode: int = SANDBOX,
    ) -> AsyncIterator[Platform]:
        """The lender of a home: its server is started, its schema migrated, a new one installed.

        A home that has a lender keeps it, with its clock and its mode; without a document, a new
        one is a sandbox.
        """
        server = server_of(home)
        if isinstance(server, Embedded):
            server.start()
        try:
            database = Database(server)
            await database.prepare()
            platform = cls(database, home=home)
            platform.services.screening = lists_of(home)
            is_new = await platform.install(document or sandbox_document(), clock, mode)
            platform.services.vault = await unlock(database, home, make=is_new)
            try:
                yield platform
            finally:
                await database.close()
        finally:
            if isinstance(server, Embedded):
                server.stop()

    @classmethod
    def of_database(
        cls, database: Database, vault: Vault | None = None, home: Path | None = None
    ) -> Platform:
        """The lender of a database that somebody else prepared and closes."""
        platform = cls(database, Services(vault), home=home)
        if home is not None:
            platform.services.screening = lists_of(home)
        return platform

    async def install(
        self, document: Mapping[str, Any], clock: datetime = FIRST_MOMENT, mode: int = SANDBOX
    ) -> bool:
        """Make an empty database a lender; True if it was empty. Its mode stays for ever."""
        owner = await self.database.owner()
        try:
            if await is_installed(owner):
                await check_mode(owner, mode)
                return False
            if mode == LIVE and "principals" in document:
                raise NotInstalled("has no lender", where="the live home",
                                   fix="Describe it by --lender FILE")  # fmt: skip
            await install(owner, document, clock=clock, mode=mode)
        finally:
            await owner.close()
        return True

    async def principal(self, name: str) -> Principal:
        """The active principal of a name."""
        pool = await self.database.pool()
        async with pool.acquire() as connection:
            return await principal_named(connection, name)

    async def do(
        self, principal: Principal, command: Any, body: Mapping[str, Any] | None = None, *,
        key: str = "", dry_run: bool = False,
    ) -> Outcome:  # fmt: skip
        """Do a command, given as a dataclass, or by its name with the fields of a document."""
        spec = spec_of(command)
        with self.figures.timed(spec.name) as ended:
            outcome = await self._do(principal, spec, command, body, key=key, dry_run=dry_run)
            is_done = outcome.is_new and not outcome.is_replay
            ended("dry_run" if dry_run else "done" if is_done else "known")
        return outcome

    async def _do(
        self, principal: Principal, spec: Spec, command: Any, body: Mapping[str, Any] | None, *,
        key: str, dry_run: bool,
    ) -> Outcome:  # fmt: skip
        if isinstance(command, str):
            try:
                spec.admit(principal)
            except Forbidden as error:
                if not dry_run:
                    await self.note_refusal(principal, spec.name, error.code)
                raise
            command = read_command(spec.command, body or {})
        if isinstance(command, AdvanceClock) and not dry_run:
            spec.admit(principal)
            async with clock_turn(self):
                with suppress(ClockBackwards):  # the command says so, unless its key has an answer
                    spec = replace(spec, handler=advance_after(await run_until(self, command.to)))
                return await do(Work(self.database, principal, spec, command, key, dry_run,
                                     self.services))  # fmt: skip
        work = Work(self.database, principal, spec, command, key, dry_run, self.services)
        if spec.many is not None and not dry_run:
            return await self.queues[spec.name].do(work)
        return await do(work)

    async def note_refusal(self, principal: Principal, command: str, outcome: str) -> None:
        """Put into the audit that somebody asked for a command that they may not do."""
        entry = AuditEntry(principal.principal_id, command, "", outcome, UNREAD)
        async with self.database.transaction(principal.principal_id) as transaction:
            moment = await now(transaction, self.services)
            changes = WriteSet(audit=[entry])
            await write(transaction, moment.at, moment.configuration, changes)

    @asynccontextmanager
    async def reading(self, principal: Principal) -> AsyncIterator[Reading]:
        """Reads under a principal, all of one moment."""
        async with self.database.transaction(principal.principal_id) as transaction:
            yield Reading(transaction, principal, await now(transaction, self.services))

    def need_home(self) -> Path:
        """The folder of its lake, where the platform has one."""
        if self.home is None:
            raise NotInstalled("has no folder for its lake", where="the platform",
                               fix="Open the platform of a home")  # fmt: skip
        return self.home

    async def close(self) -> None:
        """Close the connections."""
        await self.database.close()


def spec_of(command: Any) -> Spec:
    """The line of the table of commands for a name or a command."""
    if isinstance(command, str):
        if command not in COMMANDS:
            raise unknown("command", command, COMMANDS)
        return COMMANDS[command]
    return next(spec for spec in COMMANDS.values() if spec.command is type(command))
