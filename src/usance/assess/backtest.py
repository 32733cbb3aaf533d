"""Champion and challenger: who is decided by which flow, and what another flow would have decided.

A user always meets the same flow of a test: the share is drawn by user, not by request. A back-test
decides stored decisions again with a candidate and shows who swaps sides, and what that is worth.

>>> shares = {"champion": Fraction(9, 10), "challenger": Fraction(1, 10)}
>>> names = [assigned_flow(user, shares, seed=7) for user in range(1, 1001)]
>>> names[:2], names.count("challenger")
(['champion', 'challenger'], 94)

A replay decides them again with the flow that decided them, and shows what differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from usance.assess.decision.decide import Answer, Decider
from usance.assess.decision.log import StoredDecision, read_log, stored_flow
from usance.assess.errors import FlowError, WrongInput
from usance.assess.flow.files import Flow
from usance.assess.offer.profit import Economics, Offers, expected_profit
from usance.base.codes import DecisionKind, DecisionOutcome
from usance.base.draws import CERTAIN, draw, threshold
from usance.base.errors import UsanceError, raise_all

# Streams of draws in this room; append only.
ASSIGNMENT = 50
KINDS = ("both", "swapped_in", "swapped_out", "neither")


def assigned_flow(user_id: int, shares: Mapping[str, Fraction], seed: int) -> str:
    """The flow a user meets in a test with these shares."""
    if sum(shares.values()) != 1 or min(shares.values()) < 0:
        fix = "Give shares of 0 or more that add up to 1"
        raise WrongInput("shares do not add up", where="shares", fix=fix)
    drawn = draw(seed, ASSIGNMENT, user_id, 0) >> 11
    reached = Fraction(0)
    for name, share in shares.items():
        reached += share
        if drawn < threshold(reached):
            return name
    assert drawn < CERTAIN, "a draw has 53 bits"
    return [*shares][-1]


@dataclass(frozen=True)
class Swap:
    """One cell of a swap-set table."""

    kind: str
    decisions: int
    bad: int
    known: int
    """Of how many the outcome is known."""
    stored_profit_minor: int
    candidate_profit_minor: int


@dataclass(frozen=True)
class BackTest:
    """A candidate beside what was decided."""

    candidate: str
    decisions: int
    approved_before: int
    approved_after: int
    swaps: tuple[Swap, ...]

    @property
    def gain_minor(self) -> int:
        """Expected profit of the candidate less that of what was decided."""
        return sum(s.candidate_profit_minor - s.stored_profit_minor for s in self.swaps)

    def as_dict(self) -> dict[str, Any]:
        """The table for `--json`."""
        return {**asdict(self), "gain_minor": self.gain_minor}


def backtest(
    folder: Path | str, candidate: Flow, economics: Economics, *, months: int, funding_ppm: int,
    outcomes: Mapping[int, int] | None = None,
) -> BackTest:  # fmt: skip
    """Decide the applications and reviews of a log again; `outcomes` are 1 for bad, by decision."""
    stored = [each for each in read_log(folder) if each.row["kind"] != int(DecisionKind.DRAWDOWN)]
    answers = _answers(folder, stored, candidate)
    before = [each.row["approved"] == DecisionOutcome.APPROVED for each in stored]
    after = [answer.approved for answer in answers]
    # Both sides are valued at one risk: the candidate's view, or the stored one where it has none.
    risk = [
        (answer.number("pd_ppm") or each.row["pd_ppm"], answer.number("grade") or each.row["grade"])
        for each, answer in zip(stored, answers, strict=True)
    ]
    old = _profits(economics, months, funding_ppm, risk, [
        (each.row["line_minor"], each.row["rate_ppm"]) if granted else (0, 0)
        for each, granted in zip(stored, before, strict=True)
    ])  # fmt: skip
    new = _profits(economics, months, funding_ppm, risk, [
        (answer.number("line_minor"), answer.number("rate_ppm")) if answer.approved else (0, 0)
        for answer in answers
    ])  # fmt: skip
    swaps = _table(stored, before, after, old, new, outcomes or {})
    return BackTest(
        f"{candidate.name}/{candidate.number}", len(stored), sum(before), sum(after), swaps
    )


def _answers(folder: Path | str, stored: Sequence[StoredDecision], candidate: Flow) -> list[Answer]:
    decider = Decider(candidate, live=False)
    flows: dict[str, Flow] = {}
    found = []
    for each in stored:
        if each.flow_sha256 not in flows:
            flows[each.flow_sha256] = stored_flow(folder, each.flow_sha256)
        kind = DecisionKind(each.row["kind"])
        inputs = recoded_inputs(each.inputs, flows[each.flow_sha256], candidate, kind)
        found.append(decider.answer(inputs, kind))
    return found


def recoded_inputs(
    inputs: Sequence[float], before: Flow, after: Flow, kind: DecisionKind
) -> tuple[float, ...]:
    """Stored inputs in the order and codes of another flow; one it needs and lacks is named."""
    values = {
        name: declared.plain(code)
        for (name, declared), code in zip(before.inputs.items(), inputs, strict=True)
        if not np.isnan(code)
    }
    problems: list[UsanceError] = []
    found = []
    needed = after.needed(kind)
    for name, declared in after.inputs.items():
        if name in values:
            found.append(float(declared.coded(values[name], name)))
            continue
        found.append(float("nan"))
        if name in needed:
            fix = f"{before.name}/{before.number} did not store it; test on decisions that have it"
            problems.append(FlowError(f"{name} is not known", where=after.name, fix=fix))
    raise_all(problems, where=after.name)
    return tuple(found)


def _profits(
    economics: Economics, months: int, funding_ppm: int, risk: Sequence[tuple[int, int]],
    granted: Sequence[tuple[int, int]],
) -> list[int]:  # fmt: skip
    """Expected profit of each line granted, 0 where none was."""
    rows = [at for at, (line, _) in enumerate(granted) if line > 0]
    found = [0] * len(granted)
    if rows:
        offers = Offers.of(
            [granted[at][0] for at in rows], [granted[at][1] for at in rows], [months] * len(rows)
        )
        pds, grades = [risk[at][0] for at in rows], [risk[at][1] for at in rows]
        earned = expected_profit(
            economics, offers, pds, grades, [funding_ppm] * len(rows)
        ).profit_minor
        for at, profit in zip(rows, earned, strict=True):
            found[at] = int(profit)
    return found


def _table(
    stored: Sequence[StoredDecision], before: Sequence[bool], after: Sequence[bool],
    old: Sequence[int], new: Sequence[int], outcomes: Mapping[int, int],
) -> tuple[Swap, ...]:  # fmt: skip
    sides = {"both": (True, True), "swapped_in": (False, True), "swapped_out": (True, False),
             "neither": (False, False)}  # fmt: skip
    found = []
    for kind in KINDS:
        rows = [at for at in range(len(stored)) if (before[at], after[at]) == sides[kind]]
        known = [outcomes[key] for at in rows if (key := stored[at].row["decision_id"]) in outcomes]
        found.append(
            Swap(
                kind, len(rows), sum(known), len(known), sum(old[at] for at in rows),
                sum(new[at] for at in rows),
            )
        )  # fmt: skip
    return tuple(found)


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
        "approved": (row["approved"], int(again.outcome)),
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
