"""A flow around a trained model, made in one step: its inputs, the model, a cut-off and reasons.

    FLOW/flow.yaml      inputs as training saw them; the model as a stage; the cut-off
    FLOW/cut.json       declines above a probability of default, grades below it
    FLOW/reasons.yaml   a text for each input, to be put into the lender's words
    FLOW/model/         the model with its card and approvals

Everything can be edited afterwards; `usance assess decide --flow FLOW` takes it as it stands.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from usance.assess.columns import Column
from usance.assess.errors import FlowError
from usance.assess.flow.files import Flow, read_flow
from usance.assess.scoring.model import Model, load_model
from usance.base.errors import DocumentError
from usance.base.rates import PPM

NOT_STATED = "not stated"
TOO_RISKY, FIRST_REASON = 1, 11
GRADES = (8, 4, 2, 1)
"""Grade 1 ends at an eighth of the cut-off, grade 4 at the cut-off itself."""
_FAR_BELOW = -(10**15)
_SCORE = 30_000


def flow_of_model(
    model: Path, out: Path, *, cut_off_ppm: int, valid_from: date, number: int = 1
) -> Flow:
    """Write the flow of a model into a new folder, and read it back."""
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        fix = "Choose a new folder; a flow is edited by hand"
        raise DocumentError("is not an empty folder", where=str(out), fix=fix)
    if not 0 < cut_off_ppm < PPM:
        fix = "Give more than 0% and less than 100%"
        raise FlowError(f"a cut-off of {cut_off_ppm / 10_000:g}%", where="--cut-off", fix=fix)
    read = load_model(model)
    columns = [column for column in read.columns if column.kind != "date"]
    out.mkdir(parents=True, exist_ok=True)
    shutil.copytree(model, out / "model")
    (out / "flow.yaml").write_text(_flow_text(read, columns, out.name, valid_from, number))
    (out / "cut.json").write_text(json.dumps(_cut(cut_off_ppm), indent=1) + "\n")
    (out / "reasons.yaml").write_text(_reasons_text(columns))
    return read_flow(out)


def _flow_text(
    model: Model, columns: list[Column], name: str, valid_from: date, number: int
) -> str:
    content: dict[str, Any] = {
        "flow": name,
        "number": number,
        "valid_from": valid_from,
        "reasons": "reasons.yaml",
        "inputs": {column.name: _declared(column) for column in columns},
        "stages": {
            "score": {
                "model": "model",
                "number": number,
                "reads": [column.name for column in columns],
                "gives": {
                    "score": {"type": "whole", "from": -_SCORE, "to": _SCORE},
                    "pd_ppm": {"type": "whole", "from": 0, "to": PPM},
                },
            },
            "cut": {
                "graph": "cut.json",
                "gives": {"grade": {"type": "whole", "from": 1, "to": len(GRADES) + 1}},
            },
        },
        "explained_by_score": {"instead_of": [TOO_RISKY]},
        "input_reasons": {
            column.name: FIRST_REASON + place for place, column in enumerate(columns)
        },
    }
    head = f"# Made from a {model.kind} model; edit inputs, cut-off and reasons as you need.\n"
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _declared(column: Column) -> dict[str, Any]:
    """An input as training saw it; one that was never missing there is required."""
    if column.kind == "category":
        names = [*column.levels, *column.rare]
        if not column.has_missing:
            return {"type": "name", "names": names}
        return {"type": "name", "names": [NOT_STATED, *names], "missing": NOT_STATED}
    codes = {int(code): label for label, code in column.specials}
    given: dict[str, Any] = {"type": "real", "from": 0 if column.low >= 0 else -(10**12)}
    above = [code for code in codes if code > column.high]
    if above:
        given["to"] = min(above) - 1
    if column.has_missing:
        missing = next(code for code in (-1, _FAR_BELOW) if _is_free(code, given, codes))
        codes[missing], given["missing"] = NOT_STATED, missing
    return given | ({"special": codes} if codes else {})


def _is_free(code: int, given: dict[str, Any], codes: dict[int, str]) -> bool:
    return code not in codes and code < given["from"]


def _sentence(name: str) -> str:
    """A column's name as a sentence, its words spelled as the file spells them.

    >>> _sentence("open_loans"), _sentence("Anzahl Vorkredite")
    ('Open loans.', 'Anzahl Vorkredite.')
    """
    words = name.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}."


def _reasons_text(columns: list[Column]) -> str:
    lines = {TOO_RISKY: "The risk of this loan is too high."} | {
        FIRST_REASON + place: _sentence(column.name) for place, column in enumerate(columns)
    }
    head = "# What an applicant is told; put it into your own words.\n"
    return head + yaml.safe_dump(
        {code: {"text": text} for code, text in lines.items()}, allow_unicode=True
    )


def _cut(cut_off_ppm: int) -> dict[str, Any]:
    """A decision table on the probability of default."""
    rules = [*_rules(cut_off_ppm)]
    names = (("o", "grade"), ("p", "outcome"), ("q", "reason"))
    table = {
        "hitPolicy": "first",
        "passThrough": True,
        "inputs": [{"id": "i", "field": "pd_ppm"}],
        "outputs": [{"id": short, "field": field} for short, field in names],
        "rules": rules,
    }
    nodes = [
        {"id": "a", "name": "a", "type": "inputNode"},
        {"id": "b", "name": "cut", "type": "decisionTableNode", "content": table},
        {"id": "c", "name": "c", "type": "outputNode"},
    ]
    edges = [{"id": one, "sourceId": one, "targetId": to} for one, to in (("a", "b"), ("b", "c"))]
    return {"nodes": nodes, "edges": edges}


def _rules(cut_off_ppm: int) -> Iterator[dict[str, str]]:
    for grade, part in enumerate(GRADES, start=1):
        yield {
            "_id": f"grade {grade}", "i": f"<= {cut_off_ppm // part}", "o": str(grade),
            "p": '"pass"', "q": "0",
        }  # fmt: skip
    yield {
        "_id": "too risky", "i": "", "o": str(len(GRADES) + 1), "p": '"decline"',
        "q": str(TOO_RISKY),
    }  # fmt: skip
