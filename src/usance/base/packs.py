"""Country packs: the rules of one market as a folder, chosen by name or path.

    PACK/pack.yaml             title, currency, and the pack it extends, if any
    PACK/parameters/**.yaml    dated parameters, beside and instead of those all packs share
    PACK/profile.yaml          the profile of its releases; the house's own if there is none

>>> pack = CountryPack.load("nl")
>>> day = date(2024, 6, 30)
>>> pack.currency, pack.time_zone(day), str(pack.cap(day).value)
('EUR', 'Europe/Amsterdam', '15%')
>>> CountryPack.load().name, CountryPack.load().time_zone(day)
('cn', 'Asia/Shanghai')
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from usance.base.codes import DEFAULT_PACK, Currency
from usance.base.documents import read_text
from usance.base.errors import DocumentError, ParameterError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, fields_of, one_of, text
from usance.base.parameters import COMMON, PACKS, Parameters, Value

PACK, PARAMETERS, PROFILE = "pack.yaml", "parameters", "profile.yaml"
TIME_ZONE, CAP = "platform.time_zone", "pricing.rate_cap"
REQUIRED = (
    TIME_ZONE, CAP, "pricing.cap_measure", "tax.vat", "tax.vat_surcharge", "tax.ifrs_adjustment",
    "tax.profits_standard",
)  # fmt: skip
"""Parameters that only a market can state; a pack has each, its own or the one it extends."""


class PackError(DocumentError):
    """A country pack that is not there, or that is incomplete."""

    code = "base.pack"


@dataclass(frozen=True, slots=True)
class CountryPack:
    """The rules of one market: currency, time zone, cap, tax, and the profile of its releases."""

    name: str
    title: str
    currency: str
    parameters: Parameters
    folder: Path
    extended: tuple[Path, ...] = ()
    """Folders of the packs it extends, the nearest first."""

    @classmethod
    def load(cls, chosen: Path | str = DEFAULT_PACK) -> CountryPack:
        """The shipped pack of that name, else the one in that folder."""
        return _shipped(str(chosen)) if str(chosen) in shipped_packs() else _read(Path(chosen))

    @property
    def profile(self) -> Path | None:
        """The file of its release profile, its own or the one it extends."""
        files = (folder / PROFILE for folder in (self.folder, *self.extended))
        return next((file for file in files if file.exists()), None)

    @property
    def is_shipped(self) -> bool:
        """True if it comes with the house, so that a name is enough to find it again."""
        return self.folder == PACKS / self.name

    def time_zone(self, on: date) -> str:
        """The business time zone of a day."""
        return str(self.parameters.at(TIME_ZONE, on).value)

    def cap(self, on: date) -> Value:
        """The highest annual cost that may be quoted on a day."""
        return self.parameters.at(CAP, on)

    def files(self) -> dict[str, bytes]:
        """Every file by its path inside the pack, those of the packs it extends included."""
        found: dict[str, bytes] = {}
        for folder in (self.folder, *self.extended):
            for file in sorted(folder.rglob("*.yaml")):
                found.setdefault(file.relative_to(folder).as_posix(), file.read_bytes())
        own = f"title: {self.title!r}\ncurrency: {self.currency}\n"
        return {**found, PACK: own.encode()}


def shipped_packs() -> list[str]:
    """Names of the packs that come with the house.

    >>> shipped_packs()
    ['cn', 'nl']
    """
    return sorted(file.parent.name for file in PACKS.glob(f"*/{PACK}"))


@cache
def _shipped(name: str) -> CountryPack:
    return _read(PACKS / name)


def _read(folder: Path) -> CountryPack:
    if not (folder / PACK).is_file():
        if len(folder.parts) == 1 and not folder.exists():
            raise unknown("pack", str(folder), shipped_packs(), where="pack")
        fix = f"Name a folder with {PACK}, or one of {', '.join(shipped_packs())}"
        raise PackError(f"is no pack: it has no {PACK}", where=str(folder), fix=fix)
    given = fields_of(read_text(folder / PACK), str(folder / PACK))
    title, currency = given.need("title", text), given.take("currency", one_of(Currency))
    base = _extended(given, folder)
    given.close()
    raise_all(given.problems, where=str(folder / PACK))
    code = currency.label if currency is not None else base.currency if base else ""
    if not code:
        raise PackError("has no currency", where=str(folder / PACK), fix="Add 'currency: EUR'")
    extended = (base.folder, *base.extended) if base else ()
    folders = [each / PARAMETERS for each in (*reversed(extended), folder)]
    parameters = Parameters.load(COMMON, *(each for each in folders if each.is_dir()))
    raise_all(_problems(parameters, folder), where=str(folder))
    return CountryPack(folder.resolve().name, title or "", code, parameters, folder, extended)


def _extended(given: Fields, folder: Path) -> CountryPack | None:
    """The pack that one extends: shipped, or a folder beside it."""
    name = given.take("extends", text)
    if not name:
        return None
    return CountryPack.load(name if name in shipped_packs() else folder / name)


def _problems(parameters: Parameters, folder: Path) -> list[UsanceError]:
    found: list[UsanceError] = [
        PackError(
            f"has no {name}", where=str(folder),
            fix=f"Add {PARAMETERS}/{name.replace('.', '/')}.yaml, or extend a pack that has it",
        )
        for name in REQUIRED if name not in parameters.by_name
    ]  # fmt: skip
    if TIME_ZONE in parameters.by_name:
        for entry in parameters.by_name[TIME_ZONE].entries:
            try:
                ZoneInfo(str(entry.value))
            except (KeyError, ValueError, OSError):
                fix = "Give a name of the IANA database, such as Europe/Amsterdam"
                what = f"unknown time zone {entry.value!r}"
                found.append(ParameterError(what, where=f"{folder}: {TIME_ZONE}", fix=fix))
    return found
