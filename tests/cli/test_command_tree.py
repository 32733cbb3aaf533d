"""The tree of commands: completion, suggestions, and a reference that has all of it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.house import tree
from tools.command_pages import MARK, commands, on_page_markdown
from usance.base.command_tree import SCRIPTS, completions, nearest_calls, paths
from usance.base.errors import CodeError
from usance.cli import main, whole_tree


def test_the_page_of_all_commands_has_the_whole_tree() -> None:
    page = on_page_markdown((tree.ROOT / "docs/reference/commands.md").read_text())
    calls = {"usance " + " ".join(words) for words, _ in paths(whole_tree())}
    assert set(re.findall(r"^## (usance .*)$", page, re.MULTILINE)) == calls
    assert MARK not in page
    for _, command in paths(whole_tree()):
        for each in command.params:
            assert all(name in page for name in each.opts if name.startswith("--"))


def test_every_command_says_what_it_does() -> None:
    for words, command in paths(whole_tree()):
        assert (command.help or "").strip(), words
    assert "\x1b" not in commands()


def test_the_index_of_the_reference_has_every_page() -> None:
    folder = tree.ROOT / "docs" / "reference"
    index = (folder / "index.md").read_text()
    missing = [each.name for each in folder.glob("*.md") if f"({each.name})" not in index]
    assert missing == ["index.md"]


def test_short_help_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    for call in (["-h"], ["loan", "-h"], ["books", "statements", "-h"]):
        assert main(call) == 0
        short = capsys.readouterr().out
        assert main([*call[:-1], "--help"]) == 0
        assert capsys.readouterr().out == short


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["lo"], ["loan"]),
        (["loan", ""], ["quote", "schedule", "replay"]),
        (["books", "st"], ["statements"]),
        (["loan", "quote", "--inst"], ["--instalments"]),
        (["close", "--kn"], ["--known-at"]),
        (["nothing", "--x"], []),
        ([], None),
    ],
)
def test_completion(words: list[str], found: list[str] | None) -> None:
    listed = completions(whole_tree(), words)
    assert listed == found if found is not None else {"loan", "books"} <= set(listed)
    assert "complete" not in listed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "usance complete -- " in capsys.readouterr().out
    assert main(["completion", "cmd"]) == 2
    assert "Choices: bash, zsh, fish" in capsys.readouterr().err


def test_the_script_is_one_that_bash_takes() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    done = subprocess.run([bash, "-n"], input=SCRIPTS["bash"], text=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("group", "word", "meant"),
    [
        ([], "replay", ["loan replay", "assess replay", "match replay"]),
        ([], "quote", ["loan quote"]),
        (["loan"], "statments", ["books statements"]),
        ([], "zzz", []),
    ],
)
def test_suggestions_come_from_the_whole_tree(
    group: list[str], word: str, meant: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert nearest_calls(whole_tree(), group, word) == meant
    assert main([*group, word]) == 2
    said = capsys.readouterr().err
    assert all(f"'usance {each}'" in said for each in meant)


def test_an_unknown_shell_is_an_error_of_ours() -> None:
    from usance.base.command_tree import completion_script

    with pytest.raises(CodeError, match="unknown shell 'tcsh'"):
        completion_script("tcsh")
