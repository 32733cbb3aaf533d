"""Exit codes: one table, the same for all commands."""

from __future__ import annotations

import re
from pathlib import Path

import usance.cli as cli
from usance.books.errors import ControlFailed
from usance.disclose.errors import BrokenRelease, FactError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
ROW = re.compile(r"^\| (\d+) \|", re.MULTILINE)


def test_the_table_has_every_code_there_is() -> None:
    codes = {0, 1, 2, cli.FAULT, cli.NO_OUTPUT, cli.INTERRUPTED, cli.BROKEN_PIPE}
    assert set(map(int, ROW.findall(PAGE.read_text(encoding="utf-8")))) == codes
    assert set(map(int, ROW.findall(cli.__doc__ or ""))) == codes


def test_what_a_check_finds_ends_with_one_and_wrong_input_with_two() -> None:
    assert (ControlFailed.exit_code, BrokenRelease.exit_code, FactError.exit_code) == (1, 1, 2)
