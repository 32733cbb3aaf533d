"""The file `run.json` of a run: what was run, its figures, notes, seconds and digests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from usance.base.book import Book
from usance.base.dates import format_month
from usance.base.publish import replace
from usance.twin.run.engine import Engine
from usance.twin.run.plan import RunPlan

RUN_FILE = "run.json"


def run_content(
    plan: RunPlan, engine: Engine, book: Book, figures: Counter[str], seconds: float,
    by_stage: Mapping[str, float], in_background: Mapping[str, float],
) -> dict[str, Any]:  # fmt: skip
    """Content of the file before the release."""
    return {
        "scenario": plan.scenario.name, "seed": plan.scenario.seed, "scale": str(plan.scale),
        "from": format_month(plan.first), "to": format_month(plan.last), "key": plan.key,
        "engine": engine.name, "workers": engine.workers,
        "figures": dict(figures), "notes": _notes(figures),
        "seconds": round(seconds, 3), "seconds_by_stage": _rounded(by_stage),
        "seconds_beside": _rounded(in_background),
        "disk_bytes_expected": plan.bytes_needed, "release": {},
        "digests": {name: str(entry.digest) for name, entry in book.manifest.tables.items()},
    }  # fmt: skip


def write_run_file(book: Book, content: Mapping[str, Any]) -> None:
    """Write the file in one step."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    replace(book.path / RUN_FILE, text.encode())


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(each, 3) for name, each in seconds.items()}


def _notes(figures: Counter[str]) -> list[str]:
    """Targets of the scenario that a run missed, beyond chance."""
    asked, wanted = figures["asks"], figures["asks_wanted"]
    if wanted - asked <= max(wanted / 20, 4 * wanted**0.5):
        return []
    return [f"users asked {asked:,} of the {wanted:,} times the scenario wants: too few may ask"]
