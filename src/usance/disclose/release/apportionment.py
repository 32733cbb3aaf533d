"""Rounding of a statement in which totals are right and still foot.

A published total is the exact one, rounded. Its parts are rounded too, and where they then miss
the total, those that were nearest to being rounded the other way give way: each figure stays
within a step of the exact one. A line of nothing stays nothing.

>>> lines = [Row("A", "T"), Row("B", "T"), Row("C", "T"), Row("T", "", is_total=True)]
>>> exact = {("A", "T"): 140, ("B", "T"): 130, ("C", "T"): 0, ("T", ""): 270}
>>> apportioned(lines, exact, 100, [("T", "")])
{('A', 'T'): 2, ('B', 'T'): 1, ('C', 'T'): 0}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from usance.disclose.ties import round_to

Key = tuple[str, str]
"""Line and parent."""
Values = dict[Key, int]
"""Amounts in minor units, or in the smallest step that is printed."""


class TreeLine(Protocol):
    """A line of a statement and its sign in its total."""

    @property
    def line(self) -> str:
        """Its name."""

    @property
    def parent(self) -> str:
        """The total it is a part of."""

    @property
    def is_total(self) -> bool:
        """True if it is the sum of others."""

    @property
    def weight(self) -> int:
        """Its sign in its total."""

    @property
    def key(self) -> Key:
        """Line and parent."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line by itself."""

    line: str
    parent: str
    is_total: bool = False
    weight: int = 1

    @property
    def key(self) -> Key:
        """Line and parent."""
        return self.line, self.parent


def apportioned(
    lines: Sequence[TreeLine], exact: Mapping[Key, int], step_minor: int, tops: Iterable[Key], *,
    fixed: Mapping[Key, int] | None = None, method: str = "half_up",
) -> Values:  # fmt: skip
    """The printed leaves under some totals, `fixed` among them as they are given."""
    made = _Apportionment(lines, exact, step_minor, dict(fixed or {}), method)
    for key in tops:
        made.divide(key[0], made.rounded(key))
    return {line.key: made.printed[line.key] for line in lines if line.key in made.printed}


class _Apportionment:
    def __init__(
        self, lines: Sequence[TreeLine], exact: Mapping[Key, int], step_minor: int, fixed: Values,
        method: str,
    ) -> None:  # fmt: skip
        self.exact, self.step, self.fixed, self.method = exact, step_minor, fixed, method
        self.printed: Values = {}
        self.parts: dict[str, list[TreeLine]] = {}
        for line in lines:
            self.parts.setdefault(line.parent, []).append(line)
        for line in lines:
            if line.is_total:
                self._fix(line)

    def _fix(self, total: TreeLine) -> None:
        """A total of nothing but fixed parts is fixed too."""
        parts = self.parts.get(total.line, [])
        for part in parts:
            if part.is_total and part.key not in self.fixed:
                self._fix(part)
        if parts and all(part.key in self.fixed for part in parts):
            self.fixed[total.key] = sum(part.weight * self.fixed[part.key] for part in parts)

    def rounded(self, key: Key) -> int:
        """A line's exact amount in printed steps."""
        return int(round_to(Fraction(self.exact[key], self.step), Fraction(1), self.method))

    def divide(self, total: str, printed: int) -> None:
        """Give a printed total to its parts, and theirs to them."""
        parts = self.parts[total]
        values = {part.key: self.fixed.get(part.key, self.rounded(part.key)) for part in parts}
        missing = printed - sum(part.weight * values[part.key] for part in parts)
        for part in self._in_order(parts, missing, values):
            if not missing:
                break
            move = part.weight * (1 if missing > 0 else -1)
            values[part.key] += move
            missing -= part.weight * move
        for part in parts:
            if part.is_total:
                self.divide(part.line, values[part.key])
            else:
                self.printed[part.key] = values[part.key]

    def _in_order(
        self, parts: Sequence[TreeLine], missing: int, values: Values
    ) -> Iterable[TreeLine]:
        """Parts that may give way: leaves, the nearest to the other rounding first; late totals."""
        way = 1 if missing > 0 else -1

        def distance(part: TreeLine) -> tuple[bool, Fraction]:
            if part.is_total:
                return True, Fraction(-parts.index(part))
            off = Fraction(self.exact[part.key], self.step) - values[part.key]
            return False, -off * way * part.weight

        movable = [
            part
            for part in parts
            if part.key not in self.fixed and self.exact[part.key] % self.step
        ]
        first = sorted(movable, key=distance)
        # What is left, after lines that are fixed, goes to the largest part.
        free = [part for part in parts if part.key not in self.fixed]
        largest = max(free or parts, key=lambda part: abs(self.exact[part.key]))
        return [*first, *[largest] * abs(missing)]
