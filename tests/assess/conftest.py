"""One model for all tests of the room that only use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assess.applicants import rows, write
from usance.assess.scoring.model import Model, load_model
from usance.assess.training.recipe import Recipe
from usance.assess.training.train import train
from usance.pages.reports.model_card import model_card

RECIPE = Recipe("target", "ref", "applied", groups=("town",), trends={"use": 1})


@pytest.fixture(scope="session")
def applicants_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine hundred applicants."""
    return write(tmp_path_factory.mktemp("applicants") / "applicants.csv", rows())


@pytest.fixture(scope="session")
def model_folder(applicants_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained on them."""
    folder = tmp_path_factory.mktemp("model") / "first"
    train(applicants_file, RECIPE, folder, threads=1, card=model_card)
    return folder


@pytest.fixture(scope="session")
def model(model_folder: Path) -> Model:
    """The model of that folder."""
    return load_model(model_folder)
