"""Every tie of a table, in the order in which a figure is made."""

from __future__ import annotations

from usance.disclose.table import Table
from usance.disclose.tie_out.comparatives import period_sums, repeated_cells, same_instants
from usance.disclose.tie_out.footing import footings, totals
from usance.disclose.tie_out.highlights import date_ties, highlight_ties
from usance.disclose.tie_out.identities import carried_lines, declared, shares_over_time
from usance.disclose.tie_out.matrix import balances, matrix_ties
from usance.disclose.tie_out.narrative import NarrativeTies
from usance.disclose.tie_out.translation import translations
from usance.disclose.ties import Tie


def all_ties(table: Table) -> list[Tie]:
    """What can be derived, and from what. The first tie of a figure that may make it, makes it."""
    text = NarrativeTies(table)
    carried = list(declared(table))
    matrices = list(matrix_ties(table))
    footed = list(footings(table))
    made = {tie.target for tie in (*carried, *matrices) if not tie.check_only}
    untranslated = made | totals(table) | carried_lines(table)
    quoted = list(text.ties())
    return [
        *carried,
        *matrices,
        *footed,
        *translations(table, untranslated),
        *quoted,
        *text.sums(footed, {tie.target for tie in quoted}),
        *highlight_ties(table, text),
        *period_sums(table),
        *same_instants(table),
        *shares_over_time(table),
        *balances(table),
        *repeated_cells(table),
        *date_ties(table),
    ]
