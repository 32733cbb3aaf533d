"""Split settlement: sums equal an oracle's, closed batches stay, late facts are one correction."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import UsanceError
from usance.match.reservation.split import split_by_weight
from usance.service import (
    LayoutError,
    LineKind,
    Receipts,
    SettlementBatch,
    SettlementRefused,
    Shares,
    acknowledge,
    next_batches,
    parse_layout,
    payable,
    write_file,
)
from usance.service.settlement.settlement_folder import SettlementFolder

Row = tuple[int, date, LineKind, int]
START = date(2023, 1, 2)
KINDS = (LineKind.RECEIPT, LineKind.EARLY_SETTLEMENT, LineKind.COMPENSATION)


def shares_of(random: Random, loans: int) -> dict[int, dict[int, int]]:
    return {
        (number + 1 << 14) + 1: {
            institution: random.randint(1, 10**6)
            for institution in random.sample(range(1, 9), random.choice((1, 1, 1, 2, 3)))
        }
        for number in range(loans)
    }


def columns(shares: dict[int, dict[int, int]]) -> Shares:
    return Shares.of((loan, who, part) for loan, own in shares.items() for who, part in own.items())


def ledger(rows: list[Row], shares: dict[int, dict[int, int]], through: date) -> dict[int, int]:
    """Payable to each institution, one loan after the other with plain integers."""
    total: dict[int, int] = {}
    for loan, own in shares.items():
        sum_minor = sum(row[3] for row in rows if row[0] == loan and row[1] <= through)
        sign = -1 if sum_minor < 0 else 1
        for who, part in split_by_weight(abs(sum_minor), own).items():
            total[who] = total.get(who, 0) + sign * part
    return {who: amount for who, amount in total.items() if amount}


def settled(batches: list[SettlementBatch]) -> dict[int, int]:
    total: dict[int, int] = {}
    for each in batches:
        total[each.institution] = total.get(each.institution, 0) + each.total_minor
    return {who: amount for who, amount in total.items() if amount}


def test_settlements_of_eighteen_months_are_what_the_ledger_owes_each_day() -> None:
    random = Random(20230102)
    shares = shares_of(random, 12)
    own, rows, batches = columns(shares), list[Row](), list[SettlementBatch]()
    for number in range(18 * 30):
        day = START + timedelta(days=number)
        for _ in range(random.randint(0, 2)):
            late = random.choice((0, 0, 0, 0, 1, 3, 40))
            loan, amount = random.choice(list(shares)), random.randint(1, 90_000)
            rows.append((loan, day - timedelta(days=late), random.choice(KINDS), amount))
        if rows and random.random() < 0.1:  # reversed, on the day it had been effective
            loan, on, kind, amount = random.choice(rows)
            rows.append((loan, on, kind, -amount))
        if number % 7 < 5:
            batches += next_batches(payable(Receipts.of(rows), own), batches, day)
            assert settled(batches) == ledger(rows, shares, day)
    assert len(batches) > 500


def test_a_fact_late_by_forty_days_is_one_correction_and_closed_batches_stay() -> None:
    shares = {16385: {7: 700, 8: 300}}
    rows: list[Row] = [(16385, START, LineKind.RECEIPT, 1_000)]
    closed = next_batches(payable(Receipts.of(rows), columns(shares)), [], START)
    marks = [each.digest for each in closed]
    later = START + timedelta(days=40)
    rows += [(16385, START, LineKind.RECEIPT, 333), (16385, later, LineKind.RECEIPT, 50)]
    new = next_batches(payable(Receipts.of(rows), columns(shares)), closed, later)
    told = {each.institution: [(line.is_correction, line.amount_minor) for line in each.lines()]
            for each in new}  # fmt: skip
    assert told == {7: [(False, 35), (True, 233)], 8: [(False, 15), (True, 100)]}
    assert [each.digest for each in closed] == marks
    with pytest.raises(SettlementRefused, match="settled through"):
        next_batches(payable(Receipts.of(rows), columns(shares)), [*closed, *new], later)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(-500, 500)),
                max_size=25))  # fmt: skip
def test_order_of_arrival_does_not_matter(moves: list[tuple[int, int, int]]) -> None:
    shares = {1 << 14 | n: {1: 5, 2: 3 + n, 9: 1} for n in (1, 2, 3)}
    rows: list[Row] = [
        (1 << 14 | loan, START + timedelta(days=day), LineKind.RECEIPT, amount)
        for loan, day, amount in moves
    ]
    whole = next_batches(payable(Receipts.of(rows), columns(shares)), [], START + timedelta(20))
    back = next_batches(payable(Receipts.of(rows[::-1]), columns(shares)), [],
                        START + timedelta(20))  # fmt: skip
    assert [each.digest for each in whole] == [each.digest for each in back]
    assert settled(whole) == ledger(rows, shares, START + timedelta(20))


def test_an_acknowledgement_is_compared_line_by_line_and_another_batch_refused() -> None:
    rows: list[Row] = [(16385, START, LineKind.RECEIPT, 900), (16386, START, LineKind.RECEIPT, 80)]
    shares = columns({16385: {7: 1}, 16386: {7: 1}})
    [batch] = next_batches(payable(Receipts.of(rows), shares), [], START)
    first, second = batch.lines()
    assert acknowledge(batch, 7, START, [first, second]) == []
    gaps = acknowledge(batch, 7, START, [first._replace(amount_minor=910)])
    assert [(gap.loan_id, gap.difference_minor) for gap in gaps] == [(16385, 10), (16386, -80)]
    with pytest.raises(SettlementRefused, match="institution 8"):
        acknowledge(batch, 8, START, [])
    with pytest.raises(SettlementRefused, match="without an institution"):
        payable(Receipts.of([(5, START, LineKind.RECEIPT, 1)]), shares)


def test_files_follow_the_layout_of_the_institution() -> None:
    [batch] = next_batches(
        payable(Receipts.of([(16385, START, LineKind.RECEIPT, 900)]), columns({16385: {7: 1}})),
        [], START,
    )  # fmt: skip
    text = "format: csv\ncolumns: [{name: loan, title: Loan}, {name: kind}, {name: amount}]"
    made = write_file(batch.lines(), parse_layout(text, "seven.yaml"))
    assert made == "Loan,kind,amount\nln_00000000G01,receipt,900\n"
    narrow = parse_layout("format: fixed\ncolumns: [{name: loan, width: 3}]", "seven.yaml")
    with pytest.raises(LayoutError, match="wider than 3"):
        write_file(batch.lines(), narrow)
    with pytest.raises(UsanceError, match="no width"):
        parse_layout("format: fixed\ncolumns: [{name: loan}]", "seven.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1", "stands where keys and values belong"),
        ("[]", "stands where keys and values belong"),
        ("format: fixed\ncolumns: [{name: loan, width: nan}]", "not a whole number"),
        (f"format: fixed\ncolumns: [{{name: loan, width: {'9' * 26}}}]", "too large"),
        ("format: fixed\ncolumns: [{name: loan, width: 9, pad: ''}]", "not one character"),
        ("format: fixed\ncolumns: [{name: loan, width: 9, side: top}]", "unknown side 'top'"),
        ("format: xml\ncolumns: [{name: loan, title: 'a b'}]", "no name of an element"),
        ("format: csv\ncolumns: loan", "stands where keys and values belong"),
        ("format: csv", "has no columns"),
    ],
)
def test_a_layout_that_cannot_be_is_named(text: str, says: str) -> None:
    with pytest.raises(UsanceError, match=says):
        parse_layout(text, "seven.yaml")


def test_a_file_that_cannot_be_written_closes_no_batch(tmp_path: Path) -> None:
    receipts, shares = tmp_path / "receipts.csv", tmp_path / "shares.csv"
    receipts.write_text("loan_id,day,kind,amount_minor\n16385,2024-07-01,receipt,900\n")
    shares.write_text("loan_id,institution,principal_minor\n16385,7,1\n")
    folder = SettlementFolder(tmp_path / "settlements")
    narrow = parse_layout("format: fixed\ncolumns: [{name: loan, width: 3}]", "seven.yaml")
    with pytest.raises(LayoutError, match="wider than 3"):
        folder.settle(receipts, shares, date(2024, 7, 2), narrow)
    assert folder.closed() == []


def test_a_folder_keeps_closed_batches_and_refuses_a_changed_one(tmp_path: Path) -> None:
    receipts, shares = tmp_path / "receipts.csv", tmp_path / "shares.csv"
    receipts.write_text("loan_id,day,kind,amount_minor\n16385,2024-07-01,receipt,900\n")
    shares.write_text("loan_id,institution,principal_minor\n16385,7,1\n")
    folder = SettlementFolder(tmp_path / "settlements")
    [made] = folder.settle(receipts, shares, date(2024, 7, 1))
    assert [each.digest for each in folder.closed()] == [made.digest]
    assert folder.settle(receipts, shares, date(2024, 7, 2)) == []
    receipts.write_text("loan_id,day,kind,amount_minor\n16385,2024-07-01,gift,900\n")
    with pytest.raises(UsanceError, match="unknown kind 'gift'"):
        folder.settle(receipts, shares, date(2024, 7, 3))
    [file] = (tmp_path / "settlements").iterdir()
    table = pq.read_table(file)
    pq.write_table(table.set_column(4, "amount_minor", pa.array([901])), file)
    with pytest.raises(SettlementRefused, match="was changed"):
        folder.closed()
