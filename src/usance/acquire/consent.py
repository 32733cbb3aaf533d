"""Consent as facts: given or withdrawn for a purpose, effective on a moment, booked at another.

>>> from datetime import UTC
>>> def at(hour):
...     return datetime(2024, 6, 30, hour, tzinfo=UTC)
>>> facts = [Consent(7, Purpose.CREDIT_DECISION, True, at(8), at(8), "v3", "own_app")]
>>> in_force(facts, 7, Purpose.CREDIT_DECISION, at(9), at(9)) is facts[0]
True
>>> facts.append(Consent(7, Purpose.CREDIT_DECISION, False, at(9), at(11), "v3", "own_app"))
>>> [bool(in_force(facts, 7, Purpose.CREDIT_DECISION, at(10), known)) for known in (at(10), at(12))]
[True, False]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from usance.base.codes import Code
from usance.base.document_places import Places
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, moment, one_of, text, truth


class Purpose(Code):
    """The purpose a user agrees to; append at the end."""

    CREDIT_DECISION = 1
    BUREAU_INQUIRY = 2
    SHARE_WITH_INSTITUTION = 3
    CONTACTS = 4
    MARKETING = 5


@dataclass(frozen=True, slots=True)
class Consent:
    """One statement of a user; a withdrawal is another one, nothing is deleted."""

    user_id: int
    purpose: Purpose
    given: bool
    effective_at: datetime
    booked_at: datetime
    text_version: str
    channel: str


def in_force(
    facts: Iterable[Consent], user_id: int, purpose: Purpose, at: datetime, known_at: datetime
) -> Consent | None:
    """The consent that holds at a moment, as it was known at another; None if there is none."""
    seen = [
        fact
        for fact in facts
        if (fact.user_id, fact.purpose) == (user_id, purpose)
        and fact.effective_at <= at
        and fact.booked_at <= known_at
    ]
    # Of two statements of one moment the withdrawal counts.
    last = max(seen, key=lambda f: (f.effective_at, f.booked_at, not f.given), default=None)
    return last if last is not None and last.given else None


def read_consents(content: object, user_id: int, places: Places) -> tuple[Consent, ...]:
    """The consents of one user from a document, or everything that is wrong with them."""
    problems: list[UsanceError] = []
    rows: list[Any] = content if isinstance(content, list) else [content]
    found = [
        _consent(Fields(row, places, problems, ("consents", number)), user_id)
        for number, row in enumerate(rows, start=1)
    ]
    raise_all(problems, where="consents")
    return tuple(each for each in found if each is not None)


def _consent(given: Fields, user_id: int) -> Consent | None:
    purpose, said = given.need("purpose", one_of(Purpose)), given.need("given", truth)
    effective, booked = given.need("effective_at", moment), given.need("booked_at", moment)
    version, channel = given.need("text_version", text), given.need("channel", text)
    given.close()
    if not given.has_needed:
        return None
    return Consent(user_id, purpose, said, effective, booked, version, channel)
