"""A stream from somebody's own table: in order, numbered by borrower, or refused by name."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tests.match.mandates import mandates, source
from usance.base.column_files import ColumnNames
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.match.errors import NotFound
from usance.match.mandates.mandate import Mandates
from usance.match.own_requests import write_own_requests
from usance.match.router.explanation import explain_files
from usance.match.router.requests import Requests, loan_refs, read_requests
from usance.match.router.router import route
from usance.match.router.routing_table import write_routing
from usance.match.router.state import ENGINE

HEADER = "when,no,who,product,amount,months,rate,grade,region\n"
NAMES = ColumnNames({"requested_at": "when", "loan": "no", "borrower": "who"})


def stream(folder: Path, rows: str) -> Requests:
    table, out = folder / "own.csv", folder / "STREAM.csv"
    table.write_text(HEADER + rows, encoding="utf-8")
    given = Mandates((), currency="EUR", time_zone="Europe/Amsterdam")
    write_own_requests(table, out, NAMES, given)
    return read_requests(out, given)


def test_order_numbers_and_units(tmp_path: Path) -> None:
    made = stream(
        tmp_path,
        "2024-06-03T10:00,K-2,b,sme,20.50,6,9%,1,2\n"
        "2024-06-03T09:00,K-1,a,1,10,3,12.5%,2,3\n"
        "2024-06-03T07:30:00Z,K-3,b,sme,30,6,9%,1,2\n",
    )
    assert [each % 86_400_000_000 // 60_000_000 for each in made.requested_at] == [420, 450, 480]
    assert made.amount_minor.tolist() == [1000, 3000, 2050]
    assert made.rate_ppm.tolist() == [125_000, 90_000, 90_000]
    assert made.loan_id.tolist() == [2 * 16384 + 1, 16384 + 2, 16384 + 1]
    assert made.user_id.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ("03/06/2024", "2024-06-02T21:00:00Z"),
        ("03/06/2024 08:30", "2024-06-03T05:30:00Z"),
        ("03/06/2024 08:30:15", "2024-06-03T05:30:15Z"),
    ],
)
def test_moments_as_the_mapping_writes_days(tmp_path: Path, when: str, moment: str) -> None:
    table, out = tmp_path / "own.csv", tmp_path / "STREAM.csv"
    table.write_text(f"{HEADER}{when},K-1,a,sme,1,6,9%,1,2\n", encoding="utf-8")
    names = replace(NAMES, dates="%d/%m/%Y")
    write_own_requests(table, out, names, Mandates((), time_zone="Africa/Nairobi"))
    assert f"{moment},16385," in out.read_text()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "2024-06-03,K,a,sme,1,6,9%,1,2\n2024-06-04,K,a,sme,1,6,9%,1,2\n",
            "line 3: loan 'K' is there twice",
        ),
        ("2024-06-03,,a,sme,1,6,9%,1,2\n", "line 2: a loan has no name"),
        (
            "2024-06-03,K,a,sme,1,6,9%,1,2\n2024-06-04,,a,sme,1,6,9%,1,2\n",
            "line 3: a loan has no name",
        ),
        ("soon,K,a,sme,1,6,9%,1,2\n", "1 cell of column 'when' is no moment"),
        ("2024-06-03,K,a,sme,1.234,6,9%,1,2\n", "is no amount"),
        ("", "no requests"),
        ("2024-06-04,K-2,a,,1,6,9%,1,2\n", r"sme\): empty \(line 2\)"),
        (
            "2024-06-04,K-2,a,sme,1,6,9%,1,2\n2024-06-03,K-1,a,car,1,6,9%,1,2\n",
            r"no product of the mandates \(v_pocket, instalment, sme\): 'car' \(line 3\)",
        ),
        (
            "2024-06-04,K-2,a,sme,1,1300,9%,1,2\n2024-06-03,K-1,a,sme,1,6,9%,1,2\n",
            r"1 cell of column 'months' is no months of a request: '1300' \(line 2\)",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(UsanceError, match=message):
        stream(tmp_path, rows)
    assert [each.name for each in tmp_path.iterdir()] == ["own.csv"]


def test_own_names_are_taken_and_told(tmp_path: Path) -> None:
    book = mandates(source(), top="period: {from: 2024-06-01, to: 2024-06-30}\n")
    rows = "".join(f"2024-06-03T1{no}:00,K-{9 - no},u{no},instalment,5000,12,24%,3,1\n"
                   for no in range(4))  # fmt: skip
    stream(tmp_path, rows)
    file = tmp_path / "STREAM.csv"
    told = explain_files(file, book, None, "K-8", 0, 0, seed=1)
    assert (told["loan_ref"], told["loan"]) == ("K-8", print_id("ln", 2 * 16384 + 1))
    assert explain_files(file, book, None, told["loan"], 0, 0, seed=1) == told
    with pytest.raises(NotFound, match=r"K-1 is not in this stream\. Give the loan_ref"):
        explain_files(file, book, None, "K-1", 0, 0, seed=1)
    with pytest.raises(UsanceError, match="is a stream of requests"):
        explain_files(file, book, None, "", 0, 1, seed=1)
    routed = route(read_requests(file, book), book, ENGINE)
    write_routing(tmp_path / "routing.csv", routed, loan_refs(file, book))
    with (tmp_path / "routing.csv").open(encoding="utf-8") as lines:
        assert [row["loan_ref"] for row in csv.DictReader(lines)] == ["K-9", "K-8", "K-7", "K-6"]
