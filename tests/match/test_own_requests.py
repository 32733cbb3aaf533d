"""A stream from somebody's own table: in order, numbered by borrower, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from usance.base.column_files import ColumnNames
from usance.base.errors import UsanceError
from usance.match.mandates.mandate import Mandates
from usance.match.own_requests import write_own_requests
from usance.match.router.requests import Requests, read_requests

HEADER = "when,no,who,product,amount,months,rate,grade,region\n"
NAMES = ColumnNames({"requested_at": "when", "loan": "no", "borrower": "who"})


def stream(folder: Path, rows: str) -> Requests:
    table, out = folder / "own.csv", folder / "STREAM.csv"
    table.write_text(HEADER + rows, encoding="utf-8")
    write_own_requests(table, out, NAMES, currency="EUR", zone="Europe/Amsterdam")
    return read_requests(out, Mandates((), currency="EUR"))


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
    ("rows", "message"),
    [
        ("2024-06-03,K,a,sme,1,6,9%,1,2\n2024-06-04,K,a,sme,1,6,9%,1,2\n", "'K' is there twice"),
        ("2024-06-03,,a,sme,1,6,9%,1,2\n", "a loan has no name"),
        ("soon,K,a,sme,1,6,9%,1,2\n", "1 cell of column 'when' is no moment"),
        ("2024-06-03,K,a,sme,1.234,6,9%,1,2\n", "is no amount"),
        ("", "no requests"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(UsanceError, match=message):
        stream(tmp_path, rows)
