"""The command itself: its help, its exit codes, and that no failure shows a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import typer

from usance import __version__, cli
from usance.base.errors import AmountError, Problems

SINGLE = {"close": "PERIOD", "pages": "BOOK", "up": "--home", "doctor": "--home",
          "day": "--home"}  # fmt: skip
"""Commands that are no group, and their argument."""
SERVING = {"demo"}
"""Groups that do their work where no command of theirs is named."""


def loaded_by(call: list[str]) -> set[str]:
    """The modules a process has imported after one command."""
    code = (
        "import sys; from usance.cli import main; code = main(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, *call]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    return set(done.stderr.split())


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Adds a room `shed` with the one command `usance shed open`."""

    def add(command: Callable[[], None]) -> None:
        module = ModuleType("usance_shed")
        module.app = typer.Typer()  # type: ignore[attr-defined]
        module.app.callback()(lambda: None)
        module.app.command(name="open")(command)
        monkeypatch.setitem(sys.modules, "usance_shed", module)
        monkeypatch.setitem(cli.ROOMS, "shed", ("usance_shed", "Where tools are."))

    return add


def test_help_lists_every_room_by_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, (_, line) in cli.ROOMS.items():
        assert f"  {name}" in printed
        assert line in printed


def test_no_arguments_are_a_call_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    wanted = capsys.readouterr().out
    assert cli.main([]) == 0
    assert capsys.readouterr().out == wanted


@pytest.mark.parametrize("name", [name for name in cli.ROOMS if name not in SINGLE])
def test_every_room_has_commands_and_says_the_same_as_its_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([name, *(["--help"] if name in SERVING else [])]) == 0
    printed = capsys.readouterr().out
    assert cli.ROOMS[name][1] in printed
    assert "Commands:" in printed


@pytest.mark.parametrize(("name", "argument"), SINGLE.items())
def test_some_are_one_command(name: str, argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert argument in printed
    assert "Commands:" not in printed


@pytest.mark.parametrize(
    "module", [module for modules, _ in cli.ROOMS.values() for module in modules.split()]
)
def test_rooms_are_where_the_table_says(module: str) -> None:
    assert import_module(module).app.registered_commands


@pytest.mark.parametrize("call", ["--help", "--version", "loan", "loan quote --help"])
def test_help_imports_nothing_heavy(call: str) -> None:
    assert not {"numba", "numpy", "pyarrow", "rich", "yaml"} & loaded_by(call.split())


def test_one_loan_needs_no_compiler() -> None:
    call = "loan quote --principal 100 --rate 5% --instalments 2 --disbursed-on 2024-01-15"
    assert not {"numba", "numpy", "pyarrow"} & loaded_by(call.split())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"usance {__version__}\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["laon"], "usance: No such command 'laon'. Did you mean 'loan'? See 'usance --help'."),
        (
            ["plan"],
            (
                "usance: No such command 'plan'. Did you mean 'usance match plan'? "
                "See 'usance --help'."
            ),
        ),
        (["--nope"], "usance: No such option: --nope. See 'usance --help'."),
        (
            ["loan", "replay"],
            "usance loan replay: Missing argument 'FILE'. See 'usance loan replay --help'.",
        ),
        (
            ["loan", "quote", "--prncipal", "1"],
            (
                "usance loan quote: No such option: --prncipal (Possible options: --principal). "
                "See 'usance loan quote --help'."
            ),
        ),
    ],
)
def test_a_wrong_call_says_how_to_go_on(
    call: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(call) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")


def test_a_room_is_added_by_one_line(
    room: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    room(lambda: typer.echo("hello"))
    assert cli.main(["shed", "open"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_rooms_share_a_group(
    room: Callable[[Callable[[], None]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    room(lambda: typer.echo("hello"))
    monkeypatch.setitem(cli.ROOMS, "shed", ("usance.conform.commands usance_shed", "Both."))
    assert cli.main(["shed", "open"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert cli.main(["shed", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "  apr " in printed
    assert "  open" in printed


def test_a_room_is_loaded_only_when_it_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli.ROOMS, "shed", ("usance_no_such_module", "Where tools are."))
    assert cli.main(["--help"]) == 0
    assert "Where tools are." in capsys.readouterr().out
    assert cli.main(["shed", "open"]) == 70


def failing(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def test_a_named_error_is_one_line_on_standard_error(
    room: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    room(failing(AmountError("principal is -5", where="loan.yaml", fix="Give more")))
    assert cli.main(["shed", "open"]) == 2
    assert capsys.readouterr() == ("", "error: loan.yaml: principal is -5. Give more.\n")


def test_several_errors_are_a_list(
    room: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    errors = [AmountError(f"{name} is wrong", fix="Mend it") for name in ("a", "b")]
    room(failing(Problems(errors, where="x.yaml")))
    assert cli.main(["shed", "open"]) == 2
    assert capsys.readouterr().err == (
        "error: x.yaml: 2 problems\n- a is wrong. Mend it.\n- b is wrong. Mend it.\n"
    )


def test_a_fault_is_one_line_and_70(
    room: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    room(failing(ZeroDivisionError("division by zero")))
    assert cli.main(["shed", "open"]) == 70
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: a fault of Usance: ZeroDivisionError: division by zero. "
        "Please report the command and what USANCE_DEBUG=1 adds to this message.\n"
    )


def test_debug_shows_the_trace(
    room: Callable[[Callable[[], None]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("USANCE_DEBUG", "1")
    room(failing(ZeroDivisionError("division by zero")))
    assert cli.main(["shed", "open"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_quiet(
    room: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    room(failing(KeyboardInterrupt()))
    assert cli.main(["shed", "open"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_leaves_is_no_error() -> None:
    call = "loan schedule --principal 900 --rate 5% --instalments 1200 --disbursed-on 2024-01-15"
    code = f"import sys; from usance.cli import main; sys.exit(main({call.split()!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.mark.parametrize("form", ["", " --csv", " --json"])
@pytest.mark.parametrize("sent", ["> /dev/full", ">&-", ">&- 2>&-"])
def test_an_answer_that_cannot_be_written_is_74(form: str, sent: str) -> None:
    call = "loan schedule --principal 900 --rate 5% --instalments 9 --disbursed-on 2024-01-15"
    code = f"import sys; from usance.cli import main; sys.exit(main({(call + form).split()!r}))"
    command = ["/bin/sh", "-c", f'"$0" -c "$1" {sent}', sys.executable, code]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 74
    if "2>" not in sent:
        assert done.stderr.startswith("error: standard output: cannot be written: ")
        assert done.stderr.count("\n") == 1


def test_errors_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "no.yaml")
    assert cli.main(["loan", "replay", missing, "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "error": {
            "code": "input.document",
            "what": "no such file",
            "where": missing,
            "fix": "Check the name and the folder",
        }
    }


def test_several_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["loan", "quote", "--principal", "x", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "input.problems"
    assert [each["where"] for each in error["problems"]] == [
        "--principal", "--rate", "--instalments",
    ]  # fmt: skip


def test_a_wrong_call_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["loan", "replay", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "input.command"


def test_no_colours_and_no_wrapping_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    call = "loan schedule --principal 1000000000 --rate 20% --coupon 6% --instalments 2"
    assert cli.main([*call.split(), "--disbursed-on", "2024-01-15"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert len(printed.splitlines()) == 4
