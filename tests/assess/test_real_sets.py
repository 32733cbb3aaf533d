"""Real applicants: one default command against the default of every other program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def check(shared: Path, name: str, found: dict[str, Any]) -> None:
    peers = json.loads((shared / "data" / "baselines_dev.json").read_text(encoding="utf-8"))[name]
    known = [peer for peer in peers.values() if "auc" in peer]
    best = max(known, key=lambda peer: peer["auc"])
    assert found["auc"] >= best["auc"] - best["auc_se"]
    assert found["n"] == best["n"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_as_good_as_the_best_peer(
    shared: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(shared, name, trained(shared, name, tmp_path, capsys))


@pytest.mark.nightly
@pytest.mark.parametrize("name", OTHERS)
def test_as_good_as_the_best_peer_on_large_sets(
    shared: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(shared, name, trained(shared, name, tmp_path, capsys))
