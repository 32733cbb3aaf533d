r"""The filer: name, unit, rate of translation, language, own texts, and what it says of itself.

>>> filer = parse_filer('''
... name: "Example Holding, Inc."
... unit: thousand
... translation: {rate: 7.2672, on: 2024-06-28}
... ''')
>>> filer.name, str(filer.rate), filer.rate_on.isoformat()
('Example Holding, Inc.', '7.2672', '2024-06-28')
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from usance.base.documents import read_text
from usance.base.errors import DocumentError, raise_all
from usance.base.fields import Fields, day, fields_of, text, truth, whole_of
from usance.disclose.errors import FilerError

UNITS = ("thousand", "million", "unit")


REGISTRANT = ("file_number", "address", "annual_form", "signer", "signer_title")
"""Fields of the cover of Form 6-K."""


@dataclass(frozen=True, slots=True)
class Listing:
    """An exchange and the code a share has there."""

    exchange: str
    code: str


@dataclass(frozen=True, slots=True)
class Filer:
    """The choices of one filer; everything has a default."""

    name: str = ""
    unit: str = "thousand"
    decimals: int = 0
    translated: bool = True
    rate: Decimal | None = None
    rate_on: date | None = None
    language: str = "en"
    texts: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    business: str = ""
    """The company in a few words of the dateline."""
    listings: tuple[Listing, ...] = ()
    exchange: str = ""
    """The exchange whose announcement is made too."""
    about: tuple[str, ...] = ()
    contact: tuple[str, ...] = ()
    registrant: dict[str, str] = field(default_factory=dict)
    rate_source: str = ""

    def at(self, rate: str | None) -> Filer:
        """The same filer with another rate."""
        return self if rate is None else replace(self, rate=_rate(rate, "--rate"))


def read_filer(path: Path | None) -> Filer:
    """The filer of a YAML file, or the default one."""
    return parse_filer(read_text(path), where=str(path)) if path else Filer()


def parse_filer(content: str, *, where: str = "filer") -> Filer:
    """The filer of a YAML text, or everything that is wrong with it."""
    given = fields_of(content, where)
    plain = Filer()
    translation = given.inner("translation")
    translated = True
    rate, rate_on, source = None, None, ""
    if translation is not None:
        rate, rate_on = translation.take("rate", _rate), translation.take("on", day)
        source = translation.take("source", text) or ""
        shown = translation.take("shown", truth)
        translated = True if shown is None else shown
        translation.close()
    made = Filer(
        given.need("name", text) or "", given.take("unit", _unit) or plain.unit,
        given.take("decimals", whole_of(0, 2)) or 0, translated, rate, rate_on,
        given.take("language", text) or plain.language, given.take("texts", _texts) or {},
        given.take("place", text) or "", given.take("business", text) or "",
        tuple(_listing(each) for each in given.each("listings")),
        given.take("exchange", text) or "", given.take("about", paragraphs) or (),
        given.take("contact", paragraphs) or (), _registrant(given.inner("registrant")), source,
    )  # fmt: skip
    if made.exchange and made.exchange not in {each.exchange for each in made.listings}:
        fix = "Name one of its listings"
        given.wrong(f"'{made.exchange}' has no code", fix, "exchange")
    given.close()
    raise_all(given.problems, where=where)
    return made


def paragraphs(given: Any, where: str) -> tuple[str, ...]:
    """A text, or a list of them, each a paragraph."""
    listed = given if isinstance(given, list) else [given]
    return tuple(text(each, where) for each in listed)


def _listing(given: Fields) -> Listing:
    listing = Listing(given.need("exchange", text) or "", given.need("code", text) or "")
    given.close()
    return listing


def _registrant(given: Fields | None) -> dict[str, str]:
    if given is None:
        return {}
    found = {name: given.need(name, text) or "" for name in REGISTRANT}
    given.close()
    return found


MAX_RATE = 10**6
"""No currency costs as many units of another; what is above is a slip."""


def _rate(given: Any, where: str) -> Decimal:
    try:
        rate = Decimal(str(given))
    except InvalidOperation:
        rate = Decimal(0)
    if not (rate.is_finite() and 0 < rate < MAX_RATE and rate == round(rate, 6)):
        fix = "Give units of the reporting currency for one of the other, such as 7.2672"
        raise FilerError(f"{given} is no rate of exchange", where=where, fix=fix)
    return rate


def _unit(given: Any, where: str) -> str:
    if given not in UNITS:
        raise DocumentError(f"{given!r} is no unit", where=where, fix=f"Use {', '.join(UNITS)}")
    return str(given)


def _texts(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping of texts", where=where, fix="Write name: sentence")
    return given
