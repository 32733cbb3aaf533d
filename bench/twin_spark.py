"""The twin on Spark beside the twin in threads, on the same two cores: seconds, and their ratio.

Runs are of the scenario `2024` over three months, cut into several shards;
`USANCE_BENCH_SPARK_SCALE` says how large, 0.03 if it is not set. The time of Spark counts its start
and its first queries, some 40 s of processor time: at smaller scales that is most of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from bench.report import Report
from usance.base.dates import parse_month
from usance.twin.run.engine import engine_of
from usance.twin.run.runner import Run, run_scenario
from usance.world.scenario.file import read_scenario

CORES, SHARD_BITS = 2, 20
LAST = "2023-03"


def run(report: Report) -> None:
    """The same run on both engines."""
    scale = Fraction(os.environ.get("USANCE_BENCH_SPARK_SCALE", "0.03"))
    report.section(f"Twin on Spark: 2024 at scale {float(scale)} to {LAST}, {CORES} cores")
    if shutil.which("java") is None:
        report.line("left out: Spark needs Java", "openjdk-17-jre-headless")
        return
    seconds, digests = {}, []
    for name in ("local", "spark"):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            made = _run(name, scale, Path(folder) / "run")
            seconds[name] = time.perf_counter() - begun
        digests.append(made.figures["digests"])
        report.line(
            f"{name}: {made.figures['figures']['loans']:,} loans", f"{seconds[name]:,.1f} s"
        )
        for stage, spent in made.figures["seconds_by_stage"].items():
            report.line(f"  {stage}", f"{spent:,.1f} s")
    same = digests[0] == digests[1]
    report.line("digests of every table", "the same" if same else "differ", "the same", same)
    report.at_most("Spark against threads", seconds["spark"] / seconds["local"], 3, "times")


def _run(name: str, scale: Fraction, folder: Path) -> Run:
    scenario = read_scenario("2024")
    return run_scenario(
        scenario, folder, scale=scale, first=scenario.first_month, last=parse_month(LAST),
        engine=engine_of(name, CORES), clock=time.perf_counter, shard_bits=SHARD_BITS,
    )  # fmt: skip
