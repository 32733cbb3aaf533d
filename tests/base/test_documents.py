"""People's files: exact values in, and each way a file can be wrong by file and line."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from usance.base import documents
from usance.base.document_places import document_places
from usance.base.documents import (
    compose_yaml,
    parse_json,
    parse_yaml,
    read_csv,
    read_document,
    read_text,
)
from usance.base.errors import DocumentError, UsanceError
from usance.base.fields import Fields, day, whole

# Control characters and line separators are folded or refused by YAML.
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Co", "Cn", "Zl", "Zp"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Decimal("0.1")),
        ("-12.50", Decimal("-12.50")),
        ("1e3", Decimal("1e3")),
        ("007", 7),
        ("18%", "18%"),
        ("no", "no"),
        ("NO", "NO"),
        ("22:00", "22:00"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("~", None),
        ("true", True),
        ("2024-06-30", date(2024, 6, 30)),
        ("'2024-06-30'", "2024-06-30"),
        ("2024-06-30T08:00:00Z", "2024-06-30T08:00:00Z"),
        ('"0.1"', "0.1"),
        ("<<", "<<"),
        ("|\n  12\n", "12\n"),
    ],
)
def test_yaml_scalars(text: str, value: Any) -> None:
    found = parse_yaml(f"key: {text}")["key"]
    assert found == value
    assert type(found) is type(value)


@given(PLAIN)
def test_json_is_yaml(value: Any) -> None:
    assert parse_yaml(json.dumps(value, ensure_ascii=False)) == value


@given(PLAIN)
def test_what_json_writes_is_read_back(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


def test_json_decimals_are_exact() -> None:
    found = parse_json("[0.1, 1e-7, 12345678901234567890.123]")
    assert found == [Decimal("0.1"), Decimal("1e-7"), Decimal("12345678901234567890.123")]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: .nan", 2, "not a number"),
        ("a: 1\nb: -.inf", 2, "not a number"),
        ("a: 1\nb:\n  c: 1\n  c: 2", 4, "'c' is there twice"),
        ("a: 1\na: 1", 2, "'a' is there twice"),
        ("a: [1\nb: 2", 2, "expected"),
        ("a:\n\t- 1", 2, "cannot start any token"),
        ("a: &x [1]\nb: *x", 1, "alias"),
        ("a: &x [*x]", 1, "alias"),
        ("a: !!python/name:os.system x", 1, "tag"),
        ("a: 1\nb: !!set {x}", 2, "tag"),
        ("a: !!timestamp 2024-06-30", 1, "tag"),
        ("? [1, 2]\n: 3", 1, "key is a list"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: 1e99999999999999999999", 1, "Invalid"),
        ("a: " + "9" * 5000, 1, "limit"),
    ],
)
def test_wrong_yaml_names_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(DocumentError, match=what) as caught:
        parse_yaml(text, where="terms.yaml")
    assert caught.value.where == f"terms.yaml line {line}"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ('{"a": 1,\n "b": }', "terms.json line 2", "Expecting value"),
        ('{"a": 1,\n "a": 2}', "terms.json line 2", "'a' is there twice"),
        ('[{"a": "a"}, {"a": {"b": "{a\\"",\n "c": 1,\n "b": 2}}]', "terms.json line 3", "'b' is"),
        ('{"a": 1, "b": [],\n "a": {"c": 1,\n "c": 2}}', "terms.json line 2", "'a' is there"),
        ('{"a":\n NaN}', "terms.json line 2", "NaN is not a number"),
        ('["NaN", "\\"Infinity",\n\n -Infinity]', "terms.json line 3", "-Infinity is not a number"),
        ('{"a": 1e99999999999999999999}', "terms.json", "Invalid"),
        ('{"a": ' + "9" * 5000 + "}", "terms.json", "limit"),
        ("[" * 100_000, "terms.json", "nested too deeply"),
    ],
)
def test_wrong_json(text: str, where: str, what: str) -> None:
    with pytest.raises(DocumentError, match=what) as caught:
        parse_json(text, where="terms.json")
    assert caught.value.where == where


PIECES = st.lists(
    st.sampled_from(
        ["a", "b: ", "- ", "\n", "  ", "'x'", '"y"', "[", "]", "{", "}", ", ", "# c\n", "&n ",
         "*n", "| \n", ">-\n", "1.5", "2024-06-30", "!!str ", "\t", "é", "---\n", "\\"]
    ),
    max_size=14,
)  # fmt: skip


@given(PIECES.map("".join))
def test_the_fast_reader_agrees_with_the_plain_one(text: str) -> None:
    def nodes(node: yaml.Node | None) -> Any:
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            return node.tag, node.value, bool(node.style), node.value and node.start_mark.line
        return node.tag, node.start_mark.line, [
            list(map(nodes, each)) if isinstance(each, tuple) else nodes(each)
            for each in node.value
        ]  # fmt: skip

    try:
        plain = nodes(yaml.compose(text, Loader=documents._Loader))
    except yaml.YAMLError as error:
        plain = str(error)
    try:
        found = nodes(compose_yaml(text))
    except yaml.YAMLError as error:
        found = str(error)
    assert found == plain


def test_deep_yaml_and_forbidden_characters() -> None:
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse_yaml("[" * 5000 + "]" * 5000)
    with pytest.raises(DocumentError, match="special characters"):
        parse_yaml("a: \x07")


def test_a_date_that_does_not_exist_is_named_with_its_key_beside_other_problems() -> None:
    text = "on: 2024-02-30\namount: lots\nkind: paid"
    found: list[UsanceError] = []
    fields = Fields(parse_yaml(text), document_places("loan.yaml", lambda: text), found)
    fields.need("on", day)
    fields.need("amount", whole)
    fields.close()
    assert [error.where for error in found] == [
        "loan.yaml line 1, on",
        "loan.yaml line 2, amount",
        "loan.yaml line 3, kind",
    ]
    assert found[0].what == "2024-02-30 does not exist"


def test_an_empty_yaml_is_none() -> None:
    assert parse_yaml("# only a comment") is None


def test_each_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    def refusal(name: str) -> str:
        with pytest.raises(DocumentError) as caught:
            read_document(tmp_path / name)
        assert str(tmp_path / name) in caught.value.where
        return caught.value.what

    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "empty.yaml").write_text(" \n")
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: caf\xe9\n")
    (tmp_path / "terms.toml").write_text("a = 1")
    assert refusal("missing.yaml") == "no such file"
    assert refusal("folder.yaml") == "is a folder"
    assert refusal("empty.yaml") == "the file is empty"
    assert refusal("latin.yaml") == "line 2 is not UTF-8"
    assert refusal("terms.toml") == "cannot read a file that ends in '.toml'"
    (tmp_path / "file").touch()
    assert refusal("file/terms.yaml").startswith("cannot be read")


def test_documents_by_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"\xef\xbb\xbfrate: 0.1")
    (tmp_path / "a.json").write_text('{"rate": 0.1}')
    assert read_document(tmp_path / "a.yml") == read_document(str(tmp_path / "a.json"))
    assert read_text(tmp_path / "a.yml") == "rate: 0.1"


def test_csv_rows_come_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_text('day,amount\n2024-01-31,"1,5"\n\n2024-02-29,NaN\n')
    assert list(read_csv(file)) == [
        (2, {"day": "2024-01-31", "amount": "1,5"}),
        (4, {"day": "2024-02-29", "amount": "NaN"}),
    ]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a,b\n1,2\n3\n", 3, "1 cells under 2 columns"),
        ("a,a\n1,2\n", 1, "'a' is there twice"),
        ('a,b\n1,"2\n', 2, "unexpected end"),
    ],
)
def test_wrong_csv(tmp_path: Path, text: str, line: int, what: str) -> None:
    file = tmp_path / "facts.csv"
    file.write_text(text)
    with pytest.raises(DocumentError, match=what) as caught:
        list(read_csv(file))
    assert caught.value.where.endswith(f"facts.csv line {line}")
