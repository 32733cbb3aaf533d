"""Sealed decisions as the tables of the data contract: `decisions`, `decision_inputs` and paths.

Flows have different inputs, so there is one file of inputs for each flow, named by its hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from usance.assess.decision.log import PATHS, StoredDecision, check_unique
from usance.base.columns import make
from usance.base.parquet import read_parquet, write_parquet
from usance.base.tables import table

DECISIONS, INPUTS = table("decisions"), table("decision_inputs")


def write_tables(stored: Sequence[StoredDecision], folder: Path) -> None:
    """Write decisions in order of their ids."""
    ordered = sorted(stored, key=lambda each: int(each.row["decision_id"]))
    check_unique(ordered, str(folder))
    columns: dict[str, Any] = {
        name: [each.row[name] for each in ordered] for name in DECISIONS.names
    }
    write_parquet(make(DECISIONS, **columns), DECISIONS, folder / "decisions.parquet")
    ids = columns["decision_id"]
    paths = make(
        PATHS,
        decision_id=ids,
        flow=[each.flow_sha256 for each in ordered],
        path=[json.dumps(each.path) for each in ordered],
        values=[json.dumps(each.values) for each in ordered],
    )
    write_parquet(paths, PATHS, folder / "decision_paths.parquet")
    for mark in sorted({each.flow_sha256 for each in ordered}):
        own = [each for each in ordered if each.flow_sha256 == mark]
        inputs = make(
            INPUTS,
            decision_id=[each.row["decision_id"] for each in own],
            inputs=np.array([each.inputs for each in own], np.float64),
        )
        write_parquet(inputs, INPUTS, folder / f"decision_inputs-{mark[:16]}.parquet")


def read_tables(folder: Path) -> Iterator[StoredDecision]:
    """The decisions of one sealed folder."""
    rows = read_parquet(folder / "decisions.parquet", DECISIONS).to_pylist()
    paths = read_parquet(folder / "decision_paths.parquet", PATHS).to_pylist()
    inputs: dict[int, tuple[float, ...]] = {}
    for file in sorted(folder.glob("decision_inputs-*.parquet")):
        for each in read_parquet(file, INPUTS).to_pylist():
            inputs[each["decision_id"]] = tuple(each["inputs"])
    for row, way in zip(rows, paths, strict=True):
        path = tuple((a, b, c) for a, b, c in json.loads(way["path"]))
        values = json.loads(way["values"])
        yield StoredDecision(row, inputs[row["decision_id"]], way["flow"], path, values)
