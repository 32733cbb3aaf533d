"""The figures by their definitions, slowly, and against published ones of other programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.assess.applicant_file import read_table
from usance.assess.model_quality import auc, calibration_error, ks, measures, psi, slope
from usance.assess.training.logistic import beta_calibrated

ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(1, 9).map(lambda tenth: tenth / 10)), min_size=2
).filter(lambda rows: len({bad for bad, _ in rows}) == 2)


@given(ROWS)
def test_auc_and_ks_by_counting(rows: list[tuple[bool, float]]) -> None:
    bad = np.array([float(outcome) for outcome, _ in rows])
    said = np.array([value for _, value in rows])
    pairs = [(b, g) for outcome, b in rows if outcome for other, g in rows if not other]
    counted = sum(1.0 if b > g else 0.5 if b == g else 0.0 for b, g in pairs) / len(pairs)
    assert auc(bad, said) == pytest.approx(counted)
    gaps = [
        abs(float((said[bad == 1] <= cut).mean()) - float((said[bad == 0] <= cut).mean()))
        for cut in said
    ]
    assert ks(bad, said) == pytest.approx(max(gaps))


def test_slope_tells_over_confidence() -> None:
    draw = np.random.default_rng(2)
    log_odds = draw.normal(size=60_000)
    bad = (draw.random(60_000) < 1 / (1 + np.exp(-log_odds))).astype(float)
    assert slope(bad, log_odds) == pytest.approx(1.0, abs=0.03)
    assert slope(bad, 2 * log_odds) == pytest.approx(0.5, abs=0.02)
    assert calibration_error(bad, 1 / (1 + np.exp(-log_odds))) < 0.01
    bent = beta_calibrated(np.array([0.1, 0.8, 1.3]), log_odds)
    assert np.array_equal(np.argsort(bent, kind="stable"), np.argsort(log_odds, kind="stable"))


def test_psi_is_symmetric_and_zero_for_the_same() -> None:
    assert psi([30, 50, 20], [300, 500, 200]) == pytest.approx(0.0)
    assert psi([3, 5, 2], [5, 3, 2]) == pytest.approx(psi([5, 3, 2], [3, 5, 2]))


@pytest.mark.parametrize(
    ("name", "file"), [("heloc", "heloc/applications"), ("taiwan_card", "taiwan_card/accounts")]
)
def test_figures_of_another_program_are_reproduced(shared: Path, name: str, file: str) -> None:
    """A default LightGBM, measured elsewhere, gives the published figures here."""
    import lightgbm

    table = read_table(shared / "data" / f"{file}.csv.gz")
    split = np.array(table.column("split").to_pylist())
    inputs = np.column_stack([
        np.array(table.column(each).to_pylist(), float)
        for each in table.columns if each not in ("target", "split")
    ])  # fmt: skip
    bad = np.array(table.column("target").to_pylist(), float)
    train, valid = split == "train", split == "valid"
    settings = {"objective": "binary", "verbose": -1, "num_threads": 2}
    booster = lightgbm.train(settings, lightgbm.Dataset(inputs[train], bad[train]), 100)
    said = np.asarray(booster.predict(inputs[valid], raw_score=True))
    found = measures(bad[valid], said)
    peers = json.loads((shared / "data" / "baselines_dev.json").read_text(encoding="utf-8"))
    known = peers[name]["lightgbm"]
    assert found["auc"] == pytest.approx(known["auc"], abs=6e-5)
    assert found["ks"] == pytest.approx(known["ks"], abs=6e-5)
    assert found["brier"] == pytest.approx(known["brier"], abs=6e-6)
    assert found["ece10"] == pytest.approx(known["ece10"], abs=6e-6)
    assert found["slope"] == pytest.approx(known["cal_slope"], abs=6e-4)
    assert found["n"] == known["n"]
