"""Dimensions that metrics are divided by, and their values for each cell and source."""

from __future__ import annotations

from collections.abc import Sequence

from usance.base.columns import arrays
from usance.base.errors import unknown
from usance.measure.inputs import Inputs

DIMENSIONS = (
    "model", "product", "source", "institution", "channel", "region", "grade", "model_no",
)  # fmt: skip
OF_CELL = ("model", "product", "source", "institution")
"""Dimensions that every loan of a cell shares."""
OF_BORROWER = ("channel", "region", "grade")
"""Dimensions of the loan's own borrower."""


def dimension_mappings(inputs: Inputs) -> dict[tuple[str, str], dict[int, int]]:
    """The dimensions of each cell and source."""
    owners: dict[int, int] = {}
    if "sources" in inputs:
        columns = arrays(inputs.read("sources", ("source", "institution")))
        owners = dict(zip(*(columns[n].tolist() for n in ("source", "institution")), strict=True))
    mappings: dict[tuple[str, str], dict[int, int]] = {("cell", name): {} for name in OF_CELL} | {
        ("source", "institution"): owners
    }
    if "cells" in inputs:
        cells = arrays(inputs.read("cells"))
        for name in ("model", "product", "source"):
            mappings["cell", name] = dict(
                zip(cells["cell"].tolist(), cells[name].tolist(), strict=True)
            )
        mappings["cell", "institution"] = {
            cell: owners.get(source, -1) for cell, source in mappings["cell", "source"].items()
        }
    return mappings


def check_dimensions(by: Sequence[str]) -> None:
    """Refuse an unknown dimension."""
    for name in by:
        if name not in DIMENSIONS:
            raise unknown("dimension", name, DIMENSIONS, where="--by")
