"""Lines for service and requests for match: by hand in plain Python, and in columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import usance.assess
from tests.assess.flow_cases import random_codes
from tests.assess.requests import request, ticking
from usance.assess.decision.columns import decide_columns
from usance.assess.decision.decide import Decider
from usance.assess.decision.output_tables import (
    LineState,
    decision_rows,
    line_rows,
    request_rows,
    rows_of_decisions,
    write_decision_tables,
)
from usance.assess.errors import DecisionTableError
from usance.assess.flow.files import read_flow
from usance.base.book import Book
from usance.base.codes import DecisionKind, Product
from usance.base.columns import make
from usance.base.errors import Problems, UsanceError
from usance.base.ids import PER_USER, owned_id

ZONE = "Asia/Shanghai"
HOUR = 3_600_000_000
START = 1_719_700_000_000_000

rows = st.lists(
    st.tuples(
        st.integers(1, 3), st.integers(0, 60), st.sampled_from([0, 1, 2]), st.booleans(),
        st.sampled_from([0, 500_000, 700_000]),
    ),
    max_size=12,
)  # fmt: skip


def table_of(found: list[tuple[int, int, int, bool, int]]) -> pa.Table:
    """Decisions of users, hours after the start, of a kind, approved or not, with a line."""
    numbers: dict[int, int] = {}
    made: list[dict[str, Any]] = []
    for user, hours, kind, approved, line in found:
        numbers[user] = numbers.get(user, 0) + 1
        row = {"decision_id": owned_id(user, numbers[user]), "booked_at": START + hours * HOUR}
        row |= {"kind": kind, "approved": int(approved), "line_minor": line * approved}
        row |= {"rate_ppm": 180_000 * approved, "grade": 1 + user, "score": 600, "pd_ppm": 20_000}
        row |= dict.fromkeys(("model_no", "latency_us", *(f"reason_{n}" for n in range(1, 5))), 0)
        made.append({**row, "flow_no": 1})
    made.sort(key=lambda row: row["decision_id"])
    names = made[0] if made else []
    return make("decisions", **{name: [row[name] for row in made] for name in names})


@settings(deadline=None)
@given(rows.filter(bool))
def test_lines_are_the_last_change_of_each_day(
    found: list[tuple[int, int, int, bool, int]],
) -> None:
    decisions = table_of(found)
    expected: dict[tuple[int, Any], tuple[int, int, int]] = {}
    held = sorted(decisions.to_pylist(), key=lambda row: (row["booked_at"], row["decision_id"]))
    for row in held:
        line = row["decision_id"] // PER_USER * PER_USER + 1
        day = row["booked_at"].astimezone(ZoneInfo(ZONE)).date()
        if row["kind"] == 1 or (row["kind"] == 0 and not row["line_minor"]):
            continue
        state = LineState.ACTIVE if row["line_minor"] else LineState.FROZEN
        price = row["rate_ppm"] if row["line_minor"] else 0
        expected[line, day] = (row["line_minor"], price, int(state))
    own = np.array(decisions.column("decision_id")) // PER_USER * PER_USER + 1
    made = line_rows(decisions, line_id=own, product=Product.INSTALMENT, time_zone=ZONE)
    assert [
        ((row["line_id"], row["effective_on"]), (row["limit_minor"], row["rate_ppm"], row["state"]))
        for row in made.to_pylist()
    ] == sorted(expected.items())


@settings(deadline=None)
@given(rows.filter(bool))
def test_requests_are_the_approved_drawdowns_in_order(
    found: list[tuple[int, int, int, bool, int]],
) -> None:
    decisions = table_of(found)
    ids = np.array(decisions.column("decision_id"))
    amount = 1000 + np.arange(len(ids))
    made = request_rows(
        decisions, loan_id=ids, product=1, amount_minor=amount, months=12, rate_ppm=180_000,
        region=3, channel=4,
    )  # fmt: skip
    expected = sorted(
        (row["booked_at"], row["decision_id"], int(amount[at]), row["grade"])
        for at, row in enumerate(decisions.to_pylist())
        if row["kind"] == 1 and row["approved"]
    )
    assert expected == [
        (row["requested_at"], row["loan_id"], row["amount_minor"], row["grade"])
        for row in made.to_pylist()
    ]


def test_one_decision_and_a_column_of_them_give_the_same_rows(tmp_path: Path) -> None:
    flow = read_flow("consumer")
    one = Decider(flow).decide(request(), ticking())
    codes = {
        name: [int(code)]
        for name, code in zip(flow.inputs, one.inputs, strict=True)
        if not np.isnan(code)
    }
    decided = decide_columns(flow, one.kind, codes)
    single = rows_of_decisions([one])
    at = int(one.booked_at.timestamp() * 1_000_000)
    column = decision_rows(
        flow, one.kind, decided, decision_id=[one.decision_id], booked_at=[at],
        latency_us=one.latency_us,
    )  # fmt: skip
    assert column.equals(single)
    lines = line_rows(single, line_id=owned_id(7, 1), product=Product.INSTALMENT, time_zone=ZONE)
    book = Book.create(tmp_path / "book", currency="CNY", time_zone=ZONE)
    write_decision_tables(book, decisions=single, lines=lines)
    assert book.read("lines").equals(lines)
    assert book.read("decisions", month=653).num_rows == 1


def test_a_batch_of_drawdowns_reaches_a_book_by_month_and_shard(tmp_path: Path) -> None:
    flow = read_flow("consumer")
    kind = DecisionKind.DRAWDOWN
    codes = {
        name: values
        for name, values in random_codes(flow, 400, seed=5).items()
        if name in flow.needed(kind)
    }
    decided = decide_columns(flow, kind, codes)
    # Two shards, and moments either side of midnight in Shanghai at a month's end.
    users = np.where(np.arange(400) % 2, 5_000_000, 1) + np.arange(400)
    midnight = int(datetime(2024, 6, 30, 16, tzinfo=UTC).timestamp()) * 1_000_000
    ids = users * PER_USER + 9
    decisions = decision_rows(
        flow, kind, decided, decision_id=ids, booked_at=midnight - 200 + np.arange(400)
    )
    order = np.argsort(ids)
    requests = request_rows(
        decisions, loan_id=ids[order], product=Product.V_POCKET, months=3,
        amount_minor=codes["drawdown_minor"][order], rate_ppm=200_000, region=1, channel=2,
    )  # fmt: skip
    assert 0 < requests.num_rows == int(decided.approved.sum()) < 400
    book = Book.create(tmp_path / "book", currency="CNY", time_zone=ZONE)
    write_decision_tables(book, decisions=decisions, requests=requests)
    assert {(file.month, file.shard) for file in book.files("decisions")} == {
        (653, 0), (653, 1), (654, 0), (654, 1)
    }  # fmt: skip
    assert book.read("requests").equals(requests)
    amounts = {int(each): int(codes["drawdown_minor"][at]) for at, each in enumerate(ids)}
    for row in requests.to_pylist():
        assert row["amount_minor"] == amounts[row["loan_id"]]
        assert row["decision_id"] == row["loan_id"]


def test_what_belongs_to_another_user_or_is_nothing_is_refused() -> None:
    decisions = table_of([(1, 0, 1, True, 0), (2, 1, 1, True, 0)])
    with pytest.raises(Problems) as caught:
        request_rows(
            decisions, loan_id=[16385, 16386], product=1, amount_minor=[0, 5], months=[12, 0],
            rate_ppm=1, region=1, channel=1,
        )  # fmt: skip
    told = str(caught.value)
    assert "loan_id, row 2: 16386 is not of the user of de_" in told
    assert "amount_minor, row 1: 0 is too small" in told
    assert "months, row 2: 0 is too small" in told
    for wrong in ([1.5, 2], [1, 2, 3], ["a", "b"], None):
        with pytest.raises(DecisionTableError, match="line_id"):
            line_rows(decisions, line_id=wrong, product=1, time_zone=ZONE)


def test_only_tables_of_this_room_are_written_and_never_twice(tmp_path: Path) -> None:
    book = Book.create(tmp_path / "book", currency="CNY", time_zone=ZONE)
    decisions = table_of([(1, 0, 0, True, 500_000)])
    with pytest.raises(DecisionTableError, match="loans is no table of decisions"):
        write_decision_tables(book, loans=decisions)
    write_decision_tables(book, decisions=decisions)
    with pytest.raises(UsanceError):
        write_decision_tables(book, decisions=decisions)
    assert book.rows("decisions") == 1


def test_the_public_names_of_the_room() -> None:
    for name in usance.assess.__all__:
        assert getattr(usance.assess, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        usance.assess.nothing  # type: ignore[attr-defined]  # noqa: B018
