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

Numbers on documents and cards are checked by their own check digits.

>>> resident_number("110105194912310021")
Traceback (most recent call last):
usance.acquire.errors.IdentityError: document: the check digit of 110105194912310021 is wrong. \
It should end in X.
>>> card_number("6222 0212 3456 7894"), mrz_number("L898902C36")
('6222021234567894', 'L898902C3')
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from usance.acquire.errors import IdentityError
from usance.base.rates import PPM

_RESIDENT = re.compile(r"[1-9][0-9]{16}[0-9X]")
# ISO 7064 MOD 11-2, as GB 11643-1999 has it.
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECKS = "10X98765432"
_MRZ_WEIGHTS = (7, 3, 1)


@dataclass(frozen=True, slots=True)
class Resident:
    """A resident identity number and what it says."""

    number: str
    region: str
    born: date

    def age_on(self, day: date) -> int:
        """Whole years on a day."""
        had_birthday = (day.month, day.day) >= (self.born.month, self.born.day)
        return day.year - self.born.year - (not had_birthday)


def resident_number(given: str, *, where: str = "document") -> Resident:
    """An 18-character resident number with a true check digit and a date that exists."""
    number = given.strip().upper()
    if not _RESIDENT.fullmatch(number):
        fix = "Give 17 digits and a digit or X"
        raise IdentityError("is no resident number", where=where, fix=fix)
    wanted = _CHECKS[sum(w * int(d) for w, d in zip(_WEIGHTS, number, strict=False)) % 11]
    if number[-1] != wanted:
        what = f"the check digit of {number} is wrong"
        raise IdentityError(what, where=where, fix=f"It should end in {wanted}")
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        fix = "Check characters 7 to 14"
        raise IdentityError("the date of birth does not exist", where=where, fix=fix) from None
    return Resident(number, number[:6], born)


def mrz_number(given: str, *, where: str = "document") -> str:
    """A document number with its check digit from a machine-readable zone (ICAO 9303)."""
    text = given.strip().upper()
    if not re.fullmatch(r"[0-9A-Z<]{2,20}[0-9]", text):
        fix = "Give the number and its check digit as printed"
        raise IdentityError("is no number of a travel document", where=where, fix=fix)
    body = text[:-1]
    total = sum(_mrz(c) * _MRZ_WEIGHTS[at % 3] for at, c in enumerate(body))
    if total % 10 != int(text[-1]):
        fix = f"It should end in {total % 10}"
        raise IdentityError(f"the check digit of {text} is wrong", where=where, fix=fix)
    return body.rstrip("<")


def card_number(given: str, *, where: str = "card") -> str:
    """A bank card number of 12 to 19 digits with a true Luhn digit."""
    number = re.sub(r"[ -]", "", given)
    if not re.fullmatch(r"[0-9]{12,19}", number):
        raise IdentityError("is no card number", where=where, fix="Give 12 to 19 digits")
    doubled = [int(d) * (1 + at % 2) for at, d in enumerate(reversed(number))]
    if sum(d - 9 if d > 9 else d for d in doubled) % 10:
        fix = "Read the number again from the card"
        raise IdentityError("the check digit of the card is wrong", where=where, fix=fix)
    return number


def _mrz(character: str) -> int:
    if character == "<":
        return 0
    return int(character) if character.isdigit() else ord(character) - 55


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
