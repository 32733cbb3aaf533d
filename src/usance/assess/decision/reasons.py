"""The main reasons of a decision: of the rule that decided, and of the points or shares lost.

A point lost is the difference between the best a table of the scorecard can give and what it gave.
A model says its own shares (points against the average applicant, SHAP for trees).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usance.assess.errors import FlowError
from usance.assess.flow.files import Flow
from usance.base.formulas import Literal

MAX_REASONS = 4


def best_points(flow: Flow) -> dict[str, int]:
    """The most each table of the scorecard can give, by the name of its points."""
    if flow.card is None:
        return {}
    stage = next(stage for stage in flow.stages if stage.name == flow.card.stage)
    found: dict[str, int] = {}
    for table in stage.graph.tables if stage.graph else ():
        for at, name in enumerate(table.writes):
            if name not in flow.card.reasons:
                continue
            given = [rule.gives[at] for rule in table.rules]
            values = [each.value for each in given if isinstance(each, Literal)]
            if len(values) < len(given):
                fix = "Write points as whole numbers"
                raise FlowError(f"{name} is a formula", where=str(flow.folder), fix=fix)
            found[name] = max(int(value) for value in values)
    missing = sorted(flow.card.reasons.keys() - found.keys())
    if missing:
        fix = "Let a table of the stage write it"
        raise FlowError(f"no table gives {missing[0]}", where=str(flow.folder), fix=fix)
    return found


def lost_point_reasons(flow: Flow, best: Mapping[str, int], points: Mapping[str, int]) -> list[int]:
    """Reason codes of the points that were lost, most first; a tie keeps the file's order."""
    assert flow.card is not None
    lost = {name: best[name] - points[name] for name in best if name in points}
    order = sorted((name for name in lost if lost[name] > 0), key=lambda name: -lost[name])
    return [flow.card.reasons[name] for name in order]


def model_reasons(flow: Flow, model: Any, inputs: Any) -> list[int]:
    """Reason codes of the inputs that raised one applicant's risk, most first."""
    from usance.assess.scoring.reasons import contributions

    codes = flow.input_reasons
    shares = contributions(model, inputs)[0]
    named = [at for at, each in enumerate(model.columns) if each.name in codes and shares[at] > 0]
    order = sorted(named, key=lambda at: -shares[at])
    return [codes[model.columns[at].name] for at in order]


def is_explained(flow: Flow, rule_reasons: Sequence[int]) -> bool:
    """True if one of these reasons is explained by the score."""
    return any(code in flow.explained.replaced | flow.explained.followed for code in rule_reasons)


def main_reasons(flow: Flow, rule_reasons: Sequence[int], lost: Sequence[int]) -> tuple[int, ...]:
    """Up to four codes from the rules that decided and what the score lost; the rest is 0."""
    codes: list[int] = [
        code for code in rule_reasons if code and code not in flow.explained.replaced
    ]
    if is_explained(flow, rule_reasons):
        codes += lost
    chosen = [*dict.fromkeys(codes)][:MAX_REASONS] or [code for code in rule_reasons if code][
        :MAX_REASONS
    ]
    return (*chosen, *[0] * (MAX_REASONS - len(chosen)))
