"""The `usance` command. A room's commands are loaded when one of them is called.

To add a room, write an `app` in its `commands.py` and a line in `ROOMS`. Several rooms may share a
group: its line then names the module of each.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a check ran and found something wrong |
| 2 | the input or the call is wrong; the message says how to go on |
| 70 | a fault of Usance itself |
| 74 | the answer could not be written to standard output |
| 130 | interrupted |
| 141 | whoever read the answer has gone |
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from importlib import import_module
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from usance.base.command_line import (
    Output,
    OutputError,
    OutputFailed,
    Session,
    StandardError,
    drop,
    print_json,
    print_line,
    show_help,
)
from usance.base.errors import InputError, Problems, UsanceError, refusal
from usance.base.progress import ProgressLine, listening

ROOMS = {
    "loan": ("usance.loan.commands", "Price, schedule and replay a loan."),
    "acquire": ("usance.acquire.commands", "Channels, funnel and cost of acquisition."),
    "assess": (
        (
            "usance.assess.commands usance.assess.decision.commands "
            "usance.assess.offer.commands usance.assess.fraud.commands"
        ),
        "Train and use credit models.",
    ),
    "conform": ("usance.conform.commands", "Check results against cases with known answers."),
    "measure": ("usance.measure.commands", "Measure a loan tape or a book."),
    "books": (
        "usance.books.commands usance.books.intake.commands",
        "Periods, balances and exports of a book.",
    ),
    "close": ("usance.platform.terminal.close", "Close a period of a book or of a live lender."),
    "money": (
        "usance.platform.terminal.money",
        "Files of banks and providers, reconciliation and settlement.",
    ),
    "collect": (
        "usance.service.collections.commands usance.platform.terminal.c_scores",
        "Cases, strategies, allocation and results of collections.",
    ),
    "match": ("usance.match.commands", "Match loans with funding sources."),
    "fund": ("usance.fund.commands", "Trusts and asset-backed deals: waterfalls, pools, reports."),
    "disclose": ("usance.disclose.commands", "Publish results and check published figures."),
    "pages": ("usance.twin.site.commands", "Write a book as pages to browse."),
    "jobs": ("usance.platform.jobs.commands", "Work that the live platform's machines do."),
    "lake": ("usance.platform.lake.commands", "The live platform's records as a book."),
    "twin": (
        (
            "usance.twin.run.commands usance.twin.compare.commands usance.twin.calibrate.commands "
            "usance.twin.what_if.commands usance.platform.terminal.twin_load"
        ),
        "Run a simulated economy from registration to release.",
    ),
    "up": ("usance.platform.terminal.up", "Serve the live platform."),
    "demo": ("usance.platform.demo.commands", "Serve a simulated lender with a history, alive."),
    "live": ("usance.platform.terminal.live", "Do commands and reads of a live lender."),
    "day": ("usance.platform.terminal.day", "End the business day of a live lender."),
    "audit": ("usance.platform.terminal.audit", "Who did what at a live lender."),
    "config": ("usance.platform.terminal.config", "The configuration of a live lender as a file."),
    "ledger": ("usance.platform.terminal.ledger", "The ledger of a live lender."),
    "db": ("usance.platform.terminal.database", "The schema of a lender's database."),
    "doctor": ("usance.platform.terminal.doctor", "Check its home and database."),
    "people": ("usance.platform.terminal.people", "Operators of the live platform."),
    "keys": ("usance.platform.terminal.keys", "Keys of its parties."),
}
"""Every group of commands: the modules that hold its `app`, and its line in the help."""

FAULT, NO_OUTPUT, INTERRUPTED, BROKEN_PIPE = 70, 74, 130, 141
_WIDE = "--wide"


class Miscalled(InputError):
    """A command or option that does not exist, or one that is missing."""

    code = "input.command"


class Fault(UsanceError):
    """Something nobody foresaw: a mistake of the program, not of its input."""

    code = "usance.fault"


class Rooms(TyperGroup):
    """A group whose commands are listed without being imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, line) in ROOMS.items():
            self.add_command(TyperCommand(name, help=line, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The room that is called, imported now."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in ROOMS:
            command = _joined(ROOMS[name][0].split())
        return name, command, rest


def whole_tree() -> Any:
    """The root with every room imported: for suggestions, completion and the reference."""
    root: Any = get_command(app)
    for name, (modules, _) in ROOMS.items():
        root.commands[name] = _joined(modules.split())
    return root


def help_text(words: Sequence[str]) -> str:
    """The help of the command that these words call."""
    command, ctx = whole_tree(), None
    for word in ("usance", *words):
        command = command if ctx is None else command.commands[word]
        ctx = command.context_class(
            command, parent=ctx, info_name=word, help_option_names=["-h", "--help"]
        )
    return str(command.get_help(ctx))


def _joined(modules: Sequence[str]) -> Any:
    """The group of the first module, with the commands of the others."""
    groups: list[Any] = [get_command(import_module(module).app) for module in modules]
    for other in groups[1:]:
        groups[0].commands.update(other.commands)
    return groups[0]


app = typer.Typer(
    cls=Rooms, rich_markup_mode=None, add_completion=False, invoke_without_command=True
)


def _version(wanted: bool) -> None:
    if wanted:
        from usance import __version__

        print_line(f"usance {__version__}")
        raise typer.Exit


@app.callback()
def usance(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001 -- answered by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    wide: Annotated[  # noqa: ARG001 -- taken out of the words before, wherever it stands
        bool, typer.Option(_WIDE, help="Tables in one piece, however wide.")
    ] = False,
) -> None:
    """An open credit platform: every figure comes from the same terms and facts."""
    show_help(ctx)


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the lines that let a shell complete this command.

    For bash: usance completion bash >> ~/.bashrc
    """
    from usance.base.command_tree import completion_script

    print_line(completion_script(shell).rstrip())


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
def complete(
    words: Annotated[list[str] | None, typer.Argument(help="The line so far.")] = None,
) -> None:
    """List what can follow, for the completion of a shell."""
    from usance.base.command_tree import completions

    for each in completions(whole_tree(), words or []):
        print_line(each)


def main(
    arguments: Sequence[str] | None = None, *, now: Callable[[], datetime] | None = None
) -> int:
    """Run one command and give its exit code; a failure is a message, not a trace."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        sys.meta_path.insert(0, cast(Any, _WithoutUnused))
    if sys.stdout is None:
        return _fail(_no_output("it is closed"), as_json=False)
    is_wide = _WIDE in words
    out = cast(TextIO, Output(sys.stdout, is_wide=is_wide))
    errors = cast(TextIO, StandardError(sys.stderr)) if sys.stderr is not None else None
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            session = Session(now or _now)
            with _shown_progress(session):
                code = _run([each for each in words if each != _WIDE], session)
            sys.stdout.flush()
        except OutputFailed as failed:
            code = _unanswered(failed.error)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        if errors is not None:
            errors.flush()
    return code


@contextmanager
def _shown_progress(session: Session) -> Iterator[None]:
    """Show on a terminal how far long work is, until the answer comes."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    line = ProgressLine(stream, session.seconds)
    cast(Any, sys.stdout).before = line.clear
    with listening(line):
        try:
            yield
        finally:
            line.clear()


class _WithoutUnused:
    """A finder of modules that keeps out of this process what others import and no command uses.

    Where pandas is installed, Arrow imports it to look whether an array is one of its own: half a
    second of work, for commands that take no longer themselves. Numba looks whether there is
    scipy's linear algebra, a fifth of a second; no kernel has any.
    """

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Nothing for any module; pandas is not there, nor linear algebra while numba looks."""
        if name == "pandas":
            raise ModuleNotFoundError("no command uses pandas", name=name)
        if name == "scipy.linalg":
            looking = sys.modules.get("numba.np.arraymath")
            if looking is not None and not hasattr(looking, "_HAVE_BLAS"):
                raise ModuleNotFoundError("no kernel uses linear algebra", name=name)


def _run(words: list[str], session: Session) -> int:
    """Run one command; whatever fails, but for standard output, is said there or beside it."""
    try:
        with get_command(app).make_context(
            "usance", words, obj=session, help_option_names=["-h", "--help"]
        ) as ctx:
            ctx.command.invoke(ctx)
    except typer.Exit as end:
        return end.exit_code
    except (OutputFailed, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001 -- the last resort: everything becomes a message
        return _fail(_named(error), as_json="--json" in words)
    return 0


def _unanswered(error: OSError) -> int:
    """The exit code when standard output cannot be written."""
    drop(sys.stdout)
    if isinstance(error, BrokenPipeError):  # whoever reads has gone
        return BROKEN_PIPE
    return _fail(_no_output(error.strerror or str(error)), as_json=False)


def _now() -> datetime:
    return datetime.now(UTC)


def _no_output(why: str) -> OutputError:
    fix = "Check where it is sent and whether there is room, and run the command again"
    return OutputError(f"cannot be written: {why}", where="standard output", fix=fix)


def _named(error: Exception) -> UsanceError:
    """Any failure as one of ours."""
    if isinstance(error, UsanceError):
        return error
    if isinstance(error, typer.TyperException):
        place = getattr(getattr(error, "ctx", None), "command_path", "usance")
        what, meant = _meant(error.format_message(), place)
        return Miscalled(what, where=place, fix=f"{meant}See '{place} --help'")
    refused = refusal(error) if isinstance(error, OSError) else None
    named = refused or Fault(
        f"{type(error).__name__}: {error}",
        where="a fault of Usance",
        fix="Please report the command and what USANCE_DEBUG=1 adds to this message",
    )
    named.__cause__ = error
    return named


def _meant(message: str, place: str) -> tuple[str, str]:
    """A message, and the calls of the whole tree that its unknown command may have meant."""
    found = re.match(r"(No such command '([^']+)'\.)(.*)$", message)
    if found is None:  # something else is wrong
        return message, ""
    from usance.base.command_tree import nearest_calls

    near = nearest_calls(whole_tree(), place.split()[1:], found[2])
    # The group itself has a near one; a command of just this name elsewhere is nearer.
    if found[3] and not any(call.split()[-1] == found[2] for call in near):
        return message, ""
    shown = " or ".join(f"'usance {each}'" for each in near)
    return found[1], f"Did you mean {shown}? " if near else ""


def _fail(error: UsanceError, *, as_json: bool) -> int:
    if os.environ.get("USANCE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if as_json:
        parts: dict[str, object] = dict(error.as_dict())
        if isinstance(error, Problems):
            parts["problems"] = [each.as_dict() for each in error.errors]
        print_json({"error": parts})
    elif sys.stderr is not None:
        sys.stderr.write(f"error: {error}\n")
    return _CODES.get(type(error), error.exit_code)


_CODES: dict[type[UsanceError], int] = {Fault: FAULT, OutputError: NO_OUTPUT}
