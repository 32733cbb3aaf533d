"""The ties of a fact table, each figure after those that it is made from."""

from __future__ import annotations

from usance.disclose.table import Table
from usance.disclose.tie_out.comparatives import (
    changes_explained,
    period_sums,
    repeated_cells,
    same_instants,
)
from usance.disclose.tie_out.footing import footings, totals
from usance.disclose.tie_out.highlights import date_ties, highlight_ties
from usance.disclose.tie_out.identities import carried_lines, declared, shares_over_time
from usance.disclose.tie_out.ifrs_reconciliation import balances, matrix_ties
from usance.disclose.tie_out.narrative import NarrativeTies
from usance.disclose.tie_out.translation import translations
from usance.disclose.ties import Tie


def all_ties(table: Table) -> list[Tie]:
    """The ties of every derivable figure; the first that may make a figure, makes it."""
    narrative = NarrativeTies(table)
    carried = list(declared(table))
    matrices = list(matrix_ties(table))
    footed = list(footings(table))
    made = {tie.target for tie in (*carried, *matrices) if not tie.check_only}
    untranslated = made | totals(table) | carried_lines(table)
    narrative_ties = list(narrative.ties())
    return [
        *carried,
        *matrices,
        *footed,
        *translations(table, untranslated),
        *narrative_ties,
        *narrative.sums(footed, {tie.target for tie in narrative_ties}),
        *highlight_ties(table, narrative),
        *period_sums(table),
        *changes_explained(table),
        *same_instants(table),
        *shares_over_time(table),
        *balances(table),
        *repeated_cells(table),
        *date_ties(table),
    ]
