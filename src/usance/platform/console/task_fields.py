"""Fields of a task's form: how each is typed, what it offers, and the value that a command takes.

>>> TaskField.of("amount_minor", int, {}, is_needed=True).kind
'money'
>>> body_of(
...     (TaskField("skill_ppm", "percent"), TaskField("users", "lines")),
...     {"skill_ppm": "12.5 %", "users": "us_1 us_2"},
...     Currency.CNY,
... )
{'skill_ppm': 125000, 'users': ['us_1', 'us_2']}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.books.group.entities import parse_entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.api.strict_json import parse
from usance.platform.commands.loans.plans import REASONS
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.frame import FILE_OF
from usance.platform.desk.collection_settings import C_SCORES
from usance.platform.errors import InvalidField
from usance.platform.security.access_commands import PERSON_FIELDS
from usance.platform.security.access_reads import people
from usance.platform.security.keys import SCOPES
from usance.platform.security.roles import Roles
from usance.service.collections.contact_rules import Channel, Stop
from usance.service.collections.stages import Stage
from usance.service.help.complaints import SUBJECTS
from usance.service.help.plan_rules import PlanKind

if TYPE_CHECKING:
    from usance.platform.reads.reading import Reading

KINDS = {int: "number", bool: "yes", date: "date", str: "text", Mapping: "json", tuple: "lines"}
"""How a value of each type is typed, where its name does not say more."""
_PPM = 10_000
"""Millionths in a percent."""
Choices = Mapping[str, Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class TaskField:
    """A field: its name in the command and how it is typed."""

    name: str
    kind: str = "text"
    choices: str | tuple[str, ...] = ()
    """Values it offers, or the name of those that the lender has."""
    word: str = ""
    """The beginning of its choices' keys in texts."""
    value: str = ""
    """The value that stands in it first."""
    label: str = ""
    is_needed: bool = False

    @classmethod
    def of(cls, name: str, kind: Any, more: Mapping[str, Any], *, is_needed: bool) -> TaskField:
        """A field of a command, with what is said of it beside its type."""
        types = getattr(kind, "__args__", ()) if type(None) in getattr(kind, "__args__", ()) else (
            kind,)  # fmt: skip
        own = next(each for each in types if each is not type(None))
        own = getattr(own, "__origin__", own)
        how = KINDS.get(own, "text")
        if own is int:
            how = {"minor": "money", "ppm": "percent"}.get(name.rpartition("_")[2], how)
        if name == "reason" and own is str:
            how = "reason"
        choices = more.get("choices", ())
        return cls(
            name, more.get("kind", "choice" if choices else how),
            choices if isinstance(choices, str) else tuple(choices), more.get("word", ""),
            more.get("value", ""), more.get("label", f"field_{name}"), is_needed,
        )  # fmt: skip


async def first_values(
    read: Reading, wanted: Sequence[TaskField], given: Mapping[str, str]
) -> tuple[Choices, dict[str, str]]:
    """Choices of each field, and the value it begins with: given, else known, else today."""
    choices = {each.name: await _offered(read, each, given) for each in wanted if each.choices}
    known = {"currency": read.moment.lender.currency.name,
             "strategy": read.moment.lender.collections.strategy_text}  # fmt: skip
    today = read.moment.business_date.isoformat()
    first = {}
    for each in wanted:
        value = given.get(each.name) or known.get(each.value, each.value)
        if not value and each.kind == "date":
            value = today
        if not value and each.choices == "currency":
            value = known["currency"]
        first[each.name] = value
    return choices, first


async def _offered(
    read: Reading, wanted: TaskField, given: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Values and, where they are numbers, their names."""
    if not isinstance(wanted.choices, str):
        return [(each, each) for each in wanted.choices]
    lender, name = read.moment.lender, wanted.choices
    own: dict[str, Sequence[str]] = {
        "providers": sorted(each for kind, each in lender.parties if kind == "provider"),
        "currency": [each.name for each in Currency],
        "desks": ["", *lender.collections.strategy.desks],
        "agencies": list(lender.collections.agencies),
    }
    if name == "user_loans":
        return await _loans(read, given.get("user", ""))
    if name == "group_facts":
        return [(str(int(each)), each.label) for each in GroupFactKind]
    if name == "entities":
        stated = (lender.document.get("policies") or {}).get("entities.yaml", "")
        group = parse_entities(stated) if stated else ()
        return [(str(each.number), f"{each.number} · {each.name}") for each in group]
    if name == "operators":
        own[name] = [each["email"] for each in await people(read.transaction) if each["is_active"]]
    found = own[name] if name in own else fixed_choices()[name]
    return [(each, each) for each in found]


async def _loans(read: Reading, user: str) -> list[tuple[str, str]]:
    """Loans of a borrower that are not over, with what is owed on each."""
    if not user:
        return []
    currency = read.moment.lender.currency
    return [
        (each["loan"], f"{each['loan']} · {printed(each['outstanding']['total_minor'], currency)}")
        for each in await read.user_loans(user) if each["status"] == "active"
    ]  # fmt: skip


@cache
def fixed_choices() -> Mapping[str, Sequence[str]]:
    """Choices that are the same for every lender."""
    profiles = files("usance.service.bank_files").joinpath("profiles").iterdir()
    return {
        "channels": [each.value for each in Channel], "stops": [each.value for each in Stop],
        "plans": [each.value for each in PlanKind], "stages": [each.label for each in Stage],
        "subjects": SUBJECTS, "hardships": REASONS, "person": PERSON_FIELDS, "c_scores": C_SCORES,
        "roles": sorted(Roles.load().by_name),
        "scopes": sorted({scope for own in SCOPES.values() for scope in own}),
        "profiles": sorted(each.name.removesuffix(".yaml") for each in profiles),
    }  # fmt: skip


def with_files(wanted: Sequence[TaskField], given: Mapping[str, str]) -> dict[str, str]:
    """Everything that was typed, with the texts of files in the fields that they were chosen for.

    >>> field = TaskField("content", "file")
    >>> with_files([field], {FILE_OF + "content": '{"day.csv": "a,b"}', "name": ""})
    {'name': 'day.csv', 'content': 'a,b'}
    """
    filled = {name: text for name, text in given.items() if not name.startswith(FILE_OF)}
    for each in wanted:
        chosen = given.get(FILE_OF + each.name, "")
        if chosen and each.kind == "files":
            filled[each.name] = chosen
        elif chosen:
            name, text = next(iter(json.loads(chosen).items()))
            filled[each.name] = text
            filled["name"] = filled.get("name") or name
    return filled


def body_of(
    wanted: Sequence[TaskField], given: Mapping[str, str], currency: Currency
) -> dict[str, Any]:
    """The command's fields from those of the form; what was left empty is left out."""
    body: dict[str, Any] = {}
    for each in wanted:
        if each.kind == "many":
            prefix = f"{each.name}."
            chosen = [name.removeprefix(prefix) for name in given if name.startswith(prefix)]
            if chosen:
                body[each.name] = chosen
            continue
        text = given.get(each.name, "")
        if text.strip():
            body[each.name] = _value(each, text, currency)
    return body


def _value(wanted: TaskField, text: str, currency: Currency) -> Any:
    where = f"body.{wanted.name}"
    if wanted.kind == "money":
        try:
            return minor_of(text.strip(), currency)
        except InvalidField as error:
            raise InvalidField(error.what, where=where, fix=error.fix) from error
    if wanted.kind == "percent":
        return _ppm(text, where)
    if wanted.kind == "number" or wanted.choices in ("group_facts", "entities"):
        return _whole(text.strip(), where)
    if wanted.kind == "yes":
        return text == "1"
    if wanted.kind == "lines":
        return text.replace(",", " ").split()
    if wanted.kind in ("json", "files"):
        return _document(text, where)
    return text if wanted.kind in ("long", "file") else text.strip()


def _whole(text: str, where: str) -> int:
    if not (text.removeprefix("-").isdigit() and text.isascii() and len(text) < 16):
        raise InvalidField(f"{text[:20]!r} is no whole number", where=where,
                           fix="Give one such as 6")  # fmt: skip
    return int(text)


def _ppm(text: str, where: str) -> int:
    """A percentage in millionths."""
    try:
        value = Decimal(text.strip().removesuffix("%").strip()) * _PPM
        if not value.is_finite() or value != value.to_integral_value() or abs(value) > 2**53:
            raise InvalidOperation
    except InvalidOperation:
        raise InvalidField(f"{text[:20]!r} is no percentage", where=where,
                           fix="Give one such as 12.5") from None  # fmt: skip
    return int(value)


def _document(text: str, where: str) -> Any:
    """The value of a JSON text, read as strictly as a body of the API."""
    try:
        found = parse(f'{{"given": {text}}}'.encode("utf-8", "replace"))
    except UsanceError as error:
        raise InvalidField(f"is no JSON: {error.what}", where=where,
                           fix="Give an object or a list") from error  # fmt: skip
    if len(found) > 1:
        raise InvalidField("is more than one value", where=where, fix="Give an object or a list")
    return found["given"]
