"""Everything wrong with a mapping or a tape is said at once, with its line or row."""

from __future__ import annotations

from pathlib import Path

import pytest

from usance.base.errors import Problems, UsanceError
from usance.cli import main
from usance.measure.tape.mapping import parse_mapping
from usance.measure.tape.report import measure_tape

MAP = """rows: loan_month
columns: {loan: id, month: month, status: s, balance: b, cohort: c}
months: "%Y-%m"
currency: USD
statuses: {C: current, L: 1-30}
"""
TAPE = """id,month,s,b,c
1,2024-01,C,100.00,2024-01
1,2024-02,L,90.005,2024-01
,2024-02,C,5,2024-02
2,2024-13,C,5,2024-02
2,2024-02,Q,x,2024-03
3,2024-04,C,1,2024-04,9
3,2024-04,C,1,2024-04
3,2024-04,C,2,2024-04
3,2024-06,C,1,2024-04
"""
WRONG = {
    3: ["balance is '90.005'"],
    4: ["loan is empty"],
    5: ["month is '2024-13'"],
    6: ["the month is before the cohort", "balance is 'x'", "status is 'Q'"],
    7: ["6 cells under 5 columns"],
    9: ["repeats loan and month of line 8"],
}


def found(error: UsanceError) -> dict[int, list[str]]:
    rows: dict[int, list[str]] = {}
    for each in error.errors if isinstance(error, Problems) else [error]:
        rows.setdefault(int(each.where.rpartition(" line ")[2]), []).append(each.what)
    return {row: sorted(what) for row, what in rows.items()}


def test_every_wrong_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "tape.csv").write_text(TAPE)
    with pytest.raises(Problems) as raised:
        measure_tape(tmp_path / "tape.csv", parse_mapping(MAP))
    assert found(raised.value) == {row: sorted(what) for row, what in WRONG.items()}


def test_wrong_rows_are_left_out_on_request_and_gaps_are_kept(tmp_path: Path) -> None:
    (tmp_path / "tape.csv").write_text(TAPE)
    pack = measure_tape(tmp_path / "tape.csv", parse_mapping(MAP + "bad_rows: leave_out\n"))
    assert found(Problems(pack.findings)) == {row: sorted(what) for row, what in WRONG.items()}
    assert (pack.rows, pack.loans) == (3, 2)
    gap = pack.tables["gaps"].to_pylist()
    assert [(row["row"], row["loan"]) for row in gap] == [(10, "3")]


def test_every_problem_of_a_mapping_has_its_line() -> None:
    text = """rows: loan_month
columns: {loan: id, mont: m, status: s}
cohort: year
statuses:
  C: current
  L: thirty
  M: 60-30
ever: [60, soon]
"""
    with pytest.raises(Problems) as raised:
        parse_mapping(text, "map.yaml")
    places = [each.where for each in raised.value.errors]
    assert [place.split(",")[0] for place in places] == [
        "map.yaml line 8", "map.yaml line 2", "map.yaml line 6", "map.yaml line 7",
        "map.yaml line 3", "map.yaml line 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rows: loan\ncolumns: {loan: a, disbursed_on: b, principal: c}", "as_of is missing"),
        ("rows: loan\ncolumns: {loan: a, disbursed_on: b, principal: c}", "fall due"),
        ("rows: loan_month\ncolumns: {loan: a, status: b}", "names no month"),
        ("rows: loan_month\ncolumns: {loan: a, month: m, status: b}", "statuses is missing"),
        ("rows: loan_month", "columns is missing"),
        ("columns: {loan: a}", "rows is missing"),
        ("- 1", "keys and values"),
        ("rows: [", "expected"),
    ],
)
def test_what_a_mapping_lacks_is_said(text: str, says: str) -> None:
    with pytest.raises(UsanceError, match=says):
        parse_mapping(text)


def test_a_missing_column_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "tape.csv").write_text(TAPE.replace("month", "months", 1))
    with pytest.raises(UsanceError, match="Did you mean 'months'"):
        measure_tape(tmp_path / "tape.csv", parse_mapping(MAP))


def test_a_column_without_a_name_and_a_file_cut_in_its_first_row_are_no_fault(
    tmp_path: Path,
) -> None:
    header, *rows = TAPE.splitlines()
    numbered = [f",{header}", *(f"{number},{row}" for number, row in enumerate(rows))]
    (tmp_path / "tape.csv").write_text("\n".join(numbered))  # as data frames are written
    with pytest.raises(UsanceError, match=r"tape\.csv: 8 problems"):
        measure_tape(tmp_path / "tape.csv", parse_mapping(MAP))
    (tmp_path / "tape.csv").write_text(f"{header}\n{rows[0][:3]}")
    with pytest.raises(UsanceError, match=r"tape\.csv line 2: 2 cells under 5 columns"):
        measure_tape(tmp_path / "tape.csv", parse_mapping(MAP))


@pytest.mark.parametrize("content", [b"", b"id\n", b"\xff\xfe,\n1,2\n", b"PAR1"])
def test_files_that_are_no_tape_are_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("tape.csv", "tape.csv.gz", "tape.parquet"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsanceError):
            measure_tape(tmp_path / name, parse_mapping(MAP))


def test_the_command_says_it_without_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    assert main(["measure", "tape", "none.csv", "--map", str(tmp_path / "map.yaml")]) == 2
    assert "none.csv: no such file" in capsys.readouterr().err
    (tmp_path / "tape.csv").write_text(TAPE)
    call = ["measure", "tape", str(tmp_path / "tape.csv"), "--map", str(tmp_path / "map.yaml")]
    assert main(call) == 2
    assert "8 problems" in capsys.readouterr().err
    (tmp_path / "map.yaml").write_text(MAP + "bad_rows: leave_out\n")
    assert main(call) == 0
    assert "rows not used           6" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["%Q", "YYYY-MM", "%Y-%"])
def test_a_month_nobody_can_read_is_refused(form: str) -> None:
    with pytest.raises(UsanceError, match="is no way to write a date") as raised:
        parse_mapping(MAP.replace("%Y-%m", form), "map.yaml")
    assert raised.value.where == "map.yaml line 3, months"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (bytes(range(256)) * 20, "is not UTF-8"),
        (b"id,month,s,b,c\n1,2024-01,C,1,2024-01\0\n", "this is no text"),
        (b"id,month,s,b,c\n1,2024-01,C,99999999999999999999,2024-01\n", "line 2: balance is '9999"),
        (b"id,month,s,b,c\n" + b"".join(
            b"%d,2024-01,C,900000000000000,2024-01\n" % n for n in range(300)
        ), "add up to too much"),
    ],
)  # fmt: skip
def test_what_is_no_tape_is_refused_without_a_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, what: str
) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "tape.csv").write_bytes(content)
    command = ["measure", "tape", str(tmp_path / "tape.csv"), "--map", str(tmp_path / "map.yaml")]
    assert main(command) == 2
    said = capfd.readouterr().err
    assert what in said
    assert "Traceback" not in said
