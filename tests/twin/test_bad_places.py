"""Folders, scales and disks that a run cannot use: said at once, by name, as no fault of Usance."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from usance.base.errors import Problems
from usance.cli import main
from usance.twin.errors import DiskFull, LostManifest, RunError, WhatIfError
from usance.twin.run.commands import Shown
from usance.twin.run.disk_space import readable_sizes
from usance.twin.run.options import parse_scale
from usance.twin.run.plan import RunPlan
from usance.twin.what_if.pairs import BASE, OTHER, WhatIf, WhatIfAnswer, run_folder
from usance.twin.what_if.table import write_files
from usance.world.scenario.file import read_scenario

FIRST, MARCH = 636, 638
CALLS = (["twin", "run", "calm"], ["twin", "what-if", "calm", "recession"])
LIMIT = 40_000
"""Bytes of a file: less than the lines of any schedule of a hundred years."""


def plan(scale: Fraction = Fraction(1, 20)) -> RunPlan:
    return RunPlan(read_scenario("calm"), scale, FIRST, MARCH)


def asked() -> WhatIf:
    calm = read_scenario("calm")
    return WhatIf(calm, replace(calm, name="other"), Fraction(1, 20), FIRST, MARCH, 2)


# Places that cannot be written


def beneath_a_file(folder: Path) -> Path:
    (folder / "file").write_text("mine")
    return folder / "file" / "run"


def beneath_a_system(_folder: Path) -> Path:
    return Path("/proc/run")


def with_a_long_name(folder: Path) -> Path:
    return folder / ("a" * 300)


def by_a_link_to_nothing(folder: Path) -> Path:
    (folder / "link").symlink_to("nothing")
    return folder / "link"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("place", "said"),
    [
        (beneath_a_file, "file: is no folder"),
        (beneath_a_system, "/proc/run: cannot be written: "),
        (with_a_long_name, "cannot be written: File name too long"),
        (by_a_link_to_nothing, "link: is no folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(
    call: list[str], place: Callable[[Path], Path], said: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    words = [*call, "--scale", "0.05", "--out", str(place(tmp_path))]
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert "Choose another folder with --out" in told.err
    assert main([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "twin.run"


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    plan().check(tmp_path / "run")
    asked().check(tmp_path / "pairs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="Permission denied"):
        plan().check(tmp_path / "run")


# Scales


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "text",
    ["1e400", "1e-400", "1e99999999", "1e-99999999", "0e99999999", "nan", "inf", "-inf", "-1", "0",
     "4.0000000000000000001", "1/100000000000"],
)  # fmt: skip
def test_a_scale_out_of_range_is_refused_with_the_range(
    call: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*call, f"--scale={text}", "--out", str(tmp_path / "run")]) == 2
    said = f"--scale: the scale is {text}. Give a number from 1e-9 to 4, such as 0.01 or 1/100."
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["4", "1e-9", "1/1000000000", " 0.5 ", "5E-1"])
def test_scales_within_the_range_are_read(text: str) -> None:
    assert 0 < parse_scale(text) <= 4


def test_a_plan_refuses_a_scale_without_a_user(tmp_path: Path) -> None:
    users = plan().users
    assert 12_000 < users < 20_000  # some of the year register after March
    plan(Fraction(1, users)).check(tmp_path / "run")
    with pytest.raises(RunError, match=f"calm has no user at the scale .* Give 1/{users} or more"):
        plan(Fraction(1, users + 1)).check(tmp_path / "run")
    for scale in (Fraction(10**400), Fraction(1, 10**400), Fraction(-1)):
        with pytest.raises(RunError, match=r"the scale is .* from 1e-9 to 4"):
            plan(scale).check(tmp_path / "run")


# What-if


@pytest.mark.parametrize("side", [BASE, OTHER])
def test_folders_that_are_not_used_are_not_looked_at(side: str, tmp_path: Path) -> None:
    (tmp_path / side).mkdir()
    (tmp_path / side / "mine").write_text("mine")
    asked().check(tmp_path)


@pytest.mark.parametrize("side", [BASE, OTHER])
def test_every_folder_that_is_used_is_looked_at_first(side: str, tmp_path: Path) -> None:
    last = run_folder(tmp_path, asked().seeds[-1], side)
    last.mkdir(parents=True)
    (last / "mine").write_text("mine")
    with pytest.raises(RunError, match=f"{last}: is not an empty folder"):
        asked().check(tmp_path)


def test_workers_of_a_what_if_are_at_least_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["twin", "what-if", "calm", "recession", "--out", str(tmp_path / "asked")]
    assert main([*words, "--workers", "0"]) == 2
    assert "--workers" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


def test_an_answer_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "what_if.csv").mkdir()
    with pytest.raises(WhatIfError, match=r"what_if.csv: cannot be written.*the runs stand"):
        write_files(WhatIfAnswer(asked(), []), tmp_path)


# Room, manifest, progress


def test_sizes_are_told_apart() -> None:
    assert readable_sizes(62_000_000, 1_000) == ["62.0 MB", "0.0 MB"]
    assert readable_sizes(3_200_000_000, 100_000_000) == ["3.2 GB", "0.1 GB"]
    assert readable_sizes(62_000_001, 62_000_000) == ["62,000,001 bytes", "62,000,000 bytes"]


def test_a_lack_of_room_is_said_in_a_unit_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = plan().bytes_needed
    usage = type("Usage", (), {"free": needed - 20_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    more, less = readable_sizes(needed, needed - 20_000_000)
    assert more.endswith("MB")
    with pytest.raises(DiskFull, match=f"needs about {more}, and {less} are free"):
        plan().check(tmp_path / "run")
    with pytest.raises(DiskFull, match=f"4 runs need about .* MB, and {less} are free"):
        asked().check(tmp_path / "pairs")


@pytest.mark.parametrize("name", ["run.json", "run/done", "run/parts"])
def test_a_run_without_its_manifest_is_told_apart(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(LostManifest, match=r"a run whose manifest.json is missing\. Put its"):
        plan().check(tmp_path)
    (tmp_path / name).rmdir()
    (tmp_path / "mine").mkdir()
    with pytest.raises(RunError, match="is not an empty folder"):
        plan().check(tmp_path)


def test_everything_that_stands_against_a_run_is_said_together(tmp_path: Path) -> None:
    wrong = replace(plan(Fraction(5)), first=FIRST + 1)
    with pytest.raises(Problems) as error:
        wrong.check(beneath_a_file(tmp_path))
    assert [each.where for each in error.value.errors] == [
        "--scale", "--from", str(tmp_path / "file"),
    ]  # fmt: skip


def test_no_time_left_is_told_while_kernels_are_compiled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    moments = iter([500.0, 501.0])  # the first tenth took 500 seconds, what follows one each
    shown = Shown(lambda: next(moments))
    for done in (0, 1, 9, 10, 11, 12):
        shown("serve", done, 100)
    lines = capsys.readouterr().err.split("\r\x1b[K")
    assert lines[-1] == "serve 12%, 1 min 28 s left"
    assert not any("left" in line for line in lines[:-1])


# Standard output and other files


WHOLE_MODULES = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Under a limit Python would keep halves of compiled modules, and others would read them."""


def limited() -> None:
    """No file may grow beyond the limit; a write says so instead of ending the process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


WRITES = """
import sys, typer
from types import ModuleType
from usance import cli

def write(as_json: bool = typer.Option(False, "--json")) -> None:
    typer.echo("begun")
    with open(sys.argv[1], "wb") as file:
        file.write(b"x" * 10**6)

module = ModuleType("usance_shed")
module.app = typer.Typer()
module.app.callback()(lambda: None)
module.app.command(name="write")(write)
sys.modules["usance_shed"] = module
cli.ROOMS["shed"] = ("usance_shed", "Where tools are.")
sys.exit(cli.main(["shed", "write", *sys.argv[2:]]))
"""
"""A command that writes a large file without saying where it failed."""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_file_that_cannot_be_written_is_not_standard_output(
    unbuffered: str, tmp_path: Path
) -> None:
    def told(*words: str) -> subprocess.CompletedProcess[str]:
        given = [sys.executable, "-c", WRITES, str(tmp_path / "large"), *words]
        env = {**os.environ, **WHOLE_MODULES, "PYTHONUNBUFFERED": unbuffered}
        return subprocess.run(
            given, text=True, capture_output=True, check=False, preexec_fn=limited, env=env
        )

    plain = told()
    assert plain.returncode == 2
    assert plain.stdout == "begun\n"
    assert plain.stderr == (
        "error: a file cannot be read or written: File too large. "
        "Raise the limit on the size of files and try again.\n"
    )
    as_json = told("--json")
    assert as_json.returncode == 2
    assert as_json.stderr == ""
    error = json.loads(as_json.stdout.removeprefix("begun\n"))["error"]
    assert (error["code"], error["where"]) == ("file", "")


def command(words: str, sent: str, unbuffered: str) -> subprocess.CompletedProcess[str]:
    """A call of `usance` whose output is sent somewhere."""
    code = f"import sys; from usance.cli import main; sys.exit(main({words.split()!r}))"
    given = ["/bin/sh", "-c", f'"$0" -c "$1" {sent}', sys.executable, code]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(given, text=True, capture_output=True, check=False, env=env)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", ["--version", "loan --help", "loan replay none.yaml --json", "loan nope --json"]
)
def test_standard_output_that_is_full_is_74(words: str, unbuffered: str) -> None:
    told = command(words, "> /dev/full", unbuffered)
    assert told.returncode == 74
    assert told.stderr.startswith("error: standard output: cannot be written: No space left")
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_error_that_is_full_changes_no_exit_code(unbuffered: str) -> None:
    assert command("loan nope", "2> /dev/full", unbuffered).returncode == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_limit_met_by_standard_output_is_its_own(unbuffered: str, tmp_path: Path) -> None:
    words = "loan schedule --principal 900 --rate 5% --instalments 1200 --disbursed-on 2024-01-15"
    code = f"import sys; from usance.cli import main; sys.exit(main({words.split()!r}))"
    env = {**os.environ, **WHOLE_MODULES, "PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "answer").open("w") as answer:
        told = subprocess.run(
            [sys.executable, "-c", code], text=True, stdout=answer, stderr=subprocess.PIPE,
            check=False, preexec_fn=limited, env=env,
        )  # fmt: skip
    assert told.returncode == 74
    assert "standard output: cannot be written: File too large" in told.stderr


def test_a_pipe_that_breaks_elsewhere_is_no_reader_who_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(_path: object) -> object:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(shutil, "disk_usage", breaks)
    assert main(["twin", "run", "calm", "--out", str(tmp_path / "run"), "--json"]) == 70
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usance.fault"
