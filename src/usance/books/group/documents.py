r"""Documents of group facts: a YAML list, read with line numbers.

The keys of a fact and of its detail stand side by side. `id`, `kind`, `entity` and `on` are needed;
`booked_at` is the start of the day in UTC unless it is given.

>>> facts = parse_facts('''
... facts:
...   - {id: 1, kind: cost_incurred, entity: 2, on: 2024-01-31, amount: 500, function: marketing}
...   - {id: 2, kind: cost_paid, entity: 2, on: 2024-02-05, amount: 500}
... ''')
>>> [(each.kind.label, each.amount_minor) for each in facts]
[('cost_incurred', 50000), ('cost_paid', 50000)]
>>> parse_facts("facts: [{id: 1, kind: cost_payed, entity: 2, on: 2024-01-31}]")
Traceback (most recent call last):
usance.base.errors.CodeError: facts line 1, facts[1].kind: unknown group fact kind 'cost_payed'.
Did you mean 'cost_paid'? ...
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from usance.base.codes import Currency
from usance.base.document_places import Places, document_places
from usance.base.documents import parse_yaml, read_text
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, amount_of, day, moment, one_of, whole_of
from usance.books.group.checks import list_problems
from usance.books.group.entities import currency
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact_from_fields

_COMMON = frozenset({
    "id", "kind", "entity", "on", "booked_at", "currency", "amount", "party", "quantity",
})  # fmt: skip
_LAST_NUMBER = 2**15 - 1


def read_facts(path: Path | str, home: Currency = Currency.CNY) -> list[GroupFact]:
    """The facts of a YAML file; raises every problem with them."""
    return parse_facts(read_text(path), home, where=str(path))


def parse_facts(
    content: str, home: Currency = Currency.CNY, *, where: str = "facts"
) -> list[GroupFact]:
    """The facts of a YAML text; amounts without a currency are in `home`."""
    problems: list[UsanceError] = []
    places = document_places(where, lambda: content)
    raw = parse_yaml(content, where=where)
    document = Fields(raw, places, problems)
    listed = document.each("facts")
    rows = raw.get("facts", []) if isinstance(raw, dict) else []
    rows = rows if isinstance(rows, list) else [rows]
    facts = []
    for number, (given, row) in enumerate(zip(listed, rows, strict=False), start=1):
        found = _fact(given, row, home, places, number)
        facts += [found] if found else []
    document.close()
    problems += list_problems(facts)
    raise_all(problems, where=where)
    return facts


def _fact(
    given: Fields, row: Any, home: Currency, places: Places, number: int
) -> GroupFact | None:  # fmt: skip
    fact_id = given.need("id", whole_of(1, 2**63 - 1))
    kind = given.need("kind", one_of(GroupFactKind))
    entity = given.need("entity", whole_of(1, _LAST_NUMBER))
    on = given.need("on", day)
    kept_in = given.take("currency", currency)
    own = home if kept_in is None else kept_in
    minor = given.take("amount", amount_of(own.label)) or 0
    party = given.take("party", whole_of(0, _LAST_NUMBER)) or 0
    quantity = given.take("quantity", whole_of(0, 2**53)) or 0
    booked = given.take("booked_at", moment)
    if not given.has_needed:
        return None
    known_at = booked or datetime.combine(on, time(), UTC)
    detail = {key: value for key, value in row.items() if key not in _COMMON}
    inner = Fields(detail, places, given.problems, ("facts", number))
    return fact_from_fields(
        fact_id, entity, kind, on, known_at, own, minor, party, quantity, inner, detail
    )  # fmt: skip
