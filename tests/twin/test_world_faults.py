"""Faults of providers and institutions: nothing is lost, nothing counts twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.twin.runs import faulty, ticking
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel, RoutingOutcome
from usance.base.columns import arrays
from usance.base.dates import first_of_month, from_day, to_day
from usance.service.payment_file import HEADER, PaymentFileIntake, PaymentNotice, write_notices
from usance.twin.month.fact_rows import FactRows
from usance.twin.run.runner import run_scenario
from usance.world.providers import Crash, Sender, arrivals
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario, SourceEvent, SourceEventKind

FIRST, LAST = 636, 638
JANUARY = to_day(date(2023, 1, 1))
CALM = read_scenario("calm")


def delivered(
    scenario: Scenario, intake: PaymentFileIntake, notices: Mapping[int, list[PaymentNotice]]
) -> dict[tuple[int, int], int]:
    """Day on which each notice is known: they are sent from the day they are given for."""
    sender = Sender[PaymentNotice](scenario, intake.header)
    known: dict[tuple[int, int], int] = {}
    day, last = min(notices, default=0), max(notices, default=-1)
    while day <= last or sender.waiting:
        for provider, text in sender.files(notices.get(day, [])):
            try:
                accepted = sender.hand_over(intake, provider, text, day)
            except Crash:
                continue  # nothing of the file is known; tomorrow it comes again
            known |= {(each.loan_id, each.ref): day for each in accepted}
        day += 1
    return known


def with_faults(scenario: Scenario, lost: int, damaged: int, crash: int) -> Scenario:
    providers = replace(scenario.providers, lost_ppm=lost, damaged_ppm=damaged, crash_ppm=crash)
    return replace(scenario, providers=providers)


def ran(scenario: Scenario, folder: Path, scale: Fraction, last: int = LAST) -> Book:
    return run_scenario(
        scenario, folder, scale=scale, first=FIRST, last=last, workers=1, clock=ticking()
    ).book


# Files


TOLD = st.lists(
    st.tuples(st.integers(1, 60), st.integers(0, 20), st.integers(1, 10**6), st.integers(1, 3)),
    max_size=25, unique_by=lambda each: each[0],
)  # fmt: skip


class Faults(NamedTuple):
    lost: int
    damaged: int
    crash: int
    twice: int


RATES = st.builds(Faults, *[st.integers(0, 150_000)] * 3, st.integers(0, 500_000))


@settings(max_examples=60)
@given(TOLD, RATES, st.integers(0, 99))
def test_every_notice_arrives_once_whatever_happens_on_the_way(
    told: list[tuple[int, int, int, int]], faults: Faults, seed: int
) -> None:
    """File by file and on columns, on the same day."""
    scenario = with_faults(replace(CALM, seed=seed), *faults[:3])
    providers = replace(scenario.providers, duplicate_ppm=faults.twice)
    scenario = replace(scenario, providers=providers)
    notices: dict[int, list[PaymentNotice]] = {}
    for loan, day, amount, provider in told:
        on = JANUARY + day
        paid = PaymentNotice(
            loan * 16_384 + 1, from_day(on), FactKind.PAID, amount, provider, 163_000 + day
        )
        notices.setdefault(on, []).append(paid)
    intake = PaymentFileIntake()
    found = delivered(scenario, intake, notices)
    sent = {(each.loan_id, each.ref): each for day in notices.values() for each in day}
    assert intake.known == sent
    assert found.keys() == sent.keys()
    rows = sorted(sent.values())
    columns = FactRows.of(
        loan_id=[each.loan_id for each in rows], ref=[each.ref for each in rows],
        day=[to_day(each.effective_on) for each in rows], kind=[int(each.kind) for each in rows],
        amount=[each.amount_minor for each in rows], arg=[each.provider for each in rows],
        booked=[to_day(each.effective_on) for each in rows],
    )  # fmt: skip
    assert arrivals(scenario, columns).tolist() == [found[each.loan_id, each.ref] for each in rows]


def test_damaged_lines_are_named_and_come_again_the_next_day() -> None:
    scenario = with_faults(replace(CALM, seed=5), 0, 400_000, 0)
    told = [PaymentNotice(n * 16_384 + 1, from_day(JANUARY), FactKind.PAID, 100 + n, 1, 163_000)
            for n in range(1, 41)]  # fmt: skip
    sender, intake = Sender[PaymentNotice](scenario, HEADER), PaymentFileIntake()
    ((provider, text),) = sender.files(told)
    taken = intake.take(text, where="provider 1")
    accepted = sender.hand_over(PaymentFileIntake(), provider, text, JANUARY)
    damaged = [number for number, line in enumerate(text.splitlines()[1:], start=2)
               if len(line.split(",")) < 7]  # fmt: skip
    assert 8 < len(damaged) < 25
    assert [str(each).split(":")[0] for each in taken.rejected] == [
        f"provider 1 line {number}" for number in damaged
    ]
    assert len(accepted) == len(told) - len(damaged)
    ((_, again),) = sender.files([])
    assert len(again.splitlines()) == 1 + len(damaged)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(HEADER, "loan,amount"), "is no file of notices"),
        (lambda _: "", "is no file of notices"),
        (lambda text: text.replace("paid", "pait"), "line 2: the line does not fit its check"),
        (lambda text: text + "1,2,3\n", "line 3: the line does not fit its check"),
    ],
)
def test_what_is_no_notice_is_refused(change: Callable[[str], str], said: str) -> None:
    text = write_notices([PaymentNotice(16_385, date(2023, 1, 2), FactKind.PAID, 5, 1, 7)])
    assert said in str(PaymentFileIntake().take(change(text)).rejected[0])


def test_a_notice_that_contradicts_a_known_one_is_refused() -> None:
    paid = PaymentNotice(16_385, date(2023, 1, 2), FactKind.PAID, 5, 1, 7)
    intake = PaymentFileIntake()
    intake.take(write_notices([paid]))
    taken = intake.take(write_notices([paid._replace(amount_minor=6), paid]))
    assert "line 2: contradicts what was told of payment 7" in str(taken.rejected[0])
    assert taken.repeated == (paid,)
    assert intake.known == {(16_385, 7): paid}
    (none,) = intake.take(write_notices([paid._replace(amount_minor=0, ref=8)])).rejected
    assert "an amount of 0" in str(none)
    (other,) = intake.take(write_notices([paid._replace(kind=FactKind.WAIVED, ref=9)])).rejected
    assert "waived is no payment" in str(other)


# A whole run


def test_faults_change_when_payments_are_known_and_nothing_else(tmp_path: Path) -> None:
    """Files lost, damaged, cut off and sent again: the same facts, some of them booked later."""
    still = faulty()
    still = replace(
        still, demand=replace(still.demand, requests=dict.fromkeys(still.demand.requests, 0))
    )
    books = [
        ran(each, tmp_path / str(n), Fraction(1, 10))
        for n, each in enumerate((still, with_faults(still, 150_000, 150_000, 100_000)))
    ]
    # What is told in the last month may be still on its way at its end.
    until = to_day(first_of_month(LAST))
    told = []
    for book in books:
        facts = arrays(book.read("facts"))
        kept = facts["effective_on"] < until
        names = ("loan_id", "effective_on", "kind", "ref", "amount_minor", "arg")
        order = np.lexsort(tuple(facts[name][kept] for name in reversed(names[:4])))
        told.append({name: facts[name][kept][order] for name in (*names, "booked_at")})
    usual, late = told
    assert len(usual["ref"]) > 1_500
    for name in ("loan_id", "effective_on", "kind", "ref", "amount_minor", "arg"):
        assert (usual[name] == late[name]).all()
    moved = late["booked_at"] - usual["booked_at"]
    money = np.isin(usual["kind"], (int(FactKind.PAID), int(FactKind.RECOVERED)))
    opening = usual["effective_on"] < to_day(first_of_month(FIRST))
    assert (moved >= 0).all()
    assert (moved[~money] == 0).all()
    assert 0.2 < (moved[money & ~opening] > 0).mean() < 0.5
    months = [arrays(book.read("facts", month=FIRST + 1)) for book in books]
    crossed = [int((each["effective_on"] < to_day(first_of_month(FIRST + 1))).sum())
               for each in months]  # fmt: skip
    assert crossed[1] > crossed[0]


def test_requests_fall_to_the_next_source_while_one_is_silent(tmp_path: Path) -> None:
    first, last = date(2023, 1, 5), date(2023, 1, 20)
    down = SourceEvent(
        SourceEventKind.OUTAGE,
        FundingModel.CAPITAL_HEAVY,
        to_day(first),
        to_day(last),
        -1,
        (1, 2, 3, 4),
    )
    scenario = replace(faulty(), source_events=(down,))
    routing = arrays(ran(scenario, tmp_path / "run", Fraction(1), FIRST).read("routing"))
    eight_hours = 8 * 3_600 * 10**6
    day = (routing["at"] + eight_hours) // (86_400 * 10**6)
    inside = (
        (day >= to_day(first)) & (day <= to_day(last)) & np.isin(routing["source"], range(1, 5))
    )
    assert inside.sum() > 20
    assert (routing["outcome"][inside] == RoutingOutcome.TIMED_OUT).all()
    assert not (routing["outcome"][~inside] == RoutingOutcome.TIMED_OUT).any()
    unheard = np.unique(routing["loan_id"][inside])
    elsewhere = np.isin(routing["loan_id"], unheard) & ~inside
    placed = routing["outcome"][elsewhere] == RoutingOutcome.APPROVED
    assert placed.sum() > len(unheard) / 2
