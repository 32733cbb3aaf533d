"""A flow file that could decide wrongly is refused when it is read, with its place."""

# ruff: noqa: E501 -- each row is one change to a file and what is said about it
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from usance.assess.errors import FlowError
from usance.assess.flow.files import SHIPPED, content_of, content_sha256, read_flow
from usance.base.errors import UsanceError

BAD = {
    "no open rule": ("registration.json", '"_id": "clear",\n            "in1": ""', '"_id": "clear", "in1": "\\"none\\""', "has no rule for everything else"),
    "hit policy": ("registration.json", '"hitPolicy": "first"', '"hitPolicy": "collect"', "has the hit policy collect"),
    "drops input": ("registration.json", '"passThrough": true', '"passThrough": false', "drops its input"),
    "unknown text": ("registration.json", '"\\"block\\""', '"\\"black\\""', "Did you mean 'block'?"),
    "unlike things": ("registration.json", '"in2": "> 5"', '"in2": "\\"many\\""', "compares with 'many'"),
    "unknown name": ("price.json", "funding_cost_ppm + margin_ppm", "funding_cost + margin_ppm", "unknown name 'funding_cost'"),
    "same node": ("line.json", '"value": "requested_minor > line_minor"', '"value": "short > 1"', "written $.name"),
    "too large": ("line.json", "monthly_income_minor * multiple_tenths", "monthly_income_minor * monthly_income_minor", "Keep every number below 2^53"),
    "division": ("line.json", "floor(min([wished, line_maximum_minor]) / 10000)", "min([wished, line_maximum_minor]) / 10000", "is too much"),
    "float": ("price.json", '"out1": "60000"', '"out1": "60000.5"', "cannot read '60000.5'"),
    "reason": ("identity.json", '"out2": "111"', '"out2": "999"', "the reason 999, which has no text"),
    "drawdown that waits": ("drawdown.json", '"\\"decline\\""', '"\\"refer\\""', "outcome can be"),
    "script": ("price.json", '"type": "expressionNode"', '"type": "functionNode"', "is a functionNode"),
    "edge": ("price.json", '"targetId": "rate"', '"targetId": "cap"', "its nodes are not on one way"),
    "shadow": ("price.json", '"key": "rate_ppm"', '"key": "grade"', "grade is there already"),
    "not JSON": ("price.json", '"edges": [', '"edges": [,', "price.json line"),
    "declared": ("flow.yaml", "rate_ppm: {type: whole, from: 0, to: 2000000}", "rate_ppm: {type: whole, from: 0, to: 20}", "rate_ppm can be"),
    "not given": ("flow.yaml", "      rate_ppm: {type", "      ratio_ppm: {type", "does not give ratio_ppm"),
    "no range": ("flow.yaml", "age_years: {type: whole, from: 0, to: 120}", "age_years: {type: whole}", "age_years has no range"),
    "missing undeclared": ("flow.yaml", "special: {-1: no picture taken}, missing: -1", "special: {-1: no picture taken}, missing: -2", "missing is -2, which is not declared"),
    "key": ("flow.yaml", "valid_from:", "valid_form:", "unknown key 'valid_form'"),
    "no text": ("reasons.yaml", "201: {text: Your age.}", "", "reason 201 has no text"),
    "code": ("reasons.yaml", "201: {text", "abc: {text", "abc is no reason code"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "named"), BAD.values(), ids=BAD.keys())
def test_a_wrong_flow_is_refused(tmp_path: Path, name: str, old: str, new: str, named: str) -> None:
    folder = tmp_path / "flow"
    shutil.copytree(SHIPPED / "consumer", folder)
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    with pytest.raises(UsanceError) as caught:
        read_flow(folder)
    assert named in str(caught.value)
    assert str(folder) in str(caught.value)


def test_no_such_flow(tmp_path: Path) -> None:
    with pytest.raises(FlowError, match="one of consumer"):
        read_flow(tmp_path / "nothing")


def test_a_hash_knows_names_and_contents() -> None:
    content = content_of(SHIPPED / "consumer")
    assert read_flow("consumer").sha256 == content_sha256(content)
    renamed = {f"x{path}": data for path, data in content.items()}
    assert content_sha256(renamed) != content_sha256(content)
    changed = content | {"flow.yaml": content["flow.yaml"] + b"\n"}
    assert content_sha256(changed) != content_sha256(content)
