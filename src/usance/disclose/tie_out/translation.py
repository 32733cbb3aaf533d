"""The translated column: each leaf by the document's one rate, rounded on its own, with its plugs.

A total in the translated column is footed, and a figure that another statement already shows is
carried; neither is translated again. The column closes although its leaves are rounded one by one,
because some line carries the residue: a plug. Such a line is not its own translation, and yet
every total around it foots. The profile says for each statement how many lines may be plugs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction

from usance.disclose.facts import Fact, label
from usance.disclose.profile import Profile
from usance.disclose.table import Column, Table
from usance.disclose.ties import Read, Tie, TieKind

RULE = "translated at the document's rate"


def translations(table: Table, made_otherwise: Collection[Fact]) -> Iterator[Tie]:
    """A tie for each translated leaf; `made_otherwise` are the totals and the carried figures."""
    profile = table.profile
    for fact in table.numbers:
        if fact.currency != profile.translated or not fact.is_money or fact in made_otherwise:
            continue
        if fact.statement not in profile.statements["tables"]:
            continue
        source, rate = table.counterpart(fact, profile.reporting), table.rate(fact.document)
        if source and rate:
            yield Tie(
                RULE, fact, ((source, 1),), ((rate, 1),), step=fact.step,
                method=profile.rounding.method,
            )  # fmt: skip


class Plugs:
    """The translated columns of a table, with the totals that must still foot."""

    def __init__(self, ties: Sequence[Tie], profile: Profile) -> None:
        self.profile = profile
        self.footing: dict[Column, list[Tie]] = defaultdict(list)
        self.leaves: dict[Column, int] = defaultdict(int)
        for tie in ties:
            column = Table.column(tie.target)
            if column[3] != profile.translated:
                continue
            if tie.rule == RULE:
                self.leaves[column] += 1
            elif not tie.bottom and tie.step is None:
                self.footing[column].append(tie)

    def among(self, open_: Iterable[Tie], read: Read) -> Iterator[Tie]:
        """Those of the open ties that are plugs."""
        columns: dict[Column, list[Tie]] = defaultdict(list)
        for tie in open_:
            if tie.rule == RULE:
                columns[Table.column(tie.target)].append(tie)
        for column, ties in columns.items():
            if self._may(column, ties, read):
                yield from ties

    def _may(self, column: Column, ties: Sequence[Tie], read: Read) -> bool:
        rule = next((each for each in self.profile.plugs if each["statement"] == column[1]), None)
        if rule is None or (rule["lines"] != "all" and len(ties) > int(rule["lines"])):
            return False
        lines = (label(tie.target.line) for tie in ties)
        named = all(re.fullmatch(rule["line"], line, re.IGNORECASE) for line in lines)
        # Each leaf is off by at most half a step, so the residue is at most half of their number.
        small = all(
            abs(read(tie.target) - (tie.expected(read) or Fraction(0)))
            <= tie.target.step * (self.leaves[column] + 1) / 2
            for tie in ties
        )
        feet = all(tie.judge(read) is TieKind.EXACT for tie in self.footing[column])
        return named and small and feet
