"""Real applicants: one default command against the default of every other program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from usance.assess.applicant_file import read_table
from usance.assess.model_quality import calibration_error, slope
from usance.assess.scoring.model import load_model
from usance.assess.scoring.scorecard import sigmoid
from usance.assess.training.recipe import rows_where
from usance.cli import main

SMALL = ["german"]
OTHERS = [
    "gmsc", "taiwan_card", "heloc", "lendingclub2018", "superlender", "hmeq", "sba", "bondora",
]  # fmt: skip


def trained(
    shared: Path, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Fit on the training rows, measure on the others, by the commands alone."""
    entry = json.loads((shared / "data" / "training.json").read_text(encoding="utf-8"))[name]
    file = str(shared / "data" / entry["file"])
    words = ["assess", "train", file, "--target", "target", "--split", "split=train"]
    words += ["--exclude", ",".join(entry["exclude"])] if entry["exclude"] else []
    words += ["--time", entry["time"]] if "time" in entry else []
    assert main([*words, "--out", str(folder)]) == 0
    capsys.readouterr()
    assert main(["assess", "evaluate", str(folder), file, "--split", "split=valid", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def check(shared: Path, name: str, folder: Path, found: dict[str, Any]) -> None:
    peers = json.loads((shared / "data" / "baselines_dev.json").read_text(encoding="utf-8"))[name]
    known = [peer for peer in peers.values() if "auc" in peer]
    best = max(known, key=lambda peer: peer["auc"])
    assert found["auc"] >= best["auc"] - best["auc_se"]
    assert found["n"] == best["n"]
    errors, slopes = by_chance(shared, name, folder)
    allowed = min(peer["ece10"] for peer in known) + 0.01
    assert found["ece10"] <= max(allowed, errors.mean() + 3 * errors.std())
    assert abs(found["slope"] - 1) <= max(0.1, 3 * slopes.std())


def by_chance(shared: Path, name: str, folder: Path) -> tuple[Any, Any]:
    """What a model whose every probability is true shows on so many rows, forty times.

    German has 140 rows to measure on: there a true model's slope is 1 ± 0.25.
    """
    entry = json.loads((shared / "data" / "training.json").read_text(encoding="utf-8"))[name]
    table = rows_where(read_table(shared / "data" / entry["file"]), "split=valid")
    log_odds = load_model(folder).score(table).log_odds
    draw, said = np.random.default_rng(1), sigmoid(log_odds)
    worlds = [(draw.random(len(said)) < said).astype(np.float64) for _ in range(40)]
    errors = np.array([calibration_error(bad, said) for bad in worlds])
    return errors, np.array([slope(bad, log_odds) for bad in worlds])


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_as_good_as_the_best_peer(
    shared: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(shared, name, tmp_path, trained(shared, name, tmp_path, capsys))


@pytest.mark.nightly
@pytest.mark.parametrize("name", OTHERS)
def test_as_good_as_the_best_peer_on_large_sets(
    shared: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(shared, name, tmp_path, trained(shared, name, tmp_path, capsys))
