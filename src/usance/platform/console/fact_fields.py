r"""The form of a group fact: the fields of its kind, and the detail that the command takes.

A kind is chosen first; then its keys are asked for, each as it is written: a day, a rate, one of a
list, or one item a line.

>>> [each.name for each in fact_fields(GroupFactKind.FUNDING_REPAID)]
['detail.deal', 'detail.value_on']
>>> given = {"detail.deal": "T1", "detail.value_on": "", "detail.lender": "?"}
>>> detail_of(GroupFactKind.FUNDING_REPAID, given)
{'deal': 'T1'}
>>> for line in detail_value(ValueForm.LINES, "cash 5.00\nequity -5.00 USD 2", "body.detail.lines"):
...     print(line)
{'account': 'cash', 'amount': '5.00'}
{'account': 'equity', 'amount': '-5.00', 'currency': 'USD', 'entity': '2'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from usance.base.codes import Currency
from usance.base.documents import parse_yaml
from usance.base.errors import UsanceError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.fact_schemas import FACT_SCHEMAS, AmountSign, ValueForm
from usance.platform.console.task_fields import TaskField
from usance.platform.errors import InvalidField

COMMAND = "group_fact.state"
DETAIL = "detail."
_KINDS = {
    ValueForm.CHOICE: "choice", ValueForm.ENTITY: "choice", ValueForm.DAY: "date",
    ValueForm.WHOLE: "number",
    ValueForm.RATE: "rate", ValueForm.PRICE: "decimal", ValueForm.AMOUNT: "decimal",
    ValueForm.DAYS: "days", ValueForm.AMOUNTS: "amounts", ValueForm.RATES: "ratios",
    ValueForm.LINES: "entry_lines", ValueForm.TRANCHES: "tranches", ValueForm.SHARES: "shares",
    ValueForm.MONEY: "with_currency", ValueForm.TREE: "pairs",
}  # fmt: skip
"""How a value of each form is typed."""
LONG = frozenset({"days", "amounts", "entry_lines", "tranches", "shares", "pairs"})
"""Kinds of fields that take a line for each of several items."""
_COUNTED = frozenset({GroupFactKind.COST_DRIVER, GroupFactKind.DIVIDEND_DECLARED,
                      GroupFactKind.DIVIDEND_RECORDED})  # fmt: skip
"""Kinds that may have a quantity; others need one or have none."""
_TRANCHE_WORDS = 2
_ENTRY_WORDS = ("account", "amount", "currency", "entity")


def chosen_kind(given: Mapping[str, str]) -> GroupFactKind | None:
    """The kind that a form is about, by its number; none if it is not chosen yet."""
    text = given.get("kind", "")
    known = {str(int(each)): each for each in GroupFactKind}
    return known.get(text) or next((each for each in GroupFactKind if each.label == text), None)


def fields_of_kind(wanted: Sequence[TaskField], kind: GroupFactKind) -> tuple[TaskField, ...]:
    """The command's own fields that a kind has, then those of its detail."""
    schema = FACT_SCHEMAS[kind]
    has = {"amount_minor": schema.amount is not AmountSign.NONE,
           "quantity": schema.has_quantity or kind in _COUNTED,
           "party": True, "detail": False}  # fmt: skip
    needed = {"quantity": schema.has_quantity, "party": schema.needs_party,
              "amount_minor": schema.amount in (AmountSign.ABOVE, AmountSign.ANY)}  # fmt: skip
    own = [replace(each, is_needed=needed.get(each.name, each.is_needed))
           for each in wanted if has.get(each.name, True)]  # fmt: skip
    return (*own, *fact_fields(kind))


def fact_fields(kind: GroupFactKind) -> tuple[TaskField, ...]:
    """A field for each key of a kind's detail."""
    return tuple(
        TaskField(f"{DETAIL}{name}", _KINDS.get(key.type.form, "text"),
                  "entities" if key.type.form is ValueForm.ENTITY else key.type.choices,
                  label=f"key_{name}", is_needed=key.needed)
        for name, key in FACT_SCHEMAS[kind].keys.items()
    )  # fmt: skip


def fact_body(kind: GroupFactKind, body: Mapping[str, Any], given: Mapping[str, str]) -> Any:
    """The body of the command: what the form says, with a detail made of the fields of its kind."""
    own = {name: value for name, value in body.items() if not name.startswith(DETAIL)}
    own.setdefault("amount_minor", 0)
    detail = detail_of(kind, given)
    return {**own, "kind": kind.label, **({"detail": detail} if detail else {})}


def detail_of(kind: GroupFactKind, given: Mapping[str, str]) -> dict[str, Any]:
    """The detail of a fact as its document would have it; what was left empty is left out."""
    return {
        name: detail_value(key.type.form, text, f"body.{DETAIL}{name}")
        for name, key in FACT_SCHEMAS[kind].keys.items()
        if (text := given.get(f"{DETAIL}{name}", "").strip())
    }


def currency_of(given: Mapping[str, str], own: Currency) -> Currency:
    """The currency that amounts of the form are typed in."""
    return Currency[given["currency"]] if given.get("currency") in Currency.__members__ else own


def detail_value(form: ValueForm, text: str, where: str) -> Any:
    """The value of a key as its reader takes it, from what was typed."""
    if form is ValueForm.RATE:
        return _rate(text)
    if form is ValueForm.RATES:
        return [each if "/" in each else _rate(each) for each in text.split()]
    if form in (ValueForm.AMOUNT, ValueForm.PRICE, ValueForm.MONEY):
        return _plain(text)
    if form is ValueForm.DAYS:
        return text.replace(",", " ").split()
    if form is ValueForm.AMOUNTS:
        return [_plain(each) for each in text.split()]
    if form is ValueForm.TREE:
        return _pairs(text, where)
    if form is ValueForm.SHARES:
        return {words[0]: _rate(words[1]) for words in _lines(text, where, 2, 2)}
    if form is ValueForm.TRANCHES:
        return [_tranche(words) for words in _lines(text, where, _TRANCHE_WORDS, 3)]
    if form is ValueForm.LINES:
        return [_entry(words) for words in _lines(text, where, 2, len(_ENTRY_WORDS))]
    return text


def _lines(text: str, where: str, least: int, most: int) -> list[list[str]]:
    """Words of each line; a line has some words and no more."""
    found = [line.split() for line in text.splitlines() if line.strip()]
    for number, words in enumerate(found, start=1):
        if not least <= len(words) <= most:
            raise InvalidField(f"line {number} has {len(words)} words", where=where,
                               fix=f"Write {least} to {most} of them, parted by blanks"
                               if least < most else f"Write {least}, parted by blanks")  # fmt: skip
    return found


def _entry(words: Sequence[str]) -> dict[str, str]:
    entry = dict(zip(_ENTRY_WORDS, words, strict=False))
    return {**entry, "amount": _plain(entry["amount"])}


def _tranche(words: Sequence[str]) -> dict[str, str]:
    """A day with units, or with holders and the units of each."""
    if len(words) == _TRANCHE_WORDS:
        return {"on": words[0], "units": _plain(words[1])}
    return {"on": words[0], "holders": _plain(words[1]), "units_each": _plain(words[2])}


def _plain(text: str) -> str:
    """A number without separators of thousands, with a plain minus."""
    return text.replace(",", "").replace("\N{MINUS SIGN}", "-")


def _rate(text: str) -> str:
    """A rate as a percentage, whether the sign was typed or not."""
    return text if text.endswith("%") else f"{text}%"


def _pairs(text: str, where: str) -> Any:
    try:
        found = parse_yaml(text, where=where)
    except UsanceError as error:
        raise InvalidField(error.what, where=where, fix="Write name: value, one a line") from error
    if not isinstance(found, dict):
        raise InvalidField("has no names", where=where, fix="Write name: value, one a line")
    return {str(name): each.isoformat() if isinstance(each, date) else str(each)
            for name, each in found.items()}  # fmt: skip
