"""The page of the books says what the code does: amounts, rules, controls, errors, files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.books.reference_page import AMOUNTS_HEAD, RULES_HEAD, amount_lines, rule_lines, section
from tests.house import tree
from usance.base.errors import UsanceError
from usance.books import errors
from usance.books.close.checklist import close
from usance.books.close.controls import BALANCES
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book

PAGE = (tree.ROOT / "docs" / "reference" / "books.md").read_text(encoding="utf-8")


def test_every_amount_has_its_row() -> None:
    assert section(PAGE, AMOUNTS_HEAD) == list(amount_lines())


def test_every_rule_has_its_row() -> None:
    assert section(PAGE, RULES_HEAD) == list(rule_lines())


def test_every_error_is_listed() -> None:
    named = [each for each in vars(errors).values()
             if isinstance(each, type) and issubclass(each, UsanceError)
             and each.__module__ == errors.__name__]  # fmt: skip
    assert named
    for each in named:
        assert f"| `{each.code}` |" in PAGE


def test_every_control_and_file_of_a_close_is_listed(tmp_path: Path) -> None:
    book = sample_book(tmp_path / "book")
    made = close(book, parse_close_period("2023Q4"), clock=time.perf_counter)
    listed = PAGE.partition("## Controls")[2].partition("\n## ")[0]
    for control in made.controls:
        name = control.name.partition(", basis ")[0].partition(" of entity ")[0]
        name = name.replace(", us_gaap", "").replace(", ifrs_adjustment", "")
        kind = "subledger = ledger" if name.endswith(": subledger = ledger") else name
        assert kind in listed, control.name
    for account in " ".join(BALANCES).split():
        assert f"`{account}`" in listed
    for path in (book.path / "closes").rglob("*"):
        if path.is_file():
            assert path.name in PAGE, path.name


@pytest.mark.parametrize("step", ["cut-off", "controls", "flux", "books"])
def test_the_checklist_of_the_how_to_has_the_steps(step: str) -> None:
    how_to = (tree.ROOT / "docs" / "how-to" / "close-a-period.md").read_text(encoding="utf-8")
    assert f"| {step} |" in how_to
