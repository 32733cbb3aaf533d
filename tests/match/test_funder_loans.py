"""The real loans of eight funders, split and reserved again."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from tests.match.funder_loans import RealReplay, replay_real
from usance.base.errors import DocumentError

HEADER = (
    "ID,customer_id,country_id,tbl_loan_id,lender_id,loan_type,Total_Amount,Total_Amount_to_Repay,"
    "disbursement_date,due_date,duration,New_versus_Repeat,Amount_Funded_By_Lender,"
    "Lender_portion_Funded,Lender_portion_to_be_repaid"
)


def row(
    loan: int, funder: int, funded: str, portion: str, repaid: str = "40.0", total: str = "100.0",
    country: str = "Kenya", due: str = "2024-01-08", new: str = "New Loan",
) -> str:  # fmt: skip
    return (
        f"ID_{loan}_{funder},1,{country},{loan},{funder},Type_1,{total},120.0,2024-01-01,{due},7,"
        f"{new},{funded},{portion},{repaid}"
    )


@pytest.fixture
def replay(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(*rows: str) -> RealReplay:
        path = tmp_path / "loans.csv.gz"
        path.write_bytes(gzip.compress("\n".join([HEADER, *rows, ""]).encode()))
        return replay_real(path)

    return run


@pytest.fixture(scope="module")
def whole(shared: Path) -> RealReplay:
    return replay_real(shared / "data" / "african_funders" / "loans.csv.gz")


def rows_of(shared: Path) -> list[dict[str, str]]:
    path = shared / "data" / "african_funders" / "loans.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_real_row_is_replayed_or_dropped_for_a_reason(whole: RealReplay) -> None:
    assert whole.rows == 18_594
    assert whole.dropped == {"nothing funded": 1_868}
    assert sum(whole.parts.values()) == whole.rows - sum(whole.dropped.values())
    assert (whole.loans, whole.co_funded) == (15_199, 1_491)
    assert whole.noted["loans both new and repeat"] == 44


def test_real_splits_come_out_again(whole: RealReplay) -> None:
    """To the unit within the funders; within one where rows were rounded each for itself."""
    assert whole.co_funded_by_portion == {
        "exact": 1_491, "within_one": 0, "within_a_hundred": 0, "further": 0,
    }  # fmt: skip
    assert whole.parts == {"exact": 16_238, "within_one": 488, "within_a_hundred": 0, "further": 0}
    assert whole.columns_differ == 0


def test_real_repayments_follow_the_money_but_for_those_priced_otherwise(whole: RealReplay) -> None:
    assert whole.repaid_by_funded == {
        "exact": 1_402, "within_one": 0, "within_a_hundred": 24, "further": 65,
    }  # fmt: skip


def test_all_real_loans_fit_under_their_funders_totals_and_fill_them(whole: RealReplay) -> None:
    assert whole.reservations == {"approved": 15_199}
    assert {funder.headroom_left_minor for funder in whole.funders} == {0}


def test_funders_sums_are_those_of_the_file(whole: RealReplay, shared: Path) -> None:
    funded: Counter[tuple[int, str]] = Counter()
    repaid: Counter[tuple[int, str]] = Counter()
    for each in rows_of(shared):
        if Decimal(each["Amount_Funded_By_Lender"]):
            key = (int(each["lender_id"]), {"Kenya": "KES", "Ghana": "GHS"}[each["country_id"]])
            funded[key] += int(Decimal(each["Amount_Funded_By_Lender"]) * 100)
            repaid[key] += int(Decimal(each["Lender_portion_to_be_repaid"]) * 100)
    found = {(each.funder, each.currency): each for each in whole.funders}
    assert len({funder for funder, _ in found}) == 8
    assert {key: each.funded_minor for key, each in found.items()} == dict(funded)
    assert {key: each.to_be_repaid_minor for key, each in found.items()} == dict(repaid)
    assert json.loads(json.dumps(whole.as_dict(), default=str))["rows"] == whole.rows


def test_what_cannot_be_used_is_dropped_and_counted(replay) -> None:  # type: ignore[no-untyped-def]
    made = replay(
        row(1, 7, "30.0", "0.3"),
        row(1, 8, "20.0", "0.2", new="Repeat Loan"),
        row(2, 7, "0.0", "0.0"),
        row(3, 7, "x", "0.3"),
        row(3, 8, "1e99", "0.3"),
        row(4, 7, "30.001", "0.3"),
        row(5, 7, "30.0", "0.3", due="2024-02-30"),
        row(6, 7, "30.0", "0.3", due="2023-12-31"),
        row(7, 7, "30.0", "0.3", country="Peru"),
        row(8, 7, "-1.0", "0.3"),
        row(9, 7, "30.0", "0.3"),
        row(9, 7, "30.0", "0.3"),
        row(10, 7, "60.0", "0.6"),
        row(10, 8, "60.0", "0.6"),
        row(11, 7, "30.0", "0.6"),
        row(11, 8, "30.0", "0.6"),
        row(12, 7, "30.0", "0.3"),
        row(12, 8, "30.0", "0.3", total="90.0"),
        "half,a,row",
    )
    assert made.dropped == {
        "a funder twice in one loan": 2,
        "amount below zero": 1,
        "due before it was disbursed": 1,
        "more funded than lent": 2,
        "not a date": 1,
        "not a number": 3,
        "nothing funded": 1,
        "portions above one": 2,
        "rows of one loan disagree": 2,
        "unknown country": 2,
    }
    assert (made.rows, made.loans, made.co_funded) == (19, 1, 1)
    assert made.parts["exact"] == 2


def test_a_wrong_amount_is_noticed(replay) -> None:  # type: ignore[no-untyped-def]
    made = replay(row(1, 7, "30.0", "0.3"), row(1, 8, "21.5", "0.2"), row(2, 8, "20.01", "0.2"))
    assert made.parts == {"exact": 1, "within_one": 1, "within_a_hundred": 0, "further": 1}
    assert made.co_funded_by_portion["exact"] == 0
    by_funder = {each.funder: (each.exact, each.within_one, each.further) for each in made.funders}
    assert by_funder == {7: (1, 0, 0), 8: (0, 1, 1)}


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv.gz"
    with pytest.raises(DocumentError, match="cannot be read"):
        replay_real(path)
    path.write_text(HEADER, encoding="utf-8")
    with pytest.raises(DocumentError, match="no gzipped text"):
        replay_real(path)
    path.write_bytes(gzip.compress(HEADER.encode())[:-9])
    with pytest.raises(DocumentError, match="no gzipped text"):
        replay_real(path)
    path.write_bytes(gzip.compress(b"ID,lender_id\n"))
    with pytest.raises(DocumentError, match="lacks customer_id, country_id"):
        replay_real(path)
