"""The sandbox's clock: it moves by command alone, and what falls due on the way is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.platform.commands.command import DONE, Decided, Handler, Moment
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.shapes import moment_text
from usance.platform.refusals import ClockBackwards
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_DAYS = 62


@dataclass(frozen=True)
class AdvanceClock:
    """Move the clock of a sandbox to a later moment."""

    to: datetime


def check_advance(moment: Moment, to: datetime) -> None:
    """Refuse to move back, too far, or at all outside a sandbox."""
    if not moment.lender.is_sandbox:
        raise InvalidField("only a sandbox's clock is moved", where="body.to", fix="Wait")
    if to < moment.at:
        raise ClockBackwards(f"it is {moment_text(moment.at)}", where="body.to",
                             fix="Give a later moment")  # fmt: skip
    if to - moment.at > timedelta(days=MAX_DAYS):
        raise InvalidField(f"is more than {MAX_DAYS} days away", where="body.to",
                           fix="Go there in several steps")  # fmt: skip


async def set_clock(transaction: asyncpg.Connection, to: datetime, day: date) -> None:
    """Put the clock to a moment of a business day."""
    await transaction.execute("select usance.set_clock($1, $2)", to, day)


class Done(NamedTuple):
    """A job that was done on the way."""

    day: date
    name: str
    state: str


def advance_after(done: Sequence[Done] | None) -> Handler:
    """The handler of an advance, once everything on the way is done; none: nothing was."""

    async def advance(
        transaction: asyncpg.Connection, _: Principal, moment: Moment, command: AdvanceClock
    ) -> Decided:
        """Put the clock to its last moment."""
        if done is None:
            check_advance(moment, command.to)
        to = max(command.to, moment.at)
        await set_clock(transaction, to, moment.lender.business_date(to))
        answer: dict[str, Any] = {
            "now": moment_text(to), "business_date": moment.lender.business_date(to).isoformat(),
            "jobs": [{"day": each.day.isoformat(), "name": each.name, "state": each.state}
                     for each in done or ()],
        }  # fmt: skip
        return Decided(answer, "clock", 0, WriteSet(), status=DONE)

    return advance


advance = advance_after(None)
"""The handler of a dry run, on whose way nothing is done."""
