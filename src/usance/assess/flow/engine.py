"""A graph answered by zen: typed values in, typed values and the way they took out."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from usance.assess.errors import FlowError, WrongInput
from usance.assess.flow.files import Flow, Stage

# Zen's own trace copies the whole context at every node; a written column costs a twentieth.
_TAKEN = "rule_taken"


class Engine:
    """The graphs of one flow, loaded once."""

    def __init__(self, flow: Flow) -> None:
        import zen

        graphs = {stage.name: stage.graph for stage in flow.stages if stage.graph}
        documents = {name: _with_rules(graph.document) for name, graph in graphs.items()}
        try:
            self._zen = zen.ZenEngine({"loader": {"type": "static", "content": documents}})
        except Exception as error:  # zen raises nothing narrower
            fix = "Save the graph again with zen's editor"
            raise FlowError(f"zen refuses: {error}", where=str(flow.folder), fix=fix) from error
        self._tables = {name: graph.tables for name, graph in graphs.items()}

    def run(
        self, stage: Stage, values: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[tuple[str, str]], dict[str, Any]]:
        """The results of a stage, the rule each table took, and everything it worked out."""
        # Only what the stage reads: the rest would be copied from node to node for nothing.
        context = {name: values[name] for name in stage.names if name in values}
        try:
            result = self._zen.evaluate(stage.name, context)["result"]
        except RuntimeError as error:
            what = f"the engine refuses: {str(error).partition('Stack')[0].strip()[:200]}"
            raise FlowError(what, where=stage.name, fix="Check the stage's formulas") from error
        path = [(table.name, result[_TAKEN][table.id]) for table in self._tables[stage.name]]
        return {name: _given(stage, name, result) for name in stage.gives}, path, result


def _with_rules(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with one more column in every table: the id of the rule that answered."""
    found = copy.deepcopy(dict(document))
    for node in found["nodes"]:
        if node["type"] != "decisionTableNode":
            continue
        content = node["content"]
        column = {"id": _TAKEN, "name": _TAKEN, "field": f"{_TAKEN}.{node['id']}"}
        content["outputs"] = [*content["outputs"], column]
        for number, rule in enumerate(content["rules"], start=1):
            rule[_TAKEN] = json.dumps(str(rule.get("_id", number)))
    return found


def _given(stage: Stage, name: str, result: Mapping[str, Any]) -> Any:
    value = lookup(result, name)
    declared = stage.gives[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return declared.plain(declared.coded(value, f"{stage.name}.{name}"))
    except WrongInput as error:
        raise FlowError(error.what, where=error.where, fix=error.fix) from None


def lookup(result: Mapping[str, Any], name: str) -> Any:
    """A value by its dotted name."""
    found: Any = result
    for part in name.split("."):
        is_there = type(found) is dict or isinstance(found, Mapping)
        found = found.get(part) if is_there else None
    return found
