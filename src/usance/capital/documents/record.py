"""A capital document: an entity, a currency, and entries whose kinds decide their keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from usance.base.codes import Currency
from usance.base.documents import read_document, read_text
from usance.base.errors import CodeError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, document_places, one_of, text, whole_of
from usance.capital.awards import UnitKind
from usance.capital.documents.awards import read_change, read_estimate, read_grant
from usance.capital.documents.dividends import read_dividend
from usance.capital.documents.shares import PAID_FOR, read_payment, read_programme, read_shares
from usance.capital.records import Capital, Record
from usance.capital.register import ShareKind


class Kind(NamedTuple):
    """The reader of an entry, and the keys of its quantity and amount (empty if it has none)."""

    read: Callable[[Fields, str], Record | None]
    keys: tuple[str, str]


MAX_ENTITY = 2**15 - 1
"""Entities are numbered in 16 bits."""

_STATED = [kind for kind in ShareKind if kind is not ShareKind.DELIVERED]

KINDS: dict[str, Kind] = {
    "grant": Kind(read_grant, ("", "")),
    "vesting_estimate": Kind(read_estimate, ("", "")),
    **{kind.value: Kind(partial(read_change, kind=kind), ("units", "")) for kind in UnitKind},
    **{
        f"shares_{kind.value}": Kind(
            partial(read_shares, kind=kind), ("shares", "amount" if kind in PAID_FOR else "")
        )
        for kind in _STATED
    },
    "programme_opened": Kind(read_programme, ("", "limit")),
    "dividend_declared": Kind(read_dividend, ("", "")),
    "dividend_paid": Kind(read_payment, ("", "amount")),
}
"""Every kind of entry by its name."""


def read_record(given: Fields, currency: str) -> Record | None:
    """One entry, or None with the reasons kept."""
    kind = given.need("kind", text)
    if not given.has_needed:
        return None
    if kind not in KINDS:
        error: CodeError = unknown("kind", kind, KINDS, where=given.where("kind"))
        given.problems.append(error)
        return None
    return KINDS[kind].read(given, currency)


def read_capital(path: Path | str) -> Capital:
    """The records of a document, or everything that is wrong with it."""
    name, problems = str(path), list[UsanceError]()
    given = Fields(read_document(path), document_places(name, partial(read_text, path)), problems)
    entity = given.take("entity", whole_of(0, MAX_ENTITY)) or 0
    currency = given.take("currency", one_of(Currency)) or Currency.USD
    if given.is_mapping and "facts" not in given:
        given.wrong("facts is missing", "List what happened under 'facts:'", "facts")
    records = [read_record(each, currency.label) for each in given.each("facts")]
    given.close()
    capital = Capital(entity, tuple(filter(None, records)))
    # Wrong entries are not in the records, so checks across them would name what is not wrong.
    raise_all(problems or capital.problems(), where=name)
    return capital
