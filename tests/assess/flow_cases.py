"""Random inputs of a flow, as codes: ordinary applicants, edges of every cell, and nonsense."""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.assess.features.declared import Declared
from usance.assess.flow.files import Flow
from usance.base.formulas import Condition

ORDINARY = {
    "list_hit": 0, "applications_24h": 1, "device_users_30d": 1, "link_size": 1,
    "consent_given": 1, "document_valid": 1, "duplicate_identity": 0, "face_match_ppm": 930_000,
    "card_check": 0, "age_years": 35, "monthly_income_minor": 900_000, "platform_days_past_due": 0,
    "bureau_worst_days_24m": 0, "bureau_overdue_minor": 0, "bureau_debt_minor": 200_000,
    "rate_cap_ppm": 240_000, "line_maximum_minor": 20_000_000, "funding_cost_ppm": 43_000,
    "line_age_days": 20, "drawdown_minor": 100_000, "line_available_minor": 500_000,
    "requested_minor": 1_000_000,
}  # fmt: skip


def random_codes(flow: Flow, rows: int, seed: int) -> dict[str, Any]:
    """A column of codes for each input; half of each column is ordinary, the rest is at edges."""
    draw = np.random.default_rng(seed)
    return {name: _column(flow, declared, rows, draw) for name, declared in flow.inputs.items()}


def _column(flow: Flow, declared: Declared, rows: int, draw: np.random.Generator) -> Any:
    low, high = declared.bounds
    edges = {low, high, *declared.special}
    for test in _tests(flow, declared.name):
        if isinstance(test.value, int):
            edges |= {int(test.value) + step for step in (-1, 0, 1)}
    allowed = sorted(
        code
        for code in edges
        if declared.lowest <= code <= declared.highest or code in declared.special
    )
    if declared.names:
        allowed = list(range(len(declared.names)))
    column = draw.choice(allowed, rows)
    if not declared.names and not declared.special:
        anywhere = draw.integers(low, high + 1, rows)
        column = np.where(draw.random(rows) < 0.2, anywhere, column)
    if declared.name in ORDINARY:
        column = np.where(draw.random(rows) < 0.85, ORDINARY[declared.name], column)
    return column.astype(np.int64)


def _tests(flow: Flow, name: str) -> list[Condition]:
    return [
        test
        for stage in flow.stages
        for table in (stage.graph.tables if stage.graph else ())
        if name in table.reads
        for rule in table.rules
        for choice in rule.cells[table.reads.index(name)]
        for test in choice
    ]
