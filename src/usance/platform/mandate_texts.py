"""Mandates as they were written: those in force, and those that an institution may speak of."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

from usance.match.mandates.mandate import Mandates
from usance.match.mandates.parts import own_sources
from usance.platform.errors import InvalidField
from usance.platform.lender import Lender
from usance.platform.principals import Principal, PrincipalKind

if TYPE_CHECKING:
    import asyncpg


def institution_of(principal: Principal) -> int:
    """The institution that a principal is, or 0."""
    return principal.party if principal.kind is PrincipalKind.INSTITUTION else 0


def check_own(lender: Lender, mandates: Mandates, institution: int) -> None:
    """Refuse mandates for sources that are not the institution's."""
    own = {each.source for each in lender.mandates.mandates if each.institution == institution}
    for each in mandates.mandates:
        if each.source not in own or each.institution != institution:
            known = ", ".join(map(str, sorted(own))) or "none"
            raise InvalidField(f"{each.name}: source {each.source} is not yours", where="body.text",
                               fix=f"Your sources are {known}; give your own institution, "
                               f"{institution}")  # fmt: skip


async def mandates_text(
    transaction: asyncpg.Connection, day: date, institution: int = 0
) -> str:  # fmt: skip
    """The mandates in force on a day as they were written; those of one institution alone."""
    found = await transaction.fetchval(
        "select document from usance.settings where kind = 'mandates' and valid_from <= $1 "
        "order by valid_from desc, version desc limit 1", day,
    )  # fmt: skip
    text = str(json.loads(found)["text"]) if found else ""
    return own_sources(text, institution) if institution and text else text
