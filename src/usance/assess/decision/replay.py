"""Stored decisions, decided again by the flow that decided them, and what differs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.assess.decision.decide import Decider
from usance.assess.decision.log import StoredDecision, read_log, stored_flow
from usance.base.codes import DecisionKind

_ROW = ("score", "pd_ppm", "grade", "line_minor", "rate_ppm")


@dataclass(frozen=True)
class Difference:
    """One stored value that does not come out again."""

    decision_id: int
    name: str
    stored: Any
    again: Any


@dataclass(frozen=True)
class ReplayResult:
    """The result of replaying a log."""

    decisions: int
    flows: int
    differences: tuple[Difference, ...]


def replay_log(folder: Path | str) -> ReplayResult:
    """Decide everything in a log again, each with the versions it was decided with."""
    deciders: dict[str, Decider] = {}
    found: list[Difference] = []
    count = 0
    for stored in read_log(folder):
        if stored.flow_sha256 not in deciders:
            # A kept model was approved when it decided; a replay asks nobody again.
            kept = stored_flow(folder, stored.flow_sha256)
            deciders[stored.flow_sha256] = Decider(kept, live=False)
        found += differences(stored, deciders[stored.flow_sha256])
        count += 1
    return ReplayResult(count, len(deciders), tuple(found))


def differences(stored: StoredDecision, decider: Decider) -> list[Difference]:
    """The parts of one stored decision that replay differently."""
    row = stored.row
    again = decider.answer(stored.inputs, DecisionKind(row["kind"]))
    compared = {
        "approved": (row["approved"], int(again.approved)),
        "model_no": (row["model_no"], again.model_no),
        "path": (stored.path, again.path),
        "values": (stored.values, json.loads(json.dumps(dict(again.values)))),
        **{name: (row[name], again.number(name)) for name in _ROW},
        **{
            f"reason_{at}": (row[f"reason_{at}"], code)
            for at, code in enumerate(again.reasons, start=1)
        },
    }
    return [
        Difference(row["decision_id"], name, was, now)
        for name, (was, now) in compared.items()
        if was != now
    ]
