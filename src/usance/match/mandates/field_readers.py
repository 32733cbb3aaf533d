"""Readers of the fields of a mandate: names and their numbers, months, hours, eligibility.

>>> named_number(Names("region", {"north": 1, "south": 2}))("south", "")
2
>>> months([3, "6-8"], "") == {3, 6, 7, 8}
True
>>> clock("22:30", "")
81000
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from usance.base.codes import Product, parse
from usance.base.errors import DocumentError, unknown
from usance.base.fields import Fields, amount_of, text, whole_of
from usance.match.errors import MandateError, UnknownName
from usance.match.mandates.mandate import (
    MAX_AMOUNT_MINOR,
    MAX_BUDGET_MINOR,
    MAX_MONTHS,
    Eligibility,
    Names,
)

_RANGE = re.compile(r"([0-9]{1,4}) ?- ?([0-9]{1,4})")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_code = whole_of(0, 32_767)
# Each is a bit of a signed 64-bit number.
MAX_ATTRIBUTES = 62


def texts(given: Any, where: str) -> list[str]:
    """A list of words."""
    return [text(each, where) for each in _list(given, where)]


def read_attributes(given: Any, where: str) -> list[str]:
    """The attributes a borrower may have; each becomes a bit, and `|` joins them in a stream."""
    names = _unique(texts(given, where), where)
    joined = [name for name in names if "|" in name]
    if joined:
        raise MandateError(f"{joined[0]!r} has a '|'", where=where, fix="Write it without")
    if len(names) > MAX_ATTRIBUTES:
        fix = f"Keep {MAX_ATTRIBUTES} or fewer"
        raise MandateError(f"{len(names)} attributes", where=where, fix=fix)
    return names


def _unique(names: list[str], where: str) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MandateError(f"{twice[0]!r} is there twice", where=where, fix="Keep one of them")
    return names


def read_names(given: Fields, key: str) -> Names:
    """Names of places: a list (numbered 1, 2, 3 …), or a mapping of name to number."""

    def read(value: Any, where: str) -> dict[str, int]:
        if isinstance(value, dict):
            return {str(name): _code(number, where) for name, number in value.items()}
        items = _list(value, where)
        if all(type(each) is int for each in items):
            return {str(each): _code(each, where) for each in items}
        names = _unique([text(str(name), where) for name in items], where)
        return {name: number for number, name in enumerate(names, start=1)}

    return Names(key.removesuffix("s"), given.take(key, read) or {})


def named_number(names: Names) -> Callable[[Any, str], int]:
    """A reader of one place, by name or number."""

    def read(given: Any, where: str) -> int:
        if names.numbers:
            if str(given) in names.numbers:
                return names.numbers[str(given)]
            if type(given) is int and given in names:
                return given
            error = unknown(names.what, str(given), names.numbers, where=where)
            raise UnknownName(error.what, where=where, fix=error.fix)
        return _code(given, where)

    return read


def product_number(given: Any, where: str) -> int:
    """A product by name or number."""
    if type(given) is int and given in {int(each) for each in Product}:
        return given
    return int(parse(Product, str(given), where=where))


def months(given: Any, where: str) -> frozenset[int]:
    """Tenors in months: `[3, 6, 12]`, `3-12`, or both."""
    found: set[int] = set()
    for each in given if isinstance(given, list) else [given]:
        between = _RANGE.fullmatch(each) if isinstance(each, str) else None
        first, last = (int(between[1]), int(between[2])) if between else (each, each)
        low, high = (whole_of(1, MAX_MONTHS)(end, where) for end in (first, last))
        if low > high:
            raise MandateError(f"tenors {each} run backwards", where=where, fix="Write 3-12")
        found.update(range(low, high + 1))
    return frozenset(found)


def clock(given: Any, where: str) -> int:
    """A time of day such as 22:00, as seconds; 24:00 is the end of the day."""
    match = _CLOCK.fullmatch(given) if isinstance(given, str) else None
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 if match else -1
    if match is None or int(match[2]) > 59 or seconds > 24 * 3600:
        raise DocumentError(f"{given!r} is no time of day", where=where, fix="Write it as 22:00")
    return seconds


def read_eligibility(
    given: Fields, currency: str, regions: Names, channels: Names, attributes: tuple[str, ...]
) -> Eligibility:
    """The fields of a mandate that say which loans it takes."""
    amount = _pair(given, "amount", currency)
    known = _known(attributes)
    found: dict[str, Any] = {
        "min_amount_minor": amount[0],
        "max_amount_minor": amount[1],
        "borrower_minor": given.take("borrower_limit", amount_of(currency, 0, MAX_BUDGET_MINOR)),
        "months": given.take("months", months),
        "products": given.take("products", _set(_product)),
        "regions": given.take("regions", _set(named_number(regions))),
        "grades": given.take("grades", _set(whole_of(0, 127))),
        "channels": given.take("channels", _set(named_number(channels))),
        "needs": given.take("needs", _set(known)),
        "refuses": given.take("refuses", _set(known)),
        "blacklist": given.take("blacklist", _set(whole_of(1, 2**49))),
        "opens": given.take("opens", clock),
        "cut_off": given.take("cut_off", clock),
    }
    return Eligibility(**{key: value for key, value in found.items() if value is not None})


def _pair(given: Fields, key: str, currency: str) -> tuple[int | None, int | None]:
    inner = given.inner(key)
    if inner is None:
        return None, None
    reader = amount_of(currency, 1, MAX_AMOUNT_MINOR, error=MandateError)
    pair = inner.take("from", reader), inner.take("to", reader)
    inner.close()
    return pair


def _product(given: Any, where: str) -> Product:
    return Product(product_number(given, where))


def _known(attributes: tuple[str, ...]) -> Callable[[Any, str], str]:
    def read(given: Any, where: str) -> str:
        if given not in attributes:
            error = unknown("attribute", str(given), attributes, where=where)
            fix = error.fix if attributes else "List it under 'attributes:' at the top of the file"
            raise UnknownName(error.what, where=where, fix=fix)
        return str(given)

    return read


def _set(read: Callable[[Any, str], Any]) -> Callable[[Any, str], frozenset[Any]]:
    """A list of at least one; leaving it out is how one says "all"."""

    def members(given: Any, where: str) -> frozenset[Any]:
        return frozenset(read(each, where) for each in _list(given, where))

    return members


def _list(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise DocumentError(f"{given!r} is not a list", where=where, fix="Write [one, two]")
    if not given:
        fix = "Name at least one, or leave the key out to take all"
        raise MandateError("an empty list lets nothing in", where=where, fix=fix)
    return given
