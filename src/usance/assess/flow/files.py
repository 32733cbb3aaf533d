"""A flow folder: `flow.yaml` with inputs, stages and versions, and the graphs it names.

    shipped/consumer/
      flow.yaml           name, number, first day, typed inputs, stages in order
      registration.json   a graph for each stage, editable with zen's editor or by hand
      features.yaml       which inputs are made from records (optional)
      reasons.yaml        the texts of reason codes

A flow is known by the SHA-256 of everything in its folder; a stored decision names that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance.assess.errors import FlowError
from usance.assess.features.declared import Declared, ValueType, read_declared
from usance.assess.features.definition import Definitions, read_features
from usance.assess.flow.graph import Graph, read_graph, types_after
from usance.assess.flow.reasons import MAX_CODE, Reasons, read_reasons
from usance.assess.flow.value_types import declared_type, fits
from usance.base.codes import DecisionKind
from usance.base.document_places import document_places
from usance.base.documents import read_document, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, day, one_of, text, whole_of
from usance.base.formula_types import FormulaType

SHIPPED = Path(__file__).resolve().parent / "shipped"
OUTCOMES = ("pass", "decline", "refer")
"""Outcomes of a stage: go on, end with a no, go on to a decision that waits for a person."""
STAGE_RESULTS = ("outcome", "reason")
"""Results that a stage keeps to itself; all others are inputs of the stages after it."""


def _stage_results(kinds: tuple[DecisionKind, ...]) -> dict[str, Declared]:
    """Results of a stage; applications alone can wait for a person."""
    outcomes = OUTCOMES if kinds == (DecisionKind.APPLICATION,) else OUTCOMES[:2]
    return {
        "outcome": Declared("outcome", ValueType.NAME, names=outcomes),
        "reason": Declared("reason", ValueType.WHOLE, 0, MAX_CODE),
    }


@dataclass(frozen=True)
class Stage:
    """One step of a flow: a graph or a model, for which kinds of decision, and what it gives."""

    name: str
    gives: Mapping[str, Declared]
    kinds: tuple[DecisionKind, ...]
    graph: Graph | None = None
    model: Path | None = None
    number: int = 0
    """The number of the model, 0 for a graph."""
    reads: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Every name the stage reads."""
        return self.graph.names if self.graph else frozenset(self.reads)


@dataclass(frozen=True)
class Card:
    """The points of a scorecard inside a flow: which tables, and the reason behind each."""

    stage: str
    reasons: Mapping[str, int]
    """Reason codes by the name of the points, such as `points.age`."""


@dataclass(frozen=True)
class Explained:
    """Reasons of tables that the score explains."""

    replaced: frozenset[int] = frozenset()
    """The score's own reasons are given instead of these."""
    followed: frozenset[int] = frozenset()
    """The score's own reasons are given after these."""


@dataclass(frozen=True)
class Flow:
    """A checked flow."""

    name: str
    number: int
    valid_from: date
    folder: Path
    sha256: str
    inputs: Mapping[str, Declared]
    stages: tuple[Stage, ...]
    reasons: Reasons
    features: Definitions | None = None
    card: Card | None = None
    explained: Explained = Explained()
    input_reasons: Mapping[str, int] = field(default_factory=dict)
    """Reason codes by input, for models that explain themselves by their inputs."""

    def needed(self, kind: DecisionKind) -> frozenset[str]:
        """The inputs that the stages of one kind of decision read."""
        return self._needed[kind]

    def stages_for(self, kind: DecisionKind) -> tuple[Stage, ...]:
        """The stages one kind of decision walks through."""
        return self._stages[kind]

    # Asked for at every decision, so worked out once.
    @cached_property
    def _needed(self) -> Mapping[DecisionKind, frozenset[str]]:
        return {
            kind: frozenset(name for stage in stages for name in stage.names & self.inputs.keys())
            for kind, stages in self._stages.items()
        }

    @cached_property
    def _stages(self) -> Mapping[DecisionKind, tuple[Stage, ...]]:
        return {
            kind: tuple(stage for stage in self.stages if kind in stage.kinds)
            for kind in DecisionKind
        }


def model_answer(name: str) -> str | None:
    """The answer of a model that a name means: `trees_pd_ppm` is the pd_ppm of the trees."""
    return next((part for part in ("pd_ppm", "score") if name.endswith(part)), None)


def read_flow(folder: Path | str) -> Flow:
    """The flow of a folder, or of that name among those that come with the package."""
    path = Path(folder)
    if not path.is_dir() and (SHIPPED / str(folder)).is_dir():
        path = SHIPPED / str(folder)
    file = path / "flow.yaml"
    if not file.is_file():
        shipped = ", ".join(sorted(each.name for each in SHIPPED.iterdir() if each.is_dir()))
        fix = f"Name a folder with a flow.yaml, or one of {shipped}"
        raise FlowError("is no flow", where=str(folder), fix=fix)
    places = document_places(str(file), partial(read_text, file))
    problems: list[UsanceError] = []
    flow = _flow(Fields(read_document(file), places, problems), path)
    raise_all(problems, where=str(file))
    assert flow is not None, "a flow without problems was read whole"
    _check_types(flow)
    return flow


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path inside it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def content_sha256(content: Mapping[str, bytes]) -> str:
    """One hash for a set of files: their paths and contents, in order."""
    mark = sha256()
    for path in sorted(content):
        inner = sha256(content[path]).hexdigest()
        mark.update(f"{inner}  {path}\n".encode())
    return mark.hexdigest()


def _flow(given: Fields, folder: Path) -> Flow | None:
    name, number = given.need("flow", text), given.need("number", whole_of(1, MAX_CODE))
    first = given.need("valid_from", day)
    inputs = _declared(given.inner("inputs"))
    features = given.take("features", _inside(folder, read_features))
    reasons = given.need("reasons", _inside(folder, read_reasons))
    stages = _stages(given.inner("stages"), folder, inputs)
    card = _card(given.inner("scorecard"))
    explained = _explained(given.inner("explained_by_score"))
    codes = _codes(given.inner("input_reasons"))
    given.close()
    if given.problems:
        return None
    mark = content_sha256(content_of(folder))
    flow = Flow(
        name, number, first, folder, mark, inputs, stages, reasons, features, card, explained,
        codes,
    )  # fmt: skip
    _check_codes(flow, given)
    return flow


def _inside(folder: Path, read: Any) -> Any:
    def reader(given: Any, where: str) -> Any:
        return read(folder / text(given, where))

    return reader


def _declared(given: Fields | None) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for name in given.keys if given else ():
        inner = given.inner(name) if given else None
        declared = read_declared(name, inner) if inner is not None else None
        if declared is not None:
            found[name] = declared
    return found


def _stages(
    given: Fields | None, folder: Path, inputs: Mapping[str, Declared]
) -> tuple[Stage, ...]:
    found = []
    for name in given.keys if given else ():
        inner = given.inner(name) if given else None
        stage = _stage(name, inner, folder, inputs) if inner is not None else None
        if stage is not None:
            found.append(stage)
    return tuple(found)


def _stage(name: str, given: Fields, folder: Path, inputs: Mapping[str, Declared]) -> Stage | None:
    kinds = given.take("kinds", _kinds) or tuple(DecisionKind)
    gives = _declared(given.inner("gives"))
    reads = tuple(given.take("reads", _list) or ())
    file, model = given.take("graph", text), given.take("model", text)
    number = given.take("number", whole_of(1, MAX_CODE)) or 0
    given.close()
    for read in reads:
        if read not in inputs:
            given.wrong(f"reads {read!r}, which is no input", "Declare it under inputs", "reads")
    if (file is None) == (model is None):
        given.wrong(f"{name} has not one of graph and model", "Give one of them")
        return None
    if model is not None:
        strange = [each for each in gives if model_answer(each) is None]
        if not number or not reads or not gives or strange:
            fix = "Give number, reads, and gives with names that end in score or pd_ppm"
            given.wrong(f"{name} does not say enough of its model", fix)
        return Stage(name, gives, kinds, model=folder / model, number=number, reads=reads)
    where = str(folder / str(file))
    try:
        graph = read_graph(name, _plain_json(where), where)
    except UsanceError as error:
        given.problems.append(error)
        return None
    written = {name for table in graph.tables for name in table.writes}
    results = _stage_results(kinds)
    own = {name: declared for name, declared in results.items() if name in written}
    return Stage(name, {**gives, **own}, kinds, graph=graph)


def _plain_json(where: str) -> Any:
    """The document as the engine takes it; read strictly first, so that mistakes have lines."""
    import json

    read_document(where)
    return json.loads(read_text(where))


def _card(given: Fields | None) -> Card | None:
    if given is None:
        return None
    stage = given.need("stage", text)
    reasons = _codes(given.inner("reasons"))
    given.close()
    return Card(stage, reasons) if stage else None


def _codes(given: Fields | None) -> dict[str, int]:
    code = whole_of(1, MAX_CODE)
    return {key: given.take(key, code) or 0 for key in given.keys} if given else {}


def _explained(given: Fields | None) -> Explained:
    if given is None:
        return Explained()
    replaced, followed = given.take("instead_of", _numbers), given.take("beside", _numbers)
    given.close()
    return Explained(frozenset(replaced or ()), frozenset(followed or ()))


def _numbers(given: Any, where: str) -> list[int]:
    if not isinstance(given, list):
        raise DocumentError("is no list", where=where, fix="Write [120, 131]")
    return [whole_of(1, MAX_CODE)(each, where) for each in given]


def _kinds(given: Any, where: str) -> tuple[DecisionKind, ...]:
    return tuple(one_of(DecisionKind)(each, where) for each in _list(given, where))


def _list(given: Any, where: str) -> list[str]:
    if not isinstance(given, list):
        raise DocumentError("is no list", where=where, fix="Write [first, second]")
    return [text(each, where) for each in given]


def _check_codes(flow: Flow, given: Fields) -> None:
    """Every reason code has a text; every explained input and stage is there."""
    codes = [*flow.input_reasons.values(), *(flow.card.reasons.values() if flow.card else ())]
    for code in sorted(set(codes) - set(flow.reasons.texts)):
        given.wrong(f"reason {code} has no text", "Write one in the file of reasons", "reasons")
    for name in flow.input_reasons:
        if name not in flow.inputs:
            given.wrong(f"{name} is no input", "Declare it under inputs", "input_reasons", name)
    if flow.card and flow.card.stage not in {stage.name for stage in flow.stages}:
        given.wrong(f"{flow.card.stage} is no stage", "Name one", "scorecard", "stage")


def _check_types(flow: Flow) -> None:
    """Follow names and bounds through each kind of decision; what does not fit is an error."""
    problems: list[UsanceError] = []
    for decision in DecisionKind:
        scope: dict[str, FormulaType] = {
            name: declared_type(declared) for name, declared in flow.inputs.items()
        }
        for stage in flow.stages_for(decision):
            where = str(flow.folder / f"{stage.name}")
            try:
                after = types_after(stage.graph, scope, where) if stage.graph else dict(scope)
                _check_gives(flow, stage, after, where)
            except UsanceError as error:
                problems.append(error)
                break
            scope |= {
                name: declared_type(each)
                for name, each in stage.gives.items()
                if name not in STAGE_RESULTS
            }
    distinct = {str(problem): problem for problem in problems}
    raise_all(list(distinct.values()), where=str(flow.folder))


def _check_gives(flow: Flow, stage: Stage, after: Mapping[str, FormulaType], where: str) -> None:
    wrong: list[UsanceError] = []
    for name, declared in stage.gives.items():
        if stage.model is not None:
            continue
        if name not in after:
            what, fix = f"does not give {name}", "Let a table or formula of the stage write it"
            wrong.append(FlowError(what, where=where, fix=fix))
        elif not fits(after[name], declared):
            fix = f"Widen the declaration of {name}, or narrow what is written"
            wrong.append(FlowError(f"{name} can be {after[name]}", where=where, fix=fix))
    raise_all([*wrong, *_unknown_reasons(flow, stage, where)], where=where)


def _unknown_reasons(flow: Flow, stage: Stage, where: str) -> list[UsanceError]:
    """Reason codes that a table writes and no text explains."""
    from usance.base.formulas import Literal

    found = []
    for table in stage.graph.tables if stage.graph else ():
        if "reason" not in table.writes:
            continue
        place = table.writes.index("reason")
        for rule in table.rules:
            formula = rule.gives[place]
            code = formula.value if isinstance(formula, Literal) else None
            if code != 0 and code not in flow.reasons.texts:
                what = f"{table.name}, rule {rule.id} gives the reason {code}, which has no text"
                fix = "Write a literal code with a text in the file of reasons, or 0"
                found.append(FlowError(what, where=where, fix=fix))
    return list(found)
