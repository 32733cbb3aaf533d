"""The map of the house is true: every module and file that it names is there."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from tests.house import tree

MODULE = re.compile(r"`(usance(?:\.[a-z_]+)+)`")
FILE = re.compile(r"`((?:src|tests|docs|bench|demo)/[\w./*-]+)`")


def text(page: str) -> str:
    return (tree.ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/explanation/architecture.md", "CONTRIBUTING.md"])
def test_modules_that_are_named_exist(page: str) -> None:
    missing = [name for name in MODULE.findall(text(page)) if find_spec(name) is None]
    assert not missing


def test_files_that_are_named_exist() -> None:
    named = FILE.findall(text("CONTRIBUTING.md"))
    assert named
    missing = [name for name in named if not list(tree.ROOT.glob(name))]
    assert not missing


def test_the_map_names_every_room_in_the_order_of_the_house() -> None:
    drawn = text("docs/explanation/architecture.md").partition("```\n")[2].partition("```")[0]
    rooms = [line.split()[0] for line in drawn.splitlines()][:-1]
    contract = tree.pyproject()["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [layer.strip("()") for layer in reversed(contract)]
    assert rooms == [room for room in order if room in rooms]
    assert set(tree.rooms()) <= set(rooms)


def test_a_new_maintainer_finds_every_change() -> None:
    part = text("CONTRIBUTING.md").partition("## Where a change goes")[2].partition("\n## ")[0]
    core, live = part.split("The live platform has its own:")
    for table, changes in ((core, 15), (live, 15)):
        rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
        assert len(rows) == changes
        for row in rows:
            assert FILE.search(row), row
