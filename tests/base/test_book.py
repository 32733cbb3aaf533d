"""A book: only what the manifest names exists, at every moment, whatever fails."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from tests.base.rows import facts
from usance.base.book import Book
from usance.base.codes import code_lists
from usance.base.columns import make
from usance.base.digest import digest
from usance.base.errors import (
    BookLocked,
    CodeError,
    CorruptFile,
    DateError,
    DocumentError,
    DuplicateKey,
    Problems,
    SchemaError,
)
from usance.base.parquet import sha256_of, write_parquet
from usance.base.schemas import Table
from usance.base.tables import table

FACTS = table("facts")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    made = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    with made.writing() as step:
        step.add("facts", facts(16385), month=653)
        step.add("facts", facts(32769), month=654)
    return made


def test_what_was_published_is_read_by_another(book: Book) -> None:
    again = Book.open(book.path)
    assert again.manifest == book.manifest
    rows = again.read("facts")
    assert rows.num_rows == again.rows("facts") == 6
    assert digest(rows, FACTS) == again.digest("facts")
    assert again.read("facts", month=654).equals(facts(32769))
    assert again.read("facts", shard=1).num_rows == 0
    assert again.check() == []


def test_files_are_where_the_contract_says(book: Book) -> None:
    for file, month in zip(book.files("facts"), ("2024-06", "2024-07"), strict=True):
        assert file.path == f"tables/facts/{month}/s0000-{file.sha256[:12]}.parquet"
        content = (book.path / file.path).read_bytes()
        assert sha256(content).hexdigest() == file.sha256
    first = book.files("facts")[0]
    assert (first.rows, first.first, first.last) == (
        3,
        (16385, 19722, 0, 1),
        (16385, 19782, 4, 3),
    )
    assert {each.name for each in book.path.iterdir()} == {"manifest.json", "tables", "lock"}


def test_the_manifest_says_what_the_book_is(book: Book) -> None:
    content = json.loads((book.path / "manifest.json").read_bytes())
    assert (content["format"], content["version"]) == ("usance-book", 1)
    assert (content["currency"], content["time_zone"]) == ("CNY", "Asia/Shanghai")
    assert content["codes"] == code_lists()
    assert content["tables"]["facts"]["digest"] == str(book.digest("facts"))


def test_each_manifest_carries_the_hash_of_the_one_before(book: Book) -> None:
    before = (book.path / "manifest.json").read_bytes()
    with book.writing() as step:
        step.period("2024-06", "closed", 1)
        mark = step.use("pricing.rate_cap", b"24%")
    assert book.manifest.previous == sha256(before).hexdigest()
    assert Book.open(book.path).manifest.periods["2024-06"].close_no == 1
    assert book.manifest.versions == {"pricing.rate_cap": mark}
    assert (book.path / "inputs" / mark).read_bytes() == b"24%"


def test_digests_do_not_depend_on_files_or_order(book: Book, tmp_path: Path) -> None:
    other = Book.create(tmp_path / "other", currency="CNY", time_zone="Asia/Shanghai")
    with other.writing() as step:
        for loan in (32769, 16385):
            rows = facts(loan)
            step.add("facts", rows.slice(0, 1), month=655)
            step.add("facts", rows.slice(1), month=656, shard=7)
    assert other.digest("facts") == book.digest("facts")
    assert other.read("facts").equals(book.read("facts"))


def test_a_table_can_take_the_place_of_the_one_before(book: Book) -> None:
    with book.writing() as step:
        step.add("facts", facts(49153), month=654, instead=True)
    loans = set(book.read("facts", ["loan_id"]).column("loan_id").to_pylist())
    assert loans == {16385, 49153}
    assert book.read("facts", ["loan_id"]).column_names == ["loan_id"]


def test_a_wide_subledger_keeps_its_amounts(book: Book) -> None:
    wide = table("subledger").with_amounts(["disbursed"])
    rows = make(wide, close_no=[1], loan_id=[16385], disbursed=[900000])
    with book.writing() as step:
        step.add(wide, rows)
    assert book.read(wide).column("disbursed").to_pylist() == [900000]


def test_an_empty_file_and_an_absent_table(book: Book) -> None:
    with book.writing() as step:
        step.add("facts", facts().slice(0, 0), month=655)
    assert book.rows("facts") == 6
    assert book.read("loans").num_rows == 0
    assert book.read("loans", ["rate_ppm"]).column_names == ["rate_ppm"]
    assert book.rows("loans") == 0


def test_a_step_that_fails_leaves_nothing(book: Book) -> None:
    before = book.digest("facts")
    with pytest.raises(Problems), book.writing() as step:  # noqa: PT012
        step.add("facts", facts(49153), month=655)
        step.add("shares", facts())
    assert Book.open(book.path).digest("facts") == before
    assert not (book.path / "tmp").exists()
    assert len(list(book.path.rglob("*.parquet"))) == 2


def test_rows_published_twice_are_refused(book: Book) -> None:
    with pytest.raises(DuplicateKey, match="published before"), book.writing() as step:
        step.add("facts", facts(16385), month=653)


def test_a_key_of_another_file_is_refused_by_both_names(book: Book) -> None:
    first = book.files("facts")[0].path
    with pytest.raises(DuplicateKey) as caught, book.writing() as step:
        step.add("facts", facts(16385, 2), month=655)
    assert caught.value.where.startswith("tables/facts/2024-08/s0000-")
    assert first in caught.value.what
    assert "loan_id 16385, effective_on 2023-12-31, kind 0, ref 1" in caught.value.what
    assert Book.open(book.path).rows("facts") == book.read("facts").num_rows == 6


def test_files_of_one_step_are_compared_and_replaced_ones_are_not(book: Book) -> None:
    with pytest.raises(DuplicateKey, match="s0001"), book.writing() as step:  # noqa: PT012
        step.add("facts", facts(49153), month=655, shard=1)
        step.add("facts", facts(49153), month=655, shard=2)
    with book.writing() as step:
        step.add("facts", facts(16385, 2), month=653, instead=True)
    assert book.rows("facts") == 5


def test_overlapping_ranges_without_a_common_key_are_no_repeat(book: Book) -> None:
    later = make("facts", loan_id=[16385, 32769], effective_on=[19723, 19723], kind=[4, 4],
                 ref=[1, 1], amount_minor=[1, 1], arg=[0, 0], booked_at=[1, 1])  # fmt: skip
    with book.writing() as step:
        step.add("facts", later, month=655)
    assert book.read("facts").num_rows == 8
    assert book.check() == []


@pytest.mark.parametrize(("name", "months"), [("shares", (654, 655)), ("tape", (654, 654))])
@pytest.mark.parametrize(("rows", "extra"), [(10, 0), (40_000, 0), (10, 1), (40_000, 1)])
def test_ids_of_two_files_that_lie_between_each_other(
    book: Book, name: str, months: tuple[int, int], rows: int, extra: int
) -> None:
    """Even ids, then odd ones: no repeat, unless one of the odd ones is even.

    In a tape the month is one value in both files, so the loans are what tells them apart.
    """
    made = {"shares": shares, "tape": tape}[name]
    even = np.arange(rows, dtype=np.int64) * 2 + 16_384
    odd = even + 1
    odd[-1] -= extra
    with book.writing() as step:
        step.add(name, made(even), month=months[0])
    if not extra:
        with book.writing() as step:
            step.add(name, made(odd), month=months[1])
        assert book.check() == []
        return
    with pytest.raises(DuplicateKey, match=f"loan_id {even[-1]}"), book.writing() as step:
        step.add(name, made(odd), month=months[1])


def tape(ids: NDArray[np.int64]) -> pa.Table:
    ones = np.ones(len(ids), np.int64)
    columns = dict.fromkeys(table("tape").names, ones)
    return make("tape", **{**columns, "month": ones + 653, "loan_id": ids})


def shares(ids: NDArray[np.int64]) -> pa.Table:
    return make("shares", loan_id=ids, source=np.ones(len(ids)).astype(int), principal_minor=ids)


def test_only_row_groups_that_meet_in_every_key_column_are_read(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = make("facts", loan_id=[16385, 32769], effective_on=[19999, 19999], kind=[4, 4],
                 ref=[1, 1], amount_minor=[1, 1], arg=[0, 0], booked_at=[1, 1])  # fmt: skip
    read: list[list[int]] = []
    real = pq.ParquetFile.read_row_groups

    def noted(file: Any, groups: list[int], **named: Any) -> pa.Table:
        read.append(groups)
        return real(file, groups, **named)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    with book.writing() as step:
        step.add("facts", later, month=655)
    assert read == []
    assert book.check() == []


def test_a_check_finds_keys_that_two_files_share(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("usance.base.book_step.may_share", lambda *_: False)  # as books before had it
        with book.writing() as step:
            step.add("facts", facts(16385, 2), month=655)
    (finding,) = book.check()
    assert isinstance(finding, DuplicateKey)
    assert finding.where == book.files("facts")[2].path
    assert book.files("facts")[0].path in finding.what
    with pytest.raises(DuplicateKey, match="repeats the key") as caught:
        book.read("facts")
    assert caught.value.where == str(book.path / "tables" / "facts")


def test_text_keys_shared_by_files(book: Book) -> None:
    def figure(period: str) -> pa.Table:
        return make("metrics", metric=["day_1"], version=[1], series=["as_reported"],
                    period=[period], dimensions=[""], numerator=[1], denominator=[1], unit=["%"],
                    value=[1.0], snapshot=["s"])  # fmt: skip

    with book.writing() as step:
        step.add("metrics", figure("2024Q1"), month=653)
        step.add("metrics", figure("2024Q2"), month=654)
    with pytest.raises(DuplicateKey, match="period 2024Q2"), book.writing() as step:
        step.add("metrics", figure("2024Q2"), month=655)


def test_bad_steps_are_refused(book: Book) -> None:
    with pytest.raises(CodeError, match="unknown table"), book.writing() as step:
        step.add("fact", facts())
    with pytest.raises(Problems, match="lacks principal_minor"), book.writing() as step:
        step.add("loans", facts())
    with pytest.raises(CodeError, match="unknown period state 'shut'"), book.writing() as step:
        step.period("2024-06", "shut", 1)
    with pytest.raises(DateError, match="not a month"), book.writing() as step:
        step.period("2024-6", "closed", 1)


def test_where_there_is_no_book(tmp_path: Path, book: Book) -> None:
    with pytest.raises(DocumentError, match=r"no manifest\.json"):
        Book.open(tmp_path / "nowhere")
    with pytest.raises(DocumentError, match="not an empty folder"):
        Book.create(book.path, currency="CNY", time_zone="Asia/Shanghai")
    with pytest.raises(CodeError, match="unknown currency 'RMB'"):
        Book.create(tmp_path / "new", currency="RMB", time_zone="Asia/Shanghai")
    for zone in ("Mars/Olympus", "", "../etc/passwd", "Asia"):
        with pytest.raises(CodeError, match="unknown time zone"):
            Book.create(tmp_path / "new", currency="CNY", time_zone=zone)
    assert not (tmp_path / "new").exists()


def test_a_book_that_was_only_begun_is_none(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "manifest.json.new").write_text("{")
    made = Book.create(tmp_path / "new", currency="CNY", time_zone="Asia/Shanghai")
    assert {each.name for each in made.path.iterdir()} == {"lock", "manifest.json"}
    with pytest.raises(DocumentError, match="not an empty folder"):
        Book.create(tmp_path / "new", currency="CNY", time_zone="Asia/Shanghai")


# --- wrong files -------------------------------------------------------------------------------


def test_a_truncated_edited_or_missing_file_is_named(book: Book) -> None:
    first, second = (book.path / file.path for file in book.files("facts"))
    content = first.read_bytes()
    first.write_bytes(content[:-10])
    with pytest.raises(CorruptFile) as caught:
        book.read("facts")
    assert caught.value.where == str(first)
    first.write_bytes(content[:50] + b"!" + content[51:])
    second.unlink()
    findings = book.check()
    assert [finding.where for finding in findings] == [str(first), str(second)]
    assert "has changed" in findings[0].what
    assert "missing" in findings[1].what


def test_inputs_and_what_closes_said_are_checked_too(book: Book) -> None:
    with book.writing() as step:
        used = book.path / "inputs" / step.use("policies/losses.yaml", b"a: 1")
        step.keep("closes/2024-06.1/controls.json", b"{}")
        step.keep("checkpoint/0/s0000", b"takes turns")
        step.keep("run/done/2023-01-open.json", b"1")
    assert book.check() == []
    kept = book.path / "closes" / "2024-06.1" / "controls.json"
    done = book.path / "run" / "done" / "2023-01-open.json"
    used.write_bytes(b"a: 2")
    kept.unlink()
    done.write_bytes(b"2")
    (book.path / "checkpoint" / "0" / "s0000").write_bytes(b"of a step that was cut off")
    found = {finding.where for finding in book.check()}
    assert found == {str(used), str(kept), str(done)}


def test_a_file_swapped_for_another_is_noticed_by_its_rows(book: Book) -> None:
    with book.writing() as step:
        step.add("facts", facts(65537, 2), month=655)
    paths = [book.path / file.path for file in book.files("facts")]
    paths[0].write_bytes(paths[2].read_bytes())
    with pytest.raises(CorruptFile, match="has changed"):
        book.read("facts", month=653)
    with pytest.raises(CorruptFile, match="has 2 rows instead of 3"):
        book.read("facts", month=653, verify=False)


@pytest.mark.parametrize("columns", [[], ["amount_minor"], ["loan_id"]])
def test_a_file_rewritten_with_other_amounts_is_not_read(book: Book, columns: list[str]) -> None:
    book.read("facts", columns)  # its hash is now known to this process
    path = book.path / book.files("facts")[0].path
    before = path.stat()
    rows = pq.read_table(path)
    place = rows.column_names.index("amount_minor")
    more = pc.add(rows.column(place), 1)
    pq.write_table(rows.set_column(place, rows.schema.field(place), more), path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CorruptFile, match="has changed since it was published") as caught:
        book.read("facts", columns)
    assert caught.value.where == str(path)
    assert book.read("facts", columns, verify=False).num_rows == 6


def test_a_file_is_hashed_once_a_process(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []

    def noted(path: Path) -> str:
        hashed.append(path)
        return sha256_of(path)

    monkeypatch.setattr("usance.base.parquet.sha256_of", noted)
    book.read("facts")
    assert hashed == []  # this process wrote them
    paths = sorted(book.path / file.path for file in book.files("facts"))
    for path in paths:
        path.touch()
    for _ in range(3):
        book.read("facts")
        book.read("facts", ["amount_minor"])
    assert sorted(hashed) == paths


def edited(book: Book, change: Callable[[dict[str, Any]], object]) -> CorruptFile:
    file = book.path / "manifest.json"
    content = json.loads(file.read_bytes())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(CorruptFile) as caught:
        Book.open(book.path)
    assert caught.value.where == str(file)
    return caught.value


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda m: m.pop("currency"), "currency"),
        (lambda m: m.update(format="zip"), "has the format 'zip'"),
        (lambda m: m.update(version=2), "unknown version 2"),
        (lambda m: m["tables"]["facts"]["files"].pop(), "digest for facts"),
        (lambda m: m["tables"]["facts"]["files"][0].update(path="../x"), "inside the book"),
        (lambda m: m["tables"]["facts"]["files"][0].update(colour="red"), "colour"),
        (lambda m: m["tables"]["facts"]["files"][0].update(digest="x"), "lacks or misspells"),
        (lambda m: m["codes"]["kind"].update(paid=5), "numbers kind paid 5"),
        (lambda m: m["periods"].update({"2024-06": {"state": "shut", "close_no": 1}}), "'shut'"),
    ],
)
def test_an_edited_manifest_is_noticed(
    book: Book, change: Callable[[dict[str, Any]], object], what: str
) -> None:
    assert what in edited(book, change).what


@pytest.mark.parametrize(
    ("old", "new"),
    [('"month": 653', '"month": 652'), ('"facts": {', '"fac|s": {'), ("Shanghai", "Shanghci"),
     ('"sha256": "', '"sha256": "0')],
)  # fmt: skip
def test_a_manifest_with_another_letter_is_none(book: Book, old: str, new: str) -> None:
    file = book.path / "manifest.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(CorruptFile, match="has changed since it was written") as caught:
        Book.open(book.path)
    assert caught.value.where == str(file)


def test_a_manifest_that_is_no_json(book: Book) -> None:
    for content in (b"{", b"\xff", b"[]", b""):
        (book.path / "manifest.json").write_bytes(content)
        with pytest.raises(CorruptFile):
            Book.open(book.path)


def test_an_unknown_schema_number_is_refused_by_name(book: Book) -> None:
    newer = Table("facts", 2, FACTS.doc, FACTS.columns)
    with pytest.raises(SchemaError, match="facts has the schema number 1"):
        book.read(newer)


# --- crashes -----------------------------------------------------------------------------------


class PowerCut(BaseException):
    """Ends a step without any error handling of the program's own."""


class Breaker:
    """Counts the steps that touch the disk and fails at a chosen one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int, error: BaseException) -> None:
        self.count, self.fail_at, self.error = 0, fail_at, error
        for name in ("fsync", "rename", "mkdir"):
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))
        monkeypatch.setattr("usance.base.book_step.write_parquet", self.wrap(write_parquet))

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            if self.count == self.fail_at:
                raise self.error
            return real(*arguments, **named)

        return call


def two_files(book: Book) -> None:
    with book.writing() as step:
        step.add("facts", facts(49153), month=655)
        step.add("refs", pa.table({"loan_id": [16385], "loan_ref": ["A-1"]}))
        step.use("rules", b"rules")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), PowerCut()], ids=["full", "cut"]
)
def test_a_crash_at_any_step_leaves_the_old_book_or_the_new(
    book: Book, error: BaseException
) -> None:
    old = (book.path / "manifest.json").read_bytes()
    old_digest = book.digest("facts")
    for fail_at in range(1, 100):
        with pytest.MonkeyPatch.context() as patch:
            breaker = Breaker(patch, fail_at, error)
            try:
                two_files(Book.open(book.path))
            except (OSError, PowerCut):
                pass
            else:
                break
        found = Book.open(book.path)
        assert found.check() == []
        if (book.path / "manifest.json").read_bytes() != old:
            # Only the very last act, making the finished rename durable, can fail this late.
            assert found.rows("facts") == 9
            break
        assert found.digest("facts") == old_digest == digest(found.read("facts"), FACTS)
        assert found.rows("refs") == 0
    assert fail_at == breaker.count > 10
    assert Book.open(book.path).read("refs").num_rows == 1


def test_the_next_step_after_a_crash_succeeds(book: Book) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Breaker(patch, 9, PowerCut())
        with pytest.raises(PowerCut):
            two_files(book)
    (book.path / "tmp").mkdir(exist_ok=True)
    (book.path / "tmp" / "left over").touch()
    (book.path / "manifest.json.new").write_text("half")
    two_files(book)
    assert Book.open(book.path).rows("facts") == 9
    assert not (book.path / "tmp").exists()


# --- two writers -------------------------------------------------------------------------------


def nested_writes(book: Book) -> None:
    other = Book.open(book.path)
    with book.writing() as outer:
        with other.writing() as inner:
            inner.add("facts", facts(49153), month=655)
        outer.add("facts", facts(65537), month=656)


@contextmanager
def no_lock(_path: Path) -> Iterator[None]:
    yield


def test_without_the_lock_a_writer_loses_rows(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("usance.base.book.lock", no_lock)
    with pytest.raises(FileNotFoundError):  # each clears the other's temporary files
        nested_writes(book)


def test_with_the_lock_the_second_writer_waits_its_turn(book: Book) -> None:
    with pytest.raises(BookLocked):
        nested_writes(book)
    assert Book.open(book.path).rows("facts") == 6


def test_a_step_within_a_step_of_the_same_book_is_refused(book: Book) -> None:
    def nested() -> None:
        with book.writing() as step:
            step.add("facts", facts(49153), month=655)
            with book.writing():
                pytest.fail("it would clear the files of the first")

    with pytest.raises(BookLocked, match="a step is being written"):
        nested()
    with pytest.raises(BookLocked, match="a step is being written"), book.held():
        nested()
    with book.writing() as step:
        step.add("facts", facts(49153), month=655)
    assert Book.open(book.path).rows("facts") == 9


def test_a_book_that_is_held_has_one_writer_also_between_steps(book: Book) -> None:
    early = Book.open(book.path)
    with early.held():
        for number in (49153, 65537):
            with early.writing() as step:
                step.add("facts", facts(number), month=655)
            with pytest.raises(BookLocked), book.writing():
                pass
    with book.writing() as step:
        step.add("facts", facts(81921), month=656)
    assert Book.open(book.path).rows("facts") == 15


def test_a_book_opened_before_another_wrote_adds_to_what_is_there(book: Book) -> None:
    early = Book.open(book.path)
    two_files(book)
    with early.writing() as step:
        step.add("facts", facts(65537), month=656)
    assert Book.open(book.path).rows("facts") == 12
