"""Applications as operators see them: the queue, and the trace of one decision."""

from __future__ import annotations

import json
import math
from datetime import UTC
from typing import TYPE_CHECKING, Any

from usance.assess.decision.decide import Decision
from usance.assess.decision.request import Request, input_vector
from usance.base.codes import DecisionKind, Product
from usance.base.ids import PER_USER, print_id
from usance.platform.flow_documents import SHIPPED, kept_decider, shipped_flows
from usance.platform.lender import Lender
from usance.platform.reads.lending.decisions import OUTCOMES as NAMES
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import read_id
from usance.platform.security.sealed_values import inputs_of
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

    from usance.assess.decision.decide import Decider

OUTCOMES = ("approved", "declined", "referred")
WAITING = "waiting"
MAX_VERSIONS = 50
"""Versions of flows that are looked through."""


async def application_rows(
    transaction: asyncpg.Connection, outcome: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Applications of an outcome, newest first by id; waiting are those without a review."""
    last = read_id(before, "de", "before") if before else (1 << 62)
    code = NAMES.index("referred" if outcome == WAITING else outcome) if outcome else None
    rows = await transaction.fetch(
        "select d.*, a.product from usance.decisions d join usance.applications a "
        "using (decision_id) where d.decision_id < $1 and ($2::smallint is null or approved = $2) "
        "and (not $3 or a.review_id = 0) order by d.decision_id desc limit $4",
        last, code, outcome == WAITING, limit,
    )  # fmt: skip
    return [
        {"decision": print_id("de", row["decision_id"]),
         "user": print_id("us", row["decision_id"] // PER_USER),
         "booked_at": moment_text(row["booked_at"]), "product": Product(row["product"]).label,
         "outcome": NAMES[row["approved"]], "grade": row["grade"], "score": row["score"],
         "line_minor": row["line_minor"]}
        for row in rows
    ]  # fmt: skip


async def flow_versions(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Flows that were put in force or are to be, newest first, each with its document."""
    rows = await transaction.fetch(
        "select name, version, valid_from, document from usance.settings where kind = 'flow' "
        "order by valid_from desc, name, version desc limit $1", MAX_VERSIONS,
    )  # fmt: skip
    return [
        {"flow": f"{row['name']}/{row['version']}", "valid_from": row["valid_from"].isoformat(),
         "document": row["document"]}
        for row in rows
    ]  # fmt: skip


async def trace(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, decision: str
) -> dict[str, Any]:
    """A decision's own row with the inputs it was made on, by the names of its own flow."""
    number = read_id(decision, "de", "decision")
    row = await transaction.fetchrow(
        "select d.*, i.inputs, s.content as sealed_inputs, d.decision_id as number, "
        "usance.subject_key(d.decision_id / 16384, null) as wrapped from usance.decisions d "
        "left join usance.decision_inputs i using (decision_id) "
        "left join usance.sealed s on s.user_id = d.decision_id / 16384 and s.kind = 'inputs' "
        "and s.number = d.decision_id where d.decision_id = $1", number,
    )  # fmt: skip
    inputs, kept = {}, inputs_of(vault, number // PER_USER, row)
    decider = await _decided_by(transaction, lender, row["flow_no"])
    declared, path = decider.flow.inputs, []
    if kept is not None and len(kept) == len(declared):
        path = [list(step) for step in decider.answer(kept, DecisionKind(row["kind"])).path]
        inputs = {
            name: None if math.isnan(value) else each.plain(value)
            for (name, each), value in zip(declared.items(), kept, strict=True)
        }
    return {**{name: row[name] for name in ("score", "pd_ppm", "grade", "flow_no", "model_no",
                                            "line_minor", "rate_ppm", "latency_us", "kind",
                                            "decision_id", "booked_at", "approved")},
            "inputs": inputs, "path": path}  # fmt: skip


async def _decided_by(transaction: asyncpg.Connection, lender: Lender, flow_no: int) -> Decider:
    """The flow of a number: the one in force, else the latest that had it."""
    own = lender.decider
    if own.flow.number == flow_no:
        return own
    before = [each["document"] for each in await flow_versions(transaction)]
    before += [json.dumps({SHIPPED: name}) for name in shipped_flows()]
    found = (kept_decider(document) for document in before)
    return next((each for each in found if each.flow.number == flow_no), own)


def replayed(lender: Lender, known: dict[str, Any], document: str = "") -> dict[str, Any] | None:
    """The decision again from the same inputs, under the flow in force or another version of it.

    None without inputs. What another version reads and the decision did not know is an error.
    """
    if not known["inputs"]:
        return None
    decider = kept_decider(document) if document else lender.decider
    flow, kind = decider.flow, DecisionKind(known["kind"])
    at, needed = known["booked_at"].astimezone(UTC), flow.needed(kind)
    inputs = {name: value for name, value in known["inputs"].items() if name in needed}
    number = known["decision_id"]
    request = Request(number // PER_USER, number % PER_USER, kind, at, inputs, {})
    day = at.astimezone(lender.zone).date()
    values = input_vector(flow, request, day, lender.parameters)
    answer = decider.answer(values, kind)
    row = Decision(number, at, kind, answer, flow.number, flow.sha256, values).row()
    same = all(row[name] == known[name] for name in ("score", "pd_ppm", "grade"))
    return {"outcome": NAMES[row["approved"]], "score": row["score"], "pd_ppm": row["pd_ppm"],
            "grade": row["grade"], "line_minor": row["line_minor"], "same": same,
            "path": [list(step) for step in answer.path],
            "reasons": flow.reasons.with_texts(answer.reasons)}  # fmt: skip
