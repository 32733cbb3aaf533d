"""Cohort triangles against the plain reading of their definition."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measure.portfolios import facts_table, loans_table, plain_terms
from usance.base.codes import FactKind
from usance.base.dates import to_month
from usance.base.parquet import write_parquet
from usance.base.tables import table
from usance.loan import Fact, Terms, visible
from usance.loan.errors import FactError, ReversalError
from usance.loan.facts import END_OF_TIME
from usance.measure.triangles import MEASURES, Triangle, triangle

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
KINDS = (*MEASURES.values(), FactKind.PAID, FactKind.REVERSED)


def random_book(seed: int, count: int = 12) -> tuple[dict[int, Terms], dict[int, list[Fact]]]:
    """Loans of half a year with facts of every kind that matters, some reversed, some late."""
    draw = Random(seed)
    terms, facts = {}, {}
    for loan in range(1, count + 1):
        drawn = date(2024, 1, 1) + timedelta(days=draw.randrange(180))
        terms[loan] = plain_terms(drawn)
        rows = [Fact(FactKind.DISBURSED, drawn, 9_000_00, 1, 0, NOON)]
        for ref in range(2, draw.randrange(2, 9)):
            kind = draw.choice(KINDS)
            targets = {each.ref for each in rows if each.kind != FactKind.REVERSED}
            targets -= {each.arg for each in rows if each.kind == FactKind.REVERSED}
            if kind == FactKind.REVERSED and not targets:
                continue
            arg = draw.choice(sorted(targets)) if kind == FactKind.REVERSED else 0
            amount = 0 if kind == FactKind.REVERSED else draw.randrange(1, 10_000)
            day = drawn + timedelta(days=draw.randrange(200))
            # A reversal is never known before what it reverses.
            booked = NOON + timedelta(days=ref * 10 + draw.randrange(10))
            rows.append(Fact(kind, day, amount, ref, arg, booked))
        facts[loan] = rows
    return terms, facts


def brute(
    terms: dict[int, Terms],
    facts: dict[int, list[Fact]],
    segments: dict[int, int],
    as_of: date,
    known_at: datetime,
) -> Counter[tuple[str, int, int, int]]:
    """Every known cell that is not zero: measure, segment, cohort, age."""
    cells: Counter[tuple[str, int, int, int]] = Counter()
    last = to_month(as_of)
    for loan, rows in facts.items():
        cohort = to_month(terms[loan].disbursed_on)
        for fact in visible(rows, as_of=as_of, known_at=known_at):
            for name, kind in MEASURES.items():
                if fact.kind == kind:
                    for age in range(to_month(fact.effective_on) - cohort, last - cohort + 1):
                        cells[name, segments[loan], cohort, age] += fact.amount_minor
    return cells


def cells_of(made: Triangle) -> dict[tuple[str, int, int, int], int]:
    found = {}
    for name in MEASURES:
        for at in zip(*np.nonzero(getattr(made, name)), strict=True):
            segment, cohort = made.segments[at[0]], made.cohorts[at[1]]
            found[name, int(segment), int(cohort), int(at[2])] = int(getattr(made, name)[at])
    return found


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 400), st.integers(0, 120))
def test_every_cell_is_the_sum_of_its_facts(seed: int, days: int, known_days: int) -> None:
    terms, facts = random_book(seed)
    as_of = date(2024, 1, 1) + timedelta(days=days)
    known_at = NOON + timedelta(days=known_days)
    models = [loan % 3 for loan in sorted(terms)]
    products = [loan % 2 for loan in sorted(terms)]
    made = triangle(
        loans_table(terms, model=models, product=products), facts_table(facts),
        as_of=as_of, known_at=known_at,
    )  # fmt: skip
    segments = {loan: loan % 3 * 8 + loan % 2 for loan in terms}
    assert cells_of(made) == brute(terms, facts, segments, as_of, known_at)
    assert made.limits.tolist() == [to_month(as_of) - month for month in made.cohorts]
    assert (made.originated_minor[:, ~made.known] == 0).all()


def test_files_and_shards_give_what_tables_give(tmp_path: Path) -> None:
    terms, facts = random_book(7, count=40)
    day = date(2024, 9, 15)
    whole = triangle(loans_table(terms), facts_table(facts), as_of=day)
    parts = []
    for shard in range(3):
        mine = {loan: each for loan, each in terms.items() if loan % 3 == shard}
        loans, rows = tmp_path / f"loans{shard}.parquet", tmp_path / f"facts{shard}.parquet"
        write_parquet(loans_table(mine), table("loans"), loans)
        write_parquet(facts_table({loan: facts[loan] for loan in mine}), table("facts"), rows)
        parts.append(triangle(loans, [rows], as_of=day))
    together = Triangle.sum_of(parts)
    assert cells_of(together) == cells_of(whole)
    assert together.cohorts.tolist() == whole.cohorts.tolist()
    assert together.limits.tolist() == whole.limits.tolist()


def test_a_segment_is_any_function_of_the_columns() -> None:
    terms, facts = random_book(3)
    loans = loans_table(terms, grade=[loan % 5 for loan in sorted(terms)])
    made = triangle(
        loans, facts_table(facts), as_of=date(2025, 1, 31), segment=lambda columns: columns["grade"]
    )
    cells = brute(terms, facts, {n: n % 5 for n in terms}, date(2025, 1, 31), END_OF_TIME)
    assert cells_of(made) == cells


def test_nothing_yet_is_an_empty_triangle() -> None:
    terms, facts = random_book(1)
    made = triangle(loans_table(terms), facts_table(facts), as_of=date(2023, 12, 31))
    assert made.originated_minor.shape == (0, 0, 0)
    assert Triangle.sum_of([made, made]).cohorts.tolist() == []


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ([Fact(FactKind.REVERSED, date(2024, 2, 1), ref=1, arg=9)], ReversalError),
        ([Fact(FactKind.RECOVERED, date(2024, 1, 20), 1, ref=1),
          Fact(FactKind.REVERSED, date(2024, 2, 1), ref=2, arg=1),
          Fact(FactKind.REVERSED, date(2024, 2, 1), ref=3, arg=1)], ReversalError),
        ([Fact(FactKind.REVERSED, date(2024, 2, 1), ref=2, arg=3),
          Fact(FactKind.REVERSED, date(2024, 2, 1), ref=3, arg=2)], ReversalError),
        ([Fact(FactKind.RECOVERED, date(2023, 12, 31), 1, ref=1)], FactError),
    ],
)  # fmt: skip
def test_what_a_replay_refuses_is_refused(facts: list[Fact], error: type[Exception]) -> None:
    loans = loans_table({16392: plain_terms(date(2024, 1, 15))})
    with pytest.raises(error, match="loan 16392"):
        triangle(loans, facts_table({16392: facts}), as_of=date(2024, 6, 30))


def test_facts_without_terms_are_refused() -> None:
    loans = loans_table({16392: plain_terms(date(2024, 1, 15))})
    stranger = {16393: [Fact(FactKind.RECOVERED, date(2024, 2, 1), 1, ref=1)]}
    with pytest.raises(FactError, match="16393"):
        triangle(loans, facts_table(stranger), as_of=date(2024, 6, 30))
