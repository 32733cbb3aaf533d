"""Facts of a loan: events that are only ever appended, each with two times.

`effective_on` says when it is true, `booked_at` when it was known. What a replay sees is decided
here, once, for both forms: known facts, less what was reversed, in canonical order.

>>> from datetime import UTC, date, datetime
>>> paid = Fact(
...     FactKind.PAID,
...     date(2024, 1, 31),
...     1_635_00,
...     ref=2,
...     booked_at=datetime(2024, 2, 1, tzinfo=UTC),
... )
>>> wrong = Fact(
...     FactKind.REVERSED,
...     date(2024, 2, 3),
...     ref=3,
...     arg=2,
...     booked_at=datetime(2024, 2, 3, tzinfo=UTC),
... )
>>> len(visible([wrong, paid], as_of=date(2024, 6, 30)))
0
>>> len(visible([wrong, paid], as_of=date(2024, 6, 30), known_at=datetime(2024, 2, 2, tzinfo=UTC)))
1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from typing import NamedTuple

from usance.base.codes import FactKind, parse
from usance.base.dates import parse_date, parse_moment
from usance.base.errors import UsanceError, raise_all
from usance.loan.errors import DuplicateFact, FactAmountError, FactError, ReversalError

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""Known at any time: the default of `known_at`."""
START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)

MAX_FACT_MINOR = 10**16
"""Larger than any loan with all it can cost."""

_MAY_BE_ZERO = frozenset(
    {
        FactKind.TERMS_CHANGED,
        FactKind.INTEREST_PAUSED,
        FactKind.BOUGHT_OUT,
        FactKind.CHARGED_OFF,
        FactKind.REVERSED,
    }
)


class _Fields(NamedTuple):
    kind: FactKind
    effective_on: date
    amount_minor: int
    ref: int
    arg: int
    booked_at: datetime


class Fact(_Fields):
    """One fact of one loan; `arg` means what its kind says (see `usance.base.codes.FactKind`).

    Kind and day may be given as people write them.

    >>> Fact("paid", "2024-01-31", 1_635_00) == Fact(FactKind.PAID, date(2024, 1, 31), 1_635_00)
    True
    """

    __slots__ = ()

    def __new__(
        cls, kind: FactKind | str, effective_on: date | str, amount_minor: int = 0, ref: int = 0,
        arg: int = 0, booked_at: datetime | str = START_OF_TIME,
    ) -> Fact:  # fmt: skip
        """Read kind, day and moment where they are text."""
        if type(kind) is not FactKind:
            kind = parse(FactKind, kind, where="kind") if isinstance(kind, str) else FactKind(kind)
        if type(effective_on) is not date:
            effective_on = parse_date(effective_on, where="effective_on")
        if type(booked_at) is not datetime:
            booked_at = parse_moment(booked_at, where="booked_at")
        return super().__new__(cls, kind, effective_on, amount_minor, ref, arg, booked_at)

    @property
    def name(self) -> str:
        """The name of this fact in messages."""
        return f"{self.kind.label} of {self.effective_on} (ref {self.ref})"


def canonical_key(fact: Fact) -> tuple[date, int, int]:
    """The order that alone decides a replay: effective day, rank of the kind, reference."""
    return fact.effective_on, fact.kind, fact.ref


def visible(facts: Iterable[Fact], *, as_of: date, known_at: datetime = END_OF_TIME) -> list[Fact]:
    """The facts a replay sees: known, not reversed, effective by `as_of`, in canonical order.

    A reversal takes effect by being known; its own effective date plays no part, since what it
    names never happened.
    """
    if known_at.tzinfo is None:
        raise FactError("known_at has no time zone", where="known_at", fix="Give a moment in UTC")
    known = [fact for fact in facts if fact.booked_at <= known_at]
    raise_all(list(problems(known)), where="facts")
    gone = {fact.arg for fact in known if fact.kind == FactKind.REVERSED}
    seen = [
        fact
        for fact in known
        if fact.effective_on <= as_of and fact.kind != FactKind.REVERSED and fact.ref not in gone
    ]
    seen.sort(key=canonical_key)
    return seen


def problems(facts: list[Fact]) -> Iterator[UsanceError]:
    """Problems of the facts by themselves, without any terms."""
    by_ref: dict[int, Fact] = {}
    for fact in facts:
        if fact.ref in by_ref:
            yield DuplicateFact(
                f"{fact.name} has the reference of {by_ref[fact.ref].name}",
                where=f"ref {fact.ref}",
                fix="Give every fact of a loan its own reference",
            )
        by_ref[fact.ref] = fact
        yield from _amount_problems(fact)
    yield from _reversal_problems(facts, by_ref)


def _amount_problems(fact: Fact) -> Iterator[UsanceError]:
    amount = fact.amount_minor
    if type(amount) is not int:
        raise FactError(
            f"{fact.name} has the amount {amount!r}",
            where="amount_minor",
            fix="Give whole minor units as an int",
        )
    lowest = 0 if fact.kind in _MAY_BE_ZERO else 1
    if not lowest <= amount <= MAX_FACT_MINOR:
        yield FactAmountError(
            f"{fact.name} has the amount {amount}",
            where="amount_minor",
            fix=f"Give {lowest} to {MAX_FACT_MINOR} minor units",
        )


def _reversal_problems(facts: list[Fact], by_ref: dict[int, Fact]) -> Iterator[UsanceError]:
    reversed_by: dict[int, Fact] = {}
    for fact in sorted((f for f in facts if f.kind == FactKind.REVERSED), key=canonical_key):
        target = by_ref.get(fact.arg)
        if target is None:
            why, fix = (
                f"no fact has the reference {fact.arg}",
                "Name the ref of a known fact in arg",
            )
        elif target.kind == FactKind.REVERSED:
            why, fix = f"{target.name} is a reversal", "Book the fact again under a new ref"
        elif fact.arg in reversed_by:
            why, fix = f"{target.name} is already reversed", "Book the fact again under a new ref"
        else:
            reversed_by[fact.arg] = fact
            continue
        yield ReversalError(f"{fact.name} cannot stand: {why}", where=f"ref {fact.ref}", fix=fix)
