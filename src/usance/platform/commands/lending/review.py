"""A person decides: applications that were referred, and decisions that somebody asked about.

An override, in either direction, says why: by codes of the flow, in words, or both. Words lie under
the user's key; codes and directions feed the monitoring of models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.codes import DecisionKind, DecisionOutcome
from usance.base.ids import print_id
from usance.platform.commands.command import Decided, Moment
from usance.platform.commands.lending.applications import open_line
from usance.platform.commands.people.data_rights import close_request
from usance.platform.commands.people.screening import BLOCKED, HELD, state_of
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.lending.decisions import Recorded, decision_answer
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.sealed_values import REVIEW, put_text
from usance.platform.security.subject_keys import subject_key
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_CODES = 4
COPIED = ("score", "pd_ppm", "grade", "flow_no", "model_no")


@dataclass(frozen=True)
class ReviewApplication:
    """A person decides an application that was referred, or a decision that was asked about."""

    decision: str
    approve: bool
    reasons: tuple[Any, ...] = ()
    """Codes of the flow's reasons, or words."""
    line_minor: int | None = None
    explanation: str = ""
    """Words for the person whom the decision is about."""


async def review(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment,
    command: ReviewApplication,
) -> Decided:  # fmt: skip
    """Append the decision of a person; the first one shows it from now on."""
    decision_id = read_id(command.decision, "de", "decision")
    user = await load_user(transaction, owner_of(decision_id))
    first = await transaction.fetchrow(
        "select d.*, coalesce(a.product, p.product) as product, a.decision_id is not null as "
        "is_application, coalesce(a.review_id, 0) as review_id from usance.decisions d "
        "left join usance.applications a using (decision_id) "
        "left join usance.placements p using (decision_id) where d.decision_id = $1", decision_id,
    )  # fmt: skip
    if first is None:
        raise not_found("de", decision_id)
    asked = await transaction.fetchrow(
        "select * from usance.rights_requests where decision_id = $1 and state = 'open'",
        decision_id,
    )  # fmt: skip
    waits = first["approved"] == DecisionOutcome.REFERRED or asked is not None
    if not waits or first["review_id"]:
        raise WrongState("it waits for nobody", where=command.decision,
                         fix="Review an application that was referred")  # fmt: skip
    if (await state_of(transaction, user.user_id)) in (HELD, BLOCKED) and command.approve:
        raise WrongState("the user may be on a list", where=command.decision,
                         fix="Decide the hit of screening first")  # fmt: skip
    codes, words = _reasons(moment, command)
    if asked is not None and not command.explanation.strip():
        raise InvalidField("is empty", where="body.explanation",
                           fix="Tell the person who asked how it was decided, and why")  # fmt: skip
    granted = _granted(principal, moment, command, first)
    changes, number = WriteSet(), user.next("decisions")
    row = {name: first[name] for name in COPIED} | {
        "decision_id": number, "booked_at": moment.at, "kind": int(DecisionKind.REFERRAL),
        "approved": int(command.approve or first["approved"] == DecisionOutcome.APPROVED),
        "line_minor": granted,
        "rate_ppm": first["rate_ppm"] if command.approve else 0, "latency_us": 0,
        **{f"reason_{n}": code for n, code in enumerate((*codes, 0, 0, 0, 0)[:MAX_CODES], 1)},
    }  # fmt: skip
    changes.add("decisions", **row)
    line = _line(changes, user, moment, first, row) if row["line_minor"] else None
    if first["is_application"]:
        for own, other in ((decision_id, number), (number, 0)):
            changes.put("applications", decision_id=own, user_id=user.user_id,
                        product=first["product"], line_id=line or 0, review_id=other)  # fmt: skip
    key = await subject_key(transaction, moment.vault, user.user_id)
    put_text(key, REVIEW, number, "\n".join(words), changes)
    if asked is not None:
        close_request(dict(asked), principal, moment, key, command.explanation, changes,
                      granted=command.approve)  # fmt: skip
    changes.user_changes.append(user.change())
    answer = decision_answer(moment.lender, Recorded(row, first["product"], line))
    return Decided(answer, print_id("de", number), user.user_id, changes)


def _reasons(moment: Moment, command: ReviewApplication) -> tuple[list[int], list[str]]:
    """Codes and words of a review."""
    known = moment.lender.decider.flow.reasons.texts
    codes, words = list[int](), list[str]()
    for n, each in enumerate(command.reasons):
        if isinstance(each, str) and each.strip():
            words.append(each.strip())
        elif type(each) is int and each in known:
            codes.append(each)
        else:
            raise InvalidField(f"{each!r} is no reason", where=f"body.reasons[{n}]",
                               fix="Give codes of the flow, or words")  # fmt: skip
    return codes, words


def _granted(
    principal: Principal, moment: Moment, command: ReviewApplication, first: Mapping[str, Any]
) -> int:
    """The line that is granted: the flow's at most, where it had one; within authority in any."""
    if not command.approve:
        return 0
    if not first["is_application"]:
        raise InvalidField("is for applications", where="body.approve",
                           fix="A drawdown is decided anew when it is asked for again: say what "
                           "would change it, or grant another line")  # fmt: skip
    granted: int = command.line_minor or first["line_minor"]
    most = first["line_minor"]
    if (
        first["approved"] != DecisionOutcome.REFERRED
    ):  # the flow did not: a person does, up to the maximum
        maximum = moment.lender.decider.flow.inputs.get("line_maximum_minor")
        most = granted
        if maximum is not None and maximum.parameter:
            most = moment.lender.parameters.at(maximum.parameter, moment.business_date).integer
        if not command.line_minor:
            raise InvalidField("is missing", where="body.line_minor",
                               fix="Give the line that is granted instead")  # fmt: skip
    if granted > most:
        raise InvalidField("is more than may be granted", where="body.line_minor",
                           fix=f"Give at most {most}")  # fmt: skip
    principal.check_amount("application.review", granted)
    return granted


def _line(
    changes: WriteSet, user: UserRecord, moment: Moment, first: Mapping[str, Any],
    row: Mapping[str, Any],
) -> int:  # fmt: skip
    product = next(p for p in moment.lender.products.values() if p.product == first["product"])
    return open_line(changes, user, moment, product, row)
