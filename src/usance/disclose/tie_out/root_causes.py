"""Root causes of ties that do not hold: the cells that are wrong, one finding for each.

A wrong cell breaks every tie it is in, and correcting it repairs them all. So each cell of a broken
tie is tried: the value it would need, the ties that repairs, the ties it breaks. The best
such cell is a root cause, and the ties it repairs are its dependants. Where every correction breaks
as much as it repairs, the tie itself is the root cause, and a total that repeats the same
difference as one of its parts is a dependant of that part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from usance.disclose.facts import Fact
from usance.disclose.table import Table
from usance.disclose.tie_out.translation import Plugs
from usance.disclose.ties import Tie, TieKind

# A cell in hundreds of ties (a rate) is solved from the largest of them: they fix it best.
_TRIES = 6
HOLDS = (TieKind.EXACT, TieKind.ROUNDED, TieKind.INTERVAL)


@dataclass(slots=True)
class RootCause:
    """One cause: the tie that shows it, the cell that is wrong, and what follows from it."""

    kind: TieKind
    tie: Tie
    cell: Fact
    expected: Fraction | None
    dependants: list[Tie] = field(default_factory=list)
    suspects: list[Fact] = field(default_factory=list)

    @property
    def found(self) -> Fraction:
        """The printed value."""
        return self.cell.value


@dataclass(frozen=True, slots=True)
class Correction:
    """A cell set to another value: the ties it repairs and the number it breaks."""

    cell: Fact
    value: Fraction
    repairs: tuple[Tie, ...]
    breaks: int
    plugs: int  # ties that only become plugs by it

    @property
    def rank(self) -> tuple[int, int, int]:
        """The order of corrections: the best explanation has the highest."""
        return self.gain, -self.breaks, -self.plugs

    @property
    def gain(self) -> int:
        """Ties repaired less ties broken."""
        return len(self.repairs) - self.breaks


class RootCauseSearch:
    """The ties of a table, those that hold and those that do not."""

    def __init__(self, ties: Sequence[Tie], plugs: Plugs) -> None:
        self.ties = ties
        self.plugs = plugs
        self.ties_of: dict[Fact, list[Tie]] = defaultdict(list)
        for tie in ties:
            for fact in dict.fromkeys(tie.facts):
                self.ties_of[fact].append(tie)
        self.order = {tie: number for number, tie in enumerate(ties)}
        self.corrected: dict[Fact, Fraction] = {}
        self.kinds = {tie: tie.judge() for tie in ties}
        self.plugged: dict[Tie, TieKind] = {}
        self.held = {tie for tie, kind in self.kinds.items() if kind in HOLDS}

    def read(self, fact: Fact) -> Fraction:
        """A fact as printed, or as a root cause corrects it."""
        return self.corrected.get(fact, fact.value)

    def root_causes(self) -> list[RootCause]:
        """Root causes one at a time, the one that explains most first."""
        found: list[RootCause] = []
        for part in self._connected_parts(self.kinds.keys() - self.held):
            open_ = part
            while open_ := self._without_plugs(open_):
                cause = self._next_cause(open_)
                found.append(cause)
                open_ -= {cause.tie, *cause.dependants}
        return found

    def _without_plugs(self, open_: set[Tie]) -> set[Tie]:
        plugged = dict.fromkeys(self.plugs.among(open_, self.read), TieKind.PLUG)
        self.plugged |= plugged
        return open_ - plugged.keys()

    def _connected_parts(self, open_: set[Tie]) -> list[set[Tie]]:
        """Ties that share a cell, or a translated column, belong together."""
        groups: dict[object, set[Tie]] = {}
        for tie in self._in_order(open_):
            joined = {tie}.union(*(groups.get(key, ()) for key in self._connections(tie)))
            groups |= {
                connection: joined for each in joined for connection in self._connections(each)
            }
        return list({id(group): group for group in groups.values()}.values())

    def _connections(self, tie: Tie) -> Iterator[object]:
        yield from tie.facts
        if tie.target.currency == self.plugs.profile.translated:
            yield Table.column(tie.target)

    def _next_cause(self, open_: set[Tie]) -> RootCause:
        corrections = self._corrections(open_)
        best = max(corrections, key=lambda each: each.rank, default=None)
        if best and best.gain >= 2 and not _is_ambiguous(best, corrections):
            return self._corrected_cause(best, open_)
        clean = [each for each in corrections if each.gain == 1 and not each.breaks]
        if best and best.gain == 1 and len({each.cell for each in clean}) == 1:
            return self._corrected_cause(clean[0], open_)
        if best and best.gain >= 1:
            return self._ambiguous_cause(best, corrections)
        tie = self._in_order(open_)[0]
        return RootCause(self.kinds[tie], tie, tie.target, tie.expected(self.read))

    def _corrected_cause(self, correction: Correction, open_: set[Tie]) -> RootCause:
        """The root cause of a correction, with the ties it repairs as dependants."""
        ties = self._in_order(correction.repairs)
        own = [tie for tie in ties if tie.target is correction.cell and self._is_broken(tie)]
        first = (own or [tie for tie in ties if self._is_broken(tie)] or ties)[0]
        rest = [tie for tie in ties if tie is not first]
        self.corrected[correction.cell] = correction.value
        self.held.update(correction.repairs)
        kind = self.kinds[first]
        return RootCause(
            kind, first, correction.cell, correction.value, [t for t in rest if t in open_]
        )

    def _ambiguous_cause(self, best: Correction, corrections: Sequence[Correction]) -> RootCause:
        """The root cause of a tie with several cells that could each be wrong."""
        tie = self._in_order(best.repairs)[0]
        equal = [each for each in corrections if each.gain == best.gain and tie in each.repairs]
        equal.sort(key=lambda each: each.value not in misreadings(each.cell))
        suspects = list(dict.fromkeys(each.cell for each in equal))
        rest = [each for each in best.repairs if each is not tie]
        return RootCause(self.kinds[tie], tie, tie.target, tie.expected(self.read), rest, suspects)

    def _is_broken(self, tie: Tie) -> bool:
        return self.kinds[tie] is TieKind.BROKEN

    def _in_order(self, ties: Iterable[Tie]) -> list[Tie]:
        return sorted(ties, key=self.order.__getitem__)

    def _corrections(self, open_: set[Tie]) -> list[Correction]:
        """Every correction of one cell that repairs an open tie."""
        cells = dict.fromkeys(fact for tie in self._in_order(open_) for fact in tie.facts)
        found = []
        for cell in cells:
            ties = [tie for tie in self.ties_of[cell] if tie in open_]
            ties.sort(key=lambda tie: (tie.step is not None, -abs(tie.target.value)))
            values = dict.fromkeys(tie.solve(cell, self.read) for tie in ties[:_TRIES])
            tried = [self._correction(cell, value, open_) for value in values if value is not None]
            if len(ties) > 1 and all(len(each.repairs) < len(ties) for each in tried):
                tried += [self._correction(cell, value, open_) for value in misreadings(cell)]
            found += tried
        return [correction for correction in found if correction.repairs]

    def _correction(self, cell: Fact, value: Fraction, open_: set[Tie]) -> Correction:
        def read(fact: Fact) -> Fraction:
            return value if fact is cell else self.read(fact)

        repairs, breaks = [], 0
        for tie in self.ties_of[cell]:
            holds = tie.judge(read) in HOLDS
            if tie in open_:
                if holds:
                    repairs.append(tie)
            elif not holds and tie in self.held:
                breaks += 1
        if cell.currency == self.plugs.profile.translated and cell.is_money:
            column = [tie for tie in open_ if Table.column(tie.target) == Table.column(cell)]
            plugged = [tie for tie in self.plugs.among(column, read) if tie not in repairs]
            return Correction(cell, value, (*repairs, *plugged), breaks, len(plugged))
        return Correction(cell, value, tuple(repairs), breaks, 0)


def misreadings(fact: Fact) -> list[Fraction]:
    """Every value that differs from the printed one in one digit."""
    digits = fact.text.replace(".", "") if fact.is_number else ""
    return [
        int(digits[:place] + other + digits[place + 1 :]) * fact.step
        for place, digit in enumerate(digits)
        if digit.isdigit()
        for other in "0123456789"
        if other != digit
    ]


def _is_ambiguous(best: Correction, corrections: Sequence[Correction]) -> bool:
    """True if another cell explains as much as the best."""
    return any(each.rank == best.rank and each.cell is not best.cell for each in corrections)


def merge_inherited(causes: Sequence[RootCause], kinds: Mapping[Tie, TieKind]) -> list[RootCause]:
    """Root causes; one whose difference is inherited from a part becomes its dependant."""
    makers: dict[Fact, list[Fact]] = defaultdict(list)
    for tie, kind in kinds.items():
        if not tie.check_only and not tie.bottom and kind is TieKind.EXACT:
            makers[tie.target] += [fact for fact, _ in tie.top]
    kept: list[RootCause] = []
    by_cell = {cause.cell: cause for cause in causes}
    for cause in causes:
        source = _source(cause, by_cell, makers)
        if source is None:
            kept.append(cause)
        else:
            source.dependants += [cause.tie, *cause.dependants]
    return kept


def _source(
    cause: RootCause, by_cell: dict[Fact, RootCause], makers: dict[Fact, list[Fact]]
) -> RootCause | None:
    """The deepest root cause below this one with the same rule and size of difference."""
    found: RootCause | None = None
    frontier, seen = [cause.cell], {cause.cell}
    while frontier:
        below = [fact for cell in frontier for fact in makers.get(cell, ()) if fact not in seen]
        seen.update(below)
        frontier = below
        for fact in below:
            other = by_cell.get(fact)
            if other and other.tie.rule == cause.tie.rule and _is_inherited(cause, other):
                found = other
    return found


def _is_inherited(cause: RootCause, other: RootCause) -> bool:
    if cause.expected is None or other.expected is None or cause.suspects or other.suspects:
        return False
    if cause.kind is TieKind.RESTATED:
        return other.kind is TieKind.RESTATED
    return abs(cause.expected - cause.found) == abs(other.expected - other.found)
