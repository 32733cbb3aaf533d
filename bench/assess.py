"""Models against the defaults of other programs, set by set, and the speed of training and scoring.

The sets are in `../shared/data`; without them only speed on made-up rows is measured. `USANCE_SETS`
names some of the nine, with commas between.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import Report, best_seconds
from usance.assess.metrics import measures
from usance.assess.scoring.model import Model, load_model
from usance.assess.scoring.reasons import reasons
from usance.assess.table import Table, read_table, table_of
from usance.assess.training.outcome import outcomes
from usance.assess.training.recipe import Recipe, rows_where
from usance.assess.training.train import fit_table, train

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ROWS, COLUMNS = 105_000, 12


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
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found, kind = _measured(entries[name], Path(folder) / "model")
            took = time.perf_counter() - begun
        known = [peer for peer in peers[name].values() if "auc" in peer]
        best = max(known, key=lambda peer: peer["auc"])
        won += found["auc"] > best["auc"]
        told = f"{found['auc']:.4f} ({kind}, {took:.0f} s)"
        floor = best["auc"] - best["auc_se"]
        aim = f"≥ {best['auc']:.4f} − {best['auc_se']:.4f}"
        report.line(f"{name}: AUC", told, aim, found["auc"] >= floor)
        most = min(peer["ece10"] for peer in known) + 0.01
        report.at_most(f"{name}: ECE10 ({found['ece10']:.4f})", found["ece10"], most, "")
        slope = found["slope"]
        report.line(f"{name}: slope", f"{slope:.3f}", "0.9 to 1.1", 0.9 <= slope <= 1.1)
    report.at_least("sets with a better AUC than every peer", won, 4 * len(names) / 9, "sets")


def _measured(entry: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    file = SHARED / entry["file"]
    recipe = Recipe(
        "target", time=entry.get("time", ""), excluded=tuple(entry["exclude"]), only="split=train"
    )
    train(file, recipe, folder)
    model = load_model(folder)
    table = rows_where(read_table(file), "split=valid")
    return measures(outcomes(table, "target"), model.score(table).log_odds), model.kind


def _speed(report: Report) -> None:
    file = SHARED / "gmsc" / "applications.csv.gz"
    real = file.exists()
    report.section(f"Assess: speed on {ROWS:,} rows" + ("" if real else ", made up"))
    whole = read_table(file) if real else table_of(_made_up())
    begun, used = time.perf_counter(), time.process_time()
    model = fit_table(whole, Recipe("target", excluded=("row_id",) if real else ()))
    report.line("training, processor", f"{time.process_time() - used:.1f} s")
    report.at_most("training", time.perf_counter() - begun, 60, "s")
    table = whole.where(np.arange(whole.rows) < 20_000)
    inputs = model.inputs(table)
    model.score_inputs(inputs[:10])
    seconds = best_seconds(lambda: model.score_inputs(inputs), 3)
    report.at_least(f"batch, {model.kind}", len(inputs) / seconds, 20_000, "applicants/s")
    _single(report, model, table)
    card = replace(model, kind="scorecard")
    many = np.tile(inputs, (10, 1))
    seconds = best_seconds(lambda: card.score_inputs(many), 3)
    report.at_least("batch, scorecard alone", len(many) / seconds, 1_000_000, "applicants/s")


def _single(report: Report, model: Model, table: Table) -> None:
    columns = {each.name: table.column(each.name)[:2_000].to_pylist() for each in model.columns}
    applicants = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
    ]
    model.score_one(applicants[0])
    times = []
    for applicant in applicants:
        begun = time.perf_counter()
        model.score_one(applicant)
        times.append(time.perf_counter() - begun)
    report.line("single call, median", f"{1e6 * float(np.median(times)):.0f} µs")
    report.at_most("single call, 99th percentile", 1e3 * float(np.quantile(times, 0.99)), 5, "ms")
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
