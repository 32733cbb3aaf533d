"""Kernels: an edited callee gives the new answer, and the cache says why when it cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from usance.base import compiled
from usance.base.compiled import OWN_ROOT, available_cores, in_threads
from usance.base.kernel_cache import kept_kernel_sources, kernel_sources, package_root

CALLEE = """
{imports}
from parts.constants import BASE
@{decorator}
def callee(x):
    return {factor} * x + BASE
"""
CALLER = """
{imports}
from parts.callee import callee
@{decorator}
def caller(x):
    return callee(x) + 1
"""
OURS = ("from usance.base.compiled import kernel", "kernel")
PLAIN = ("import numba", "numba.njit(cache=True)")


def write_package(folder: Path, how: tuple[str, str], *, factor: int, base: int = 0) -> None:
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    (parts / "__init__.py").touch()
    (parts / "constants.py").write_text(f"BASE = {base}\n")
    values = {"imports": how[0], "decorator": how[1], "factor": factor}
    (parts / "callee.py").write_text(CALLEE.format(**values))
    (parts / "caller.py").write_text(CALLER.format(**values))


def run(folder: Path, code: str, **environment: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "numba"),
             "USANCE_CACHE": str(folder / "cache"), "PYTHONPATH": str(OWN_ROOT.parent),
             **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr.strip()


COMPILING = "usance: compiling kernels, kept for later runs …"
CALL = "from parts.caller import caller; print(caller(10))"


@pytest.mark.slow
def test_an_edited_callee_gives_the_new_answer(tmp_path: Path) -> None:
    write_package(tmp_path, OURS, factor=2)
    assert run(tmp_path, CALL) == ("21", COMPILING)
    kept = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert kept
    assert not (tmp_path / "numba").exists()
    assert run(tmp_path, CALL) == ("21", "")
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == kept  # read, not made again

    write_package(tmp_path, OURS, factor=3)
    assert run(tmp_path, CALL)[0] == "31"
    write_package(tmp_path, OURS, factor=3, base=500)
    assert run(tmp_path, CALL)[0] == "531"


@pytest.mark.slow
def test_plain_numba_would_give_the_old_answer(tmp_path: Path) -> None:
    write_package(tmp_path, PLAIN, factor=2)
    assert run(tmp_path, CALL)[0] == "21"
    write_package(tmp_path, PLAIN, factor=3)
    assert run(tmp_path, CALL)[0] == "21"  # wrong: this is what `kernel` is for


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_one_line_and_no_failure(tmp_path: Path) -> None:
    write_package(tmp_path, OURS, factor=2)
    (tmp_path / "file").touch()
    answer, said = run(tmp_path, CALL, USANCE_CACHE=str(tmp_path / "file"))
    assert answer == "21"
    assert said.count("\n") == 0
    assert said.startswith("usance: cannot keep compiled kernels")
    assert "USANCE_CACHE" in said


@pytest.mark.slow
def test_compiling_is_announced_whenever_it_happens_and_once(tmp_path: Path) -> None:
    write_package(tmp_path, OURS, factor=2)
    callee = "from parts.callee import callee; print(callee(10))"
    assert run(tmp_path, callee) == ("20", COMPILING)
    assert run(tmp_path, callee) == ("20", "")
    assert run(tmp_path, CALL) == ("21", COMPILING)  # one kernel is there, one is not
    assert run(tmp_path, CALL) == ("21", "")
    next((tmp_path / "cache").rglob("caller*.nbc")).unlink()  # stopped between two files
    assert run(tmp_path, CALL) == ("21", COMPILING)
    assert run(tmp_path, CALL) == ("21", "")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbc", ".nbi"])
@pytest.mark.parametrize("keep", [0, 20])
def test_a_damaged_cache_is_one_line_and_is_made_again(
    tmp_path: Path, suffix: str, keep: int
) -> None:
    write_package(tmp_path, OURS, factor=2)
    run(tmp_path, CALL)
    for file in (tmp_path / "cache").rglob(f"*{suffix}"):
        file.write_bytes(file.read_bytes()[:keep])
    answer, said = run(tmp_path, CALL)
    assert answer == "21"
    dropped, compiling = said.splitlines()
    assert dropped.startswith("usance: dropping damaged compiled kernels (")
    assert compiling == COMPILING
    assert run(tmp_path, CALL) == ("21", "")


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_no_failure(tmp_path: Path) -> None:
    write_package(tmp_path, OURS, factor=2)
    full = (
        "from numba.core.caching import IndexDataCacheFile\n"
        "def save(*_): raise OSError(28, 'No space left on device')\n"
        "IndexDataCacheFile._save_{} = save\n"
    )
    for part in ("index", "data"):
        answer, said = run(tmp_path, full.format(part) + CALL)
        assert answer == "21"
        compiling, full_disk = said.splitlines()
        assert compiling == COMPILING
        assert full_disk.startswith("usance: cannot keep compiled kernels (OSError: [Errno 28] No")
    assert run(tmp_path, CALL) == ("21", COMPILING)
    assert run(tmp_path, CALL) == ("21", "")


def test_a_cache_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USANCE_CACHE", str(tmp_path / "cache"))
    said: list[str] = []
    monkeypatch.setattr("usance.base.compiled.say_not_kept", said.append)
    usable = compiled._usable_folder.__wrapped__
    old = os.umask(0o002)
    try:
        folder = usable(tmp_path)
    finally:
        os.umask(old)
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    for place in (folder, folder.parent):
        for mode in (0o770, 0o707):
            place.chmod(mode)
            assert usable(tmp_path) is None
            assert said.pop() == f"other users can write to {place}"
        place.chmod(0o755)
        assert usable(tmp_path) == folder
    monkeypatch.setattr("os.getuid", lambda: folder.stat().st_uid + 1)
    assert usable(tmp_path) is None
    assert said == [f"{folder.parent} belongs to another user"]


@pytest.mark.slow
def test_numbas_own_setting_is_left_as_it_was(tmp_path: Path) -> None:
    code = (
        "import numba; numba.config.CACHE_DIR = 'mine'\n"
        "import usance.base.draws_kernel; print(numba.config.CACHE_DIR)\n"
    )
    assert run(tmp_path, code) == ("mine", "")


def test_sources_are_kernels_and_all_they_import(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "kernels.py": "from parts.near import A\nfrom parts import helper\n@kernel\ndef f(): ...",
        "near.py": "import parts.far.away\nimport os",
        "far/__init__.py": "",
        "far/away.py": "from ..helper import B\nfrom .beside import C",
        "far/beside.py": "C = 1",
        "helper.py": "B = 1",
        "unrelated.py": "D = 1",
    }
    root = tmp_path / "parts"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    found = {name.decode() for name, _ in kernel_sources(root)}
    assert found == files.keys() - {"unrelated.py", "far/__init__.py"}


def test_kept_sources_follow_every_change_and_damage(tmp_path: Path) -> None:
    write_package(tmp_path, OURS, factor=2)
    root, home = tmp_path / "parts", tmp_path / "home"
    home.mkdir(mode=0o700)
    first = kept_kernel_sources(root, home)
    assert first == kernel_sources(root)
    assert kept_kernel_sources(root, home) == first
    (kept,) = home.glob("*.sources")
    whole = kept.read_text()
    kept.write_text(whole.replace("parts.py\n", "").replace("callee.py", "gone.py"))
    assert kept_kernel_sources(root, home) == first
    kept.write_text(whole[: len(whole) // 2])  # cut short: the last line is missing
    assert kept_kernel_sources(root, home) == first
    (root / "caller.py").write_text((root / "caller.py").read_text() + "import parts.more\n")
    (root / "more.py").write_text("M = 1\n")
    assert {name for name, _ in kept_kernel_sources(root, home)} == {
        b"callee.py", b"caller.py", b"constants.py", b"more.py"
    }  # fmt: skip
    home.chmod(0o770)  # others could have written it
    kept.write_text("callee.py\nend of list")
    assert kept_kernel_sources(root, home) == kernel_sources(root)


def test_the_root_of_a_package(tmp_path: Path) -> None:
    assert package_root(tmp_path / "a" / "b" / "c.py", "a.b.c") == tmp_path / "a"
    assert package_root(tmp_path / "a" / "b" / "__init__.py", "a.b") == tmp_path / "a"
    assert package_root(tmp_path / "c.py", "c") == tmp_path / "c.py"
    (tmp_path / "c.py").write_text("x = 1")
    assert kernel_sources(tmp_path / "c.py") == [(b"c.py", b"x = 1")]


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_threads_cover_every_row_once_and_in_order(workers: int | None) -> None:
    def piece(start: int, stop: int) -> list[int]:
        return list(range(start, stop))

    for rows in (0, 1, 7, 8, 100):
        pieces = in_threads(piece, rows, workers, chunk=8)
        assert [row for part in pieces for row in part] == list(range(rows))


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(start: int, _stop: int) -> int:
        if start == 8:
            raise ArithmeticError("piece two")
        return start

    with pytest.raises(ArithmeticError, match="piece two"):
        in_threads(fail, 100, 2, chunk=4)


def test_cores_are_those_the_process_may_use() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
