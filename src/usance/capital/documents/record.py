"""One entry of a document: its kind decides which keys it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from usance.base.errors import CodeError, unknown
from usance.base.fields import Fields, text
from usance.capital.awards import UnitKind
from usance.capital.documents.awards import read_change, read_estimate, read_grant
from usance.capital.documents.dividends import read_dividend
from usance.capital.documents.shares import PAID_FOR, read_payment, read_programme, read_shares
from usance.capital.records import Record
from usance.capital.register import ShareKind


class Kind(NamedTuple):
    """The reader of an entry, and the keys of its quantity and amount (empty if it has none)."""

    read: Callable[[Fields, str], Record | None]
    keys: tuple[str, str]


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
