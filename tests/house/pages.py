"""Runs what a page of documentation shows: its code, its commands and their output.

A page is one story. Its blocks share a folder and a namespace and run from top to bottom:

- `python` is executed; `pycon`, or `python` with prompts, is a doctest.
- `console`: lines after `$ ` run in a shell, ours in this process; the lines
  `...` stands for any lines, `...` inside a line for any text. Every command must succeed, or
  end with the code in the fence: `exit=2`. That kernels are being compiled is left out: a page
  shows a machine that has them, and runs on one that may not.
- Any block with `title="loan.yaml"` is written to that file first.
- `no-run` in the fence leaves a block out; `make` in a console is only looked up.

Shell blocks of other names are refused, so that no command escapes by its spelling.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.house.in_process import Printed, call_of, run_here

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
TITLE = re.compile(r"""\btitle=(["'])(?P<name>.+?)\1""")
EXIT = re.compile(r"\bexit=(?P<code>\d+)")
OTHER_SHELLS = {"bash", "sh", "shell", "shell-session", "zsh"}
COMPILING = "usance: compiling kernels, kept for later runs …\n"
TIMEOUT_SECONDS = 600  # only so that a command that waits for input ends at all


@dataclass(frozen=True)
class Block:
    """One fenced block: where its fence is, what the fence says, and its text."""

    page: str
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0].lower() if self.info else ""

    @property
    def title(self) -> str | None:
        found = TITLE.search(self.info)
        return found["name"] if found else None

    @property
    def exit_code(self) -> int:
        found = EXIT.search(self.info)
        return int(found["code"]) if found else 0

    @property
    def is_left_out(self) -> bool:
        return "no-run" in self.info.split()

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


class PageError(AssertionError):
    """A page shows something that is not so."""

    def __init__(self, block: Block, problem: str, line: int = 0) -> None:
        super().__init__(f"{block.page}:{block.line + line}: {problem}")


@dataclass(frozen=True)
class Command:
    """One command of a console block, its expected output and its line below the fence."""

    text: str
    output: list[str]
    line: int


def blocks(page: str, text: str) -> Iterator[Block]:
    """The fenced blocks of a page in order, without the indentation of their fence."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        opened = FENCE.match(line)
        if opened is None:
            continue
        body: list[str] = []
        for _, inner in lines:
            closing = inner.strip()
            if closing.startswith(opened["ticks"]) and not closing.strip(opened["ticks"][0]):
                break
            body.append(inner.removeprefix(opened["indent"]))
        else:
            raise AssertionError(f"{page}:{number}: the block is never closed")
        yield Block(page, number, opened["info"].strip(), "".join(f"{each}\n" for each in body))


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a command goes on while its lines end in a backslash."""
    text, start, is_open = "", 0, False
    output: list[str] = []
    for number, line in enumerate(block.text.splitlines(), 1):
        if is_open:
            text += "\n" + line.removeprefix("> ")
        elif line.startswith("$ "):
            if text:
                yield Command(text, output, start)
            text, output, start = line.removeprefix("$ "), [], number
        elif text:
            output.append(line)
        elif line.strip():
            raise PageError(block, "a console block starts with a line `$ command`", number)
        is_open = text.endswith("\\") and not output
    if text:
        yield Command(text, output, start)


def matches(expected: list[str], real: str) -> bool:
    """Whether real output is as expected; trailing blanks count nowhere, `...` stands for any."""
    lines = [line.rstrip() for line in real.rstrip().splitlines()]
    wanted = [line.rstrip() for line in expected]
    while wanted and not wanted[-1]:
        wanted.pop()
    return _match_lines(wanted, lines)


def _match_lines(wanted: list[str], lines: list[str]) -> bool:
    if not wanted:
        return not lines
    first, rest = wanted[0], wanted[1:]
    if first.strip() == "...":
        return any(_match_lines(rest, lines[count:]) for count in range(len(lines) + 1))
    return bool(lines) and _match_line(first, lines[0]) and _match_lines(rest, lines[1:])


def _match_line(wanted: str, line: str) -> bool:
    parts = (re.escape(part) for part in wanted.split("..."))
    return re.fullmatch(".*".join(parts), line) is not None


class Story:
    """One page on its way from top to bottom, with the folder and namespace it has so far."""

    def __init__(self, folder: Path, make_targets: set[str]) -> None:
        self.folder = folder
        self.make_targets = make_targets
        self.namespace: dict[str, Any] = {"__name__": "__page__"}
        own = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PATH": own + os.pathsep + os.environ.get("PATH", ""),
            "COLUMNS": "100",
            "LINES": "40",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONWARNINGS": "default",
        }

    def run(self, block: Block) -> None:
        """Run one block; a `PageError` says where it is wrong."""
        if block.is_left_out:
            return
        if block.title:
            self._write(block, block.title)
        elif block.language in OTHER_SHELLS:
            raise PageError(block, f"write commands as `console`, not `{block.language}`")
        elif block.language == "console":
            for command in commands(block):
                self._console(block, command)
        elif block.language == "pycon" or (block.language == "python" and ">>> " in block.text):
            self._doctest(block)
        elif block.language == "python":
            self._python(block)

    def _write(self, block: Block, name: str) -> None:
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise PageError(block, f"{name} lies outside the folder of the page")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _python(self, block: Block) -> None:
        try:
            # Blank lines before it give the traceback the line numbers of the page.
            code = compile("\n" * block.line + block.text, block.page, "exec")
            exec(code, self.namespace)
        except Exception as error:
            raise PageError(block, f"{type(error).__name__}: {error}") from error

    def _doctest(self, block: Block) -> None:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        test = doctest.DocTestParser().get_doctest(
            block.text, self.namespace, block.where, block.page, block.line
        )
        test.globs = self.namespace
        report: list[str] = []
        result = doctest.DocTestRunner(optionflags=flags).run(
            test, out=report.append, clear_globs=False
        )
        if result.failed:
            raise PageError(block, "".join(report))

    def _console(self, block: Block, command: Command) -> None:
        words = shlex.split(command.text, comments=True)
        if words[:1] == ["make"]:
            self._look_up(block, command, words)
            return
        code, text = self._printed(command)
        printed = text.replace(COMPILING, "", 1)
        shown = f"`{command.text}` printed\n{printed}"
        if code != block.exit_code:
            problem = f"exit {code}, not {block.exit_code}: {shown}"
            raise PageError(block, problem, command.line)
        if not matches(command.output, printed):
            expected = "\n".join(command.output)
            raise PageError(block, f"{shown}\nbut the page shows\n{expected}", command.line)

    def _printed(self, command: Command) -> Printed:
        """The exit code of a command and what it printed; most of ours need no process."""
        call = call_of(command.text)
        if call is not None:
            return run_here(call, self.folder, self.environment)
        done = subprocess.run(
            command.text, shell=True, cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        return Printed(done.returncode, done.stdout)

    def _look_up(self, block: Block, command: Command, words: list[str]) -> None:
        named = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        unknown = [word for word in named if word not in self.make_targets]
        if unknown:
            raise PageError(block, f"the Makefile has no target {unknown[0]}", command.line)
