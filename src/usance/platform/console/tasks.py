"""Tasks: commands of roles that no page has a form of its own for, by forms made from their fields.

A command's form is read from its dataclass; `tasks.yaml` says on which page its button stands and
what its fields leave open. Every form shows its effect first and is done once for its key.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, get_type_hints
from urllib.parse import urlencode

import yaml
from starlette.responses import Response

from usance.base.codes import Currency
from usance.base.rates import Rate
from usance.platform.api.dry_run import effects_of
from usance.platform.commands.command import WAITING
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.console.actions import CONFIRM, effect_of
from usance.platform.console.amounts import printed
from usance.platform.console.fact_fields import COMMAND as STATE_FACT
from usance.platform.console.fact_fields import (
    LONG,
    chosen_kind,
    currency_of,
    fact_body,
    fields_of_kind,
)
from usance.platform.console.frame import HOME, MAX_FILES, Visit, form, redirect
from usance.platform.console.task_fields import TaskField, body_of, first_values, with_files
from usance.platform.errors import Forbidden, InvalidField, MissingField, NotFound, Refused
from usance.platform.live import spec_of

SECRETS = ("key", "secret", "password", "value")
"""Fields of an answer that are told once and kept nowhere: the page that follows shows them."""


@dataclass(frozen=True)
class TaskPage:
    """A page with buttons of tasks."""

    name: str
    screen: str
    page: str
    """Its address below the console's, with fields of a form in braces."""


@dataclass(frozen=True)
class Task:
    """A command with the form that it is asked by."""

    command: str
    place: TaskPage
    of: str
    """The field that names its record, where the button stands beside that; else empty."""
    fields: tuple[TaskField, ...]

    @property
    def word(self) -> str:
        """The key of its title in texts."""
        return f"task_{self.command.replace('.', '_')}"

    def address(self, given: Mapping[str, str]) -> str:
        """The form with what is known already."""
        own = {each.name for each in self.fields}
        query = urlencode({name: value for name, value in given.items() if (value and name in own)
                           or name in _named(self.place.page)})  # fmt: skip
        return f"{HOME}/do/{self.command}{'?' if query else ''}{query}"

    def back(self, given: Mapping[str, str]) -> str:
        """The page that it was asked from; the screen itself where its record is not known."""
        if not all(given.get(name) for name in _named(self.place.page)):
            return f"{HOME}/{self.place.screen}"
        return HOME + self.place.page.format_map(given)


def _named(page: str) -> list[str]:
    """Names in braces.

    >>> _named("/loans/{loan}")
    ['loan']
    """
    return [part.partition("}")[0] for part in page.split("{")[1:]]


@cache
def _document() -> dict[str, Any]:
    text = files("usance.platform.console").joinpath("tasks.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@cache
def tasks() -> Mapping[str, Task]:
    """Every task by its command.

    >>> [each.name for each in tasks()["key.end"].fields]
    ['key_id']
    """
    document = _document()
    places = {name: TaskPage(name, **own) for name, own in document["places"].items()}
    return {
        name: Task(name, places[own["at"]], own.get("of", ""),
                   _fields(name, own.get("fields", {})))
        for name, own in document["tasks"].items()
    }  # fmt: skip


def _fields(command: str, more: Mapping[str, Any]) -> tuple[TaskField, ...]:
    kind = COMMANDS[command].command
    types = get_type_hints(kind)
    return tuple(
        TaskField.of(each.name, types[each.name], more.get(each.name) or {},
                     is_needed=each.default is MISSING and each.default_factory is MISSING)
        for each in fields(kind)
    )  # fmt: skip


@cache
def elsewhere() -> Mapping[str, frozenset[str]]:
    """Commands that pages have forms of their own for, by screen."""
    return {screen: frozenset(names) for screen, names in _document()["elsewhere"].items()}


def buttons(visit: Visit, place: str, **given: Any) -> list[tuple[str, str]]:
    """Texts and addresses of the tasks that the visitor may do at a place."""
    return [(visit.texts[each.word], each.address(given)) for each in tasks().values()
            if each.place.name == place and not each.of and visit.may(each.command)]  # fmt: skip


def row_buttons(visit: Visit, field: str, value: str, **given: Any) -> list[tuple[str, str]]:
    """The same for a record of a page, named by a field of the commands."""
    return [
        (visit.texts[each.word], each.address({**given, field: value}))
        for each in tasks().values()
        if each.of == field and visit.may(each.command)
    ]


def _task(visit: Visit, given: Mapping[str, str]) -> Task:
    """The task of an address, with the fields that what was given so far asks for."""
    task = tasks().get(visit.request.path_params["command"])
    if task is None:
        raise NotFound("there is no such action", where="action", fix="Use the buttons")
    visit.need(task.place.screen)
    if not visit.may(task.command):
        raise Forbidden(f"{visit.operator.role} may not do {task.command}", where=task.command,
                        fix="Ask somebody who may")  # fmt: skip
    if task.command != STATE_FACT:
        return task
    kind = chosen_kind(given)
    first = tuple(each for each in task.fields if each.name == "kind")
    return replace(task, fields=fields_of_kind(task.fields, kind) if kind else first)


async def show(visit: Visit) -> Response:
    """The form of a task, with what its address gives filled in."""
    task = _task(visit, visit.request.query_params)
    async with visit.platform.reading(visit.operator.principal) as read:
        choices, given = await first_values(read, task.fields, visit.request.query_params)
    return _form(visit, task, choices, {**visit.request.query_params, **given})


async def act(visit: Visit) -> Response:
    """Show what a task would do; confirmed, do it once and tell how it ended."""
    sent = await form(visit.request, MAX_FILES)
    task = _task(visit, sent)
    given = with_files(task.fields, sent)
    is_final = given.get("step") == CONFIRM
    async with visit.platform.reading(visit.operator.principal) as read:
        choices, _ = await first_values(read, task.fields, given)
        currency = read.moment.lender.currency
    if task.command == STATE_FACT:
        currency = currency_of(given, currency)
    try:
        body = _body(task, given, currency)
        command = _command(task, body)
        outcome = await visit.platform.do(
            visit.operator.principal, command, key=given.get("key", "") if is_final else "",
            dry_run=not is_final,
        )  # fmt: skip
    except (InvalidField, MissingField, Refused, NotFound) as error:
        return _form(visit, task, choices, given, error=error)
    answer = shown_facts(visit, outcome.answer, currency)
    if not is_final:
        effect = effect_of(effects_of(outcome), currency) if outcome.would is not None else None
        return _form(visit, task, choices, given, effect=effect, after=answer)
    if outcome.status == WAITING or secrets_in(outcome.answer):
        return visit.page(
            task.place.screen, "task_done", visit.texts[task.word], facts=answer,
            approval=outcome.answer.get("approval", "") if outcome.status == WAITING else "",
            back=task.back(given), is_secret=outcome.status != WAITING,
        )  # fmt: skip
    return redirect(_with_done(task.back(given), task.word))


def _body(task: Task, given: Mapping[str, str], currency: Currency) -> Any:
    body = body_of(task.fields, given, currency)
    kind = chosen_kind(given) if task.command == STATE_FACT else None
    return body if kind is None else fact_body(kind, body, given)


def secrets_in(answer: Mapping[str, Any]) -> dict[str, str]:
    """Secrets of an answer.

    >>> secrets_in({"id": 7, "key": "usk_test_x"})
    {'key': 'usk_test_x'}
    """
    return {name: str(answer[name]) for name in SECRETS if answer.get(name)}


def _command(task: Task, body: Mapping[str, Any]) -> Any:
    """The command with its fields; the text of a file may be longer than a body's."""
    long = {each.name: body[each.name] for each in task.fields
            if each.kind == "file" and each.name in body}  # fmt: skip
    short = {name: "" if name in long else value for name, value in body.items()}
    read: Any = read_command(spec_of(task.command).command, short)
    given = {each.name: getattr(read, each.name) for each in fields(read)}
    return type(read)(**(given | long))


def _with_done(address: str, word: str) -> str:
    path, hash_, part = address.partition("#")
    return f"{path}?did={word}{hash_}{part}"


def shown_facts(
    visit: Visit, answer: Mapping[str, Any], currency: Currency
) -> list[tuple[str, str, str]]:
    """An answer or a proposal as facts: values as people read them, nothing that is empty."""
    facts = []
    for name, value in answer.items():
        if value is None or value in ("", [], {}):
            continue
        if isinstance(value, Mapping):
            facts += [(f"{_label(visit, name)}: {label}", text, to)
                      for label, text, to in shown_facts(visit, value, currency)]  # fmt: skip
            continue
        facts.append((_label(visit, name), _text(visit, name, value, currency), ""))
    return facts


def _text(visit: Visit, name: str, value: Any, currency: Any) -> str:
    if isinstance(value, bool):
        return visit.texts["is_true" if value else "is_false"]
    if isinstance(value, int) and name.endswith("_minor"):
        return printed(value, currency)
    if isinstance(value, int) and name.endswith("_ppm"):
        return str(Rate(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(
            "; ".join(f"{key} {each}" for key, each in one.items())
            if isinstance(one, Mapping) else str(one) for one in value
        )  # fmt: skip
    return value.isoformat() if isinstance(value, date) else str(value)


def _label(visit: Visit, name: str) -> str:
    texts = visit.texts
    if name in SECRETS:
        return texts[f"told_{name}"]
    known = (texts.get(f"{part}_{name}") for part in ("column", "field", "key"))
    return next(filter(None, known), "") or texts.get(name, name.replace("_", " "))


def _form(
    visit: Visit, task: Task, choices: Mapping[str, Sequence[tuple[str, str]]],
    given: Mapping[str, str], *, error: Any = None, effect: Any = None, after: Any = (),
) -> Response:  # fmt: skip
    """The form with what was typed, the message beside its field, and the effect if it is known."""
    where = (error.where or "").removeprefix("body.").partition("[")[0] if error else ""
    approvals = COMMANDS[task.command].approvals
    kind = chosen_kind(given) if task.command == STATE_FACT else None
    hinted = {"lines", "json", "file", "files", *LONG}
    return visit.page(
        task.place.screen, "task", visit.texts[task.word], error.http_status if error else 200,
        is_choosing=task.command == STATE_FACT and kind is None, long_kinds=LONG,
        shown={"kind": kind.label} if kind else {},
        task=task, given=given, choices=choices, error=str(error) if error else "", where=where,
        effect=effect, after=after, back=task.back(given), approvals=approvals,
        key=given.get("key") or secrets.token_urlsafe(18),
        is_wide=any(each.kind in {"long", "file", "files", "json", *LONG} for each in task.fields),
        locked={name for name in (*_named(task.place.page), task.of, *(("kind",) if kind else ()))
                if given.get(name) and name != where},
        has_files=any(each.kind in ("file", "files") for each in task.fields),
        kept=[name for name in _named(task.place.page)
              if name not in {each.name for each in task.fields}],
        hints={each: visit.texts[f"hint_{each}"] for each in sorted(hinted)},
        label=lambda each: visit.texts.get(each.label) or each.name.replace("_", " "),
    )  # fmt: skip
