"""Bad tables: every problem in one list, with its line and the way out, and never a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.disclose.filings import HEADER, SMALL, paths, read_small, rows_of, text_of
from usance.base.errors import Problems, UsanceError
from usance.cli import main
from usance.disclose import check, rebuild

GARBLED = {
    "A,balance_sheet,Cash,TOTAL ASSETS,2024-03-31,RMB,thousand,700,0": [
        ("RMB,thousand,700", "RMB,thousand,7OO", "line 2: '7OO' is not a number"),
        ("RMB,thousand,700", 'RMB,thousand,"(7,00)"', "line 2: '(7,00)' is not a number"),
        ("RMB,thousand,700", "RMB,thousand,", "line 2: has no value"),
        ("RMB,thousand,700", "RMB,thousnad,700", "line 2: unknown unit 'thousnad'. Did you mean"),
        ("RMB,thousand,700", "RMB,million,700", "line 2: mixed units: 'Cash'"),
        ("RMB,thousand,700", "rmb,thousand,700", "line 2: 'rmb' is not a currency"),
        ("2024-03-31", "2024-02-30", "line 2: unknown period '2024-02-30'"),
        ("2024-03-31", "2024Q5", "line 2: unknown period '2024Q5'"),
        ("balance_sheet", "balance_sheeet", "line 2: unknown statement 'balance_sheeet'"),
        ("TOTAL ASSETS", "T0TAL ASSETS", "line 2: parent_line 'T0TAL ASSETS' is no line of"),
        (",Cash,", ",Ca5h,", "line 2: line 'Ca5h' has a digit inside a word"),
        ("thousand,700,0", "thousand,700,yes", "line 2: is_total is 'yes'"),
        ("thousand,700,0", "thousand,700", "line 2: 8 cells under 9 columns"),
        ("thousand,700,0", "thousand,-700,0", "line 2: wrong sign: 'Cash' in balance_sheet"),
        (",Cash,", ",Ca\x00sh,", "line 2: has an unreadable character"),
        ("A,balance", ",balance", "line 2: has no document"),
    ],
}
CASES = [(row, *case) for row, cases in GARBLED.items() for case in cases]


def refusal(folder: Path, text: str) -> UsanceError:
    with pytest.raises(UsanceError) as caught:
        read_small(folder, text)
    return caught.value


@pytest.mark.parametrize(("row", "old", "new", "message"), CASES)
def test_each_kind_is_named_with_its_line(
    tmp_path: Path, row: str, old: str, new: str, message: str
) -> None:
    assert row in SMALL
    error = refusal(tmp_path, SMALL.replace(row, row.replace(old, new)))
    assert message in str(error)


def test_all_problems_in_one_list_by_line(tmp_path: Path) -> None:
    text = SMALL.replace("thousand,700,", "thousand,7OO,").replace("2024Q1", "2024Q0")
    error = refusal(tmp_path, text)
    assert isinstance(error, Problems)
    rows = [int(each.where.rpartition(" ")[2]) for each in error.errors]
    assert rows == sorted(rows) == [2, 8, 9, 10, 12, 14]


def test_two_values_for_one_cell_and_one_value_twice(tmp_path: Path) -> None:
    row = "A,balance_sheet,Cash,TOTAL ASSETS,2024-03-31,RMB,thousand,700,0\n"
    error = refusal(tmp_path, SMALL + row.replace("700", "701"))
    assert "line 15: 'Cash' in balance_sheet, 2024-03-31 RMB is 701 here and 700 in" in str(error)
    assert len(read_small(tmp_path, SMALL + row)) == len(read_small(tmp_path))


@pytest.mark.parametrize("rate", ["0", "-7.1"])
def test_a_rate_is_above_zero(tmp_path: Path, rate: str) -> None:
    assert "Give a rate above zero" in str(refusal(tmp_path, SMALL.replace("7.0000", rate)))


def test_dollars_need_a_rate(tmp_path: Path) -> None:
    lines = [line for line in SMALL.splitlines(keepends=True) if "convenience" not in line]
    assert "document A has USD columns and no rate" in str(refusal(tmp_path, "".join(lines)))


@pytest.mark.parametrize(
    "statement",
    ["operations", "balance_sheet", "cash_flows", "comprehensive_income",
     "non_gaap_reconciliation", "convenience_translation"],
)  # fmt: skip
def test_a_missing_statement_is_named(shared: Path, tmp_path: Path, statement: str) -> None:
    rows = [row for row in rows_of(paths(shared, "000")[0]) if row[1] != statement]
    file = tmp_path / "part.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    with pytest.raises(UsanceError, match=f"no statement {statement}|no rate"):
        check([file])
    with pytest.raises(UsanceError):
        rebuild(file)


def test_a_turned_sign_is_found_by_the_sum(shared: Path, tmp_path: Path) -> None:
    rows = rows_of(paths(shared, "000")[0])
    number = next(n for n, row in enumerate(rows) if row[2] == "Income taxes expense")
    rows[number][7] = rows[number][7].lstrip("-")
    file = tmp_path / "turned.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    findings = check([file]).as_dict()["findings"]
    [broken] = [each for each in findings if each["kind"] == "broken"]
    assert (broken["row"], broken["hint"]) == (number + 1, "wrong sign")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "the header has no document, statement"),
        (HEADER + "\n", "has no rows"),
        (SMALL.replace("A,operations,Total net", 'A,operations,"Total net', 1), "line 8"),
        (b"\xff\xfe\x00".decode("latin-1"), "the header has no"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: str, message: str) -> None:
    assert message in str(refusal(tmp_path, content))


@pytest.mark.parametrize("command", ["check", "rebuild"])
def test_the_command_ends_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(SMALL.replace("thousand,700,", "thousand,7OO,"), encoding="utf-8")
    assert main(["disclose", command, str(file)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert "line 2: '7OO' is not a number" in answer.err
    assert "Traceback" not in answer.err


def test_any_damaged_byte_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every character of a small table replaced in turn: an answer or a refusal, no fault."""
    file = tmp_path / "damaged.csv"
    codes = set()
    for place in range(0, len(SMALL), 11):
        for letter in '",\n0x':
            file.write_text(SMALL[:place] + letter + SMALL[place + 1 :], encoding="utf-8")
            code = main(["disclose", "check", str(file), "--json"])
            told = json.loads(capsys.readouterr().out)
            broken = "error" not in told and told["counts"].get("broken", 0) > 0
            assert code == (2 if "error" in told else int(broken)), (place, letter)
            codes.add(code)
    assert codes == {0, 1, 2}
