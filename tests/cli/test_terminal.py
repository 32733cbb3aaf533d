"""A terminal gets tables in its width, a pipe in that of COLUMNS; `--wide` keeps one piece."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.answers import Usance

COLUMNS = 80


def on_terminal(folder: Path, *words: str) -> list[str]:
    """What `usance` prints on a terminal of 80 columns and many lines."""
    main, terminal = pty.openpty()
    surroundings = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "500", "TERM": "dumb"}
    command = [str(Path(sys.executable).parent / "usance"), *words]
    with subprocess.Popen(command, stdout=terminal, cwd=folder, env=surroundings) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                more = os.read(main, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            said += more
        assert process.wait() == 0
    os.close(main)
    return said.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("place", ["first", "last"])
def test_tables_fit_the_terminal(usance: Usance, tmp_path: Path, place: str) -> None:
    terms = (
        ("principal", "100000000"), ("rate", "18%"), ("instalments", "12"),
        ("flat-fee", "1000000"), ("guarantee-fee", "500000"), ("disbursed-on", "2024-01-15"),
    )  # fmt: skip
    call = ["loan", "schedule", *(word for name, value in terms for word in (f"--{name}", value))]
    piped = usance(" ".join(call)).out.splitlines()
    assert max(map(len, piped)) > COLUMNS, "nothing to fold: the test shows nothing"

    shown = on_terminal(tmp_path, *call)
    assert max(map(len, shown)) <= COLUMNS
    words = {word for line in piped for word in line.split()}
    assert words == {word for line in shown for word in line.split()}

    surroundings = {**os.environ, "COLUMNS": str(COLUMNS)}
    command = [str(Path(sys.executable).parent / "usance"), *call]
    narrow = subprocess.run(
        command, env=surroundings, text=True, stdout=subprocess.PIPE, check=True
    )
    assert narrow.stdout.splitlines() == shown

    wide = on_terminal(tmp_path, *(["--wide", *call] if place == "first" else [*call, "--wide"]))
    assert wide == piped
