"""A small made-up file of applicants: numbers, codes, categories, gaps, dates and an outcome."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

HEADER = ["ref", "applied", "age", "use", "late", "debt", "job", "town", "target"]
JOBS = ["clerk", "smith", "nurse", "none"]


def rows(count: int = 900, seed: int = 5) -> list[dict[str, Any]]:
    """Applicants as cells of a file; `None` is an empty cell."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        age, use = int(draw.integers(18, 75)), round(float(draw.random()), 3)
        late, job = int(draw.choice([0, 0, 0, 1, 2, 98])), JOBS[draw.integers(0, 4)]
        debt: Any = "Unknown" if draw.random() < 0.2 else round(float(draw.gamma(2, 900)), 2)
        town = f"T{int(draw.integers(0, 15)):02}"
        risk = -1.8 + 2.2 * use - 0.02 * (age - 40) + 0.7 * min(late, 3) + 0.5 * (job == "none")
        made.append({
            "ref": f"A{number}", "applied": f"2024-{1 + number * 9 // count:02}-15",
            "age": age if draw.random() > 0.05 else None, "use": use, "late": late, "debt": debt,
            "job": job if draw.random() > 0.03 else None, "town": town,
            "target": int(draw.random() < 1 / (1 + np.exp(-risk))),
        })  # fmt: skip
    return made


def write(path: Path, made: list[dict[str, Any]]) -> Path:
    """The applicants as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    return path
