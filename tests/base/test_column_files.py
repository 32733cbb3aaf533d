"""Tables under other names: words, constants, rates and days as a file writes them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from usance.assess.applicant_file import read_table
from usance.base.amount_notations import plain_amount
from usance.base.column_files import ColumnFile, ColumnNames
from usance.base.errors import UsanceError
from usance.base.renamed_tables import under_our_names

MAPPING = """
columns: {principal: granted, rate: apr, product: type}
constants: {model: capital_light, product: never}
values:
  product: {consumer loan: instalment, 7: sme}
"""


def mapping(folder: Path, text: str) -> ColumnNames:
    file = folder / "map.yaml"
    file.write_text(text)
    return ColumnNames.read(file)


def test_words_and_constants(tmp_path: Path) -> None:
    names = mapping(tmp_path, MAPPING)
    table = tmp_path / "loans.csv"
    table.write_text("granted,apr,type,rate\n100,18%, consumer loan,a\n200,7%,7,b\n3,1%,other,c\n")
    made = ColumnFile(table, names)
    assert made.texts("product").to_pylist() == ["instalment", "sme", "other"]
    assert made.texts("model").to_pylist() == ["capital_light"] * 3
    # The column named for the rate, not another one that happens to be called so.
    assert made.rates("rate").tolist() == [180_000, 70_000, 10_000]
    assert not made.problems


def test_rates_in_per_cent_and_days_of_months() -> None:
    given = pa.table({"zins": ["18%", "7,5%", "180000", None], "when": ["31.01.2024"] * 4})
    names = ColumnNames({"rate_ppm": "zins", "month": "when"}, dates="%d.%m.%Y")
    made = under_our_names(given, names, money=(), days=("month",), rates=("rate_ppm",))
    assert made["rate_ppm"].to_pylist() == ["180000", "7,5%", "180000", None]
    assert set(made["month"].to_pylist()) == {"2024-01-31"}


def test_rates_with_a_comma_and_amounts_with_a_sign(tmp_path: Path) -> None:
    table = tmp_path / "loans.csv"
    table.write_text("rate;sum\n12,61%;€ 1.200,50\n18%;$9,00\n0.07;3,00\n")
    own = ColumnFile(table, ColumnNames(amounts="1.234,56"))
    assert own.rates("rate").tolist() == [126_100, 180_000, 70_000]
    assert own.amounts("sum", "EUR").tolist() == [120_050, 900, 300]
    assert not own.problems
    other = ColumnFile(table, ColumnNames())
    assert (other.rates("rate")[0], other.amounts("sum", "EUR")[1]) == (0, 0)
    assert ["'12,61%'" in str(other.problems[0]), "'$9,00'" in str(other.problems[1])] == [True] * 2


def test_rates_and_signs_of_a_tape_for_the_books() -> None:
    given = pa.table({"rate_ppm": ["12,61%", "18%"], "owed": ["$ 1.200,50", "7,00"]})
    names = ColumnNames(amounts="1.234,56")
    made = under_our_names(given, names, money=("owed",), days=(), rates=("rate_ppm",))
    assert made.to_pydict() == {"rate_ppm": ["126100", "180000"], "owed": ["1200.50", "7.00"]}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("values: {product: {a: [1]}}", "values.product: a is no word"),
        ("constants: {model: {}}", "constants: model is no word"),
        ("constants: light", "constants: is no mapping"),
    ],
)
def test_what_is_no_word_is_named(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(UsanceError, match=where):
        mapping(tmp_path, text)


POINT_FOR_GROUPS = ("3000.00", "5.000.5", "1.20", "1234.567", "1.2345,00", ".500", "12.34.567")


@pytest.mark.parametrize("cell", POINT_FOR_GROUPS)
def test_a_group_has_three_digits(tmp_path: Path, cell: str) -> None:
    """A decimal point is never taken for a separator of thousands, in any reader of tables."""
    table, names = tmp_path / "loans.csv", ColumnNames({"sum": "Summe"}, amounts="1.234,56")
    table.write_text(f"Summe;Tag\n3.000,00;1\n{cell};2\n")
    own = ColumnFile(table, names)
    assert own.amounts("sum", "EUR")[0] == 300_000
    refused = f"1 cell of column 'Summe' is no amount: '{cell}' (line 3). Write it as 1.234,56, or"
    assert [refused in str(each) for each in own.problems] == [True]
    given = pa.table({"Summe": ["3.000,00", cell]})
    with pytest.raises(UsanceError, match=r"Write it as 1\.234,56, or change amounts"):
        under_our_names(given, names, money=("sum",), days=(), where=str(table))
    assert plain_amount(cell, "1.234,56") is None


def test_numbers_of_parquet_are_plain_in_any_notation(tmp_path: Path) -> None:
    path = tmp_path / "loans.parquet"
    cells = pa.array([Decimal("3000.00"), Decimal("1.50")])
    pq.write_table(pa.table({"sum": cells, "text": ["3.000,00", "1,50"]}), path)
    own = ColumnFile(path, ColumnNames(amounts="1.234,56"))
    assert own.amounts("sum", "EUR").tolist() == own.amounts("text", "EUR").tolist()
    assert not own.problems


def test_applicants_with_two_notations_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "applicants.csv"
    table.write_text('debt,day\n"3.000,50",01.02.2024\n3000.00,28.02.2024\n')
    names = ColumnNames({}, "1.234,56", "%d.%m.%Y")
    with pytest.raises(UsanceError, match=r"'debt' is no amount: '3000.00' \(line 3\)"):
        read_table(table, names)
    table.write_text('debt,day\n"3.000,50",01.02.2024\n"9,5",31.02.2024\n')
    with pytest.raises(UsanceError, match=r"'day' is no day: '31.02.2024' \(line 3\)"):
        read_table(table, names)


def test_a_day_that_does_not_exist_is_not_moved_into_the_next_month() -> None:
    given = pa.table({"when": ["31.01.2024", "31.02.2024", None]})
    names = ColumnNames({"month": "when"}, dates="%d.%m.%Y")
    made = under_our_names(given, names, money=(), days=("month",))
    assert made["month"].to_pylist() == ["2024-01-31", "31.02.2024", None]


def test_an_unknown_key_is_named_and_those_of_other_commands_are_left_alone(tmp_path: Path) -> None:
    assert mapping(tmp_path, "columns: {a: b}\nrows: loan_month\nstatuses: {}").columns == {
        "a": "b"
    }
    with pytest.raises(
        UsanceError, match=r"unknown key 'valuess'\. Did you mean 'values'"
    ) as caught:
        mapping(tmp_path, "columns: {a: b}\nvaluess: {a: {b: c}}\nnonsense: 3")
    assert "line 3, nonsense: unknown key 'nonsense'" in str(caught.value)
