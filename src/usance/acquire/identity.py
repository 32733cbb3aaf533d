"""The identity port: document, face and bank card by four factors; and one that works locally.

A provider answers `check`; what it could not check it says, and the flow decides what that means.
The local one knows check digits and a register of cards; how well a face matches is given to it as
a score by whoever compared the pictures.

>>> from datetime import date
>>> person = Person("Ada", "11010519491231002X", "13800000000", "6222021234567894")
>>> register = CardRegister.of([person], key=b"secret")
>>> found = LocalIdentity(register).check(person, face_match_ppm=930_000, on=date(2024, 6, 30))
>>> found.document_valid, found.card_check, found.age_years
(True, 'match', 74)
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from usance.acquire.documents import card_number, resident_number
from usance.acquire.errors import IdentityError
from usance.base.rates import PPM

NO_FACE = -1


@dataclass(frozen=True, slots=True)
class Person:
    """The identity that someone claims."""

    name: str
    document: str
    phone: str
    card: str = ""
    document_valid_to: date | None = None


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """The findings of a provider; the names are those of the flow's inputs."""

    document_valid: bool
    face_match_ppm: int
    card_check: str
    age_years: int
    notes: tuple[str, ...] = ()


class IdentityPort(Protocol):
    """Anyone who can check an identity."""

    def check(self, person: Person, face_match_ppm: int | None, on: date) -> IdentityCheck:
        """Check a person on a day; `face_match_ppm` is None if no picture was taken."""
        ...


def blind_index(key: bytes, *parts: str) -> str:
    """A keyed hash of normalised parts: equal for equal people, and says nothing else."""
    if not key:
        raise IdentityError("the key is empty", where="blind index", fix="Give a secret key")
    text = "\x1f".join("".join(part.split()).upper() for part in parts)
    return hmac.digest(key, text.encode(), "sha256").hex()


@dataclass(frozen=True, slots=True)
class CardRegister:
    """Cards by blind index: what the holder's bank knows of name, document and phone."""

    key: bytes
    holders: dict[str, str]

    @classmethod
    def of(cls, people: Iterable[Person], key: bytes) -> CardRegister:
        """A register of known holders."""
        return cls(key, {blind_index(key, each.card): _factors(key, each) for each in people})

    def check(self, person: Person) -> str:
        """`match`, `mismatch`, or `not_checked` for a card nobody knows."""
        holder = self.holders.get(blind_index(self.key, person.card))
        if holder is None:
            return "not_checked"
        return "match" if hmac.compare_digest(holder, _factors(self.key, person)) else "mismatch"


@dataclass(frozen=True, slots=True)
class LocalIdentity:
    """An identity provider that needs nobody else."""

    register: CardRegister

    def check(self, person: Person, face_match_ppm: int | None, on: date) -> IdentityCheck:
        """Check a person by check digits and the register."""
        notes: list[str] = []
        age, valid = 0, True
        try:
            age = resident_number(person.document).age_on(on)
            if age < 0:
                raise IdentityError("is of someone not yet born", where="document", fix="Check it")
        except IdentityError as error:
            valid, age = False, 0
            notes.append(str(error))
        if person.document_valid_to is not None and person.document_valid_to < on:
            valid = False
            notes.append(f"the document ended on {person.document_valid_to}")
        face = NO_FACE if face_match_ppm is None else face_match_ppm
        if not NO_FACE <= face <= PPM:
            fix = f"Give 0 to {PPM}, or nothing"
            raise IdentityError(f"a match of {face}", where="face_match_ppm", fix=fix)
        return IdentityCheck(valid, face, self._card(person, notes), age, tuple(notes))

    def _card(self, person: Person, notes: list[str]) -> str:
        if not person.card:
            return "not_checked"
        try:
            card_number(person.card)
        except IdentityError as error:
            notes.append(str(error))
            return "mismatch"
        return self.register.check(person)


def _factors(key: bytes, person: Person) -> str:
    return blind_index(key, person.name, person.document, person.card, person.phone)
