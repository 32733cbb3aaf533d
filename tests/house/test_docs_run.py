"""What README and the documentation show is what happens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import indent

import pytest

from tests.house import tree
from tests.house.pages import Block, PageError, Story, blocks, commands, matches

PAGES = [tree.ROOT / "README.md", *sorted((tree.ROOT / "docs").rglob("*.md"))]
MAKE_TARGETS = set(
    re.findall(
        r"^([a-z][a-z-]*):", (tree.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
)


BY_NIGHT = {"live-a-month.md"}
"""Pages whose commands take minutes."""


def blocks_of(path: Path) -> list[Block]:
    return list(blocks(str(path.relative_to(tree.ROOT)), path.read_text(encoding="utf-8")))


def tell(told: Iterable[Block], folder: Path) -> None:
    story = Story(folder, MAKE_TARGETS)
    for block in told:
        story.run(block)


@pytest.mark.parametrize("path", [
    pytest.param(path, id=str(path.relative_to(tree.ROOT)),
                 marks=[pytest.mark.nightly] if path.name in BY_NIGHT else [])
    for path in PAGES
])  # fmt: skip
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tell(blocks_of(path), tmp_path)


def test_blocks_that_are_not_run_are_named() -> None:
    left_out = [block.where for path in PAGES for block in blocks_of(path) if block.is_left_out]
    if left_out:
        pytest.skip(f"blocks marked no-run: {', '.join(left_out)}")


def fenced(info: str, *lines: str) -> str:
    return "\n".join([f"```{info}", *lines, "```", ""])


RIGHT = {
    "python shares names": fenced("python", "x = 2") + fenced("python", "assert x == 2"),
    "doctest shares names": fenced("python", "x = 2") + fenced("pycon", ">>> x + 1", "3"),
    "prompts in python": fenced("python", ">>> 1 + 1", "2"),
    "command": fenced("console", "$ echo one", "one", "$ echo two; echo three", "two", "three"),
    "continued command": fenced("console", "$ echo one \\", "    two", "one two"),
    "any lines": fenced("console", "$ printf 'a\\nb\\nc\\n'", "a", "...", "c"),
    "any text": fenced("console", "$ echo took 12 ms today", "took ... ms today"),
    "file": fenced('yaml title="a/b.yaml"', "x: 1") + fenced("console", "$ cat a/b.yaml", "x: 1"),
    "exit code": fenced("console exit=3", "$ echo no >&2; exit 3", "no"),
    "left out": fenced("console no-run", "$ false"),
    "make": fenced("console", "$ make test", "anything"),
    "indented": "- item\n\n" + indent(fenced("console", "$ echo one", "one"), "    "),
    "width": fenced("console", "$ echo $COLUMNS $NO_COLOR $TERM", "100 1 dumb"),
    "inert": fenced("text", "$ false") + fenced("", "$ false"),
}

WRONG = {
    "python fails": (fenced("python", "x = 1", "", "1 / 0"), "page.md:1: ZeroDivisionError"),
    "doctest differs": (fenced("pycon", ">>> 1 + 1", "3"), "Expected:"),
    "output differs": ("\n" + fenced("console", "$ echo one", "two"), "page.md:3: `echo one`"),
    "output missing": (fenced("console", "$ true", "something"), "but the page shows"),
    "output not shown": (fenced("console", "$ echo one"), "but the page shows"),
    "more than shown": (fenced("console", "$ printf 'a\\nb\\n'", "a"), "but the page shows"),
    "command fails": (fenced("console", "$ exit 2"), "exit 2, not 0"),
    "failure is missing": (fenced("console exit=2", "$ true"), "exit 0, not 2"),
    "no such target": (fenced("console", "$ make nonsense"), "no target nonsense"),
    "other shell": (fenced("bash", "echo one"), "write commands as `console`"),
    "no command": (fenced("console", "echo one"), "starts with a line"),
    "file elsewhere": (fenced('text title="../x"', "x"), "outside the folder"),
    "never closed": ("```python\nx = 1\n", "page.md:1: the block is never closed"),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_right_page_passes(text: str, tmp_path: Path) -> None:
    tell(blocks("page.md", text), tmp_path)


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG.keys())
def test_wrong_page_is_named_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        tell(blocks("page.md", text), tmp_path)
    assert problem in str(caught.value)


def test_command_lines_are_counted_from_the_fence() -> None:
    block = next(blocks("page.md", fenced("console", "$ a", "1", "$ b")))
    assert [(each.text, each.output, each.line) for each in commands(block)] == [
        ("a", ["1"], 1),
        ("b", [], 3),
    ]


@pytest.mark.parametrize(
    ("expected", "real", "same"),
    [
        (["a"], "a  \n\n", True),
        (["a", ""], "a\n", True),
        (["...", "c"], "c\n", True),
        (["...", "c"], "a\nb\n", False),
        (["a...z"], "a-z", True),
        (["a...z"], "a-y", False),
        ([], "", True),
        ([], "a", False),
    ],
)
def test_matching(expected: list[str], real: str, same: bool) -> None:
    assert matches(expected, real) is same


def test_the_error_of_a_page_is_an_assertion() -> None:
    assert issubclass(PageError, AssertionError)
