"""Decisions: one at a time with everything, a batch with trees, and a scorecard flow on columns."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.assess import speed
from bench.report import Report
from tests.assess.flow_cases import random_codes
from tests.assess.requests import document
from usance.assess.decision.columns import decide_columns
from usance.assess.decision.decide import Decider
from usance.assess.decision.log import Log
from usance.assess.decision.request import read_request
from usance.assess.flow.files import SHIPPED, Flow, read_flow
from usance.assess.fraud.links import Attribute, Link, LinkIndex
from usance.assess.monitoring.approval import approve
from usance.assess.training.recipe import Recipe
from usance.assess.training.train import train
from usance.base.codes import DecisionKind

TRAIN_ROWS = 20_000
COLUMN_ROWS, TREE_ROWS, SHARE_ROWS, SINGLES, COMPARED = 1_000_000, 100_000, 2_000, 3_000, 100_000
READS = ("age_years", "monthly_income_minor", "bureau_inquiries_90d", "bureau_open_loans",
         "bureau_worst_days_24m", "bureau_debt_minor", "bank_inflow_ppm", "device_age_days",
         "platform_worst_days")  # fmt: skip
# Decisions that share one commit of the log; a disk here takes four milliseconds for each.
TOGETHER = 16
WARM = 50  # decisions before the first that counts


def run(report: Report) -> None:
    """Every line of the room's decisions."""
    report.section("Decisions")
    flow = read_flow("consumer")
    kind = DecisionKind.APPLICATION
    columns = random_codes(flow, COLUMN_ROWS, seed=1)
    decide_columns(flow, kind, {name: values[:100] for name, values in columns.items()})
    speed(
        report, "scorecard flow on columns", COLUMN_ROWS,
        lambda: decide_columns(flow, kind, columns), 1_000_000, "/s",
    )  # fmt: skip
    _compared(report, flow)
    with tempfile.TemporaryDirectory() as folder:
        with_trees = _with_trees(Path(folder))
        _batches(report, with_trees, columns)
        _singles(report, with_trees, Path(folder))


def _batches(report: Report, flow: Flow, columns: dict[str, Any]) -> None:
    """Trees over many rows, with and without the shares behind their reasons."""
    kind = DecisionKind.APPLICATION
    many = {name: values[:TREE_ROWS] for name, values in columns.items()}
    few = {name: values[:SHARE_ROWS] for name, values in columns.items()}
    decide_columns(flow, kind, {name: values[:100] for name, values in many.items()})
    speed(
        report, "batch with trees", TREE_ROWS,
        lambda: decide_columns(flow, kind, many, shares=False), 20_000, "/s",
    )  # fmt: skip
    used = time.process_time()
    decide_columns(flow, kind, few)
    rate = 2 * SHARE_ROWS / (time.process_time() - used)
    report.line("the same with SHAP reasons", f"{rate:,.0f} /s")


def _compared(report: Report, flow: Flow) -> None:
    """Zen and the compiled columns on random inputs."""
    columns = random_codes(flow, COMPARED, seed=2)
    decider = Decider(flow)
    batch = decide_columns(flow, DecisionKind.APPLICATION, columns)
    same = 0
    for row in range(COMPARED):
        inputs = [float(columns[name][row]) for name in flow.inputs]
        answer = decider.answer(inputs, DecisionKind.APPLICATION)
        same += (
            answer.approved == bool(batch.approved[row])
            and answer.reasons == tuple(batch.reasons[:, row].tolist())
            and all(answer.number(n) == int(v[row]) for n, v in batch.values.items())
        )
    report.line(
        "columns equal to zen on random inputs", f"{same:,} of {COMPARED:,}", "all",
        same == COMPARED,
    )  # fmt: skip


def _with_trees(folder: Path) -> Flow:
    """The shipped flow with a second, trained model behind its scorecard."""
    place = folder / "flow"
    shutil.copytree(SHIPPED / "consumer", place)
    flow = read_flow(place)
    columns = random_codes(flow, TRAIN_ROWS, seed=3)
    risk = 0.02 * columns["bureau_worst_days_24m"] + 0.2 * columns["bureau_inquiries_90d"] - 2
    bad = np.random.default_rng(4).random(TRAIN_ROWS) < 1 / (1 + np.exp(-np.clip(risk, -6, 6)))
    lines = [",".join((*READS, "bad"))]
    lines += [
        ",".join(str(cell) for cell in row)
        for row in zip(*(columns[name] for name in READS), bad.astype(int), strict=True)
    ]
    data = folder / "applicants.csv"
    data.write_text("\n".join(lines))
    train(data, Recipe("bad", "", ""), place / "model", threads=2)
    approve(place / "model", "bench", date(2024, 1, 1))
    text = (place / "flow.yaml").read_text()
    stage = (
        f"  trees:\n    model: model\n    number: 1\n    reads: [{', '.join(READS)}]\n"
        "    gives: {trees_pd_ppm: {type: whole, from: 0, to: 1000000}}\n"
    )
    text = text.replace("  line:\n    graph", f"{stage}  line:\n    graph")
    codes = {"age_years": 201, "monthly_income_minor": 203, "bureau_inquiries_90d": 204}
    text += f"input_reasons: {json.dumps(codes)}\n"
    (place / "flow.yaml").write_text(text)
    return read_flow(place)


def _singles(report: Report, flow: Flow, folder: Path) -> None:
    """Features, links, two models, flow and reasons of one request after another, logged."""
    index = _links()
    decider = Decider(flow)
    requests = [_request(number) for number in range(SINGLES + WARM)]
    clock, work, disk = np.zeros((3, len(requests)))
    with Log(folder / "log") as log:
        for number, content in enumerate(requests):
            start, used = time.perf_counter(), time.thread_time()
            found = index.features(1 + number % 5000)
            content["inputs"]["link_size"] = found.size
            content["inputs"]["bad_neighbours_ppm"] = found.bad_neighbours_ppm
            decision = decider.decide(read_request(content, str), lambda: datetime.now(UTC))
            log.append(decision, flow)
            work[number], waited = time.thread_time() - used, time.perf_counter()
            if number % TOGETHER == 0:
                log.commit()
                disk[number] = time.perf_counter() - waited
            clock[number] = time.perf_counter() - start
    # The machine's other work makes a commit wait for more than the disk; the least is the disk's.
    disk[disk > 0] = disk[disk > 0].min()
    took, what = (work + disk)[WARM:], "full single decision"
    slow = 1e3 * float(np.quantile(took, 0.99))
    report.at_most(f"{what}, p99, processor and disk", slow, 30, "ms")
    report.at_least(f"{what}s, one core, processor and disk", SINGLES / took.sum(), 500, "/s")
    by_clock = clock[WARM:]
    report.line(f"{what}, p99 by the clock", f"{np.quantile(by_clock, 0.99) * 1e3:.2f} ms")
    report.line(f"{what}, median by the clock", f"{np.median(by_clock) * 1e3:.2f} ms")
    report.line(f"{what}s by the clock", f"{SINGLES / by_clock.sum():,.0f} /s")


def _links() -> LinkIndex:
    index = LinkIndex()
    draw = np.random.default_rng(6)
    for user in range(1, 20_001):
        for attribute in Attribute:
            index.add(Link(user, attribute, int(draw.integers(1, 30_000))))
    for user in range(1, 20_001, 37):
        index.mark_bad(user)
    return index


def _request(number: int) -> dict[str, Any]:
    content = copy.deepcopy(document(user_id=1 + number))
    content["records"]["application"][0]["age_years"] = 18 + number % 50
    content["records"]["bureau_file"][0]["worst_days_24m"] = number % 60
    return content
