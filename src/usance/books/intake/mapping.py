r"""The mapping of a file to be taken into a book: the names of its columns, as a tape's mapping.

```yaml
rows: loan                       # or fact, or group_fact
columns: {loan: contract, principal: amount, rate: apr, instalments: n, disbursed_on: start,
          first_due_on: first}
amounts: "1,234.56"
dates: "%d.%m.%Y"
defaults: {model: capital_heavy, convention: level_monthly}
kinds: {repayment: paid, drawdown: disbursed}
```

`defaults` states a value for every row of a column that the file has not. Keys that a tape's
mapping has too (`columns`, `amounts`, `dates`, `currency`) mean the same here.

>>> text = "rows: fact\ncolumns: {loan: id, kind: k, effective_on: d, ref: r}"
>>> made = parse_intake(text, "m.yaml")
>>> made.columns["kind"], made.amounts
('k', '1234.56')
>>> parse_intake("rows: facts\ncolumns: {loan: id}", "m.yaml")
Traceback (most recent call last):
usance.base.errors.CodeError: m.yaml line 1, rows: unknown rows 'facts'. Did you mean 'fact'? ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.base.amount_notations import AMOUNTS
from usance.base.codes import Currency, parse
from usance.base.documents import read_text
from usance.base.errors import raise_all, unknown
from usance.base.fields import Fields, fields_of, text

LOAN = {
    "loan": True, "principal": True, "rate": True, "instalments": True, "disbursed_on": True,
    "first_due_on": True, "coupon": False, "guarantee_fee": False, "flat_fee": False,
    "upfront_fee": False, "convention": False, "model": False, "product": False, "source": False,
    "grade": False, "channel": False, "region": False, "user": False,
}  # fmt: skip
"""Columns of a file of loans; True where one must be named."""
FACT = {
    "loan": True, "kind": True, "effective_on": True, "ref": True, "amount": False,
    "reverses": False, "provider": False, "fee": False, "component": False, "party": False,
    "booked_at": False,
}  # fmt: skip
"""Columns of a file of facts."""
GROUP_FACT = {
    "id": True, "entity": True, "kind": True, "effective_on": True, "amount": False,
    "currency": False, "party": False, "quantity": False, "detail": False, "booked_at": False,
}  # fmt: skip
"""Columns of a file of facts of the group; `detail` is JSON."""
ROWS = {"loan": LOAN, "fact": FACT, "group_fact": GROUP_FACT}


@dataclass(frozen=True, slots=True)
class IntakeMapping:
    """A valid mapping."""

    rows: str
    columns: Mapping[str, str]
    defaults: Mapping[str, str]
    kinds: Mapping[str, str]
    amounts: str
    dates: str
    currency: Currency | None
    places: Mapping[str, str]


def read_intake(path: Path) -> IntakeMapping:
    """The mapping in a YAML file, or everything that is wrong with it."""
    return parse_intake(read_text(path), str(path))


def parse_intake(given: str, where: str) -> IntakeMapping:
    """The mapping in a text."""
    fields = fields_of(given, where)
    rows: str = fields.need("rows", _choice("rows", ROWS))
    raise_all(fields.problems, where=where)  # nothing else can be judged
    columns = _named(fields, "columns", ROWS[rows])
    defaults = _named(fields, "defaults", ROWS[rows])
    kinds = _kinds(fields)
    amounts = fields.take("amounts", _choice("amounts", AMOUNTS)) or "1234.56"
    dates = fields.take("dates", text) or "%Y-%m-%d"
    currency = fields.take("currency", lambda it, at: parse(Currency, str(it), where=at))
    fields.close()
    for name, needed in ROWS[rows].items():
        if fields.is_mapping and needed and name not in columns and name not in defaults:
            fields.wrong(f"{name} is missing", "Name its column, or state a default", "columns")
        if name in columns and name in defaults:
            fields.wrong(f"{name} has a column and a default", "Keep one of them", "defaults")
    raise_all(fields.problems, where=where)
    places = {key: fields.where("columns", key) for key in columns}
    return IntakeMapping(rows, columns, defaults, kinds, amounts, dates, currency, places)


def _named(fields: Fields, key: str, known: Mapping[str, bool]) -> dict[str, str]:
    inner = fields.inner(key)
    if inner is None:
        return {}
    found = {name: inner.take(name, lambda value, _: str(value)) for name in known}
    inner.close()
    return {name: value for name, value in found.items() if value is not None}


def _kinds(fields: Fields) -> dict[str, str]:
    def read(given: Any, where: str) -> dict[str, str]:
        if not isinstance(given, dict):
            raise unknown("kinds", str(given), ["a mapping of the file's words"], where=where)
        return {str(word): str(kind) for word, kind in given.items()}

    return fields.take("kinds", read) or {}


def _choice(what: str, choices: Mapping[str, Any]) -> Any:
    def chosen(given: Any, where: str) -> str:
        if str(given) not in choices:
            raise unknown(what, str(given), choices, where=where)
        return str(given)

    return chosen
