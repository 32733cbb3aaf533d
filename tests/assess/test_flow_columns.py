"""Compiled columns say what the engine says: values, rules and reasons, on random inputs."""

from __future__ import annotations

import json
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.assess.flow_cases import random_codes
from usance.assess.decision.columns import decide_columns
from usance.assess.decision.decide import Decider
from usance.assess.errors import WrongInput
from usance.assess.features.declared import Declared, ValueType
from usance.assess.flow.columns import run_columns
from usance.assess.flow.files import Flow, Stage, read_flow
from usance.assess.flow.graph import read_graph
from usance.assess.flow.reasons import Reasons
from usance.base.codes import DecisionKind, DecisionOutcome
from usance.base.errors import UsanceError
from usance.base.formula_types import Span, type_of
from usance.base.formulas import parse_formula


@pytest.fixture(scope="module")
def flow() -> Flow:
    return read_flow("consumer")


def compare(flow: Flow, kind: DecisionKind, rows: int, seed: int) -> dict[str, int]:
    """Decide rows both ways; gives how often each stage declined."""
    columns = random_codes(flow, rows, seed)
    decider = Decider(flow)
    batch = decide_columns(flow, kind, columns)
    walked = run_columns(flow, flow.stages_for(kind), columns)
    program = walked.program
    declined: dict[str, int] = {}
    for row in range(rows):
        inputs = [float(columns[name][row]) for name in flow.inputs]
        answer = decider.answer(inputs, kind)
        assert bool(batch.approved[row]) == answer.approved
        assert bool(batch.referred[row]) == (answer.outcome is DecisionOutcome.REFERRED)
        for name, values in batch.values.items():
            assert int(values[row]) == answer.number(name), (row, name)
        assert tuple(batch.reasons[:, row].tolist()) == answer.reasons, row
        path = [
            (stage, table, program.rule_ids[at][walked.hits[at, row]])
            for at, (stage, table) in enumerate(program.table_names)
        ]
        assert tuple(path[: len(answer.path)]) == answer.path
        declined[answer.stage] = declined.get(answer.stage, 0) + 1
    assert batch.referred.any() == (kind is DecisionKind.APPLICATION)
    return declined


@pytest.mark.parametrize("kind", list(DecisionKind))
def test_columns_equal_the_engine(flow: Flow, kind: DecisionKind) -> None:
    declined = compare(flow, kind, 400, seed=int(kind) + 1)
    wanted = {stage.name for stage in flow.stages_for(kind)} | {""}
    assert set(declined) == wanted, "the random inputs do not reach every stage"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", list(DecisionKind))
def test_columns_equal_the_engine_on_100_000_inputs(flow: Flow, kind: DecisionKind) -> None:
    compare(flow, kind, 100_000, seed=int(kind) + 101)


def test_threads_and_pieces_change_nothing(flow: Flow) -> None:
    columns = random_codes(flow, 40_000, seed=9)
    one = decide_columns(flow, DecisionKind.APPLICATION, columns, workers=1)
    two = decide_columns(flow, DecisionKind.APPLICATION, columns, workers=2)
    assert np.array_equal(one.approved, two.approved)
    assert np.array_equal(one.reasons, two.reasons)
    part = {name: values[16_380:16_390] for name, values in columns.items()}
    few = decide_columns(flow, DecisionKind.APPLICATION, part)
    assert np.array_equal(few.values["score"], one.values["score"][16_380:16_390])


# Formulas, written at random, mean the same to zen and to the compiled columns.

NAMES = {"a": (-7, 12), "b": (0, 5), "c": (-100, 100)}


def formulas(depth: int) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(sorted(NAMES)), st.integers(0, 20).map(str))
    if depth == 0:
        return leaf
    inner = formulas(depth - 1)
    truth = st.one_of(
        st.tuples(inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
    )
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from("+-*"), inner).map(" ".join),
        inner.map(lambda f: f"({f})"),
        inner.map(lambda f: f"-({f})"),
        st.tuples(inner, st.integers(1, 9)).map(lambda t: f"floor(({t[0]}) / {t[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda t: f"{t[0]}([{t[1]}, {t[2]}])"
        ),
        st.tuples(truth, st.sampled_from(["and", "or"]), truth, inner, inner).map(
            lambda t: f"(({t[0]} {t[1]} not {t[2]}) ? {t[3]} : {t[4]})"
        ),
    )


CELLS = st.one_of(
    st.just(""),
    st.integers(-8, 13).map(str),
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "!=", "=="]), st.integers(-8, 13)).map(
        lambda t: f"{t[0]} {t[1]}"
    ),
    st.tuples(
        st.sampled_from("[("), st.integers(-8, 3), st.integers(3, 13), st.sampled_from("])")
    ).map(lambda t: f"{t[0]}{t[1]}..{t[2]}{t[3]}"),
    st.tuples(st.integers(-8, 13), st.integers(-8, 13)).map(lambda t: f"{t[0]}, >= {t[1]}"),
    st.tuples(st.integers(-8, 3), st.integers(3, 13)).map(lambda t: f"> {t[0]} and <= {t[1]}"),
)


def made_flow(formula: str, cells: list[str]) -> Flow:
    """A flow of one formula and one table, built in memory."""
    columns = [{"id": "i1", "field": "a"}, {"id": "i2", "field": "b"}]
    rules = [
        {"_id": f"r{at}", "i1": cells[2 * at], "i2": cells[2 * at + 1], "o": f"{at} + {formula}"}
        for at in range(len(cells) // 2)
    ]
    rules.append({"_id": "rest", "i1": "", "i2": "", "o": "0 - 1"})
    table = {"hitPolicy": "first", "passThrough": True, "inputs": columns,
             "outputs": [{"id": "o", "field": "y"}], "rules": rules}  # fmt: skip
    work = {"passThrough": True, "expressions": [
        {"id": "e", "key": "x", "value": formula}, {"id": "f", "key": "z", "value": "$.x + a"},
    ]}  # fmt: skip
    nodes = [
        {"id": "in", "name": "in", "type": "inputNode"},
        {"id": "t", "name": "t", "type": "decisionTableNode", "content": table},
        {"id": "w", "name": "w", "type": "expressionNode", "content": work},
        {"id": "out", "name": "out", "type": "outputNode"},
    ]
    order = ["in", "t", "w", "out"]
    edges = [{"id": a, "sourceId": a, "targetId": b} for a, b in pairwise(order)]
    graph = read_graph("s", {"nodes": nodes, "edges": edges}, "made")
    wide = (-(2**53), 2**53)
    gives = {name: Declared(name, ValueType.WHOLE, *wide) for name in ("x", "y", "z")}
    stage = Stage("s", gives, tuple(DecisionKind), graph=graph)
    inputs = {name: Declared(name, ValueType.WHOLE, *ends) for name, ends in NAMES.items()}
    mark = json.dumps([formula, cells])
    return Flow("made", 1, date(2024, 1, 1), Path("made"), mark, inputs, (stage,), Reasons({}, {}))


@settings(max_examples=120)
@given(formula=formulas(3), cells=st.lists(CELLS, min_size=4, max_size=8), seed=st.integers(0, 99))
def test_any_formula_and_cell_mean_the_same_to_both(
    formula: str, cells: list[str], seed: int
) -> None:
    flow = made_flow(formula, cells[: len(cells) // 2 * 2])
    draw = np.random.default_rng(seed)
    columns = {name: draw.integers(low, high + 1, 6) for name, (low, high) in NAMES.items()}
    walked = run_columns(flow, flow.stages, columns)
    decider = Decider(flow)
    for row in range(6):
        answer = decider.answer([float(columns[name][row]) for name in NAMES], DecisionKind.REVIEW)
        for name in ("x", "y", "z"):
            assert int(walked.values[f"s/{name}"][row]) == answer.values[name], (name, row)


@settings(max_examples=100)
@given(formula=formulas(3), seed=st.integers(0, 99))
def test_bounds_hold_every_value(formula: str, seed: int) -> None:
    scope = {name: Span(*ends) for name, ends in NAMES.items()}
    kind = type_of(parse_formula(formula), scope, "")
    assert isinstance(kind, Span)
    flow = made_flow(formula, [])
    draw = np.random.default_rng(seed)
    columns = {name: draw.integers(low, high + 1, 50) for name, (low, high) in NAMES.items()}
    found = run_columns(flow, flow.stages, columns).values["s/x"]
    assert kind.low <= int(found.min())
    assert int(found.max()) <= kind.high


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("age_years", 121, "row 3 has 121"),
        ("occupation", 99, "occupation: row 3 has 99"),
        ("bad_neighbours_ppm", -2, "row 3 has -2"),
    ],
)
def test_an_impossible_value_in_a_column_is_named(
    flow: Flow, name: str, value: int, named: str
) -> None:
    columns = random_codes(flow, 5, seed=3)
    columns[name][2] = value
    with pytest.raises(WrongInput) as caught:
        decide_columns(flow, DecisionKind.APPLICATION, columns)
    assert named in str(caught.value)


def test_missing_unknown_and_float_columns_are_named(flow: Flow) -> None:
    columns = random_codes(flow, 5, seed=3)
    del columns["age_years"]
    columns["agee"] = columns["link_size"]
    columns["face_match_ppm"] = columns["face_match_ppm"] * 0.5
    with pytest.raises(UsanceError) as caught:
        decide_columns(flow, DecisionKind.APPLICATION, columns)
    for named in ("age_years is missing", "unknown input 'agee'", "face_match_ppm: is float64"):
        assert named in str(caught.value)
