"""Rights about data and decisions: a correction is asked for, a person looks at a decision.

Both are requests with a day by which they are answered; the words on both sides lie under the
user's key. A correction that is granted changes the person at once. A decision that a person looks
at is answered by `application.review`, which grants the request or refuses it, and says why.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import DecisionKind
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.people.users import SetPerson, set_person
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.people.data_rights import request_answer
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.sealed_values import RIGHT, RIGHT_ANSWER, put_text, texts_of
from usance.platform.security.subject_keys import SubjectKey, subject_key
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

PERSON_FIELDS = ("name", "national_id", "phone", "email")
FIELDS = (*PERSON_FIELDS, "other")
CORRECTION, REVIEW = "correction", "review"
_DAYS = {CORRECTION: "servicing.correction_answered", REVIEW: "servicing.review_answered"}
AUTOMATED = (DecisionKind.APPLICATION, DecisionKind.DRAWDOWN)
"""Decisions that no person has made."""


@dataclass(frozen=True)
class RequestCorrection:
    """A person says that something that is known about them is wrong."""

    user: str
    field: str
    text: str
    value: str = ""


@dataclass(frozen=True)
class AnswerCorrection:
    """The answer to a request for a correction; one that is granted changes the person."""

    correction: str
    granted: bool
    answer: str


@dataclass(frozen=True)
class RequestReview:
    """A person asks that somebody looks at a decision that no person has made."""

    decision: str
    text: str


async def request_correction(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment,
    command: RequestCorrection,
) -> Decided:  # fmt: skip
    """Take a request for a correction, with the day of its answer."""
    if command.field not in FIELDS:
        fix = f"Give {', '.join(FIELDS)}"
        raise InvalidField("is no field that is corrected here", where="body.field", fix=fix)
    if not command.text.strip():
        raise InvalidField("is empty", where="body.text", fix="Say what is wrong")
    if command.field in PERSON_FIELDS and not command.value.strip():
        raise InvalidField("is empty", where="body.value", fix="Give what is right")
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    words = json.dumps({"text": command.text, "value": command.value})
    return await _take(transaction, moment, user, words, field=command.field, kind=CORRECTION)


async def request_review(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: RequestReview
) -> Decided:
    """Take a request that a person looks at a decision, with the day of its answer."""
    number = read_id(command.decision, "de", "decision")
    if not command.text.strip():
        raise InvalidField("is empty", where="body.text", fix="Say why it should be looked at")
    row = await transaction.fetchrow(
        "select d.kind, coalesce(a.review_id, 0) as review_id, exists (select from "
        "usance.rights_requests r where r.decision_id = d.decision_id and r.state = 'open') "
        "as is_asked from usance.decisions d left join usance.applications a using (decision_id) "
        "where d.decision_id = $1", number,
    )  # fmt: skip
    if row is None:
        raise not_found("de", number)
    if row["kind"] not in AUTOMATED or row["review_id"] or row["is_asked"]:
        what = "somebody is asked to look at it" if row["is_asked"] else "a person has made it"
        raise WrongState(what, where=command.decision, fix="Wait for the answer, or read it")
    user = await load_user(transaction, owner_of(number))
    words = json.dumps({"text": command.text})
    return await _take(transaction, moment, user, words, decision_id=number, kind=REVIEW)


async def _take(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, words: str, *, kind: str,
    field: str = "", decision_id: int = 0,
) -> Decided:  # fmt: skip
    number, today = user.next("records"), moment.business_date
    days = moment.lender.parameters.at(_DAYS[kind], today).integer
    row = {
        "request_id": number, "user_id": user.user_id, "kind": kind, "field": field,
        "decision_id": decision_id, "received_on": today,
        "answer_by": today + timedelta(days=days), "state": "open", "answered_on": None,
        "answered_by": None,
    }  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("rights_requests", **row)
    key = await subject_key(transaction, moment.vault, user.user_id)
    put_text(key, RIGHT, number, words, changes)
    return Decided(request_answer(row), print_id("rr", number), user.user_id, changes)


async def answer_correction(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment,
    command: AnswerCorrection,
) -> Decided:  # fmt: skip
    """Correct what is wrong, or say why it stays."""
    number = read_id(command.correction, "rr", "correction")
    found = await transaction.fetchrow(
        "select * from usance.rights_requests where request_id = $1", number
    )
    if found is None:
        raise not_found("rr", number)
    if found["kind"] != CORRECTION or found["state"] != "open":
        is_other = found["kind"] != CORRECTION
        what = "it is about a decision" if is_other else f"it is {found['state']}"
        raise WrongState(what, where=command.correction,
                         fix="Answer open requests for a correction")  # fmt: skip
    if not command.answer.strip():
        raise InvalidField("is empty", where="body.answer", fix="Say what was done, and why")
    user_id = owner_of(number)
    words = await texts_of(transaction, moment.vault, user_id, RIGHT)
    key = await subject_key(transaction, moment.vault, user_id, make=False)
    changes = WriteSet()
    if command.granted and found["field"] in PERSON_FIELDS:
        value = json.loads(words[RIGHT, number])["value"]
        changes = await _corrected(
            transaction, principal, moment, key, {found["field"]: value.strip()}
        )
    else:
        user = await load_user(transaction, user_id)
        changes.user_changes.append(user.change())
    row = close_request(dict(found), principal, moment, key, command.answer, changes,
                        granted=command.granted)  # fmt: skip
    return Decided(request_answer(row), command.correction, user_id, changes, status=DONE)


async def _corrected(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, key: SubjectKey,
    values: dict[str, str],
) -> WriteSet:  # fmt: skip
    """The changes of a person with other values; new ones are compared with the lists too."""
    kept = await transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", key.subject
    )
    if kept is None:
        raise WrongState("no person is known", where="user", fix="Set the person first")
    known = json.loads(key.open("details", kept))
    command = SetPerson(print_id("us", key.subject), **known)
    made = await set_person(transaction, principal, moment, replace(command, **values))
    return made.changes


def close_request(
    row: dict[str, Any], principal: Principal, moment: Moment, key: SubjectKey, answer: str,
    changes: WriteSet, *, granted: bool,
) -> dict[str, Any]:  # fmt: skip
    """Answer a request; its row as it is then."""
    after = {**row, "state": "granted" if granted else "refused",
             "answered_on": moment.business_date,
             "answered_by": principal.principal_id}  # fmt: skip
    changes.put("rights_requests", **after)
    put_text(key, RIGHT_ANSWER, row["request_id"], answer, changes)
    return after
