"""Micro-batches: commands of one kind that wait together are read, decided and written together.

A worker has one queue for each kind. Whatever waits when the last batch has ended is the next one,
each user in it once: one read, one write, one commit, as a role whose write call checks every row
for the principal of its own command. One alone is done by itself. A batch that fails is undone, the
router with it, and its commands are done one by one, so that a bad one fails alone. Nobody is
answered before their commit.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usance.base.errors import UsanceError
from usance.platform.commands.command import CommandCall, Decided
from usance.platform.commands.unit_of_work import (
    KEYS,
    Outcome,
    Work,
    change_set,
    do,
    moments,
    outcome_of,
)
from usance.platform.store.write_set import WriteSet, write

if TYPE_CHECKING:
    import asyncpg

MAX_BATCH = 64


@dataclass(eq=False)
class Waiting:
    """A command that waits for its batch, and whoever waits for its answer."""

    work: Work
    user_id: int
    answer: asyncio.Future[Outcome]
    context: Context = field(default_factory=copy_context)


@dataclass
class BatchQueue:
    """Commands of one kind that wait in one worker; a loop runs while there are any."""

    waiting: list[Waiting] = field(default_factory=list)
    loop: asyncio.Task[None] | None = None

    async def do(self, work: Work) -> Outcome:
        """Do a command with whatever else waits."""
        assert work.spec.many is not None, "only commands with a form for many are queued"
        try:
            work.spec.admit(work.principal)
            work.principal.check_authority(work.spec.name, work.command)
            user_id = work.spec.many.user_of(work.command)
        except UsanceError:
            return await do(work)  # which refuses it by name, with its audit entry
        one = Waiting(work, user_id, asyncio.get_running_loop().create_future())
        self.waiting.append(one)
        if self.loop is None or self.loop.done():
            self.loop = asyncio.create_task(self._run())
        return await one.answer

    async def _run(self) -> None:
        while self.waiting:
            batch = self._take()
            left = await _together(batch) if len(batch) > 1 else batch
            for each in left:
                await _alone(each)

    def _take(self) -> list[Waiting]:
        """The next batch: what waits longest, each user once."""
        batch: dict[int, Waiting] = {}
        rest: list[Waiting] = []
        for each in self.waiting:
            if each.user_id in batch or len(batch) == MAX_BATCH:
                rest.append(each)
            else:
                batch[each.user_id] = each
        self.waiting = rest
        return list(batch.values())


async def _alone(one: Waiting) -> None:
    """Do a command by itself, in the context of its caller."""
    task = asyncio.get_running_loop().create_task(do(one.work), context=one.context)
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    _tell(one, ended)


def _tell(one: Waiting, ended: Outcome | BaseException) -> None:
    """Answer whoever waits, unless they have gone."""
    if one.answer.done():
        return
    if isinstance(ended, BaseException):
        one.answer.set_exception(ended)
    else:
        one.answer.set_result(ended)


class _Undone(Exception):
    """A batch that failed before its commit: nothing of it was written."""


async def _together(batch: list[Waiting]) -> list[Waiting]:
    """Do a batch in one transaction; those that have to be done alone, all of them if it failed.

    A commit that fails may have been kept all the same: nobody does such commands again but their
    callers, whose keys tell.
    """
    (done,) = await asyncio.gather(_commit(batch), return_exceptions=True)
    if isinstance(done, _Undone):
        return batch
    for each in batch:
        if isinstance(done, BaseException):
            _tell(each, done)
        elif each in done:
            _tell(each, done[each])
    return [] if isinstance(done, BaseException) else [each for each in batch if each not in done]


async def _commit(batch: list[Waiting]) -> dict[Waiting, Outcome]:
    """Outcomes of the commands of a batch that were written, after their commit."""
    first = batch[0].work
    async with AsyncExitStack() as stack:
        if first.spec.routes:
            await stack.enter_async_context(first.services.router.turn())
        transaction = await stack.enter_async_context(first.database.batch())
        try:
            made, whole = await _decide(transaction, batch)
        except Exception as error:
            raise _Undone from error
    first.services.router.release(whole.releases)
    return {one: outcome_of(each) for one, each in made.items()}


async def _decide(
    transaction: asyncpg.Connection, batch: list[Waiting]
) -> tuple[dict[Waiting, Decided], WriteSet]:
    """Decide commands whose keys are new, and write what they decided."""
    spec, services = batch[0].work.spec, batch[0].work.services
    assert spec.many is not None, "only commands with a form for many are queued"
    batch = await _unanswered(transaction, batch)
    if not batch:
        return {}, WriteSet()
    at = await moments(transaction, services, len(batch))
    calls = [CommandCall(each.work.principal, moment, each.work.command)
             for each, moment in zip(batch, at, strict=True)]  # fmt: skip
    ended = await spec.many.handler(transaction, calls)
    made = {one: each for one, each in zip(batch, ended, strict=True)
            if isinstance(each, Decided)}  # fmt: skip
    whole = WriteSet.joined(
        change_set(one.work, each, one.work.content) for one, each in made.items()
    )
    await write(transaction, at[-1].at, at[-1].configuration, whole)
    return made, whole


async def _unanswered(transaction: asyncpg.Connection, batch: list[Waiting]) -> list[Waiting]:
    """Commands whose keys are free and new; the others leave the batch and are done alone."""
    keyed = [each for each in batch if each.work.key]
    if not keyed:
        return batch
    rows = await transaction.fetch(
        KEYS, [each.work.who for each in keyed], keyed[0].work.spec.name,
        [each.work.key for each in keyed],
    )  # fmt: skip
    known = {one for one, row in zip(keyed, rows, strict=True)
             if row["body"] is not None or not row["is_free"]}  # fmt: skip
    return [each for each in batch if each not in known]
