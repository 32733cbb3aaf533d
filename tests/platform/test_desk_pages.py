"""Pages for people at a desk: every label and key that they name is on the screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from fastapi.routing import APIRoute

from usance.platform.api.collections import group

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "src" / "usance" / "pages" / "templates" / "console"
TEXTS = yaml.safe_load(
    (ROOT / "src" / "usance" / "platform" / "console" / "texts" / "en.yaml").read_text()
)
PAGES = ("work-a-case", "lead-collections", "collect-as-an-agency")


@pytest.mark.parametrize("name", PAGES)
def test_labels_and_keys_are_those_of_the_screens(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / f"{name}.md").read_text()
    labels = set(re.findall(r"\*\*(.+?)\*\*", page))
    assert labels
    assert labels <= set(map(str, TEXTS.values())), labels - set(map(str, TEXTS.values()))
    drawn = (SCREENS / "case.html.j2").read_text() + (SCREENS / "agency_desk.html.j2").read_text()
    keys = set(re.findall(r"`([a-z])`", page)) - {"g", "n"}
    for key in keys:
        assert f'"{key}"' in drawn, key


def test_routes_that_a_lead_is_told_are_there() -> None:
    page = (ROOT / "docs" / "how-to" / "lead-collections.md").read_text()
    told = set(re.findall(r"(?:GET|POST) (/v1/[a-z/{}-]+)", page))
    there = {f"/v1{each.path}" for each in group.router.routes if isinstance(each, APIRoute)}
    assert told
    assert told <= there, told - there
