"""Replays: beside every baseline, under a certificate, the same each time; and explained."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from usance.cli import main
from usance.match.backtest.replay import Replay, margin_of_run, replay
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.errors import NotFound
from usance.match.mandates.mandate import Event, EventKind
from usance.match.plan.dual_bound import evaluate
from usance.match.router.explanation import explain_loan, explain_source
from usance.match.router.router import Router, route
from usance.match.router.state import DAILY, ENGINE, GREEDY, POLICIES

SIZE = {"seed": 9, "requests": 4_000, "sources": 16, "segments": 40}


@pytest.fixture(scope="module")
def leaves() -> Stream:
    return make_stream(StreamKind.SOURCE_LEAVES, **SIZE)


@pytest.fixture(scope="module")
def done(leaves: Stream) -> Replay:
    return replay(leaves.requests, leaves.mandates, leaves.demand)


def test_the_engine_is_above_every_baseline_and_below_the_bound(done: Replay) -> None:
    rows = done.as_dict()["policies"]
    best, *others = [row["margin_minor"] for row in rows]
    assert rows[0]["policy"] == "engine"
    assert best > max(others)
    assert best <= done.bound.bound_minor
    assert rows[0]["captured_ppm"] > 900_000
    assert all(row["violations"] == row["concentration_limits_broken"] == 0 for row in rows)


def test_the_bound_is_a_certificate_at_its_own_prices(done: Replay) -> None:
    point = done.bound.point
    again = evaluate(done.bound.problem, point.prices, point.concentration_prices)
    assert again.bound == point.bound
    for run in done.runs:
        assert run.margin_minor <= point.bound
    assert (point.prices >= 0).all()


def test_the_source_that_left_gets_nothing_after_noon(leaves: Stream, done: Replay) -> None:
    (event,) = leaves.mandates.events
    result = done.runs[0].result
    gone = result.requests.requested_at >= event.at.timestamp() * 1_000_000
    column = [each.source for each in leaves.mandates.mandates].index(event.source)
    assert (result.column[~gone] == column).any()
    assert not (result.column[gone] == column).any()
    assert any("leaves" in made.reason for made in result.plans)


def test_same_seed_same_answer_other_seed_other_answers(leaves: Stream) -> None:
    first, again, other = (
        route(leaves.requests, leaves.mandates, ENGINE, demand=leaves.demand, seed=seed).column
        for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_without_a_forecast_it_learns(leaves: Stream) -> None:
    has_no_forecast = route(leaves.requests, leaves.mandates, ENGINE)
    greedy = route(leaves.requests, leaves.mandates, GREEDY)
    assert has_no_forecast.margin_minor > greedy.margin_minor


def test_an_institution_that_suddenly_declines_is_noticed(leaves: Stream) -> None:
    from dataclasses import replace

    column = int(
        np.bincount(route(leaves.requests, leaves.mandates, GREEDY).column + 1)[1:].argmax()
    )
    source = leaves.mandates.mandates[column].source
    when = datetime(2024, 6, 12, tzinfo=UTC)
    book = replace(leaves.mandates, events=(Event(when, source, EventKind.APPROVAL_RATE, 100_000),))
    router = Router(leaves.requests, book, ENGINE, demand=leaves.demand)
    result = router.run()
    assert any("approval rate changed" in made.reason for made in result.plans)
    stated = leaves.mandates.mandates[column].approval_ppm
    assert router.approval_tracker.rate[column] < stated // 2
    others = np.arange(len(router.approval_tracker.rate)) != column
    assert (np.abs(router.approval_tracker.rate - router.columns.approval)[others] < 100_000).all()


def test_a_loan_is_explained_as_it_was_routed(leaves: Stream, done: Replay) -> None:
    result = done.runs[0].result
    for row in (40, 2_210):
        loan = int(leaves.requests.loan_id[row])
        why = explain_loan(leaves.requests, leaves.mandates, loan, leaves.demand)
        column = int(result.column[row])
        assert why["source"] == (leaves.mandates.mandates[column].source if column >= 0 else 0)
        nets = [each["net_minor"] for each in why["candidates"]]
        assert nets == sorted(nets, reverse=True)
        assert len(why["candidates"]) + len(why["excluded"]) == 16
    with pytest.raises(NotFound):
        explain_loan(leaves.requests, leaves.mandates, 1, leaves.demand)


def test_a_source_is_told_what_its_rules_exclude(leaves: Stream, done: Replay) -> None:
    why = explain_source(leaves.requests, leaves.mandates, 3, leaves.demand)["versions"][0]
    result = done.runs[0].result
    assert why["loans"] == (result.column == 2).sum()
    assert 0 < why["eligible_ppm"] < 1_000_000
    assert set(why["excluded_ppm"]) <= {"region", "grade", "channel", "product", "hours"}
    with pytest.raises(NotFound):
        explain_source(leaves.requests, leaves.mandates, 999)


def test_the_commands_work_file_in_file_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> str:
        assert main(["match", *words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    folder = tmp_path / "s"
    files = [str(folder / "STREAM.csv"), str(folder / "MANDATES.yaml")]
    run("stream", "adversarial", "--requests", "1500", "--sources", "16", "--segments", "30",
        "--out", str(folder))  # fmt: skip
    assert "no contradiction" in run("check", files[1])
    made = json.loads(run("plan", str(folder / "DEMAND.csv"), files[1], "--json"))["data"]
    assert made["feasible"]
    routing = tmp_path / "routing.parquet"
    answer = json.loads(run("replay", *files, "--json", "--routing", str(routing)))["data"]
    assert len(answer["policies"]) == 5
    assert routing.stat().st_size
    loan = (folder / "STREAM.csv").read_text().splitlines()[700].split(",")[1]
    assert json.loads(run("explain", *files, "--loan", loan, "--json"))["data"]["candidates"]
    assert "kept out by product" in run("explain", *files, "--source", "2")
    limit = run("explain", str(folder / "DEMAND.csv"), files[1], "--limit", "1")
    assert "planned again with" in limit


def test_nothing_is_routed_on_a_broken_mandate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_stream(StreamKind.STEADY, seed=1, requests=50, sources=4, segments=10)
    made.write(tmp_path)
    file = tmp_path / "MANDATES.yaml"
    file.write_text(file.read_text().replace("- head of risk", "- head of funding", 1))
    routing = tmp_path / "routing.parquet"
    words = ["match", "replay", str(tmp_path / "STREAM.csv"), str(file), "--routing", str(routing)]
    assert main(words) == 2
    assert "approved by 1 person" in capsys.readouterr().err
    assert not routing.exists()
    assert main(["match", "stream", "stedy", "--out", str(tmp_path)]) == 2
    assert "Did you mean 'steady'" in capsys.readouterr().err


# Small books, where noise is large: with plans made rarely, mirror descent earns more on each.
SMALL = (
    (StreamKind.SEASONAL, 12, 20, 100),
    (StreamKind.DRIFTING, 11, 5, 40),
    (StreamKind.SOURCE_LEAVES, 11, 5, 40),
    (StreamKind.ADVERSARIAL, 11, 5, 40),
)


@pytest.mark.parametrize("small", SMALL, ids=[kind.value for kind, *_ in SMALL])
def test_a_small_book_is_planned_each_day_and_above_every_baseline(
    small: tuple[StreamKind, int, int, int],
) -> None:
    kind, seed, sources, segments = small
    made = make_stream(kind, seed=seed, requests=5_000, sources=sources, segments=segments)
    best, *others = (
        route(made.requests, made.mandates, policy, demand=made.demand) for policy in POLICIES
    )
    assert best.margin_minor > max(other.margin_minor for other in others)
    days = best.rows.day[[plan.request for plan in best.plans]]
    # A plan comes a day after the last, or with the first request of the hour after that.
    assert len(set(best.rows.day) - set(days)) <= 1


def test_a_small_book_is_ahead_of_a_daily_re_solve_with_and_without_a_forecast() -> None:
    kinds = (StreamKind.STEADY, StreamKind.DRIFTING, StreamKind.ADVERSARIAL)
    made = [make_stream(kind, seed=3, requests=600, sources=12, segments=40) for kind in kinds]
    for forecast in (True, False):
        engine, daily = (
            sum(
                margin_of_run(
                    route(
                        each.requests, each.mandates, policy,
                        demand=each.demand if forecast else None,
                    ),
                    each.mandates,
                )
                for each in made
            )
            for policy in (ENGINE, DAILY)
        )  # fmt: skip
        assert engine > daily
