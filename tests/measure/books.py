"""Small random books, every table full of rows: what metrics are compared on."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa

from usance.base.codes import code_lists
from usance.base.columns import make, sort
from usance.base.dates import to_month
from usance.base.schemas import Table
from usance.base.tables import table
from usance.measure.book_tape import cells_table
from usance.measure.relations import PROVISIONS

FIRST, LAST = 19723, 19904  # 2024-01-01 to 2024-06-30
MONTHS = range(648, 654)
MOMENT = 86_400_000_000


def random_book(seed: int) -> dict[str, pa.Table]:
    """All tables of a book of half a year, with few values so that segments meet."""
    draw = Random(seed)
    pick = draw.randrange

    def day() -> int:
        return pick(FIRST, LAST + 1)

    def moment() -> int:
        return day() * MOMENT + pick(MOMENT)

    def scored(score: int) -> int:
        return score if score % 8 else 0  # some have no score

    users = _rows(
        "users", range(1, 16), user_id=lambda n: n, registered_on=lambda _: day(),
        channel=lambda _: pick(3), region=lambda _: pick(3), kind=lambda _: 0,
    )  # fmt: skip
    owned = [user * 16384 + n for user in range(1, 16) for n in range(1, 1 + pick(4))]
    decisions = _rows(
        "decisions", owned, decision_id=lambda n: n, booked_at=lambda _: moment(),
        kind=lambda _: pick(3), approved=lambda _: pick(2),
        score=lambda _: scored(pick(300, 600)),
        pd_ppm=lambda _: pick(1, 200_000), line_minor=lambda _: pick(3) * 1000,
        latency_us=lambda _: pick(5000), grade=lambda _: pick(3), model_no=lambda _: 1 + pick(2),
    )  # fmt: skip
    loans = _rows(
        "loans", draw.sample(owned, len(owned) * 3 // 4), loan_id=lambda n: n,
        terms_no=lambda _: 1, decision_id=lambda n: n, model=lambda _: pick(4),
        product=lambda _: pick(3), source=lambda _: 1 + pick(3), disbursed_on=lambda _: day(),
        first_due_on=lambda _: LAST + pick(30), instalments=lambda _: 1 + pick(12),
        principal_minor=lambda _: pick(1, 90_000), grade=lambda _: pick(3),
        user_loan_no=lambda _: pick(3), channel=lambda _: pick(3), region=lambda _: pick(3),
    )  # fmt: skip
    cells = cells_table(loans)
    numbers = cells.column("cell").to_pylist()
    ids = loans.column("loan_id").to_pylist()
    begun = [to_month(each) for each in loans.column("disbursed_on").to_pylist()]
    of_loans = list(zip(ids, begun, strict=True))
    pairs = [(month, loan) for month in MONTHS for loan, first in of_loans
             if month >= first and pick(5)]  # fmt: skip
    return {
        "users": users, "decisions": decisions, "loans": loans, "cells": cells,
        "tape": _tape(pairs, numbers, pick), "dues": _dues(numbers, pick),
        "facts": _facts(ids, pick), **_placing(ids, moment, pick), **_ledger(numbers, pick),
        **_notes(Random(seed).randrange),
    }  # fmt: skip


def _tape(pairs: list[Any], cells: list[int], pick: Any) -> pa.Table:
    amounts = ("principal_minor", "principal_prev_minor", "net30_minor", "net180_minor",
               "prepaid_minor", "recovered_minor")  # fmt: skip
    cohorts = {each: min(648 + pick(6), each[0]) for each in pairs}
    return _rows(
        "tape", pairs, month=lambda n: n[0], loan_id=lambda n: n[1],
        mob=lambda n: n[0] - cohorts[n], cohort=lambda n: cohorts[n], bucket=lambda _: pick(8),
        bucket_prev=lambda _: pick(-1, 8), status=lambda _: pick(3),
        cell=lambda _: cells[pick(len(cells))],
        **dict.fromkeys(amounts, lambda _: pick(50_000)),
    )  # fmt: skip


def _dues(cells: list[int], pick: Any) -> pa.Table:
    keys = [(day, cell) for day in range(FIRST, LAST + 1, 9) for cell in cells if pick(2)]
    amounts = [column for column in table("dues").names if column.endswith("_minor")]
    return _rows("dues", keys, due_on=lambda n: n[0], cell=lambda n: n[1],
                 **dict.fromkeys(amounts, lambda _: pick(9_000)))  # fmt: skip


def _facts(ids: list[int], pick: Any) -> pa.Table:
    rows = [(loan, ref) for loan in ids for ref in range(1, 6)]
    kinds = {row: (10, 11, 10, 11, 12)[row[1] - 1] if pick(3) else 4 for row in rows}
    return _rows(
        "facts", rows, loan_id=lambda n: n[0], effective_on=lambda _: pick(FIRST, LAST + 40),
        kind=lambda n: kinds[n], ref=lambda n: n[1], amount_minor=lambda _: pick(9_000),
        arg=lambda n: 1 + pick(4) if kinds[n] == 12 else 0,
    )  # fmt: skip


def _placing(ids: list[int], moment: Any, pick: Any) -> dict[str, pa.Table]:
    asked = {loan: moment() for loan in ids}
    tries = [(loan, attempt) for loan in ids for attempt in range(1, 2 + pick(3))]
    last = dict(tries)
    outcomes = {each: pick(1, 6) if each[1] == last[each[0]] else 2 for each in tries}
    return {
        "requests": _rows("requests", ids, requested_at=lambda n: asked[n], loan_id=lambda n: n),
        "routing": _rows(
            "routing", tries, loan_id=lambda n: n[0], attempt=lambda n: n[1],
            at=lambda n: asked[n[0]] + pick(9_000_000), source=lambda _: 1 + pick(3),
            outcome=lambda n: outcomes[n], score_minor=lambda _: pick(900),
            runner_up=lambda _: pick(3), runner_up_minor=lambda _: pick(900),
        ),
        "sources": _rows("sources", range(1, 4), source=lambda n: n, version=lambda _: 1,
                         valid_from=lambda n: FIRST + 40 * n, valid_to=lambda n: LAST + n - 2,
                         institution=lambda n: 7 + n // 2),
        "limits": _rows("limits", range(1, 4), source=lambda n: n, version=lambda _: 1,
                        limit=lambda n: n, scope=lambda _: 3 + pick(3),
                        amount_minor=lambda _: pick(-1, 90_000)),
    }  # fmt: skip


def _notes(pick: Any) -> dict[str, pa.Table]:
    """Facts of deals: raised twice, repaid, written down, reversed; and a bank's loan."""
    rows: list[dict[str, Any]] = []

    def fact(kind: int, amount: int, **detail: Any) -> None:
        rows.append({
            "fact_id": len(rows) + 1, "kind": kind, "amount_minor": amount,
            "effective_on": FIRST + pick(LAST - FIRST + 30),
            "detail": json.dumps(detail, sort_keys=True),
        })  # fmt: skip

    for number in range(4):
        lender = "short_term_loans" if number == 3 else "trust_investors"
        lender += "_non_current" * (number == 2)
        rate = ("4.5%", "5%", "3.1234%", "9%")[number]
        fact(10, 1_000 + pick(9_000), deal=f"D{number}/A", lender=lender, rate=rate)
        fact(11, 1 + pick(900), deal=f"D{number}/A")
    fact(10, pick(900) + 1, deal="D0/A", lender="trust_investors", rate="7%")
    fact(17, 1 + pick(90), deal="D1/A", **{"as": "principal"})
    fact(17, 1 + pick(90), deal="D1/A", **{"as": "interest"})
    fact(3, 0, fact=1 + pick(len(rows)))
    spec = table("group_facts")
    columns = {name: [row.get(name, 0) for row in rows] for name in spec.names}
    return {"group_facts": make(spec, **columns)}


def _ledger(cells: list[int], pick: Any) -> dict[str, pa.Table]:
    return {
        "postings": _rows(
            "postings", range(1, 80), journal_id=lambda n: n, line=lambda _: 1,
            account=lambda _: 1 + pick(9), period=lambda _: 648 + pick(6),
            cell=lambda _: cells[pick(len(cells))], amount_minor=lambda _: pick(-9_000, 9_000),
            basis=lambda _: pick(2), currency=lambda _: pick(5) // 4, rule=lambda _: pick(5),
        ),
        "sums": _rows(
            table("sums").with_amounts([*PROVISIONS, "interest_received"]),
            [(month * 100 + 1, cell, new) for month in MONTHS for cell in cells for new in (0, 1)],
            close_no=lambda n: n[0], cell=lambda n: n[1], is_new=lambda n: n[2],
            **dict.fromkeys(PROVISIONS, lambda _: pick(-900, 9_000)),
        ),
    }  # fmt: skip


def _rows(declared: Table | str, keys: Any, **columns: Callable[[Any], int]) -> pa.Table:
    """A table with a row for each key, in key order; columns that are not named hold a zero."""
    spec = table(declared) if isinstance(declared, str) else declared
    keys = list(keys)
    made: dict[str, Any] = {}
    for column in spec.columns:
        if column.type == "text":
            continue
        lowest = min(code_lists()[column.codes].values()) if column.codes else 0
        how = columns.get(column.name)
        made[column.name] = [how(key) if how else lowest for key in keys]
    return sort(make(spec, **made), spec)
