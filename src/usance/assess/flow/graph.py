"""One graph of a flow: tables and formulas in the order they run, read from a zen model file.

The file is the one that zen's editor writes. Of its nodes those are taken that mean the same
everywhere: decision tables with hit policy `first`, and expressions; each passes its input on. The
last rule of every table is open, so a table always answers, and says so in the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from usance.assess.errors import FlowError
from usance.assess.flow.value_types import FLOW_RULES, check_cell
from usance.base.errors import UsanceError, raise_all
from usance.base.formula_types import FormulaType, Scope, type_of, union
from usance.base.formulas import Cell, Formula, Name, names_in, parse_cell, parse_formula


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table: a cell for each input, a formula for each output."""

    id: str
    cells: tuple[Cell, ...]
    gives: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class TableNode:
    """A decision table; the first rule that fits answers."""

    id: str
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class FormulaNode:
    """Formulas by the name of what they give, in order."""

    id: str
    name: str
    formulas: tuple[tuple[str, Formula], ...]


Node = TableNode | FormulaNode


@dataclass(frozen=True)
class Graph:
    """The nodes of a graph in order, and the document as zen reads it."""

    name: str
    nodes: tuple[Node, ...]
    document: Mapping[str, Any] = field(repr=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that a table or formula reads."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, FormulaNode):
                found |= {name for _, each in node.formulas for name in names_in(each)}
            else:
                found |= {*node.reads}
                found |= {n for rule in node.rules for each in rule.gives for n in names_in(each)}
        return frozenset(found)

    @cached_property
    def tables(self) -> tuple[TableNode, ...]:
        """Its tables, in order."""
        return tuple(node for node in self.nodes if isinstance(node, TableNode))


def read_graph(name: str, document: object, where: str) -> Graph:
    """A graph from its document, or everything in it that cannot be used."""
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        fix = "Give a decision model with nodes and edges, as zen's editor saves it"
        raise FlowError("is no decision model", where=where, fix=fix)
    problems: list[UsanceError] = []
    nodes: list[Node] = []
    for node in _ordered(document, where):
        place = f"{where}: {node.get('name', node.get('id'))}"
        try:
            nodes += _node(node, place)
        except UsanceError as error:
            problems.append(error)
    raise_all(problems, where=where)
    return Graph(name, tuple(nodes), document)


def _ordered(document: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The nodes along the one way from input to output."""
    nodes = {node["id"]: node for node in document["nodes"]}
    ways: dict[str, list[str]] = {}
    for edge in document.get("edges", []):
        ways.setdefault(edge["sourceId"], []).append(edge["targetId"])
    at = [key for key, node in nodes.items() if node.get("type") == "inputNode"]
    found: list[dict[str, Any]] = []
    while len(at) == 1 and at[0] in nodes and len(found) < len(nodes):
        found.append(nodes[at[0]])
        at = ways.get(at[0], [])
    if at or len(found) != len(nodes) or found[-1].get("type") != "outputNode":
        fix = "Draw one line from the request through every node to the response"
        raise FlowError("its nodes are not on one way", where=where, fix=fix)
    return found


def _node(node: Mapping[str, Any], where: str) -> list[Node]:
    kind, content = node.get("type"), node.get("content") or {}
    if kind in ("inputNode", "outputNode"):
        return []
    if kind not in ("decisionTableNode", "expressionNode"):
        fix = "Use decision tables and expressions; scripts and switches cannot be compiled"
        raise FlowError(f"is a {kind}", where=where, fix=fix)
    if content.get("passThrough") is not True:
        raise FlowError("drops its input", where=where, fix="Set passThrough to true")
    if (
        content.get("inputField")
        or content.get("outputPath")
        or (content.get("executionMode", "single") != "single")
    ):
        fix = "Leave inputField, outputPath and executionMode as they are at first"
        raise FlowError("reads or writes a part only", where=where, fix=fix)
    if kind == "decisionTableNode":
        return [_table(node, content, where)]
    formulas = tuple(
        (str(each["key"]), _formula(str(each["value"]), f"{where}, {each['key']}"))
        for each in content.get("expressions", [])
    )
    return [FormulaNode(str(node["id"]), str(node.get("name", "")), formulas)]


def _table(node: Mapping[str, Any], content: Mapping[str, Any], where: str) -> TableNode:
    if content.get("hitPolicy") != "first":
        fix = "Set the hit policy to first"
        raise FlowError(f"has the hit policy {content.get('hitPolicy')}", where=where, fix=fix)
    inputs, outputs = content.get("inputs", []), content.get("outputs", [])
    reads = tuple(_plain_name(column.get("field"), where) for column in inputs)
    rules = []
    for number, rule in enumerate(content.get("rules", []), start=1):
        place = f"{where}, rule {rule.get('_id', number)}"
        texts = [str(rule.get(column["id"]) or "") for column in inputs]
        cells = tuple(parse_cell(text, place, error=FlowError) for text in texts)
        gives = tuple(_formula(str(rule.get(column["id"], "")), place) for column in outputs)
        rules.append(Rule(str(rule.get("_id", number)), cells, gives))
    if not rules or any(rules[-1].cells):
        fix = "End every table with a rule whose cells are empty"
        raise FlowError("has no rule for everything else", where=where, fix=fix)
    if len({rule.id for rule in rules}) < len(rules):
        raise FlowError("two rules have one id", where=where, fix="Give each rule its own _id")
    writes = tuple(str(column["field"]) for column in outputs)
    return TableNode(str(node["id"]), str(node.get("name", "")), reads, writes, tuple(rules))


def _formula(text: str, where: str) -> Formula:
    return parse_formula(text, where, error=FlowError)


def _plain_name(given: object, where: str) -> str:
    found = _formula(str(given or ""), where)
    if isinstance(found, Name) and not found.path.startswith("$"):
        return found.path
    raise FlowError(f"a column reads {given!r}", where=where, fix="Let it read one name")


def types_after(graph: Graph, scope: Scope, where: str) -> dict[str, FormulaType]:
    """Everything there is once a graph has run, by kind; all that does not fit is an error."""
    after = dict(scope)
    problems: list[UsanceError] = []
    for node in graph.nodes:
        try:
            made = (
                _table_types(node, after, where)
                if isinstance(node, TableNode)
                else (_formula_types(node, after, where))
            )
            again = sorted(made.keys() & scope.keys())
            if again:
                fix = "Give it another name; what is known stays as it is"
                raise FlowError(
                    f"{again[0]} is there already", where=f"{where}: {node.name}", fix=fix
                )
            after |= made
        except UsanceError as error:
            problems.append(error)
    raise_all(problems, where=where)
    return after


def _formula_types(node: FormulaNode, scope: Scope, where: str) -> dict[str, FormulaType]:
    made: dict[str, FormulaType] = {}
    for key, formula in node.formulas:
        own = {f"$.{name}": kind for name, kind in made.items()}
        made[key] = type_of(formula, {**scope, **own}, f"{where}: {node.name}, {key}", FLOW_RULES)
    return made


def _table_types(node: TableNode, scope: Scope, where: str) -> dict[str, FormulaType]:
    made: dict[str, FormulaType] = {}
    for rule in node.rules:
        place = f"{where}: {node.name}, rule {rule.id}"
        for name, cell in zip(node.reads, rule.cells, strict=True):
            check_cell(cell, type_of(Name(name), scope, place, FLOW_RULES), place)
        for name, formula in zip(node.writes, rule.gives, strict=True):
            kind = type_of(formula, scope, place, FLOW_RULES)
            made[name] = union(made[name], kind, place, FLOW_RULES) if name in made else kind
    return made
