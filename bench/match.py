"""The match room: margin captured against hindsight on a million loans, and the time it takes.

`python -m bench.match FILE.svg` measures regret against the horizon and draws it.
"""

from __future__ import annotations

import sys
import time
from math import log10
from pathlib import Path

from bench.report import Report
from usance.match.backtest.replay import Replay, replay
from usance.match.backtest.streams import StreamKind, make_stream
from usance.match.plan.planner import make_plan
from usance.match.router.state import POLICIES
from usance.pages.charts import lines

REQUESTS, SOURCES, SEGMENTS = 1_000_000, 160, 20_000
AIMS = {
    StreamKind.STEADY: 99.0,
    StreamKind.SEASONAL: 99.0,
    StreamKind.DRIFTING: 97.0,
    StreamKind.SOURCE_LEAVES: 97.0,
    StreamKind.ADVERSARIAL: None,
}
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000)
CHART_SOURCES = 40


def run(report: Report) -> None:
    """Every stream at full size, then the large plan."""
    for kind, aim in AIMS.items():
        report.section(f"match: {kind}, {REQUESTS:,} requests, {SOURCES} sources")
        show(report, replayed(kind, REQUESTS, SOURCES), aim)
    large_plan(report)


def replayed(kind: StreamKind, requests: int, sources: int) -> Replay:
    """One stream by every policy; the clock is this thread's own, so other work does not count."""
    made = make_stream(kind, seed=1, requests=requests, sources=sources)
    return replay(made.requests, made.mandates, made.demand, clock=time.thread_time_ns)


def show(report: Report, done: Replay, aim: float | None) -> None:
    """The lines of one replay."""
    rows = [done.row(run) for run in done.runs]
    engine, others = rows[0], rows[1:]
    captured = engine["captured_ppm"] / 10_000
    if aim is None:
        report.line("margin of this engine, of hindsight", f"{captured:.2f} %")
    else:
        report.at_least("margin of this engine, of hindsight", captured, aim, "%")
    for row in others:
        report.line(f"  {row['title']}", f"{row['captured_ppm'] / 10_000:.2f} %")
    above = engine["margin_minor"] > max(row["margin_minor"] for row in others)
    report.line("above every baseline", "yes" if above else "no", "aim yes", above)
    broken = sum(row["violations"] + row["concentration_limits_broken"] for row in rows)
    report.at_most("limits broken, all rules together", broken, 0, "")
    report.line("regret of this engine per loan", f"{engine['regret_per_loan_minor']} fen")
    fallback = 100 * engine["fallbacks"] / done.requests
    report.line("fallbacks", f"{fallback:.1f} %")
    micro = engine["nanoseconds_per_decision"] / 1000
    report.at_most("a decision in the kernel", micro, 2, "µs")


def large_plan(report: Report) -> None:
    """Twenty thousand segments over 160 sources, then again with a tenth less demand."""
    report.section(f"match: plan of {SEGMENTS:,} segments, {SOURCES} sources")
    made = make_stream(
        StreamKind.STEADY, seed=1, requests=REQUESTS, sources=SOURCES, segments=SEGMENTS
    )
    begun = time.thread_time()
    first = make_plan(made.demand, made.mandates)
    report.at_most(
        f"plan, {first.solved.solver}, 1e-4, one thread", time.thread_time() - begun, 90, "s"
    )
    begun = time.thread_time()
    again = make_plan(made.demand.over_period().scaled(9, 10), made.mandates, warm_start=first)
    report.at_most("a tenth less demand, from its prices", time.thread_time() - begun, 10, "s")
    shape = f"{again.solved.solver}, {len(again.problem.rows.amount):,} rows"
    report.line("  solver of the second", shape)


def regret_chart(file: Path) -> None:
    """Regret per loan against the number of requests, as an SVG."""
    curves: dict[str, list[tuple[float, float]]] = {each.title: [] for each in POLICIES}
    for requests in HORIZONS:
        done = replayed(StreamKind.STEADY, requests, CHART_SOURCES)
        for each in done.runs:
            row = done.row(each)
            share = 100 - row["captured_ppm"] / 10_000
            curves[row["title"]].append((log10(requests), log10(max(share, 0.01))))
            sys.stdout.write(f"{requests} {row['policy']} {share:.3f} %\n")
    chart = lines(
        {name: curve for name, curve in curves.items() if curve}, dots=True,
        format_x=lambda x: f"{10**x:,.0f}", format_y=lambda y: f"{10**y:.2g} %",
        caption="Regret, % of hindsight, by requests in the period; both scales are logarithms",
    )  # fmt: skip
    assert chart is not None
    file.write_text(chart.file(), encoding="utf-8")


if __name__ == "__main__":
    regret_chart(Path(sys.argv[1]))
