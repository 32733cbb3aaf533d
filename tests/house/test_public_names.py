"""Public names of every room, pinned: one that comes or goes is seen in review."""

from __future__ import annotations

from importlib import import_module
from inspect import isclass
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest
import yaml

from tests.house import tree

PINNED = Path(__file__).with_name("public_names.yaml")


def pinned() -> dict[str, list[str]]:
    names: dict[str, list[str]] = yaml.safe_load(PINNED.read_text(encoding="utf-8"))
    return names


def room(name: str) -> ModuleType:
    return import_module(f"usance.{name}")


def test_every_room_is_pinned() -> None:
    assert sorted(pinned()) == tree.rooms()


@pytest.mark.parametrize("name", tree.rooms())
def test_public_names_are_those_that_were_agreed(name: str) -> None:
    assert sorted(room(name).__all__) == sorted(pinned()[name])


@pytest.mark.parametrize("name", tree.rooms())
def test_public_names_are_there_and_listed_by_dir(name: str) -> None:
    package = room(name)
    assert set(package.__all__) <= set(dir(package))
    for each in package.__all__:
        assert getattr(package, each) is not None


@pytest.mark.parametrize("name", tree.rooms())
def test_no_public_name_is_that_of_a_module(name: str) -> None:
    package = room(name)
    modules = {each.name for each in iter_modules(package.__path__)}
    assert not modules & set(package.__all__)  # the import of a module would replace the name


@pytest.mark.parametrize("name", tree.rooms())
def test_the_errors_of_a_room_are_public(name: str) -> None:
    package = room(name)
    if not (tree.PACKAGE / name / "errors.py").is_file():
        pytest.skip(f"{name} has no errors of its own")
    module = import_module(f"usance.{name}.errors")
    own = {
        key
        for key, each in vars(module).items()
        if isclass(each) and each.__module__ == module.__name__ and issubclass(each, Exception)
    }
    assert own <= set(package.__all__), sorted(own - set(package.__all__))
