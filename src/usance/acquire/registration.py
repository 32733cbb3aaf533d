"""The door: registration in order and without gaps, and duplicate identities caught.

Nothing personal is kept: documents, and names with phones, are blind indexes. A second registration
of one document is refused; one that shares name and phone under another document is let in and
marked, since that can be a renewed document or a fraud.

>>> from datetime import date
>>> door = Door(b"secret")
>>> person = Person("Ada", "11010519491231002X", "13800000000")
>>> first = door.register(person, date(2024, 6, 30), channel=1, region=11)
>>> first.user_id, first.looks_like
(1, ())
>>> door.register(person, date(2024, 7, 1), channel=2, region=11)
Traceback (most recent call last):
usance.acquire.errors.DuplicateIdentity: this identity is user 1. Sign in as that user.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Any

from usance.acquire.documents import resident_number
from usance.acquire.errors import DuplicateIdentity
from usance.acquire.identity import Person, blind
from usance.base.columns import make


class UserKind(IntEnum):
    """Whom credit is for; append at the end."""

    CONSUMER = 0
    BUSINESS = 1


@dataclass(frozen=True, slots=True)
class Registered:
    """A user as registered, and earlier users this one may be."""

    user_id: int
    registered_on: date
    channel: int
    region: int
    kind: UserKind
    client_ref: str
    looks_like: tuple[int, ...] = ()


class Door:
    """Everyone registered so far."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._documents: dict[str, int] = {}
        self._contacts: dict[str, list[int]] = {}
        self.users: list[Registered] = []

    def register(
        self, person: Person, on: date, *, channel: int, region: int,
        kind: UserKind = UserKind.CONSUMER, client_ref: str = "",
    ) -> Registered:  # fmt: skip
        """Register a person as the next user, or say whom they are already."""
        document = blind(self._key, resident_number(person.document).number)
        if document in self._documents:
            who = self._documents[document]
            raise DuplicateIdentity(f"this identity is user {who}", fix="Sign in as that user")
        contact = blind(self._key, person.name, person.phone)
        like = tuple(self._contacts.get(contact, ()))
        user = Registered(len(self.users) + 1, on, channel, region, kind, client_ref, like)
        self._documents[document] = user.user_id
        self._contacts.setdefault(contact, []).append(user.user_id)
        self.users.append(user)
        return user

    def table(self) -> Any:
        """Everyone as the table `users` of the data contract."""
        return make(
            "users",
            user_id=[user.user_id for user in self.users],
            registered_on=[user.registered_on for user in self.users],
            channel=[user.channel for user in self.users],
            region=[user.region for user in self.users],
            kind=[int(user.kind) for user in self.users],
            client_ref=[user.client_ref or None for user in self.users],
        )
