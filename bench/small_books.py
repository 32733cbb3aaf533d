"""Small books: this engine beside re-solving every day and three other policies, over many streams.

Streams of six kinds with ten seeds, every second one with binding shares and minimum takes; with
and without a forecast. Small books meet every kind with every seed, large ones the kinds in turn.
The figure of a policy is by how much this engine is ahead of it, as the mean over all streams of a
size, with the spread. The engine's settings were chosen on seeds below 100.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import mean, stdev

import numpy as np

from bench.report import Report
from usance.match.backtest.replay import margin_of_run
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.mandates.mandate import ConcentrationLimit, Mandate, Measure, MinimumTake
from usance.match.router.router import route
from usance.match.router.state import DAILY, ENGINE, GREEDY, MIRROR, PRIMAL_DUAL

SIZES, SEEDS, SOURCES, SEGMENTS = (500, 2_000, 20_000, 1_000_000), range(101, 111), 15, 60
EVERY_KIND_UP_TO = 5_000
OTHERS = (DAILY, MIRROR, PRIMAL_DUAL, GREEDY)
TURNS = "turns at half-time"
KINDS = (*(kind.value for kind in StreamKind), TURNS)
"""Kinds of stream, and one whose mix turns at half-time: good grades first, risky ones later."""


def streams(requests: int, seeds: range) -> Iterator[Stream]:
    """Streams of every kind and seed, or of the kinds in turn; every second one is tightened."""
    if requests <= EVERY_KIND_UP_TO:
        pairs = [(kind, seed) for kind in KINDS for seed in seeds]
    else:
        pairs = [(KINDS[place % len(KINDS)], seed) for place, seed in enumerate(seeds)]
    for place, (kind, seed) in enumerate(pairs):
        base = StreamKind.STEADY if kind == TURNS else StreamKind(kind)
        made = make_stream(base, seed=seed, requests=requests, sources=SOURCES, segments=SEGMENTS)
        made = turned(made, seed) if kind == TURNS else made
        yield tightened(made) if (place + place // len(KINDS)) % 2 else made


def turned(made: Stream, seed: int) -> Stream:
    """The same requests in another order: the better half of grades comes mostly first."""
    draw, requests = np.random.default_rng(seed), made.requests
    risky = requests.grade > np.median(requests.grade)
    order = np.argsort(np.where(risky, 0.35, 0.0) + 0.65 * draw.random(len(requests)))
    halves = np.array_split(order, 2)
    order = np.concatenate([draw.permutation(half) for half in halves])
    moved = requests.take(order)
    return replace(
        made,
        requests=replace(
            moved, requested_at=requests.requested_at, loan_id=requests.loan_id,
            decision_id=requests.decision_id,
        ),
    )  # fmt: skip


def tightened(made: Stream) -> Stream:
    """The same stream with shares below what demand has of a region and of the riskiest grade."""
    rows = tuple(_tightened(made, n, each) for n, each in enumerate(made.mandates.mandates))
    return replace(made, mandates=replace(made.mandates, mandates=rows))


def _tightened(made: Stream, n: int, mandate: Mandate) -> Mandate:
    own, limits = mandate.eligibility, []
    for measure, column, accepted in (
        (Measure.REGION, made.requests.region, own.regions),
        (Measure.GRADE, made.requests.grade, own.grades),
    ):
        volume = np.bincount(column, made.requests.amount_minor)
        members = [m for m in accepted or range(len(volume)) if m < len(volume) and volume[m]]
        if len(members) > 1:
            share = volume[members[-1]] / sum(volume[m] for m in members)
            limits.append(ConcentrationLimit(measure, round(600_000 * share), members[-1]))
    take = MinimumTake(mandate.budgets.total_minor * 4 // 5) if n % 4 == 0 else None
    return replace(mandate, concentration_limits=tuple(limits), minimum_take=take)


def ahead(requests: int, seeds: range, *, forecast: bool) -> dict[str, list[float]]:
    """By how many per cent this engine is ahead of each other policy, stream by stream.

    No stream may have a limit broken.
    """
    found: dict[str, list[float]] = {policy.title: [] for policy in OTHERS}
    for made in streams(requests, seeds):
        demand = made.demand if forecast else None
        engine, *others = (
            margin_of_run(route(made.requests, made.mandates, policy, demand=demand), made.mandates)
            for policy in (ENGINE, *OTHERS)
        )
        for policy, margin in zip(OTHERS, others, strict=True):
            found[policy.title].append(100 * (engine / margin - 1))
    return found


def small_books(report: Report, sizes: tuple[int, ...] = SIZES, seeds: range = SEEDS) -> None:
    """The lines of every size, with and without a forecast."""
    for requests in sizes:
        for forecast in (True, False):
            known = "with" if forecast else "without"
            for title, figures in ahead(requests, seeds, forecast=forecast).items():
                spread = f"{mean(figures):+.2f} % (spread {stdev(figures):.2f})"
                report.line(f"{requests:,} requests {known} a forecast, ahead of {title}", spread)
