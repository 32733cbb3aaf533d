"""What every test can use: the folder of shared material, and how Hypothesis is set up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from tests import json_answers

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# Compiled kernels and Hypothesis's own tables stay in the project, as `make` has it.
os.environ.setdefault("USANCE_CACHE", str(ROOT / ".cache"))
set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")

# The first call of a kernel compiles it, so no deadline and no complaint about a slow start.
_COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("nightly", max_examples=5_000, print_blob=True, **_COMMON)  # type: ignore[arg-type]
settings.load_profile("ci")

json_answers.watch()

# A process of xdist says how wide its terminal is, and has none.
os.environ.pop("COLUMNS", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read ../shared, so that `-m "not shared"` leaves them out."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.shared)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the project; tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip(
            "../shared is not here: tests against its cases and specifications are left out"
        )
    return SHARED
