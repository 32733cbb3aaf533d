r"""The companies of the group as data: owners, functional currencies, tax rates.

>>> group = parse_entities('''
... currency: CNY
... entities:
...   - {number: 1, name: Example Holding, currency: USD, role: parent}
...   - {number: 2, name: Example Platform, role: platform, owner: 1, tax: 15%}
...   - {number: 3, name: Example Lending, role: subsidiary, owner: 2, share: 80%, tax: 25%}
... ''')
>>> group.parent.name, group.platform.number, group[3].currency.label
('Example Holding', 2, 'CNY')
>>> group.non_controlling_ppm(3)
200000
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from usance.base.codes import Currency, parse
from usance.base.dates import parse_month, to_month
from usance.base.documents import read_text
from usance.base.errors import CodeError, DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, fields_of, one_of, rate_of, text, truth, whole_of
from usance.base.rates import PPM
from usance.books.errors import GroupFactError

_LAST_NUMBER = 2**15 - 1
_share = rate_of(0, PPM)


class Role(Enum):
    """The role of a company in the group."""

    PARENT = "parent"
    PLATFORM = "platform"
    GUARANTEE = "guarantee"
    MICROCREDIT = "microcredit"
    TRUST = "trust"
    SUBSIDIARY = "subsidiary"


@dataclass(frozen=True, slots=True)
class Entity:
    """One company, or a trust that is consolidated like one."""

    number: int
    name: str
    role: Role
    currency: Currency
    """Its functional currency; its books are kept in it."""
    owner: int = 0
    share_ppm: int = PPM
    """Held by its owner in the group; the rest is non-controlling interests."""
    tax_ppm: int = 0
    withholding_ppm: int = 0
    """Tax on its profits when they are paid out to the owner."""
    distributed_ppm: int = PPM
    """The share of its profits that will be paid out to the owner."""
    distributed_from: tuple[tuple[int, int], ...] = ()
    """Other shares, each from its month on, in the order of months."""
    carry_back: bool = False
    """True if the loss of a year is refunded from the tax of earlier ones."""
    one_taxpayer: bool = False
    """True if deferred tax assets are set off against liabilities, as within one taxpayer."""

    def distributed_on(self, day: date) -> int:
        """The share of profits that is expected, on a day, to be paid out to the owner."""
        begun = [share for month, share in self.distributed_from if month <= to_month(day)]
        return begun[-1] if begun else self.distributed_ppm


@dataclass(frozen=True)
class Entities:
    """The group: its companies by number, and the currency it reports in."""

    currency: Currency
    by_number: Mapping[int, Entity]
    related: frozenset[int] = frozenset()
    """Parties that are related to the group."""

    def __getitem__(self, number: int) -> Entity:
        if number not in self.by_number:
            known = ", ".join(map(str, self.by_number))
            raise GroupFactError(f"there is no entity {number}", fix=f"Entities: {known}")
        return self.by_number[number]

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.by_number.values())

    @cached_property
    def parent(self) -> Entity:
        """The company whose shares are traded."""
        return next(each for each in self if each.role is Role.PARENT)

    def with_parent_named(self, name: str) -> Entities:
        """The same group under the name that its parent publishes by."""
        parent = replace(self.parent, name=name)
        return replace(self, by_number={**self.by_number, parent.number: parent})

    @cached_property
    def platform(self) -> Entity:
        """The company that serves borrowers."""
        return next(each for each in self if each.role is Role.PLATFORM)

    def taxed_in(self, number: int) -> int:
        """The entity in whose tax base the result of one belongs: of a trust its beneficiary."""
        own = self[number]
        if own.role is not Role.TRUST or own.tax_ppm or not own.owner:
            return number
        return self.taxed_in(own.owner) if self[own.owner].currency is own.currency else number

    def non_controlling_ppm(self, number: int) -> int:
        """The non-controlling interests in a company, through every owner up to the parent."""
        held, above = PPM, self[number]
        while above.owner:
            held = held * above.share_ppm // PPM
            above = self[above.owner]
        return PPM - held


def read_entities(path: Path | str) -> Entities:
    """The group of a YAML file, or everything that is wrong with it."""
    return parse_entities(read_text(path), where=str(path))


def parse_entities(content: str, *, where: str = "entities") -> Entities:
    """The group of a YAML text."""
    given = fields_of(content, where)
    reporting = given.need("currency", currency) or Currency.CNY
    related = given.take("related_parties", _numbers) or ()
    listed = given.each("entities")
    entities = [entity for each in listed if (entity := _entity(each, reporting))]
    given.close()
    if not given.problems:
        given.problems += _contradictions(entities, given)
    raise_all(given.problems, where=where)
    return Entities(reporting, {each.number: each for each in entities}, frozenset(related))


def currency(given: Any, where: str) -> Currency:
    """A reader of three-letter currency codes."""
    try:
        return parse(Currency, text(given, where), where=where)
    except CodeError as error:
        raise DocumentError(error.what, where=where, fix=error.fix) from None


def _numbers(given: Any, where: str) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise DocumentError("is no list of parties", where=where, fix="Write [1, 2]")
    read = whole_of(1, _LAST_NUMBER)
    return tuple(read(each, where) for each in given)


def _shares_by_month(given: Any, where: str) -> tuple[tuple[int, int], ...]:
    if not isinstance(given, Mapping):
        raise DocumentError("is no share by month", where=where, fix="Write {2024-03: 75%}")
    read = {parse_month(str(month), where=where): _share(share, f"{where}.{month}")
            for month, share in given.items()}  # fmt: skip
    return tuple(sorted(read.items()))


def _entity(given: Fields, reporting: Currency) -> Entity | None:
    number = given.need("number", whole_of(1, _LAST_NUMBER))
    name, role = given.need("name", text), given.need("role", one_of(Role))
    own = given.take("currency", currency)
    owner = given.take("owner", whole_of(1, _LAST_NUMBER)) or 0
    share = given.take("share", _share)
    tax, withheld = given.take("tax", _share) or 0, given.take("withholding", _share) or 0
    distributed, back = given.take("distributed", _share), given.take("carry_back", truth)
    later = given.take("distributed_from", _shares_by_month) or ()
    alone = given.take("one_taxpayer", truth)
    given.close()
    if not given.has_needed:
        return None
    held = PPM if share is None else share
    kept = reporting if own is None else own
    paid_up = PPM if distributed is None else distributed
    return Entity(
        number,
        name,
        role,
        kept,
        owner,
        held,
        tax,
        withheld,
        paid_up,
        later,
        bool(back),
        bool(alone),
    )


def _contradictions(entities: Sequence[Entity], given: Fields) -> Iterator[UsanceError]:
    def wrong(position: int, what: str, fix: str) -> DocumentError:
        return DocumentError(what, where=given.where("entities", position), fix=fix)

    owners = {each.number: each.owner for each in entities}
    for position, each in enumerate(entities, start=1):
        if [other.number for other in entities].index(each.number) != position - 1:
            yield wrong(position, f"the number {each.number} is used twice", "Give another")
        if (each.role is Role.PARENT) == bool(each.owner):
            yield wrong(
                position, f"{each.name}: only the parent has no owner", "Name the owner's number"
            )
        elif each.owner and not _reaches_top(each.number, owners):
            yield wrong(
                position, f"{each.name} does not belong to the parent", "Correct the owners"
            )
    for role in (Role.PARENT, Role.PLATFORM):
        count = sum(each.role is role for each in entities)
        if count != 1:
            what = f"{count} entities have the role {role.value}"
            yield DocumentError(what, where=given.where("entities"), fix="Give it to exactly one")


def _reaches_top(number: int, owners: Mapping[int, int]) -> bool:
    seen: set[int] = set()
    while owners.get(number) and number not in seen:
        seen.add(number)
        number = owners[number]
    return owners.get(number) == 0
