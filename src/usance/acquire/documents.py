"""Numbers on identity documents and bank cards, checked by their own check digits.

>>> resident_number("110105194912310021")
Traceback (most recent call last):
usance.acquire.errors.IdentityError: document: the check digit of 110105194912310021 is wrong. \
It should end in X.
>>> card_number("6222 0212 3456 7894"), mrz_number("L898902C36")
('6222021234567894', 'L898902C3')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from usance.acquire.errors import IdentityError

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
