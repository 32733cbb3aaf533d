"""What is wrong with a tape is told at once, row by row, and leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.books.tape_books import plain, write_csv, write_parquet
from tests.books.worked import PARAMETERS
from usance.base.errors import UsanceError
from usance.books.tape.columns import FORMER_NAMES
from usance.books.tape.run import run_tape

Rows = list[dict[str, object]]


def refusal(path: Path, **options: object) -> str:
    """What a run says of a tape it refuses; it leaves no folder."""
    out = path.parent / "book"
    with pytest.raises(UsanceError) as caught:
        run_tape(path, out=out, clock=time.perf_counter, parameters=PARAMETERS, **options)  # type: ignore[arg-type]
    assert not out.exists()
    return str(caught.value)


def put(row: int, **cells: object) -> Callable[[Rows], object]:
    """Change cells of a row, counted from 1."""
    return lambda rows: rows[row - 1].update(cells)


WRONG: dict[str, tuple[Callable[[Rows], object], str]] = {
    "gap": (lambda rows: rows.pop(1), "line 3: loan A-1: no row between 2024-01 and 2024-03"),
    "duplicate": (
        lambda rows: rows.insert(2, dict(rows[1])),
        "line 4: loan A-1: 2024-02 is there twice, also in line 3",
    ),
    "falling total": (
        put(3, paid_service="5.00"),
        "line 4: loan A-1: paid_service falls from 10.60 to 5.00",
    ),
    "rising principal": (
        put(3, principal="899.00"),
        "line 4: loan A-1: paid_principal falls from",
    ),
    "model": (
        put(2, model="capital_lite"),
        "line 3: model: unknown funding model 'capital_lite'. Did you",
    ),
    "status": (put(3, status="fine"), "line 4: status: unknown status 'fine'"),
    "model number": (put(2, model=9), "line 3: model: unknown funding model '9'"),
    "negative": (put(1, principal="-900.00"), "line 2: principal is -900.00, below zero"),
    "days": (put(4, dpd="late"), "line 5: dpd is 'late', no whole number"),
    "fraction of a cent": (
        put(2, principal="600.005"),
        "line 3: principal is '600.005', no amount with at most 2 decimals",
    ),
    "too large": (put(2, principal="9" * 15), "line 3: principal is 999999999999999, too large"),
    "above origination": (
        put(2, principal="901.00"),
        "line 3: loan A-1: 901.00 is unpaid of 900.00 originated",
    ),
    "other model": (
        put(3, model="ice"),
        "line 4: loan A-1: its model was capital_light a month before and is ice",
    ),
    "other origination": (
        put(3, originated="800.00"),
        "line 4: loan A-1: its originated was 900.00 a month before and is 800.00",
    ),
    "month": (put(2, month="2024-13"), "line 3: month: '2024-13' is not a month"),
    "a day that is none": (put(2, month="2024-02-30"), "line 3: month: 2024-02-30 does not exist"),
    "month number": (put(2, month="0"), "line 3: month: '0' is not a month"),
    "day": (put(2, disbursed_on="10.1.2024"), "line 3: disbursed_on: '10.1.2024' is not a date"),
    "empty cell": (put(2, dpd=""), "line 3: dpd is empty. Fill it: days past due"),
    "made later": (
        lambda rows: [row.update(disbursed_on="2024-02-10") for row in rows],
        "line 2: loan A-1: was made in 2024-02, after this month end",
    ),
    "late first row": (
        lambda rows: rows.append({**rows[3], "loan_ref": "A-2", "month": "2024-04"}),
        "line 6: loan A-2: was made in 2024-01 and has no earlier row",
    ),
    "leaves unpaid": (
        lambda rows: rows.append({**rows[0], "loan_ref": "A-2"}),
        "line 6: loan A-2: 900.00 is unpaid, and it has no later row",
    ),
    "closed unpaid": (
        put(4, principal="1.00"),
        "line 5: loan A-1: it is closed, and 1.00 is unpaid",
    ),
    "parts and whole": (
        lambda rows: [row.update(paid_principal="0") for row in rows],
        "line 3: loan A-1: of 900.00 originated 0.00 is paid, 0.00 forgiven and 600.00 unpaid",
    ),
    "fees beyond the plan": (
        put(4, paid_service="40.00"),
        "line 5: loan A-1: 40.00 of 31.80 service fees is paid or forgiven",
    ),
    "nothing lent": (
        lambda rows: [row.update(originated="0", principal="0") for row in rows],
        "line 2: loan A-1: nothing was originated",
    ),
    "all withheld": (
        lambda rows: [row.update(upfront_fee="900") for row in rows],
        "line 2: loan A-1: a fee of 900.00 is withheld of 900.00",
    ),
    "terms of no plan": (
        lambda rows: [
            row.update(rate_ppm=1, instalments=0, convention=99, first_due_on="2024-01-10")
            for row in rows
        ],
        "line 2: loan A-1: instalments is 0. Give 1 to",
    ),
    "fees beyond arithmetic": (
        lambda rows: [row.update(service_fee="999999999.99") for row in rows],
        "line 2: loan A-1: fees of 999999999.99 over 91 days are out of range",
    ),
    "source": (put(2, source=40000), "line 3: source is 40000, too large. Give 0 to 32767"),
    "flag": (
        lambda rows: [row.update(settled=7) for row in rows],
        "line 2: settled is 7, too large. Give 0 or 1",
    ),
    "no term": (
        lambda rows: [row.update(term_days="") for row in rows],
        "line 2: loan A-1: has fees and no term_days",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_row_is_named(name: str, tmp_path: Path) -> None:
    change, expected = WRONG[name]
    rows = plain()
    change(rows)
    assert f"tape.csv {expected}" in refusal(write_csv(tmp_path / "tape.csv", rows))


def test_all_problems_come_in_one_list(tmp_path: Path) -> None:
    rows = plain()
    for change in ("days", "month", "status"):
        WRONG[change][0](rows)
    said = refusal(write_csv(tmp_path / "tape.csv", rows))
    assert "3 problems" in said
    assert [WRONG[name][1] in said for name in ("days", "month", "status")] == [True] * 3
    rows = plain()
    put(3, paid_service="5.00", principal="901.00")(rows)
    assert "2 problems" in refusal(write_csv(tmp_path / "tape.csv", rows))


def test_missing_columns_say_what_they_mean(tmp_path: Path) -> None:
    rows = [{"loan_ref": "A-1", "month": "2024-01", "dpd": 0}]
    said = refusal(write_csv(tmp_path / "tape.csv", rows))
    assert "lacks originated_minor. Add the column originated_minor: principal at origin" in said
    assert "lacks cohort or disbursed_on" in said
    for name in ("model", "product", "principal_minor", "status"):
        assert f"lacks {name}." in said


@pytest.mark.parametrize(("former", "name"), FORMER_NAMES.items())
def test_a_column_under_its_former_name_too(former: str, name: str, tmp_path: Path) -> None:
    rows = [row | {former: "1.00", f"{name}_minor": 100} for row in plain()]
    said = refusal(write_csv(tmp_path / "tape.csv", rows))
    assert f"has both {name}_minor and {former}, which is its former name. Keep {name}_" in said


def test_a_file_that_is_none(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.csv")
    assert "no such file" in refusal(tmp_path / "none.parquet")
    wrong = tmp_path / "tape.parquet"
    wrong.write_text("month,loan_id\n")
    assert "is no Parquet file" in refusal(wrong)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "is empty" in refusal(empty)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00month")
    assert "line 1 is not UTF-8" in refusal(binary)


def test_a_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "tape.csv"
    path.write_text(",".join(plain()[0]) + "\n")
    assert "has no rows" in refusal(path)


def test_a_row_with_too_few_cells(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "tape.csv", plain())
    path.write_text(path.read_text() + "2024-05,A-1\n")
    assert "tape.csv line 6: 2 cells under 13 columns" in refusal(path)


def test_floats_are_no_money(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist(plain())
    place = rows.column_names.index("originated")
    rows = rows.set_column(place, "originated", pa.array([900.0] * 4))
    assert "which lose cents" in refusal(write_parquet(tmp_path / "tape.parquet", rows))


def test_cells_without_their_meaning(tmp_path: Path) -> None:
    rows = [{name: cell for name, cell in row.items() if name not in ("model", "product")} | {
        "cell": 1} for row in plain()]  # fmt: skip
    said = refusal(write_csv(tmp_path / "tape.csv", rows))
    assert "its cells are not explained" in said
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "cells.csv").write_text("cell,model,product,source\n2,ice,sme,1\n")
    said = refusal(tmp_path / "tape.csv", policies=tmp_path / "policies")
    assert "line 2: cell is 1, which cells.csv lacks. Give one of 2." in said


def test_cells_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text(
        "cell,model,product,source,fund_cash\n1,icy,sme,1,\nx,ice,sme,,purse\n"
    )
    said = refusal(write_csv(tmp_path / "tape.csv", plain()), policies=tmp_path)
    assert "cells.csv line 2, model: unknown funding model 'icy'" in said
    assert "cells.csv line 3, cell: 'x' is no number" in said
    assert "cells.csv line 3, source: is missing" in said
    assert "cells.csv line 3, fund_cash: unknown account of cash 'purse'" in said


def test_an_unknown_interval_and_a_tape_too_short_for_it(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "tape.csv", plain())
    assert "unknown period 'week'" in refusal(path, every="week")
    path = write_csv(tmp_path / "tape.csv", plain()[:2])
    assert "no quarter of the tape is over" in refusal(path, every="quarter")
