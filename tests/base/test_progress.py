"""Progress: silent at first and without a terminal, then how far and how long, then gone."""

from __future__ import annotations

import io
from typing import Any

import pytest

from usance import cli
from usance.base.progress import ProgressLine, listening, tell, with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_comes_after_two_seconds_and_says_what_is_left() -> None:
    now, stream = [0.0], Terminal()
    line = ProgressLine(stream, lambda: now[0])
    with listening(line):
        for done in range(11):
            tell("routing", done, 100)
            if now[0] < 2:
                assert stream.getvalue() == ""
            now[0] += 0.5
    shown = stream.getvalue().split("\r\x1b[K")[1:]
    assert shown[0] == "routing 4%, 0 min 48 s left"
    assert shown[-1] == "routing 10%, 0 min 45 s left"
    line.clear()
    line.clear()
    assert stream.getvalue().split("\r\x1b[K")[1:] == [*shown, ""]


def test_a_new_stage_has_its_own_pace() -> None:
    now, stream = [0.0], Terminal()
    line = ProgressLine(stream, lambda: now[0])
    with listening(line):
        tell("first", 0, 10)
        now[0] = 100.0
        tell("second", 5, 10)
        now[0] = 101.0
        tell("second", 6, 10)
    assert stream.getvalue().endswith("second 60%, 0 min 4 s left")


def test_nobody_listens_nothing_is_said() -> None:
    tell("alone", 1, 2)
    assert list(with_progress("alone", "abc", 3)) == ["a", "b", "c"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_command_line_shows_it_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    from usance.base.command_line import print_line

    out, errors = io.StringIO(), Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", errors)
    seconds = iter(range(1_700_000_000, 1_700_001_000))

    def work(*_: Any) -> int:
        for done in range(5):
            tell("working", done, 5)
        print_line("the answer")
        return 0

    monkeypatch.setattr(cli, "_run", work)
    assert cli.main(["loan"], now=lambda: _moment(next(seconds))) == 0
    assert out.getvalue() == "the answer\n"
    assert ("working" in errors.getvalue()) is is_terminal
    assert not is_terminal or errors.getvalue().endswith("\r\x1b[K")


def _moment(seconds: int) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)
