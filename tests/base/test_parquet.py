"""Files: what is written is read back, the same bytes each time, and a wrong file is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.base.rows import facts, tables
from usance.base.columns import make
from usance.base.errors import CorruptFile, DuplicateKey, SchemaError
from usance.base.parquet import ROW_GROUP, check_sha256, read_parquet, sha256_of, write_parquet
from usance.base.schemas import Table
from usance.base.tables import TABLES, table

FACTS = table("facts")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "facts.parquet"
    write_parquet(facts(), FACTS, path)
    return path


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
@settings(max_examples=5)
@given(data=st.data())
def test_read_is_what_was_written(
    spec: Table, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("files") / "a.parquet"
    rows = data.draw(tables(spec, max_size=5).filter(lambda rows: rows.num_rows))
    write_parquet(rows, spec, path)
    again = read_parquet(path, spec, rows=rows.num_rows)
    assert again.schema == rows.schema
    assert again.to_pydict().keys() == rows.to_pydict().keys()
    assert str(again.to_pydict()) == str(rows.to_pydict())  # as text, since NaN is not itself
    write_parquet(rows, spec, path.with_name("b.parquet"))
    assert path.read_bytes() == path.with_name("b.parquet").read_bytes()


def test_the_layout_is_that_of_the_contract(file: Path) -> None:
    meta = pq.read_metadata(file)
    assert meta.metadata[b"usance.schema"] == b"facts/1"
    group = meta.row_group(0)
    layout = {}
    for index in range(group.num_columns):
        column = group.column(index)
        layout[column.path_in_schema] = column
        assert column.compression == "ZSTD"
    for name in ("loan_id", "effective_on", "ref", "amount_minor", "arg", "booked_at"):
        assert "DELTA_BINARY_PACKED" in layout[name].encodings, name
    assert "RLE_DICTIONARY" in layout["kind"].encodings
    assert 2**18 <= ROW_GROUP <= 2**20


def test_some_columns_in_any_order(file: Path) -> None:
    some = read_parquet(file, FACTS, ["amount_minor", "loan_id"])
    assert set(some.column_names) == {"loan_id", "amount_minor"}
    with pytest.raises(SchemaError, match="no column 'amount'"):
        read_parquet(file, FACTS, ["amount"])


def test_unknown_columns_are_ignored_and_missing_optional_ones_filled(tmp_path: Path) -> None:
    users = make("users", user_id=[1], registered_on=[1], channel=[1], region=[1], kind=[0])
    longer = users.drop_columns(["client_ref"]).append_column("mood", pa.array(["good"]))
    pq.write_table(longer, tmp_path / "users.parquet")
    assert read_parquet(tmp_path / "users.parquet", table("users")).equals(users)


def test_the_writer_refuses_what_breaks_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    rows = facts()
    with pytest.raises(DuplicateKey, match="out of order"):
        write_parquet(rows.take([1, 0]), FACTS, path)
    with pytest.raises(DuplicateKey, match="repeats"):
        write_parquet(rows.take([0, 0]), FACTS, path)
    with pytest.raises(SchemaError, match="lacks arg"):
        write_parquet(rows.drop_columns(["arg"]), FACTS, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ({b"usance.schema": b"facts/2"}, "is facts/2"),
        ({b"usance.schema": b"loans/1"}, "is loans/1"),
        ({}, "not a file of a declared table"),
    ],
)
def test_unknown_schema_numbers_are_refused_by_name(
    tmp_path: Path, metadata: dict[bytes, bytes], what: str
) -> None:
    path = tmp_path / "facts.parquet"
    pq.write_table(facts().replace_schema_metadata(metadata), path)
    with pytest.raises(SchemaError, match=what) as caught:
        read_parquet(path, FACTS)
    assert caught.value.where == str(path)


def test_a_column_of_another_type_or_with_nulls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    wrong: dict[str, Any] = {
        "arg is double": pa.array([1.0, 2.0, 3.0]),
        "arg has 1 nulls": pa.array([1, None, 3]),
    }
    for what, column in wrong.items():
        changed = facts().set_column(5, pa.field("arg", column.type), column)
        pq.write_table(changed, path)
        with pytest.raises(SchemaError, match=what):
            read_parquet(path, FACTS)


def test_a_missing_file_and_a_wrong_count_of_rows(file: Path) -> None:
    with pytest.raises(CorruptFile, match="missing"):
        read_parquet(file.with_name("b.parquet"), FACTS)
    with pytest.raises(CorruptFile, match="missing"):
        sha256_of(file.with_name("b.parquet"))
    with pytest.raises(CorruptFile, match="has 3 rows instead of 4"):
        read_parquet(file, FACTS, rows=4)


def test_a_truncated_file_is_named_wherever_it_ends(file: Path) -> None:
    content = file.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        file.write_bytes(content[:length])
        with pytest.raises(CorruptFile, match="not a readable Parquet file") as caught:
            read_parquet(file, FACTS)
        assert caught.value.where == str(file)


@pytest.mark.slow
def test_no_edited_byte_changes_rows_unnoticed(file: Path) -> None:
    good, content, mark = facts(), file.read_bytes(), sha256_of(file)
    check_sha256(file, mark)
    noticed = 0
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        with pytest.raises(CorruptFile, match="has changed since"):
            check_sha256(file, mark)
        try:
            found = read_parquet(file, FACTS, rows=3)
        except (CorruptFile, SchemaError):
            noticed += 1
        else:
            assert found.equals(good), f"byte {place} changed rows"
    assert noticed > len(content) // 2
