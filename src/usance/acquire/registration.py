"""Registration of users, numbered in order and without gaps; duplicate identities are caught.

Nothing personal is kept: documents, and names with phones, are blind indexes. A second registration
of one document is refused; one that shares name and phone under another document is accepted and
marked, since that can be a renewed document or a fraud.

>>> from datetime import date
>>> users = UserRegister(b"secret")
>>> person = Person("Ada", "11010519491231002X", "13800000000")
>>> first = users.register(person, date(2024, 6, 30), channel=1, region=11)
>>> first.user_id, first.possible_duplicates
(1, ())
>>> users.register(person, date(2024, 7, 1), channel=2, region=11)
Traceback (most recent call last):
usance.acquire.errors.DuplicateIdentity: this identity is user 1. Sign in as that user.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Any

from usance.acquire.errors import DuplicateIdentity
from usance.acquire.identity import Person, blind_index, resident_number
from usance.base.columns import make


class UserKind(IntEnum):
    """The kind of user; append at the end."""

    CONSUMER = 0
    BUSINESS = 1


@dataclass(frozen=True, slots=True)
class RegisteredUser:
    """A user as registered, and the earlier users this one may be."""

    user_id: int
    registered_on: date
    channel: int
    region: int
    kind: UserKind
    client_ref: str
    possible_duplicates: tuple[int, ...] = ()


class UserRegister:
    """The users registered so far."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._documents: dict[str, int] = {}
        self._contacts: dict[str, list[int]] = {}
        self.users: list[RegisteredUser] = []

    def register(
        self, person: Person, on: date, *, channel: int, region: int,
        kind: UserKind = UserKind.CONSUMER, client_ref: str = "",
    ) -> RegisteredUser:  # fmt: skip
        """Register a person as the next user, or refuse one who is registered already."""
        document = blind_index(self._key, resident_number(person.document).number)
        if document in self._documents:
            who = self._documents[document]
            raise DuplicateIdentity(f"this identity is user {who}", fix="Sign in as that user")
        contact = blind_index(self._key, person.name, person.phone)
        duplicates = tuple(self._contacts.get(contact, ()))
        user = RegisteredUser(
            len(self.users) + 1, on, channel, region, kind, client_ref, duplicates
        )
        self._documents[document] = user.user_id
        self._contacts.setdefault(contact, []).append(user.user_id)
        self.users.append(user)
        return user

    def table(self) -> Any:
        """All users as the table `users` of the data contract."""
        return make(
            "users",
            user_id=[user.user_id for user in self.users],
            registered_on=[user.registered_on for user in self.users],
            channel=[user.channel for user in self.users],
            region=[user.region for user in self.users],
            kind=[int(user.kind) for user in self.users],
            client_ref=[user.client_ref or None for user in self.users],
        )
