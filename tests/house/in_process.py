"""A command of a page, run in this process: kernels and libraries are loaded once for all pages.

Starting a process and loading the compiled kernels takes longer than most commands. What a new
process adds (standard streams that fail, signals, exit codes of the interpreter) is the subject of
`tests/cli` and `tests/twin/test_bad_places.py`, not of a page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from usance.cli import main

OWN_PROCESS = {"up", "live", "ledger", "db", "doctor", "people", "keys", "jobs", "lake", "day"}
"""Groups that start servers: they end with their process."""
_SHELL_ONLY = re.compile(r"[$`;&<*?\\]|\d>|\bspark\b|\bserve\b|twin load")
_NEXT = re.compile(r"\s(?P<operator>[|>])\s")


class Call(NamedTuple):
    """Words of one `usance` command, and what a shell does with what it prints."""

    words: list[str]
    rest: str


class Printed(NamedTuple):
    """What came of a command."""

    code: int
    text: str


def call_of(text: str) -> Call | None:
    """The command, if it can be run here.

    >>> call_of("usance loan replay loan.yaml | head -3")
    Call(words=['loan', 'replay', 'loan.yaml'], rest='| head -3')
    >>> call_of("usance up --sandbox --home lender") or call_of("cat $(usance --version)")
    """
    text = text.replace("\\\n", " ")
    if not text.startswith("usance ") or _SHELL_ONLY.search(text):
        return None
    found = _NEXT.search(text)
    head = text[: found.start()] if found else text
    if head.count("'") % 2 or head.count('"') % 2:  # the operator was inside quotes
        head, found = text, None
    words = shlex.split(head)[1:]
    if not words or words[0] in OWN_PROCESS:
        return None
    return Call(words, text[found.start() :].strip() if found else "")


def run_here(call: Call, folder: Path, environment: Mapping[str, str]) -> Printed:
    """Run a command in a folder, as the shell of a page would."""
    out = StringIO()
    errors = StringIO() if call.rest else out
    with (
        chdir(folder), patch.dict(os.environ, environment, clear=True),
        redirect_stdout(out), redirect_stderr(errors),
    ):  # fmt: skip
        code = main(call.words)
    if not call.rest:
        return Printed(code, out.getvalue())
    piped = call.rest if call.rest.startswith("|") else f"| cat {call.rest}"
    done = subprocess.run(
        f"cat {piped}", shell=True, cwd=folder, env=dict(environment), text=True,
        input=out.getvalue(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    ended = done.returncode if call.rest.startswith("|") else code
    return Printed(ended, errors.getvalue() + done.stdout)
