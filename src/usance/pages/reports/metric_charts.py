"""Curves of metrics that run along months on book, as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from usance.measure.metrics import AS_REPORTED, Result
from usance.pages.reports.tape_report import rate_curves


def write_metric_charts(results: Sequence[Result], folder: Path) -> list[str]:
    """Draw every metric that runs along months on book, a file for each segment; their names."""
    curves: dict[str, list[tuple[str, int, float]]] = {}
    for each in results:
        keys = dict(each.dimensions)
        if each.series == AS_REPORTED and "mob" in keys and each.complete:
            rest = [f"-{keys[name]}" for name in keys if name not in ("cohort", "mob")]
            rows = curves.setdefault(each.definition.name + "".join(rest), [])
            if each.value is not None:
                rows.append((str(keys["cohort"]), int(keys["mob"]), each.value))
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in curves.items():
        made = rate_curves(rows, caption=name, note="share of principal, by month on book")
        if made is not None:
            (folder / f"{name}.svg").write_text(made.file(), encoding="utf-8")
    return [f"{name}.svg" for name in curves]
