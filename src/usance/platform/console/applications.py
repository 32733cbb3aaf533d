"""The screen *Applications*: the queue, one decision with its trace, replay, and the review."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.pages.numbers import ppm, words
from usance.platform.assistant.drafts import summaries
from usance.platform.assistant.facts import application_facts
from usance.platform.commands.collections.drafts import MakeDraft, prepare
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.changes import with_last_change
from usance.platform.console.checks import parts_of
from usance.platform.console.frame import HOME, Visit, form, language_of, redirect
from usance.platform.console.lists import ListPage, ListState
from usance.platform.errors import InvalidField, NotFound, PlatformError
from usance.platform.lender import Lender
from usance.platform.reads.lending.applications import (
    OUTCOMES,
    application_rows,
    flow_versions,
    replayed,
    trace,
)
from usance.platform.records.user_record import read_id

_IS_ASKED = (
    "select exists (select from usance.rights_requests where decision_id = $1 and state = 'open')"
)


async def show(visit: Visit) -> ListPage:
    """Applications, newest first, by outcome; those that wait for a person come first."""
    asked = ListState.of(visit.request, {"outcome": ("", "waiting", *OUTCOMES)}, default="waiting")
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await application_rows(read.transaction, asked.filters["outcome"], asked.before,
                                      asked.limit + 1)  # fmt: skip
        currency = read.moment.lender.currency
    shown = [
        {"decision": row["decision"], "user": row["user"], "at": row["booked_at"],
         "product": row["product"], "outcome": row["outcome"], "grade": row["grade"],
         "score": row["score"], "line": printed(row["line_minor"], currency)}
        for row in rows
    ]  # fmt: skip
    return ListPage("applications", asked, shown, key="decision", links={
        "decision": f"{HOME}/applications/", "user": f"{HOME}/borrowers/"},
        parts=parts_of(visit), numbers=("grade", "score", "line"))  # fmt: skip


async def one(
    visit: Visit,
    error: str = "",
    status: int = 200,
    draft: Mapping[str, Any] | None = None,
    typed: Mapping[str, str] | None = None,
) -> Response:
    """One decision: inputs, path, scores, reasons, versions; replayed on demand."""
    name = visit.request.path_params["decision"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await read.decision(name)
            known = await trace(read.transaction, read.moment.lender, read.moment.vault, name)
            currency = read.moment.lender.currency
            versions = await flow_versions(read.transaction)
            again, unlike = _again(visit, read.moment.lender, known, versions)
            asked = await read.transaction.fetchval(_IS_ASKED, read_id(name, "de", "decision"))
    except InvalidField as failed:
        if (failed.where or "").startswith("query."):
            raise
        raise NotFound("there is no such decision", where=name, fix="Use the list") from failed
    title = f"{visit.texts['decision']} {name}"
    waits = (found["outcome"] == "referred" or asked) and not found["review"]
    return visit.page(
        "applications", "application", title, status, found=found, known=known, again=again,
        versions=[(each["flow"], f"{each['flow']} · {each['valid_from']}") for each in versions],
        unlike=unlike, flow=visit.request.query_params.get("flow", ""),
        money=lambda minor: printed(minor, currency), error=error, waits=waits,
        asked=asked, typed=typed or {"line": printed(known["line_minor"], currency)},
        may_review=visit.may("application.review"), key=secrets.token_urlsafe(18),
        summaries=summaries("application", application_facts(found)),
        inputs=_inputs(visit, known["inputs"] or {}, currency),
        limit=visit.operator.principal.authority.get("application.review"),
        may_draft=visit.may("draft.make"), draft=draft,
    )  # fmt: skip


def _inputs(visit: Visit, inputs: Mapping[str, Any], currency: Currency) -> list[tuple[str, str]]:
    """Inputs by name, amounts and shares as people read them; what was not known says so."""
    t, shown = visit.texts, []
    for name, value in inputs.items():
        kind = name.rpartition("_")[2]
        label = name.removesuffix(f"_{kind}") if kind in ("minor", "ppm") else name
        if value is None or value == -1:
            text = t["not_known"]
        elif isinstance(value, bool):
            text = t["is_true" if value else "is_false"]
        elif kind == "minor":
            text = printed(int(value), currency)
        else:
            text = ppm(int(value)) if kind == "ppm" else t.get(f"input_{value}", words(str(value)))
        shown.append((t.get(f"feature_{name}", words(label).capitalize()), text))
    return shown


def _again(
    visit: Visit, lender: Lender, known: dict[str, Any], versions: list[dict[str, Any]]
) -> tuple[dict[str, Any] | None, str]:
    """The decision again under the version that was asked for, or why that cannot be."""
    given = visit.request.query_params
    if given.get("replay") != "1":
        return None, ""
    wanted = given.get("flow", "")
    document = next((each["document"] for each in versions if each["flow"] == wanted), "")
    if wanted and not document:
        raise InvalidField(f"{wanted[:40]!r} is no version of a flow", where="query.flow",
                           fix="Choose one of the list")  # fmt: skip
    try:
        return replayed(lender, known, document), ""
    except UsanceError as error:
        return None, str(error)


async def review(visit: Visit) -> Response:
    """Approve or decline what was referred, within one's authority."""
    given, name = await form(visit.request), visit.request.path_params["decision"]
    if given.get("draft"):
        return await _draft(visit, name, given.get("key", ""))
    body: dict[str, Any] = {"decision": name, "approve": given.get("answer") == "approve"}
    if given.get("reason", "").strip():
        body |= {"reasons": [given["reason"]], "explanation": given["reason"]}
    try:
        if given.get("line"):
            body["line_minor"] = minor_of(given["line"], await _currency(visit))
        await visit.do("application.review", body,
                                key=given.get("key", ""))  # fmt: skip
    except PlatformError as error:
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await read.decision(name)
        told = await with_last_change(visit, error, name, found["review"] or "")
        return await one(visit, told, error.http_status, typed=given)
    return redirect(f"{HOME}/applications/{name}")


async def _draft(visit: Visit, name: str, key: str) -> Response:
    """The decision with a draft of what to say about it; nothing is sent."""
    command = MakeDraft("application", name, language_of(visit.request))
    try:
        await prepare(visit.platform, visit.operator.principal, command)
        made = await visit.platform.do(visit.operator.principal, command, key=key)
    except PlatformError as error:
        return await one(visit, str(error), error.http_status)
    return await one(visit, draft=made.answer)


async def _currency(visit: Visit) -> Currency:
    async with visit.platform.reading(visit.operator.principal) as read:
        return read.moment.lender.currency
