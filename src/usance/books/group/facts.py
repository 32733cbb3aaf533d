"""Facts of the group: stated events with an effective day and a booking time.

>>> from datetime import UTC
>>> known = datetime(2024, 1, 2, tzinfo=UTC)
>>> raised = fact(
...     1, 4, GroupFactKind.FUNDING_RAISED, date(2023, 12, 31), known, 900_000,
...     deal="T1", lender="trust_investors", rate="4.2%",
... )
>>> raised.detail["rate"], raised.detail["day_count"].value
(42000, 'actual/365')
>>> visible_facts([raised], date(2024, 3, 31), datetime(2024, 1, 1, tzinfo=UTC))
[]
"""  # fmt: skip

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from usance.base.codes import Currency, parse
from usance.base.columns import make
from usance.base.dates import to_day
from usance.base.document_places import Places
from usance.base.documents import parse_json
from usance.base.errors import InputError, UsanceError, raise_all
from usance.base.fields import Fields
from usance.base.stated_fact import StatedFact
from usance.books.errors import GroupFactError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.fact_schemas import FACT_SCHEMAS, AmountSign


@dataclass(frozen=True, slots=True)
class GroupFact:
    """One fact; `detail` holds the keys of its kind, read and checked."""

    fact_id: int
    entity: int
    kind: GroupFactKind
    effective_on: date
    booked_at: datetime
    currency: Currency
    amount_minor: int
    party: int
    quantity: int
    detail: Mapping[str, Any] = field(compare=False)
    detail_json: str
    """The detail as it was written."""

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"group fact {self.fact_id}"


def fact(
    fact_id: int, entity: int, kind: GroupFactKind, effective_on: date, booked_at: datetime,
    amount_minor: int = 0, *, currency: Currency = Currency.CNY, party: int = 0,
    quantity: int = 0, **detail: Any,
) -> GroupFact:  # fmt: skip
    """A fact from plain values; raises every problem with it."""
    problems: list[UsanceError] = []
    where = f"group fact {fact_id}"
    found = fact_from_fields(
        fact_id, entity, kind, effective_on, booked_at, currency, amount_minor, party, quantity,
        Fields(detail, _places(where), problems), detail,
    )  # fmt: skip
    raise_all(problems, where=where)
    return found


def facts_of_stated(
    stated: Iterable[StatedFact], first_id: int, booked_at: datetime
) -> list[GroupFact]:
    """Facts that other rooms have stated, numbered from `first_id` and booked at a moment."""
    return [
        fact(
            first_id + n, each.entity, parse(GroupFactKind, each.kind), each.effective_on,
            booked_at, each.amount_minor, currency=parse(Currency, each.currency),
            party=each.party, quantity=each.quantity, **each.detail,
        )
        for n, each in enumerate(stated)
    ]  # fmt: skip


def fact_from_fields(
    fact_id: int, entity: int, kind: GroupFactKind, effective_on: date, booked_at: datetime,
    currency: Currency, amount_minor: int, party: int, quantity: int, given: Fields,
    raw: Mapping[str, Any],
) -> GroupFact:  # fmt: skip
    """A fact whose detail is read from fields, which collect the problems."""
    form = FACT_SCHEMAS[kind]
    detail = {}
    for name, key in form.keys.items():
        read = given.need if key.needed else given.take
        value = read(name, key.reader(currency.label))
        detail[name] = key.default if value is None else value
    given.close()

    def wrong(what: str, fix: str) -> None:
        given.problems.append(GroupFactError(f"{kind.label}: {what}", where=given.where(), fix=fix))

    if form.amount is AmountSign.ABOVE and amount_minor <= 0:
        wrong(f"the amount is {amount_minor}", "Give an amount above zero")
    if form.amount is AmountSign.ANY and amount_minor == 0:
        wrong("the amount is zero", "Give an amount, or leave the fact out")
    if form.amount is AmountSign.NONE and amount_minor != 0:
        wrong("it has no amount of its own", "Leave the amount out")
    if form.has_quantity and quantity <= 0:
        wrong(f"the quantity is {quantity}", "Give a number above zero")
    if form.needs_party and party <= 0:
        wrong("with whom?", "Give the party's number")
    # Keys are sorted so that the same fact is always the same bytes.
    detail_json = json.dumps(raw, default=str, sort_keys=True, ensure_ascii=False)
    return GroupFact(fact_id, entity, kind, effective_on, booked_at, currency, amount_minor,
                     party, quantity, detail, detail_json)  # fmt: skip


def visible_facts(facts: Iterable[GroupFact], day: date, known_at: datetime) -> list[GroupFact]:
    """Facts effective by a day and booked by a moment, by number, without reversed ones."""
    seen = [each for each in facts if each.effective_on <= day and each.booked_at <= known_at]
    reversed_ids = {each.detail["fact"] for each in seen if each.kind is GroupFactKind.REVERSED}
    kept = [each for each in seen if each.kind is not GroupFactKind.REVERSED]
    return sorted(
        (each for each in kept if each.fact_id not in reversed_ids), key=lambda f: f.fact_id
    )


def facts_of_table(table: pa.Table) -> list[GroupFact]:
    """Facts of a `group_facts` table; raises every problem with them."""
    problems: list[UsanceError] = []
    facts = [found for row in table.to_pylist() if (found := fact_of_row(row, problems))]
    raise_all(problems, where="group_facts")
    return facts


def fact_of_row(row: Mapping[str, Any], problems: list[UsanceError]) -> GroupFact | None:
    """A fact of a row of `group_facts`, or none and what is wrong with it."""
    where = f"group fact {row['fact_id']}"
    try:
        kind, currency = GroupFactKind(row["kind"]), Currency(row["currency"])
    except ValueError as error:
        fix = "Give a number of the list"
        problems.append(GroupFactError(str(error), where=where, fix=fix))
        return None
    try:
        raw = parse_json(row["detail"] or "{}", where=f"{where}, detail")
    except InputError as error:
        problems.append(error)
        return None
    given = Fields(raw, _places(where), problems)
    return fact_from_fields(
        row["fact_id"], row["entity"], kind, row["effective_on"], row["booked_at"], currency,
        row["amount_minor"], row["party"], row["quantity"], given, raw,
    )  # fmt: skip


def table_of_facts(facts: Sequence[GroupFact]) -> pa.Table:
    """Facts as a `group_facts` table, by number."""
    rows = sorted(facts, key=lambda each: each.fact_id)
    return make(
        "group_facts",
        fact_id=[each.fact_id for each in rows],
        entity=[each.entity for each in rows],
        kind=[int(each.kind) for each in rows],
        effective_on=pa.array([to_day(each.effective_on) for each in rows], pa.int32()).cast(
            pa.date32()
        ),
        booked_at=pa.array([each.booked_at for each in rows], pa.timestamp("us", "UTC")),
        currency=[int(each.currency) for each in rows],
        amount_minor=[each.amount_minor for each in rows],
        party=[each.party for each in rows],
        quantity=[each.quantity for each in rows],
        detail=[each.detail_json for each in rows],
    )


def _places(where: str) -> Places:
    def place(path: tuple[str | int, ...]) -> str:
        return f"{where}, {'.'.join(map(str, path))}" if path else where

    return place
