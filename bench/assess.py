"""Models against the defaults of other programs, set by set, and the speed of training and scoring.

The sets are in `../shared/data`; without them only speed on made-up rows is measured. `USANCE_SETS`
names some of the nine, with commas between. Beside a calibration stands what a model whose every
probability is true would show on so many rows: below that nothing can be asked of a model.

Speed is told twice: by the clock, and by processor time as two free cores would give it, because
the machine may have other work.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report import Report, best_seconds
from usance.assess.applicant_file import Table, read_table, table_of
from usance.assess.model_quality import calibration_error, measures, slope
from usance.assess.scoring.model import Model, load_model
from usance.assess.scoring.reasons import reasons
from usance.assess.scoring.scorecard import sigmoid
from usance.assess.training.recipe import Recipe, outcomes, rows_where
from usance.assess.training.train import fit_table, train

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ROWS, COLUMNS = 105_000, 12
CORES = 2


def run(report: Report) -> None:
    """The proof on the real sets, then speed."""
    if (SHARED / "training.json").exists():
        _real_sets(report)
    _speed(report)


def _real_sets(report: Report) -> None:
    report.section("Assess: trained on split=train, measured on split=valid, one default command")
    entries = json.loads((SHARED / "training.json").read_text(encoding="utf-8"))
    peers = json.loads((SHARED / "baselines_dev.json").read_text(encoding="utf-8"))
    names = list(filter(None, os.environ.get("USANCE_SETS", "").split(","))) or list(entries)
    won = 0
    for name in names:
        known = [peer for peer in peers[name].values() if "auc" in peer]
        won += _one_set(report, name, entries[name], known)
    report.at_least("sets with a better AUC than every peer", won, 4 * len(names) / 9, "sets")


def _one_set(report: Report, name: str, entry: dict[str, Any], peers: list[dict[str, Any]]) -> bool:
    """Three lines of one set; whether it beats every peer."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        found, kind, log_odds = _measured(entry, Path(folder) / "model")
        took = time.perf_counter() - begun
    best = max(peers, key=lambda peer: peer["auc"])
    told = f"{found['auc']:.4f} ({kind}, {took:.0f} s)"
    aim = f"≥ {best['auc']:.4f} − {best['auc_se']:.4f}"
    report.line(f"{name}: AUC", told, aim, found["auc"] >= best["auc"] - best["auc_se"])
    errors, slopes = _by_chance(log_odds)
    least = min(peer["ece10"] for peer in peers)
    what = f"{name}: ECE10 (true probabilities: {errors.mean():.4f} ± {errors.std():.4f})"
    report.line(
        what, f"{found['ece10']:.4f}", f"≤ {least:.4f} + 0.01", found["ece10"] <= least + 0.01
    )
    what = f"{name}: slope (true probabilities: 1 ± {slopes.std():.3f})"
    report.line(what, f"{found['slope']:.3f}", "0.9 to 1.1", 0.9 <= found["slope"] <= 1.1)
    return bool(found["auc"] > best["auc"])


def _measured(
    entry: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], str, NDArray[np.float64]]:
    file = SHARED / entry["file"]
    recipe = Recipe(
        "target", time=entry.get("time", ""), excluded=tuple(entry["exclude"]), only="split=train"
    )
    train(file, recipe, folder)
    model = load_model(folder)
    table = rows_where(read_table(file), "split=valid")
    log_odds = model.score(table).log_odds
    return measures(outcomes(table, "target"), log_odds), model.kind, log_odds


def _by_chance(
    log_odds: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ECE10 and slope of outcomes that are drawn from the stated probabilities themselves."""
    draw, said = np.random.default_rng(20), sigmoid(log_odds)
    worlds = [(draw.random(len(said)) < said).astype(np.float64) for _ in range(60)]
    errors = np.array([calibration_error(bad, said) for bad in worlds])
    return errors, np.array([slope(bad, log_odds) for bad in worlds])


def speed(
    report: Report, what: str, rows: int, function: Callable[[], object], aim: float, unit: str
) -> None:
    """Rows a second by the least processor time of three runs, and as it went by the clock."""
    walls, works = [], []
    for _ in range(3):
        begun, used = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - begun)
        works.append(time.process_time() - used)
    report.at_least(f"{what}, processor time of 2 cores", CORES * rows / min(works), aim, unit)
    report.line(f"{what}, by the clock", f"{rows / min(walls):,.1f} {unit}")


def _speed(report: Report) -> None:
    file = SHARED / "gmsc" / "applications.csv.gz"
    real = file.exists()
    report.section(f"Assess: speed on {ROWS:,} rows" + ("" if real else ", made up"))
    whole = read_table(file) if real else table_of(_made_up())
    begun, used = time.perf_counter(), time.process_time()
    model = fit_table(whole, Recipe("target", excluded=("row_id",) if real else ()))
    work = (time.process_time() - used) / CORES
    report.at_most("training, processor time of 2 cores", work, 60, "s")
    report.line("training, by the clock", f"{time.perf_counter() - begun:.1f} s")
    table = whole.where(np.arange(whole.rows) < 20_000)
    inputs = model.inputs(table)
    model.score_inputs(inputs[:10])
    unit = "applicants/s"
    many = f"batch, {model.kind}"
    speed(report, many, len(inputs), lambda: model.score_inputs(inputs), 20_000, unit)
    _single(report, model, table)
    card = replace(model, kind="scorecard")
    tiled = np.tile(inputs, (10, 1))
    alone = "batch, scorecard alone"
    speed(report, alone, len(tiled), lambda: card.score_inputs(tiled), 1_000_000, unit)


def _single(report: Report, model: Model, table: Table) -> None:
    columns = {each.name: table.column(each.name)[:2_000].to_pylist() for each in model.columns}
    applicants = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
    ]
    model.score_one(applicants[0])
    times = []
    for applicant in applicants:
        begun = time.thread_time()
        model.score_one(applicant)
        times.append(time.thread_time() - begun)
    report.line("single call, median, processor", f"{1e6 * float(np.median(times)):.0f} µs")
    slow = 1e3 * float(np.quantile(times, 0.99))
    report.at_most("single call, 99th percentile, processor", slow, 5, "ms")
    inputs = model.score_one(applicants[0]).inputs
    seconds = best_seconds(lambda: reasons(model, inputs), 20)
    report.at_most("reasons of one applicant", 1e3 * seconds, 15, "ms")


def _made_up() -> dict[str, Any]:
    draw = np.random.default_rng(7)
    columns = {f"x{at}": draw.normal(size=ROWS).round(4) for at in range(COLUMNS - 4)}
    columns |= {f"n{at}": draw.poisson(1 + at, ROWS).astype(float) for at in range(4)}
    risk = -3 + columns["x0"] + 0.6 * columns["x1"] * columns["x2"] + 0.4 * columns["n1"]
    columns["target"] = (draw.random(ROWS) < 1 / (1 + np.exp(-risk))).astype(float)
    return columns
