"""Tables under other names: words, constants, rates and days as a file writes them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from usance.base.column_files import ColumnFile, ColumnNames, under_our_names
from usance.base.errors import UsanceError

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
