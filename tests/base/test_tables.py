"""The declared tables keep the data contract: names, types, sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from usance.base.codes import code_lists
from usance.base.errors import CodeError, SchemaError
from usance.base.schemas import TYPES, Table, declare
from usance.base.tables import TABLES, table

EVERY = pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)

# Bytes a row in memory, as the contract says.
SIZES = {"users": 17, "decisions": 53, "requests": 45, "routing": 44, "facts": 45, "tape": 77}


def bytes_per_row(spec: Table) -> int:
    """The size of a row in memory, without text."""
    return sum(TYPES[column.type] for column in spec.columns)


@pytest.mark.parametrize("name", SIZES)
def test_rows_are_as_large_as_the_contract_says(name: str) -> None:
    assert bytes_per_row(table(name)) == SIZES[name]


def test_a_loan_is_86_bytes_two_contract_fees_and_why_it_changed() -> None:
    assert bytes_per_row(table("loans")) == 86 + 16 + 1
    assert table("loans").names[-3:] == ("flat_fee_minor", "upfront_fee_minor", "change")
    assert [column.default for column in table("loans").columns[-2:]] == [0, 0]


def test_a_state_fits_160_bytes() -> None:
    assert bytes_per_row(table("state")) <= 160
    assert len(table("state").columns) == 2 + 18


@EVERY
def test_units_at_the_end_of_a_name_decide_the_type(spec: Table) -> None:
    expected = {"_minor": "i64", "_ppm": "i32", "_ppb": "i64", "_on": "day", "_at": "moment"}
    for column in spec.columns:
        for ending, kind in expected.items():
            if column.name.endswith(ending):
                assert column.type == kind, column


@EVERY
def test_columns_are_documented_unique_and_keyed(spec: Table) -> None:
    assert spec.doc.endswith(".")
    assert spec.key
    assert len(set(spec.names)) == len(spec.names)
    lists = code_lists()
    for column in spec.columns:
        assert column.doc, column
        assert column.type in TYPES
        assert not (column.key and column.optional)
        assert not column.codes or column.codes in lists, column


@EVERY
def test_an_optional_column_stands_last(spec: Table) -> None:
    marks = [column.optional for column in spec.columns]
    assert marks == sorted(marks)


def test_every_column_of_the_contract_is_there(shared: Path) -> None:
    text = (shared / "spec" / "data.md").read_text(encoding="utf-8")
    described_in_words = {"state", "journals", "disclosed", "decision_inputs"}
    for name in TABLES.keys() - described_in_words:
        match = re.search(rf"\*\*{name}\*\*[^:\n]*: (.*)$", text, re.MULTILINE)
        if match is None:
            assert name in {"refs", "sums"}
            continue
        # Column names stand before a comma, without types, marks and explanations.
        sentence = re.sub(r"\([^()]*\)", "", match[1].split(". ")[0]).replace("…4", "")
        words = [part.split()[0] for part in sentence.replace("*", "").rstrip(".").split(",")]
        names = {word for word in words if re.fullmatch(r"[a-z0-9_]+", word)} - {"then"}
        assert names <= set(table(name).names), name
        assert len(names) >= len(table(name).key), name


def test_a_subledger_gets_a_column_per_amount() -> None:
    wide = table("subledger").with_amounts(["disbursed", "paid_interest"])
    assert wide.names == ("close_no", "loan_id", "disbursed", "paid_interest")
    assert (wide.tag, bytes_per_row(wide)) == ("subledger/1", 28)


def test_unknown_names() -> None:
    with pytest.raises(CodeError, match="Did you mean 'loans'"):
        table("loan")
    with pytest.raises(SchemaError, match="Columns: loan_id, source, principal_minor"):
        table("shares").column("principal")


def test_a_declaration_with_an_unknown_type_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="no known type"):
        declare("t", 1, "T.", "a int64 key x")
