"""Drafts: a summary of a case or a decision, or a reply, kept with all that a model was told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.ids import PER_USER, print_id
from usance.platform.assistant.drafts import KINDS, LANGUAGES, MAX_MESSAGE, Draft, drafted
from usance.platform.assistant.facts import Fact, application_facts, case_facts
from usance.platform.commands.command import Decided, Moment
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.collections.cases import one_case
from usance.platform.reads.lending.decisions import decision
from usance.platform.records.user_record import load_user, read_id
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

SCOPES = ("operations", "review")
PREPARED: ContextVar[Draft | None] = ContextVar("prepared", default=None)
"""The draft that a model made before the transaction, which does not wait for one."""


@dataclass(frozen=True)
class MakeDraft:
    """A draft for somebody at work: kind case, reply or application; it is never sent."""

    kind: str
    subject: str
    language: str = ""
    """Of a reply the borrower's, of a summary English, if none is given."""
    message: str = ""
    """Words of the borrower that a reply answers."""


async def prepare(platform: Platform, principal: Principal, command: MakeDraft) -> None:
    """Ask the model, if there is one, outside any transaction; the command comes next."""
    PREPARED.set(None)
    if platform.model is None:
        return
    principal.need(*SCOPES, "draft.make")
    async with platform.reading(principal) as read:
        facts, language = await facts_for(read.transaction, read.moment, command)
    made = await asyncio.to_thread(
        drafted, command.kind, facts, language, platform.model, command.message
    )
    PREPARED.set(made)


async def make(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: MakeDraft
) -> Decided:
    """Keep the draft that a model made, or make one by rule."""
    facts, language = await facts_for(transaction, moment, command)
    draft = PREPARED.get() or drafted(command.kind, facts, language, None)
    number = read_id(command.subject, "de" if command.kind == "application" else "ca", "subject")
    user = await load_user(
        transaction, number // PER_USER if command.kind == "application" else number
    )
    draft_id = user.next("records")
    changes = WriteSet(user_changes=[user.change()])
    changes.put(
        "drafts", draft_id=draft_id, user_id=user.user_id, kind=command.kind,
        subject=command.subject, asked_by=principal.principal_id, asked_at=moment.at,
        made_by=draft.made_by, model=draft.model, prompt=draft.prompt, answer=draft.answer,
        text=draft.text, refused=draft.refused,
    )  # fmt: skip
    answer: dict[str, Any] = {
        "draft": print_id("dr", draft_id), "subject": command.subject, "kind": command.kind,
        "language": language, "text": draft.text, "made_by": draft.made_by,
        "model": draft.model or None, "refused": draft.refused or None,
        "citations": [fact._asdict() for fact in draft.citations],
    }  # fmt: skip
    return Decided(answer, answer["draft"], user.user_id, changes)


async def facts_for(
    transaction: asyncpg.Connection, moment: Moment, command: MakeDraft
) -> tuple[Sequence[Fact], str]:
    """Facts that a draft may speak of, and its language."""
    if command.kind not in KINDS:
        raise InvalidField("is no draft", where="body.kind", fix=f"Give {', '.join(KINDS)}")
    if command.language and command.language not in LANGUAGES:
        raise InvalidField("is no language", where="body.language",
                           fix=f"Give {' or '.join(LANGUAGES)}")  # fmt: skip
    if len(command.message) > MAX_MESSAGE:
        raise InvalidField("is too long", where="body.message",
                           fix=f"Give {MAX_MESSAGE} characters at most")  # fmt: skip
    if command.message and command.kind != "reply":
        raise InvalidField("answers nothing", where="body.message", fix="Ask for a reply")
    if command.kind == "application":
        number = read_id(command.subject, "de", "subject")
        made = await decision(transaction, moment.lender, number)
        return application_facts(made), command.language or "en"
    case: dict[str, Any] = await one_case(
        transaction, moment, read_id(command.subject, "ca", "subject")
    )
    own = case["language"] if command.kind == "reply" else "en"
    return case_facts(case, moment.lender.currency.name), command.language or own
