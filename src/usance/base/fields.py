r"""A person's document, read field by field: every problem is kept with its place, none is guessed.

>>> text = "principal: 100\nrate: 18\nintrest: 1"
>>> fields = fields_of(text, "loan.yaml")
>>> fields.need("principal", amount_of("CNY")), fields.need("rate", rate)
(10000, None)
>>> fields.take("interest", rate)
>>> fields.close()
>>> print(*fields.problems, sep="\n")
loan.yaml line 2, rate: rate 18 could mean 18% or 1800%. Write 18% or 0.18.
loan.yaml line 3, intrest: unknown key 'intrest'. Did you mean 'interest'?
Choices: principal, rate, interest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from usance.base.codes import Code, Currency
from usance.base.dates import parse_date, parse_moment
from usance.base.document_places import DocumentPath, Places, document_places
from usance.base.documents import parse_json, parse_yaml, read_document, read_text
from usance.base.errors import (
    AmountError,
    CurrencyMismatch,
    DateError,
    DocumentError,
    InputError,
    RateError,
    UsanceError,
    unknown,
)
from usance.base.money import INT64_MAX, INT64_MIN, Money
from usance.base.rates import INT32_MAX, PPM, Rate

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

Reader = Callable[[Any, str], T]
"""Turns what was written into a value, or raises an error with the place it is given.

Places of a large document cost more than its values, so a reader is asked without one first, and
again with it if it refuses: it keeps no place and changes nothing.
"""

_WHOLE = re.compile(r"-?[0-9]{1,200}")
_NUMBER = re.compile(r"-?[0-9]{1,200}(\.[0-9]{1,200})?")
_WITH_CURRENCY = re.compile(r"(\S+) ?([A-Z]{3})")


class Fields:
    """One mapping of a document. What is asked for is known; `close` names everything else.

    Ask for all keys first; the values of needed keys are of use only if it then `has_needed` them.
    """

    def __init__(
        self, given: object, places: Places, problems: list[UsanceError], path: DocumentPath = ()
    ) -> None:
        self._places, self.problems, self._path = places, problems, path
        self._asked: dict[str, None] = {}
        self._former: dict[str, str] = {}
        self._before, self.has_needed = len(problems), True
        self._given: dict[Any, Any] = {}
        self.is_mapping = isinstance(given, dict)
        if isinstance(given, dict):
            self._given = given
        else:
            self.wrong(f"{_shown(given)} stands where keys and values belong", "Write 'key: value'")

    def __contains__(self, key: str) -> bool:
        return key in self._given

    @property
    def is_sound(self) -> bool:
        """True as long as no problem was found since the first key was asked for."""
        return self.is_mapping and len(self.problems) == self._before

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key, in the order written."""
        return tuple(map(str, self._given))

    def where(self, *path: str | int) -> str:
        """The place of a part of this mapping, for a message."""
        return self._places(self._below(*path))

    def place_of(self, *path: str | int) -> Callable[[], str]:
        """The same for later: worked out only if a message needs it."""
        return partial(self._places, self._below(*path))

    def accept_former(self, **names: str) -> None:
        """Read keys that are written by their former names: `accept_former(mix="limits")`."""
        for former, name in names.items():
            if former in self._given and name not in self._given:
                self._given = {**self._given, name: self._given[former]}
                del self._given[former]
                self._former[name] = former

    def _below(self, *path: str | int) -> DocumentPath:
        """A path below this mapping, under the names that are written there."""
        if not path or path[0] not in self._former:
            return (*self._path, *path)
        return (*self._path, self._former[str(path[0])], *path[1:])

    def wrong(self, what: str, fix: str, *path: str | int) -> None:
        """Keep a problem of this mapping or a part of it."""
        self.problems.append(DocumentError(what, where=self.where(*path), fix=fix))

    def take(self, key: str, read: Reader[T]) -> T | None:
        """The value of a key, or None: it is not there, or it is wrong and that is kept."""
        if not self._asked:
            self._before = len(self.problems)
        self._asked[key] = None
        if key not in self._given:
            return None
        if self._given[key] is None:
            self.wrong(f"{key} is empty", "Fill it in, or leave the key out", key)
            return None
        return self._read(key, read)

    def _read(self, key: str, read: Reader[T]) -> T | None:
        """The value of a key that is there; its place is worked out only if it is refused."""
        before = len(self.problems)
        try:
            return read(self._given[key], "")
        except UsanceError:
            del self.problems[before:]
        try:
            return read(self._given[key], self.where(key))
        except InputError as error:
            self.problems.append(error)
            return None

    def need(self, key: str, read: Reader[T]) -> T:
        """As `need_or_none`, for a value that is used only if the mapping `has_needed` all."""
        return cast(T, self.need_or_none(key, read))

    def need_or_none(self, key: str, read: Reader[T]) -> T | None:
        """As `take`, and a problem if the key is not there."""
        value = self.take(key, read)
        if key not in self._given and self.is_mapping:
            self.wrong(f"{key} is missing", f"Give {key}", key)
        self.has_needed &= value is not None
        return value

    def inner(self, key: str) -> Fields | None:
        """The mapping under a key."""
        return self.take(key, lambda given, _: self.part(given, key))

    def each(self, key: str) -> list[Fields]:
        """The mappings listed under a key, or the only one if it is not a list."""
        found = self.take(key, lambda given, _: given)
        if found is None:
            return []
        if isinstance(found, list):
            return [self.part(item, key, number) for number, item in enumerate(found, start=1)]
        if isinstance(found, dict):
            return [self.part(found, key)]
        fix = "Write 'key: value' under it, or a list of such items"
        self.wrong(f"{_shown(found)} stands where keys and values belong", fix, key)
        return []

    def close(self) -> None:
        """Keep a problem for every key nobody asked for."""
        for key in self._given:
            if key not in self._asked:
                where = self.where(str(key))
                self.problems.append(unknown("key", str(key), self._asked, where=where))

    def part(self, given: object, *path: str | int) -> Fields:
        """A value below a key of this mapping, as a mapping of its own."""
        return Fields(given, self._places, self.problems, self._below(*path))


def text(given: Any, where: str) -> str:
    """Plain text."""
    if isinstance(given, str) and given.strip():
        return given.strip()
    fix = "Write a word, or put it in quotes"
    raise DocumentError(f"{_shown(given)} is not text", where=where, fix=fix)


def truth(given: Any, where: str) -> bool:
    """True or false."""
    if isinstance(given, bool):
        return given
    raise DocumentError(
        f"{_shown(given)} is neither true nor false", where=where, fix="Write true or false"
    )


def whole(given: Any, where: str) -> int:
    """A whole number, written as one or as its digits."""
    if type(given) is int or (isinstance(given, str) and _WHOLE.fullmatch(given)):
        return int(given)
    fix = "Write a whole number such as 12"
    raise DocumentError(f"{_shown(given)} is not a whole number", where=where, fix=fix)


def whole_of(lowest: int, highest: int, *, error: type[InputError] = DocumentError) -> Reader[int]:
    """A reader of whole numbers within a range.

    >>> whole_of(1, 1200)("0", "--instalments")
    Traceback (most recent call last):
    usance.base.errors.DocumentError: --instalments: 0 is too small. Give 1 to 1200.
    """

    def number(given: Any, where: str) -> int:
        value = whole(given, where)
        _check_range(given, value, lowest, highest, where, f"Give {lowest} to {highest}", error)
        return value

    return number


def rate(given: Any, where: str) -> int:
    """A rate such as `18%` or `0.18`, in parts per million."""
    return Rate.parse(given, where=where).ppm


def rate_of(
    lowest_ppm: int, highest_ppm: int, *, error: type[InputError] = RateError
) -> Reader[int]:
    """A reader of rates within a range, in parts per million.

    >>> rate_of(0, 10_000_000)("-1%", "--rate")
    Traceback (most recent call last):
    usance.base.errors.RateError: --rate: -1% is too small. Give 0% to 1000%.
    """
    fix = f"Give {Rate(lowest_ppm)} to {Rate(highest_ppm)}"

    def within(given: Any, where: str) -> int:
        percent = isinstance(given, str) and given.endswith("%")
        named = _number(given[:-1].rstrip(" ")) if percent else None
        if named is not None and named.copy_abs() * PPM / 100 > INT32_MAX:
            raise error(_beyond(given, above=named > 0), where=where, fix=fix)
        value = rate(given, where)
        _check_range(given, value, lowest_ppm, highest_ppm, where, fix, error)
        return value

    return within


def day(given: Any, where: str) -> date:
    """A date such as 2024-06-30."""
    if isinstance(given, str | date):
        return parse_date(given, where=where)
    fix = "Write YYYY-MM-DD, such as 2024-06-30"
    raise DateError(f"{_shown(given)} is not a date", where=where, fix=fix)


def day_of(first: date, last: date, *, error: type[InputError] = DateError) -> Reader[date]:
    """A reader of dates within a range."""

    def within(given: Any, where: str) -> date:
        found = day(given, where)
        if not first <= found <= last:
            what = f"{found} is too {'late' if found > last else 'early'}"
            raise error(what, where=where, fix=f"Give a date from {first} to {last}")
        return found

    return within


def moment(given: Any, where: str) -> datetime:
    """A moment with its offset, such as `2024-06-30T08:00:00+08:00`."""
    if isinstance(given, str | datetime):
        return parse_moment(given, where=where)
    fix = "Write date, time and offset, such as 2024-06-30T08:00:00Z"
    raise DateError(f"{_shown(given)} is not a moment", where=where, fix=fix)


def amount_of(
    currency: str,
    lowest_minor: int = INT64_MIN,
    highest_minor: int = INT64_MAX,
    *,
    error: type[InputError] = AmountError,
) -> Reader[int]:
    """A reader of amounts in major units of one currency, as minor units, within a range.

    >>> amount_of("CNY")("916.80 CNY", "facts[2].amount")
    91680
    >>> amount_of("CNY")("916.80 USD", "facts[2].amount")
    Traceback (most recent call last):
    usance.base.errors.CurrencyMismatch: facts[2].amount: 916.80 USD where amounts are in CNY. \
Give it in CNY, converted at a dated exchange rate.
    >>> amount_of("CNY", 1, 10**15)("-5", "--principal")
    Traceback (most recent call last):
    usance.base.errors.AmountError: --principal: -5 is too small. \
Give 0.01 to 10000000000000.00 CNY.
    """
    fix = f"Give {Money(lowest_minor, currency).number} to {Money(highest_minor, currency)}"
    limit = Decimal(INT64_MAX).scaleb(-Currency[currency].exponent)

    def amount(given: Any, where: str) -> int:
        named = _WITH_CURRENCY.fullmatch(given) if isinstance(given, str) else None
        number, unit = (named[1], named[2]) if named else (given, currency)
        check_currency(unit, currency, where, shown=f"{number} {unit}")
        plain = _number(number)
        if plain is not None and plain.copy_abs() > limit:
            raise error(_beyond(given, above=plain > 0), where=where, fix=fix)
        value = Money.parse(number, currency, where=where).minor
        _check_range(given, value, lowest_minor, highest_minor, where, fix, error)
        return value

    return amount


def check_currency(given: str, currency: str, where: str, *, shown: str = "") -> str:
    """The currency, if it is the one expected."""
    if given != currency:
        fix = f"Give it in {currency}, converted at a dated exchange rate"
        what = f"{shown or given} where amounts are in {currency}"
        raise CurrencyMismatch(what, where=where, fix=fix)
    return given


def one_of(choices: type[E]) -> Reader[E]:
    """A reader of the members of a closed set, by the names people use."""
    names: dict[str, E] = _by_label(choices)

    def member(given: Any, where: str) -> E:
        if isinstance(given, str) and given in names:
            return names[given]
        noun = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", choices.__name__).lower()
        raise unknown(noun, str(given), names, where=where)

    return member


def labels_of(choices: type[Enum]) -> tuple[str, ...]:
    """The names of the members of a closed set, as `one_of` reads them."""
    return tuple(_by_label(choices))


@cache
def _by_label(choices: type[Enum]) -> dict[str, Any]:
    """Members by the names people use; kept, as every row of a file asks for them."""
    labels = ((m.label if isinstance(m, Code) else str(m.value), m) for m in choices)
    return {label: member for label, member in labels if label}


def fields_of(content: str, where: str) -> Fields:
    """The outermost mapping of a text: YAML, or JSON where its name ends so."""
    parse = parse_json if where.endswith(".json") else parse_yaml
    return Fields(parse(content, where=where), document_places(where, lambda: content), [])


def file_fields(path: Path | str) -> Fields:
    """The outermost mapping of a `.yaml` or `.json` file."""
    return Fields(read_document(path), document_places(str(path), partial(read_text, path)), [])


def _number(given: object) -> Decimal | None:
    """The number that was written, of any size, or None if it is none."""
    if isinstance(given, Decimal) and given.is_finite():
        return given
    plain = isinstance(given, str) and _NUMBER.fullmatch(given)
    return Decimal(given) if plain or type(given) is int else None  # type: ignore[arg-type]


def _check_range(
    given: object, value: int, lowest: int, highest: int, where: str, fix: str,
    error: type[InputError],
) -> None:  # fmt: skip
    if not lowest <= value <= highest:
        raise error(_beyond(given, above=value > highest), where=where, fix=fix)


def _beyond(given: object, *, above: bool) -> str:
    shown = str(given) if len(str(given)) <= 40 else f"{str(given)[:37]}..."
    return f"{shown} is too {'large' if above else 'small'}"


def _shown(given: object) -> str:
    """The value as it was written, for a message."""
    if given is None:
        return "nothing"
    plain = str(given) if isinstance(given, Decimal | date) else repr(given)
    return plain if len(plain) <= 40 else f"{plain[:37]}..."
