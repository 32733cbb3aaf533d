"""Principals: everyone who acts on the platform, with their kind, party and scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from usance.platform.errors import AuthorityExceeded, Forbidden, TotpNeeded, UnknownPrincipal

if TYPE_CHECKING:
    import asyncpg


DECIDES = "approve"
"""The scope of people who decide on every proposal, not on those of their own commands alone."""


class PrincipalKind(StrEnum):
    """The kinds of principal, as the database names them."""

    SYSTEM = "system"
    OPERATOR = "operator"
    SERVICE = "service"
    CHANNEL = "channel"
    INSTITUTION = "institution"
    PROVIDER = "provider"
    AGENCY = "agency"
    BORROWER = "borrower"


@dataclass(frozen=True)
class Principal:
    """One who acts: a person, a key or a job."""

    principal_id: int
    name: str
    kind: PrincipalKind
    party: int = 0
    """The channel, institution or provider it acts for."""
    user_id: int = 0
    scopes: frozenset[str] = frozenset()
    human: str = ""
    """The person behind it; whoever proposes and approves is compared by it."""
    authority: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The largest amount for commands that have a limit."""
    barred: frozenset[str] = frozenset()
    """Commands that take a one-time password, where it came without one."""
    hidden: frozenset[str] = frozenset()
    """Scopes whose routes its role does not read."""

    def decides(self, command: str) -> bool:
        """True if a proposal of a command is this person's to decide on."""
        return self.kind is PrincipalKind.SYSTEM or not self.scopes.isdisjoint((command, DECIDES))

    def check_authority(self, name: str, command: object) -> None:
        """Refuse an amount beyond the authority for a command."""
        amount_minor = getattr(command, "amount_minor", None) or getattr(command, "line_minor", 0)
        self.check_amount(name, amount_minor or 0)

    def check_amount(self, name: str, amount_minor: int) -> None:
        """Refuse an amount beyond the authority for a command."""
        limit = self.authority.get(name)
        if limit is not None and amount_minor > limit:
            raise AuthorityExceeded(
                f"{amount_minor} is beyond the authority of {limit}", where=self.name,
                fix="Hand it to somebody with more authority",
            )  # fmt: skip

    def need(self, *scopes: str) -> None:
        """Refuse whoever has none of these scopes; the platform's own jobs have all of them."""
        if self.kind is not PrincipalKind.SYSTEM and not self.scopes.intersection(scopes):
            raise Forbidden(
                f"{self.name} has no scope {' or '.join(scopes)}", where=self.name,
                fix="Act as a principal that has it, or ask an administrator for it",
            )  # fmt: skip

    def check_totp(self, name: str) -> None:
        """Refuse a command that takes a one-time password to whoever came without one."""
        if name in self.barred:
            raise TotpNeeded(
                f"{name} takes a one-time password", where=name,
                fix="Set it up by POST /v1/sessions/totp, then sign in with its code",
            )  # fmt: skip


SYSTEM = Principal(0, "system", PrincipalKind.SYSTEM)
"""The platform's own jobs."""


async def principal_named(connection: asyncpg.Connection, name: str) -> Principal:
    """The active principal of a name."""
    row = await connection.fetchrow(
        "select principal_id, name, kind, party, user_id, scopes, human from usance.principals "
        "where name = $1 and is_active", name,
    )  # fmt: skip
    if row is None:
        raise UnknownPrincipal("is no principal", where=name, fix="See 'usance people list'")
    kind, scopes = PrincipalKind(row["kind"]), frozenset(row["scopes"])
    return Principal(
        row["principal_id"], row["name"], kind, row["party"], row["user_id"], scopes, row["human"]
    )
