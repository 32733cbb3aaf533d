"""A home without a lender is refused by every command that takes one, and nothing is made there."""

from __future__ import annotations

from pathlib import Path

import pytest

from usance.cli import main

COMMANDS = (
    "doctor", "ledger verify", "db status", "jobs list", "jobs work", "lake export book",
    "lake verify book",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_home_without_a_lender_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "nowhere"
    assert main([*command.split(), "--home", str(home)]) == 2
    assert str(home) in capsys.readouterr().err
    assert not home.exists()
