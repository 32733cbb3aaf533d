"""Facts as people write them, in a loan document or as the rows of a CSV file.

>>> found: list[UsanceError] = []
>>> given = {"kind": "waived", "on": "2024-03-01", "amount": "12.50", "component": "penalty"}
>>> fact = read_fact(Fields(given, lambda path: "", found), Refs(), 3, "CNY")
>>> fact.kind.label, fact.amount_minor, fact.ref, fact.arg
('waived', 1250, 3, 4)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from usance.base.codes import Component, Fee, Kind
from usance.base.dates import to_day
from usance.base.documents import read_csv
from usance.base.errors import DocumentError, UsanceError, unknown
from usance.base.fields import (
    Fields,
    Places,
    Reader,
    amount_of,
    check_currency,
    day,
    moment,
    one_of,
    text,
    whole,
)
from usance.base.fields import Path as Steps
from usance.base.ids import fact_ref
from usance.loan.facts import START_OF_TIME, Fact

COLUMNS = ("kind", "on", "amount", "currency", "ref", "arg", "booked_at")
"""The columns of a CSV of facts; `kind` and `on` are needed, in any order."""

_WITHOUT_AMOUNT = frozenset(
    {Kind.TERMS_CHANGED, Kind.INTEREST_PAUSED, Kind.BOUGHT_OUT, Kind.CHARGED_OFF, Kind.REVERSED}
)


@dataclass(slots=True)
class Refs:
    """The references of a document: where each fact is, and the texts behind hashed numbers."""

    places: dict[int, str] = field(default_factory=dict)
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

    def spelled(self, message: str) -> str:
        """A message with the texts people gave in place of their hashes."""
        for number, key in self.texts.items():
            message = message.replace(str(number), repr(key))
        return message


def read_fact(
    given: Fields, refs: Refs, position: int, currency: str, *, arg_key: str = ""
) -> Fact | None:
    """One fact, or None with the reasons kept; `position` is its reference if it has none."""
    before = len(given.problems)
    kind = given.need("kind", one_of(Kind))
    effective_on = given.need("on", day)
    given.take("currency", lambda unit, where: check_currency(unit, currency, where))
    ask = given.take if kind in _WITHOUT_AMOUNT else given.need
    amount = ask("amount", amount_of(currency))
    arg = _read_arg(given, kind, refs, arg_key)
    ref = given.take("ref", refs.read)
    booked_at = given.take("booked_at", moment)
    if kind is not None:
        given.close()
    number = position if ref is None else ref
    refs.places.setdefault(number, given.where())
    if kind is None or effective_on is None or len(given.problems) > before:
        return None
    return Fact(kind, effective_on, amount or 0, number, int(arg), booked_at or START_OF_TIME)


def read_rows(
    path: Path | str, refs: Refs, currency: str, problems: list[UsanceError]
) -> list[Fact]:
    """The facts of a CSV file; `arg` is spelled as its kind asks (a component, a fee, a date …)."""
    facts = []
    for position, (line, cells) in enumerate(read_csv(path), start=1):
        if position == 1 and not _has_columns(cells, str(path), problems):
            return []
        filled = {name: cell.strip() for name, cell in cells.items() if cell.strip()}
        given = Fields(filled, _row_places(str(path), line), problems)
        facts.append(read_fact(given, refs, position, currency, arg_key="arg"))
    return [fact for fact in facts if fact is not None]


def _read_arg(given: Fields, kind: Kind | None, refs: Refs, arg_key: str) -> int:
    """What its kind says beside the amount, under the key of the kind or the one given."""
    keys: dict[Kind, tuple[str, Reader[int]]] = {
        Kind.WAIVED: ("component", one_of(Component)),
        Kind.REVERSED: ("reverses", refs.read),
        Kind.TERMS_CHANGED: ("terms", whole),
        Kind.INTEREST_PAUSED: ("until", lambda each, where: to_day(day(each, where))),
        Kind.FEE_CHARGED: ("fee", one_of(Fee)),
    }
    if kind not in keys:
        if arg_key and kind is not None:
            given.take(arg_key, _no_arg(kind))
        return 0
    key, read = keys[kind]
    if kind is Kind.FEE_CHARGED:
        return given.take(arg_key or key, read) or Fee.OTHER
    return given.need(arg_key or key, read) or 0


def _no_arg(kind: Kind) -> Reader[int]:
    def refuse(given: Any, where: str) -> int:
        what = f"{given!r} beside a {kind.label} fact, which has no arg"
        raise DocumentError(what, where=where, fix="Leave the cell empty")

    return refuse


def _has_columns(cells: dict[str, str], path: str, problems: list[UsanceError]) -> bool:
    found = [unknown("column", name, COLUMNS, where=f"{path} line 1")
             for name in cells if name not in COLUMNS]  # fmt: skip
    problems += found
    missing = [name for name in ("kind", "on") if name not in cells]
    if missing:
        fix = f"Begin the file with {','.join(COLUMNS)}"
        problems.append(
            DocumentError(f"has no column {missing[0]}", where=f"{path} line 1", fix=fix)
        )
    return not found and not missing


def _row_places(path: str, line: int) -> Places:
    def place(steps: Steps) -> str:
        return ", ".join([f"{path} line {line}", *map(str, steps)])

    return place
