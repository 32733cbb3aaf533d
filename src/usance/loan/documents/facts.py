"""Facts as people write them, in a loan document or as the rows of a CSV file.

>>> found: list[UsanceError] = []
>>> given = {"kind": "waived", "on": "2024-03-01", "amount": "12.50", "component": "penalty"}
>>> fact = read_fact(Fields(given, lambda path: "", found), References(), 3, "CNY")
>>> fact.kind.label, fact.amount_minor, fact.ref, fact.arg
('waived', 1250, 3, 4)
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.codes import Component, FactKind, Fee
from usance.base.dates import to_day
from usance.base.document_places import DocumentPath, Places
from usance.base.documents import read_csv, read_text
from usance.base.errors import DocumentError, UsanceError, unknown
from usance.base.fields import (
    Fields,
    Reader,
    amount_of,
    check_currency,
    day,
    moment,
    one_of,
    text,
    whole_of,
)
from usance.base.ids import fact_ref
from usance.loan.errors import DuplicateFact, FactAmountError, FactError, ReversalError
from usance.loan.facts import MAX_FACT_MINOR, START_OF_TIME, Fact

COLUMNS = ("kind", "on", "amount", "currency", "ref", "arg", "booked_at")
"""The columns of a CSV of facts; `kind` and `on` are needed, in any order."""

MAX_VERSIONS = 1_000_000
"""More versions of terms than any loan has; whether one was given is asked of the terms."""

_WITHOUT_AMOUNT = frozenset(
    {
        FactKind.TERMS_CHANGED,
        FactKind.INTEREST_PAUSED,
        FactKind.BOUGHT_OUT,
        FactKind.CHARGED_OFF,
        FactKind.REVERSED,
    }
)
_ARGS: dict[FactKind | None, tuple[str, Reader[int] | None]] = {
    FactKind.WAIVED: ("component", one_of(Component)),
    FactKind.REVERSED: ("reverses", None),
    FactKind.TERMS_CHANGED: ("terms", whole_of(1, MAX_VERSIONS)),
    FactKind.INTEREST_PAUSED: ("until", lambda each, where: to_day(day(each, where))),
    FactKind.FEE_CHARGED: ("fee", one_of(Fee)),
}
"""The key of a kind's argument and its reader; None for a reference."""


class WrittenFact(NamedTuple):
    """A fact as it stands in a document; its place is worked out when a message needs it."""

    place: Callable[[], str]
    kind: FactKind | None
    has_ref: bool  # of its own, not by its position


class Reversal(NamedTuple):
    """The reference a fact reverses, and its place in the document."""

    place: Callable[[], str]
    target: int


@dataclass(slots=True)
class References:
    """The references of a document: what each belongs to, and the texts behind hashed numbers."""

    written: dict[int, WrittenFact] = field(default_factory=dict)
    reversals: list[Reversal] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def read(self, given: Any, where: str) -> int:
        """A reference: a whole number, or any text, which becomes its hash."""
        if type(given) is int:
            given = str(given)
        key = text(given, where)
        number = fact_ref(key)
        if str(number) != key:
            self.texts[number] = key
        return number

    def add(self, given: Fields, number: int, kind: FactKind | None, *, has_ref: bool) -> None:
        """Keep a fact under its reference; a problem if another one has it."""
        first = self.written.get(number)
        if first is None:
            self.written[number] = WrittenFact(given.place_of(), kind, has_ref)
            return
        what = f"has the reference {self.texts.get(number, number)}, as has {first.place()}"
        where, fix = given.where("ref"), "Give every fact of a loan its own ref"
        given.problems.append(DuplicateFact(what, where=where, fix=fix))

    def problems(self) -> Iterator[UsanceError]:
        """Problems of the reversals, once every fact is read."""
        done: set[int] = set()
        for place, target in self.reversals:
            name, found = self.texts.get(target, str(target)), self.written.get(target)
            if found is None:
                what = f"no fact has the reference {name!r}"
                fix = "Name the ref of a fact in this document"
            elif not found.has_ref:
                what = f"{found.place()} has no ref of its own, only its position"
                fix = "Give that fact a ref, and name it here"
            elif found.kind is FactKind.REVERSED:
                what = f"{name!r} is a reversal itself"
                fix = "Book what it reversed again under a new ref"
            elif target in done:
                what, fix = f"{name!r} is already reversed", "Leave one of the two reversals out"
            else:
                done.add(target)
                continue
            yield ReversalError(what, where=place(), fix=fix)

    def spelled(self, message: str) -> str:
        """A message with the texts people gave in place of their hashes."""
        for number, key in self.texts.items():
            message = message.replace(str(number), repr(key))
        return message


def read_fact(
    given: Fields, refs: References, position: int, currency: str, *, arg_key: str = ""
) -> Fact | None:
    """One fact, or None with the reasons kept; `position` is its reference if it has none."""
    before = len(given.problems)
    kind = given.need_or_none("kind", one_of(FactKind))
    effective_on = given.need_or_none("on", day)
    given.take("currency", lambda unit, where: check_currency(unit, currency, where))
    amount = _read_amount(given, kind, currency)
    arg = _read_arg(given, kind, refs, arg_key)
    if kind is FactKind.INTEREST_PAUSED and effective_on and 0 < arg < to_day(effective_on):
        error = FactError("the pause ends before it begins", where=given.where(arg_key or "until"),
                          fix=f"Give {effective_on} or a later day")  # fmt: skip
        given.problems.append(error)
    ref = given.take("ref", refs.read)
    booked_at = given.take("booked_at", moment)
    if kind is not None:
        given.close()
    number = position if ref is None else ref
    refs.add(given, number, kind, has_ref=ref is not None)
    if kind is None or effective_on is None or len(given.problems) > before:
        return None
    return Fact(kind, effective_on, amount or 0, number, int(arg), booked_at or START_OF_TIME)


def read_rows(
    path: Path | str, refs: References, currency: str, problems: list[UsanceError]
) -> list[Fact]:
    """The facts of a CSV file; `arg` is spelled as its kind asks (a component, a fee, a date …)."""
    # The header is looked at first, whatever the rows are; only a pipe cannot be read twice.
    if Path(path).is_file() and not _has_columns(_header(path), path, problems):
        return []
    facts = []
    for position, (line, cells) in enumerate(read_csv(path), start=1):
        if position == 1 and not _has_columns(cells, path, problems):
            return []
        filled = {name: cell.strip() for name, cell in cells.items() if cell.strip()}
        given = Fields(filled, _row_places(str(path), line), problems)
        facts.append(read_fact(given, refs, position, currency, arg_key="arg"))
    return [fact for fact in facts if fact is not None]


def _read_amount(given: Fields, kind: FactKind | None, currency: str) -> int | None:
    if kind is FactKind.REVERSED:
        fix = "Leave it out; the fact that is reversed has the amount"
        return given.take("amount", _refusal("an amount beside a reversal", fix))
    lowest = 0 if kind in _WITHOUT_AMOUNT else 1
    ask = given.take if kind in _WITHOUT_AMOUNT or kind is None else given.need
    return ask("amount", _amount_reader(currency, lowest))


@cache
def _amount_reader(currency: str, lowest: int) -> Reader[int]:
    """The reader of amounts of facts; kept, as every row of a file asks for it."""
    return amount_of(currency, lowest, MAX_FACT_MINOR, error=FactAmountError)


def _read_arg(given: Fields, kind: FactKind | None, refs: References, arg_key: str) -> int:
    """The argument of a fact, under the key of its kind or the one given."""
    if kind not in _ARGS:
        if arg_key and kind is not None:
            what = f"an arg beside a {kind.label} fact, which has none"
            given.take(arg_key, _refusal(what, "Leave the cell empty"))
        return 0
    own_key, own_reader = _ARGS[kind]
    read = own_reader or refs.read
    key = arg_key or own_key
    if kind is FactKind.FEE_CHARGED:
        return given.take(key, read) or Fee.OTHER
    found = given.need(key, read)
    if kind is FactKind.REVERSED and found is not None:
        refs.reversals.append(Reversal(given.place_of(key), found))
    return found or 0


def _refusal(what: str, fix: str) -> Reader[int]:
    """Refuses whatever is given."""

    def refuse(_: Any, where: str) -> int:
        raise DocumentError(what, where=where, fix=fix)

    return refuse


def _header(path: Path | str) -> list[str]:
    return next(csv.reader(read_text(path).splitlines()), [])


def _has_columns(header: Collection[str], path: Path | str, problems: list[UsanceError]) -> bool:
    where, before = f"{path} line 1", len(problems)
    if not set(header) & set(COLUMNS):
        fix = f"Begin the file with {','.join(COLUMNS)}"
        what = "is no table of facts: none of its columns is known"
        problems.append(DocumentError(what, where=where, fix=fix))
        return False
    strange = [name for name in header if name not in COLUMNS]
    problems += [unknown("column", name, COLUMNS, where=where) for name in strange]
    for name in ("kind", "on"):
        if name not in header:
            what, fix = f"has no column {name}", f"Add the column {name}"
            problems.append(DocumentError(what, where=where, fix=fix))
    return len(problems) == before


def _row_places(path: str, line: int) -> Places:
    return partial(_row_place, path, line)  # a fact keeps it: smaller than a function of its own


def _row_place(path: str, line: int, steps: DocumentPath) -> str:
    return ", ".join([f"{path} line {line}", *map(str, steps)])
