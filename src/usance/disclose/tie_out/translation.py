"""The translated column: each leaf by the document's one rate, rounded on its own.

A total in the translated column is footed, and a figure that another statement already shows is
carried; neither is translated again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from usance.disclose.facts import Fact
from usance.disclose.table import Table
from usance.disclose.ties import Tie

RULE = "translated at the document's rate"


def translations(table: Table, made_otherwise: Collection[Fact]) -> Iterator[Tie]:
    """A tie for each translated leaf; `made_otherwise` are the totals and the carried figures."""
    profile = table.profile
    for fact in table.numbers:
        if fact.currency != profile.translated or not fact.is_money or fact in made_otherwise:
            continue
        if fact.statement not in profile.statements["tables"]:
            continue
        source, rate = table.twin(fact, profile.reporting), table.rate(fact.document)
        if source and rate:
            yield Tie(
                RULE, fact, ((source, 1),), ((rate, 1),), step=fact.step,
                method=profile.rounding.method,
            )  # fmt: skip
