"""Reads for one principal in one transaction, by printed ids, in the shapes of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.platform.commands.command import Moment
from usance.platform.principals import Principal
from usance.platform.reads import users
from usance.platform.reads.shapes import moment_text
from usance.platform.user_record import read_id

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class Reading:
    """Everything that can be read; a foreign id is answered like one that is not there."""

    transaction: asyncpg.Connection
    principal: Principal
    moment: Moment

    async def clock(self) -> dict[str, Any]:
        """The business clock and date."""
        lender = self.moment.lender
        return {
            "now": moment_text(self.moment.at),
            "business_date": self.moment.business_date.isoformat(),
            "time_zone": str(lender.zone), "known_until": moment_text(self.moment.at),
        }  # fmt: skip

    async def user(self, user: str) -> dict[str, Any]:
        """One user."""
        return await users.user(self.transaction, self.moment.lender, read_id(user, "us", "user"))

    async def users_named(self, client_ref: str) -> list[dict[str, Any]]:
        """The users of a channel's name."""
        return await users.users_named(self.transaction, self.moment.lender, client_ref)

    async def consents(self, user: str) -> list[dict[str, Any]]:
        """Consents of a user."""
        await self.user(user)
        return await users.consents(self.transaction, read_id(user, "us", "user"))
