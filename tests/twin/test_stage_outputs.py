"""A run cut off in the middle of a stage keeps the shards that were finished, and no others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.twin.runs import FIRST, digests, faulty, run_into
from usance.base.book import Book
from usance.base.errors import BookLocked, CorruptFile
from usance.base.manifest import MARK, mark_of
from usance.twin.errors import RunError
from usance.twin.run.engine import Local
from usance.twin.run.stage_output import PARTS, StageFolder, StageOutput, finished_outputs
from usance.twin.run.stages import ShardTask

pytestmark = pytest.mark.slow
BITS, SHARDS, LAST = 10, 4, FIRST + 1
CHILD = """
import sys
from pathlib import Path
from tests.twin.runs import faulty, run_into

def told(what, _done, _whole):
    print(what, flush=True)
    sys.stdin.readline()

run_into(Path(sys.argv[1]), faulty(), last={last}, shard_bits={bits}, progress=told)
"""
LIMITED = """
import resource, sys
sys.dont_write_bytecode = True
from pathlib import Path
from tests.twin.runs import faulty, run_into
from usance.twin.errors import DiskFull

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    run_into(Path(sys.argv[1]), faulty(), last={last}, shard_bits={bits})
except DiskFull as error:
    print(error)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("twin") / "whole"
    return run_into(folder, faulty(), last=LAST, shard_bits=BITS).book


def killed_at(folder: Path, what: str) -> None:
    """Run in another process until it says so, and end that by a signal nobody can catch."""
    code = CHILD.format(last=LAST, bits=BITS)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdin
        assert child.stdout
        for line in child.stdout:
            if line.startswith(what):
                break
            child.stdin.write("\n")
            child.stdin.flush()
        else:
            pytest.fail(f"the run never said {what}")
        child.kill()


def _one_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def again(folder: Path) -> Book:
    return run_into(folder, faulty(), last=LAST, shard_bits=BITS).book


def files(folder: Path) -> set[tuple[int, int]]:
    """Parquet files by inode and when they were written: the same only if never written again."""
    return {(file.stat().st_ino, file.stat().st_mtime_ns) for file in folder.rglob("*.parquet")}


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run killed while it served its second month, with two of four shards done."""
    folder = tmp_path_factory.mktemp("twin") / "run"
    killed_at(folder, "2023-02 serve, shard 2 of 4")
    return folder


@pytest.fixture
def cut(cut_off: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(cut_off, tmp_path / "run")
    return tmp_path / "run"


def test_shards_that_were_finished_are_not_made_again(whole: Book, cut: Path) -> None:
    parts = cut / PARTS / "2023-02-serve"
    assert {each.name for each in parts.iterdir()} == {"s0000", "s0001"}
    assert Book.open(cut).files("tape", month=FIRST + 1) == ()
    finished = files(parts)
    assert len(finished) > 6
    book = again(cut)
    assert digests(book) == digests(whole)
    assert finished <= files(cut / "tables")
    assert book.check() == []
    assert list((cut / PARTS).iterdir()) == []


def test_what_the_router_answered_is_not_asked_again(whole: Book, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    killed_at(folder, "2023-02 book, shard 1 of 4")
    parts = folder / PARTS / "2023-02-book"
    assert {each.name for each in parts.iterdir()} == {"s0000", "routed"}
    routed = parts / "routed" / "part.json"
    finished, before, seen = files(parts), routed.stat().st_ino, []

    def look(what: str, _done: int, _whole: int) -> None:
        if what.startswith("2023-02 book, shard"):
            seen.append(routed.stat().st_ino)

    book = run_into(folder, faulty(), last=LAST, shard_bits=BITS, progress=look).book
    assert seen == [before] * SHARDS
    assert digests(book) == digests(whole)
    assert finished <= files(folder / "tables")


def _shorter(part: Path) -> None:
    file = part / "tape.parquet"
    file.write_bytes(file.read_bytes()[:-1])


def _flipped(part: Path) -> None:
    content = bytearray((part / "shard").read_bytes())
    content[len(content) // 2] ^= 1
    (part / "shard").write_bytes(content)


def _lost(part: Path) -> None:
    (part / "sums").unlink()


def _half_said(part: Path) -> None:
    file = part / "part.json"
    file.write_text(file.read_text()[:100])


def _of_another_run(part: Path) -> None:
    _as_if(part, key="0" * 64)


def _of_another_book(part: Path) -> None:
    _as_if(part, after="0" * 64)


def _as_if(part: Path, **said: object) -> None:
    """A part that says so, and was written like this."""
    file = part / "part.json"
    content = json.loads(file.read_text()) | said
    del content[MARK]
    file.write_text(json.dumps({**content, MARK: mark_of(content)}))


def _miscounted(part: Path) -> None:
    file = part / "part.json"
    content = json.loads(file.read_text())
    content["figures"]["facts"] ^= 1
    file.write_text(json.dumps(content))


def _of_another_shard(part: Path) -> None:
    part.rename(part.with_name("s0002"))


HARMS = [
    _shorter, _flipped, _lost, _half_said, _miscounted, _of_another_run, _of_another_book,
    _of_another_shard,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_a_part_that_does_not_fit_is_none(cut: Path, harm: Callable[[Path], None]) -> None:
    folder = cut / PARTS / "2023-02-serve"
    told = json.loads((folder / "s0001" / "part.json").read_text())
    place = StageFolder(cut, FIRST + 1, "serve", told["key"], told["after"])
    assert finished_outputs(place).keys() == {"s0000", "s0001"}
    harm(folder / "s0001")
    assert finished_outputs(place).keys() == {"s0000"}
    assert [each.name for each in folder.iterdir()] == ["s0000"]


def test_a_part_that_does_not_fit_is_made_anew(whole: Book, cut: Path) -> None:
    parts = cut / PARTS / "2023-02-serve"
    unharmed, harmed = files(parts / "s0000"), files(parts / "s0001")
    _shorter(parts / "s0001")
    made = again(cut)
    assert digests(made) == digests(whole)
    assert made.check() == []
    published = files(cut / "tables")
    assert unharmed <= published
    assert not harmed & published


def test_a_kill_while_files_are_put_in_place_loses_no_part(whole: Book, cut: Path) -> None:
    part = cut / PARTS / "2023-02-serve" / "s0001"
    entry = json.loads((part / "part.json").read_text())["tables"]["tape"]
    place = cut / entry["path"]
    place.parent.mkdir(parents=True, exist_ok=True)
    moved = (part / "tape.parquet").rename(place).stat().st_ino
    made = again(cut)
    assert digests(made) == digests(whole)
    assert place.stat().st_ino == moved


@pytest.mark.parametrize("harm", [_one_bit, _cut_short, Path.unlink])
def test_a_damaged_file_of_any_table_stops_the_run_by_its_name(
    whole: Book, cut: Path, harm: Callable[[Path], None]
) -> None:
    book = Book.open(cut)
    manifest = (cut / "manifest.json").read_bytes()
    assert len(book.manifest.tables) > 8
    for entry in book.manifest.tables.values():
        file = cut / entry.files[-1].path
        content = file.read_bytes()
        harm(file)
        with pytest.raises(CorruptFile, match="another --out") as caught:
            again(cut)
        assert caught.value.where == str(file)
        file.write_bytes(content)
    assert (cut / "manifest.json").read_bytes() == manifest
    assert digests(again(cut)) == digests(whole)


def test_a_finished_run_with_a_damaged_file_is_not_taken_for_whole(
    whole: Book, tmp_path: Path
) -> None:
    shutil.copytree(whole.path, tmp_path / "run")
    assert digests(again(tmp_path / "run")) == digests(whole)
    file = tmp_path / "run" / whole.files("tape")[0].path
    _one_bit(file)
    with pytest.raises(CorruptFile, match=file.name):
        again(tmp_path / "run")


def test_one_process_at_a_time_also_between_stages(whole: Book, tmp_path: Path) -> None:
    refused = []

    def another(what: str, _done: int, _whole: int) -> None:
        if what != "done":
            with pytest.raises(BookLocked):
                again(tmp_path / "run")
            refused.append(what)

    made = run_into(tmp_path / "run", faulty(), last=LAST, shard_bits=BITS, progress=another)
    assert len(refused) > SHARDS
    assert digests(made.book) == digests(whole)


def test_a_full_disk_is_said_and_a_later_run_goes_on(whole: Book, tmp_path: Path) -> None:
    sizes = sorted(file.stat().st_size for file in (whole.path / "tables").rglob("*.parquet"))
    code = LIMITED.format(last=LAST, bits=BITS)
    given = [sys.executable, "-c", code, str(tmp_path / "run"), str(sizes[-1] - 1)]
    told = subprocess.run(given, cwd=ROOT, text=True, capture_output=True, check=True)
    assert "the disk is full. Make room, and run the same command again" in told.stdout
    assert Book.open(tmp_path / "run").check() == []
    assert digests(again(tmp_path / "run")) == digests(whole)


class Backwards(Local):
    """Gives the outputs in another order than asked."""

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        yield from list(super().outputs(task, numbers))[::-1]


class Shifted(Local):
    """Does the work of one shard for another."""

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        yield from super().outputs(task, [(number + 1) % SHARDS for number in numbers])


class Forgetful(Local):
    """Leaves the last shard out."""

    def outputs(self, task: ShardTask, numbers: Sequence[int]) -> Iterator[StageOutput]:
        yield from super().outputs(task, numbers[:-1])


@pytest.mark.parametrize("engine", [Backwards, Shifted, Forgetful])
def test_an_engine_that_mixes_shards_up_is_stopped(engine: type[Local], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the engine gave"):
        run_into(tmp_path / "run", faulty(), last=FIRST, shard_bits=BITS, engine=engine(1))
    assert Book.open(tmp_path / "run").manifest.tables == {}
