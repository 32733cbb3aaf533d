"""Tape, dues and states made month by month against a replay of all facts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.twin.runs import FIRST, LAST, SCALE, faulty, run_into
from usance.base.book import Book
from usance.base.codes import DecisionKind, FactKind, Status
from usance.base.columns import arrays
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.loan.batch import States, replay_columns, view_columns
from usance.measure.book_tape import dues_between, tape_month
from usance.measure.positions import Portfolio
from usance.twin.month.loan_month import fold, serve
from usance.twin.month.opening_shard import open_shard
from usance.twin.month.timestamps import end_of_month
from usance.twin.run.run_context import RunContext


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return run_into(tmp_path_factory.mktemp("twin") / "run", faulty()).book


def known(book: Book, month: int) -> Portfolio:
    """The portfolio as it was known at the end of a month."""
    loans, moment = book.read("loans"), end_of_month(month, "Asia/Shanghai")
    drawn = loans.filter(
        pc.less_equal(loans["disbursed_on"], pa.scalar(last_of_month(month), pa.date32()))
    )
    facts = book.read("facts")
    own = facts.filter(
        pc.and_(pc.is_in(facts["loan_id"], drawn["loan_id"]),
                pc.less_equal(facts["booked_at"], pa.scalar(moment, facts["booked_at"].type)))
    )  # fmt: skip
    return Portfolio.of(drawn, own, moment)


@pytest.mark.parametrize("month", range(FIRST - 1, LAST + 1))
def test_the_tape_is_what_a_replay_makes(book: Book, month: int) -> None:
    made = book.read("tape", month=month)
    expected = tape_month(known(book, month), month, book.read("cells"))
    assert made.equals(expected)


@pytest.mark.parametrize("month", range(FIRST - 1, LAST + 1))
def test_dues_are_what_a_replay_makes(book: Book, month: int) -> None:
    """The dues of a month stand as they were known two months later, or at the end of the run."""
    when = min(month + 2, LAST)
    expected = dues_between(
        known(book, when), first_of_month(month), last_of_month(month), book.read("cells"),
        last_of_month(when),
    )  # fmt: skip
    amounts = np.stack([arrays(expected)[name] for name in expected.column_names[2:]])
    told = expected.filter(pa.array(amounts.any(axis=0)))  # sums of nothing say nothing
    assert book.read("dues", month=month).equals(told)


def test_states_are_replays(book: Book) -> None:
    kept, portfolio = arrays(book.read("state")), known(book, LAST)
    rows = np.searchsorted(portfolio.columns["loan_id"], kept["loan_id"])
    values = np.ascontiguousarray(np.stack([kept[name] for name in list(kept)[2:]], axis=1))
    day = to_day(last_of_month(LAST))
    views = replay_columns(portfolio.terms, portfolio.facts, day)
    states = States(portfolio.terms.take(rows), values, kept["through"])
    assert (view_columns(states, day).values == views.values[rows]).all()
    closed = np.setdiff1d(np.arange(len(portfolio)), rows)
    # What has no state any more is over, or was when a payment is known that is still to come.
    assert (views.column("status")[closed] == Status.CLOSED).all()


def test_notices_come_late_and_twice_and_nothing_is_lost(book: Book) -> None:
    facts = arrays(book.read("facts"))
    paid = facts["kind"] == FactKind.PAID
    day = facts["booked_at"] // 86_400_000_000
    assert (day[paid] > facts["effective_on"][paid]).mean() > 0.02
    crossing = 0
    for month in range(FIRST, LAST + 1):
        own = arrays(book.read("facts", month=month))
        crossing += int((own["effective_on"] < to_day(first_of_month(month))).sum())
    assert crossing > 20
    keys = np.stack((facts["loan_id"], facts["ref"]))
    assert np.unique(keys, axis=1).shape[1] == len(facts["ref"])


def test_every_kind_of_fact_comes_up(book: Book) -> None:
    kinds = {FactKind(int(each)) for each in np.unique(arrays(book.read("facts"))["kind"])}
    assert kinds == {
        FactKind.DISBURSED,
        FactKind.FEE_CHARGED,
        FactKind.PAID,
        FactKind.COMPENSATED,
        FactKind.BOUGHT_OUT,
        FactKind.CHARGED_OFF,
        FactKind.RECOVERED,
    }


def test_nobody_overdue_borrows_and_nobody_twice_a_month(book: Book) -> None:
    for month in range(FIRST, LAST + 1):
        loans = arrays(book.read("loans", month=month))
        users = loans["loan_id"] // PER_USER
        assert len(np.unique(users)) == len(users) > 10
        before = arrays(book.read("tape", month=month - 1))
        late = np.unique(before["loan_id"][before["dpd"] > 0] // PER_USER)
        # A late notice that arrives may have made a user current in between.
        assert np.isin(users, late).mean() < 0.05


def test_tables_point_to_each_other(book: Book) -> None:
    loans, requests = arrays(book.read("loans")), arrays(book.read("requests"))
    routing, decisions = arrays(book.read("routing")), arrays(book.read("decisions"))
    new = loans["disbursed_on"] >= to_day(first_of_month(FIRST))
    taken = routing["loan_id"][routing["outcome"] == 1]
    assert sorted(taken) == loans["loan_id"][new].tolist()
    assert set(routing["loan_id"]) == set(requests["loan_id"])
    approved = decisions["decision_id"][decisions["approved"] == 1]
    assert np.isin(requests["decision_id"], approved).all()
    assert np.isin(loans["line_id"], book.read("lines")["line_id"].to_numpy()).all()
    users = book.read("users")["user_id"].to_numpy()
    assert users.tolist() == list(range(1, len(users) + 1))


def test_the_folder_is_whole(book: Book, tmp_path: Path) -> None:
    assert book.check() == []
    assert (book.path / "run.json").is_file()
    assert not (tmp_path / "run.json").exists()


def test_inputs_are_kept_and_come_out_again(book: Book) -> None:
    """What a decision was made of is in the book, and follows from the seed alone."""
    context = RunContext(faulty(), SCALE)
    flow = context.assessor.flow
    kept = book.read(table("decision_inputs"), month=FIRST)
    ids = kept["decision_id"].to_numpy()
    decisions = arrays(book.read("decisions", month=FIRST))
    assert (np.sort(decisions["decision_id"]) == ids).all()
    rows = kept["inputs"].combine_chunks().flatten().to_numpy().reshape(len(ids), -1)
    applied = np.flatnonzero(decisions["kind"] == DecisionKind.APPLICATION)
    day = to_day(first_of_month(FIRST))
    again = context.assessor.application_inputs(ids[applied] // PER_USER, day)
    for place, name in enumerate(flow.inputs):
        if name in again:
            assert (rows[applied, place] == again[name]).all()
    decided = context.assessor.decide(DecisionKind.APPLICATION, again)
    assert (decided.approved == (decisions["approved"][applied] == 1)).all()
    assert 0.3 < decided.approved.mean() < 0.95


def test_facts_of_many_loans_are_in_order() -> None:
    """Money recovered on the very day of a charge-off comes after it, whatever else happens."""
    given = faulty()
    old = replace(given.opening, bucket_ppm=(500_000, 0, 0, 0, 0, 0, 500_000))
    pays = replace(given.behaviour, partial_ppm=900_000)
    context = RunContext(replace(given, opening=old, behaviour=pays), Fraction(1))
    shard = open_shard(context, 0).shard
    facts = serve(context.scenario, shard.loans, FIRST, context.rules(FIRST))
    folded = fold(shard.loans, facts, FIRST, context.sources)  # raises where one is out of order
    order = np.lexsort((facts.ref, facts.kind, facts.day, facts.loan_id))
    assert (order == np.arange(len(order))).all()
    off = facts.kind == FactKind.CHARGED_OFF
    back = facts.kind == FactKind.RECOVERED
    same = np.isin(facts.loan_id[back] * 100_000 + facts.day[back],
                   facts.loan_id[off] * 100_000 + facts.day[off])  # fmt: skip
    assert same.any()
    assert len(folded.ends.status) == len(shard.loans)
