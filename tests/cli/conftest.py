"""Runs one command as a person would, in a folder of its own and on a day that never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.answers import TODAY, Answer, Usance
from usance.cli import main


@pytest.fixture
def usance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Usance:
    """Runs one command in a folder with the files given, on a day that is always the same."""
    monkeypatch.chdir(tmp_path)

    def run(call: str, **files: str) -> Answer:
        for name, text in files.items():
            Path(name.replace("_", ".")).write_text(text, encoding="utf-8")
        code = main(call.split(), now=lambda: TODAY)
        return Answer(code, *capsys.readouterr())

    return run
