"""Every shipped parameter is read, or waits for a room that is named."""

from __future__ import annotations

from tests.house import tree
from tests.house.tidy import Source
from tests.house.unread_parameters import AWAITED, unread


def names() -> list[str]:
    packs = tree.PACKAGE.glob("packs/*/parameters")
    return sorted({
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for folder in (tree.PACKAGE / "parameters", *packs)
        for path in folder.rglob("*.yaml")
    })  # fmt: skip


def test_parameters_that_nothing_reads_are_those_that_wait_for_a_room() -> None:
    sources = tree.sources(tree.PACKAGE, tree.ROOT / "src")
    flows = [path.read_text(encoding="utf-8") for path in tree.PACKAGE.glob("assess/**/*.yaml")]
    assert sorted(unread(names(), sources, flows)) == sorted(AWAITED)


def test_the_rooms_that_parameters_wait_for_are_of_the_house() -> None:
    layers = tree.pyproject()["tool"]["importlinter"]["contracts"][0]["layers"]
    assert set(AWAITED.values()) <= {layer.strip("()") for layer in layers}


def test_a_parameter_is_read_by_its_name_or_by_group_and_rest() -> None:
    text = 'x = at("tax.vat", day)\ny = at(f"losses.{name}", day)\nclass A:\n    horizon: int\n'
    found = unread(
        ["tax.vat", "tax.stamp", "losses.horizon", "losses.window"],
        [Source("usance.books.tax", "tax.py", text)],
    )
    assert list(found) == ["tax.stamp", "losses.window"]
