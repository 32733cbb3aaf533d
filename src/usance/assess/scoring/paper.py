"""The scorecard on paper: a table that a person can add up."""

from __future__ import annotations

import csv
from io import StringIO

from usance.assess.scoring.scorecard import Scorecard

HEADER = ("variable", "bin", "rows", "bads", "bad_rate", "woe", "points")


def scorecard_csv(card: Scorecard) -> str:
    """One line for the base points and one for each bin."""
    sheet = StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerow(["(base)", "every applicant", "", "", "", "", card.base])
    for variable in card.variables:
        for each in variable.bins:
            rate = f"{each.bads / each.rows:.4f}" if each.rows else ""
            row = [each.label, each.rows, each.bads, rate, f"{each.woe:.4f}", each.points]
            writer.writerow([variable.name, *row])
    return sheet.getvalue()
