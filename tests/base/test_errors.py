"""Every failure has its own stable code, a status, and a message that ends with the next step."""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import usance
from usance.base import errors
from usance.base.errors import AmountError, CodeError, Problems, UsanceError, raise_all, unknown


def tree(kind: type[UsanceError]) -> Iterator[type[UsanceError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def every_error() -> list[type[UsanceError]]:
    for module in pkgutil.walk_packages(usance.__path__, "usance."):
        if module.name.endswith(".errors"):
            import_module(module.name)
    return [kind for kind in tree(UsanceError) if kind.__module__.startswith("usance.")]


def test_codes_are_unique_and_statuses_are_of_http() -> None:
    kinds = every_error()
    assert len({kind.code for kind in kinds}) == len(kinds) >= 16
    assert all(400 <= kind.http_status < 600 for kind in kinds)


def test_every_error_is_documented_and_its_code_is_dotted() -> None:
    for kind in every_error():
        assert kind.__doc__, kind
        assert "code" in vars(kind), kind
        assert all(part.isidentifier() for part in kind.code.split(".")), kind.code


def test_the_tree_is_drawn_in_the_module() -> None:
    drawn = errors.__doc__ or ""
    for kind in tree(UsanceError):
        if kind.__module__ == errors.__name__:
            line = next(line for line in drawn.splitlines() if f" {kind.code} " in line)
            assert kind.__name__ in line
            assert line.endswith(str(kind.http_status))


def test_message_has_where_what_and_fix() -> None:
    error = AmountError("principal is 0", where="terms.yaml", fix="Give more than zero")
    assert str(error) == "terms.yaml: principal is 0. Give more than zero."
    assert str(AmountError("too much", fix="Give less")) == "too much. Give less."
    assert error.as_dict() == {
        "code": "input.amount",
        "what": "principal is 0",
        "where": "terms.yaml",
        "fix": "Give more than zero",
    }


def test_problems_show_every_error_and_survive_pickling() -> None:
    both = [AmountError("a", fix="x"), CodeError("b", where="w", fix="y")]
    problems = Problems(both, where="file.yaml")
    assert str(problems) == "file.yaml: 2 problems\n- a. x.\n- w: b. y."
    assert problems.as_dict()["what"] == "a; b"
    again = pickle.loads(pickle.dumps(problems))
    assert str(again) == str(problems)
    assert type(again) is Problems


def test_raise_all_raises_one_as_it_is_many_together_and_none_not() -> None:
    raise_all([])
    with pytest.raises(AmountError):
        raise_all([AmountError("a", fix="x")])
    with pytest.raises(Problems) as caught:
        raise_all([AmountError("a", fix="x"), AmountError("b", fix="x")])
    assert len(caught.value.errors) == 2
    with pytest.raises(ValueError, match="at least one"):
        Problems([])


def test_unknown_names_the_choices_and_the_nearest() -> None:
    error = unknown("model", "ise", ["ice", "tech_solutions"], where="row 3")
    assert (
        str(error)
        == "row 3: unknown model 'ise'. Did you mean 'ice'? Choices: ice, tech_solutions."
    )
    assert "Did you mean" not in str(unknown("model", "zzz", ["ice"]))
