"""The request for a decision, as a document: user, moment, records and inputs.

    {"user_id": 7, "number": 1, "kind": "application", "at": "2024-06-30T08:00:00Z",
     "records": {"application": [{"effective_on": "2024-06-30", "booked_at": …, …}], …},
     "inputs": {"list_hit": "none", …}}

Each input of the flow comes from one place: given, made from records, or a dated parameter. One
that comes from none, or from two, is an error; nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from usance.assess.errors import WrongInput
from usance.assess.features.compute import DecisionTimes, compute_features
from usance.assess.features.declared import Declared
from usance.assess.features.records import records_of
from usance.assess.flow.files import Flow
from usance.base.codes import DecisionKind
from usance.base.dates import microseconds, to_day
from usance.base.document_places import Places
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import Fields, moment, one_of, whole_of
from usance.base.ids import LIMIT, PER_USER
from usance.base.parameters import Parameters

NOT_GIVEN = float("nan")


@dataclass(frozen=True)
class Request:
    """One request for a decision, before its inputs are worked out."""

    user_id: int
    number: int
    kind: DecisionKind
    at: datetime
    inputs: Mapping[str, Any]
    records: Mapping[str, Any]


def read_request(content: object, places: Places) -> Request:
    """A request from a document, or everything that is wrong with its frame."""
    problems: list[UsanceError] = []
    given = Fields(content, places, problems)
    user = given.need("user_id", whole_of(1, LIMIT // PER_USER - 1))
    number = given.need("number", whole_of(1, PER_USER - 1))
    kind = given.need("kind", one_of(DecisionKind))
    at = given.need("at", moment)
    inputs, records = (given.take(key, _mapping) or {} for key in ("inputs", "records"))
    given.close()
    raise_all(problems, where=places(()))
    return Request(user, number, kind, at, inputs, records)


def _mapping(given: Any, where: str) -> Mapping[str, Any]:
    if isinstance(given, dict):
        return given
    raise WrongInput("is no mapping", where=where, fix="Write 'name: value' pairs")


def input_vector(
    flow: Flow, request: Request, day: date, parameters: Parameters
) -> tuple[float, ...]:
    """The inputs as stored, in the flow's order; an input nobody needs and nobody gave is NaN."""
    problems: list[UsanceError] = []
    made = _from_records(flow, request, day, problems)
    # With records that cannot be read, what they would have given is not missing besides.
    awaited = set(flow.features.names) if problems and flow.features else set()
    for name in request.inputs:
        if name not in flow.inputs:
            wrong = unknown("input", name, flow.inputs)
            problems.append(WrongInput(wrong.what, where=f"inputs.{name}", fix=wrong.fix))
    needed = flow.needed(request.kind)
    found = []
    for name, declared in flow.inputs.items():
        if name in awaited and name not in request.inputs:
            continue
        try:
            found.append(_value(declared, request, made, name in needed, day, parameters))
        except UsanceError as error:
            problems.append(error)
    raise_all(problems, where="inputs")
    return tuple(found)


def _from_records(
    flow: Flow, request: Request, day: date, problems: list[UsanceError]
) -> Mapping[str, Any]:
    if not request.records:
        return {}
    if flow.features is None:
        fix = "Give the inputs themselves, or add features to the flow"
        problems.append(WrongInput("the flow reads no records", where="records", fix=fix))
        return {}
    try:
        records = records_of(flow.features, request.records, request.user_id, "records")
        known = DecisionTimes.of([request.user_id], [to_day(day)], [microseconds(request.at)])
        return compute_features(flow.features, records, known)
    except UsanceError as error:
        problems.append(error)
        return {}


def _value(
    declared: Declared, request: Request, made: Mapping[str, Any], needed: bool, day: date,
    parameters: Parameters,
) -> float:  # fmt: skip
    name = declared.name
    if name in request.inputs:
        if name in made:
            fix = "Leave it out of inputs, or leave its records out"
            raise WrongInput(f"{name} is given twice", where=f"inputs.{name}", fix=fix)
        return float(declared.coded(request.inputs[name], f"inputs.{name}"))
    if name in made:
        return float(_checked(declared, int(np.asarray(made[name])[0])))
    if declared.parameter:
        return float(declared.coded(parameters.at(declared.parameter, day).integer))
    if not needed:
        return NOT_GIVEN
    fix = f"Give {name}; this {request.kind.label} is decided on it"
    if declared.missing is not None:
        fix += ", and null says that it is not there"
    raise WrongInput(f"{name} is missing", where=f"inputs.{name}", fix=fix)


def _checked(declared: Declared, code: int) -> int:
    """A feature's value against the declaration of the input it becomes."""
    if declared.names:
        if 0 <= code < len(declared.names):
            return code
        raise WrongInput(f"{code} is no {declared.name}", where=declared.name, fix="Check features")
    return int(declared.coded(code, f"features.{declared.name}"))
