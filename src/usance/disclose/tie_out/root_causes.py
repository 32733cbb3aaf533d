"""From ties that do not hold to the cells that are wrong: one finding for each root.

A wrong cell breaks every tie it stands in, and putting it right mends them all. So each cell of a
broken tie is tried: what would it have to be, how many ties would that mend, how many would it
spoil? The best such cell is a root, and what it mends are its dependants. Where nothing can be
changed without spoiling as much as it mends, the tie itself is the root, and a total that repeats
the same difference as one of its parts is a dependant of that part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from usance.disclose.facts import Fact
from usance.disclose.table import Table
from usance.disclose.tie_out.translation import Plugs
from usance.disclose.ties import Kind, Tie

# A cell in hundreds of ties (a rate) is solved from the largest of them: they fix it best.
_TRIES = 6
HOLDS = (Kind.EXACT, Kind.ROUNDED, Kind.INTERVAL)


@dataclass(slots=True)
class RootCause:
    """One cause: the tie that shows it, the cell that is wrong, and what follows from it."""

    kind: Kind
    tie: Tie
    cell: Fact
    expected: Fraction | None
    dependants: list[Tie] = field(default_factory=list)
    suspects: list[Fact] = field(default_factory=list)

    @property
    def found(self) -> Fraction:
        """What is printed there."""
        return self.cell.value


@dataclass(frozen=True, slots=True)
class Change:
    """One cell set to another value: the ties it mends and how many it spoils."""

    cell: Fact
    value: Fraction
    mends: tuple[Tie, ...]
    spoils: int
    excuses: int  # ties that only become plugs by it

    @property
    def rank(self) -> tuple[int, int, int]:
        """What makes one change a better explanation than another."""
        return self.gain, -self.spoils, -self.excuses

    @property
    def gain(self) -> int:
        """Ties mended less ties spoilt."""
        return len(self.mends) - self.spoils


class RootCauseSearch:
    """The ties of a table, those that hold and those that do not."""

    def __init__(self, ties: Sequence[Tie], plugs: Plugs) -> None:
        self.ties = ties
        self.plugs = plugs
        self.of_cell: dict[Fact, list[Tie]] = defaultdict(list)
        for tie in ties:
            for fact in dict.fromkeys(tie.facts):
                self.of_cell[fact].append(tie)
        self.place = {tie: number for number, tie in enumerate(ties)}
        self.mended: dict[Fact, Fraction] = {}
        self.kinds = {tie: tie.judge() for tie in ties}
        self.plugged: dict[Tie, Kind] = {}
        self.held = {tie for tie, kind in self.kinds.items() if kind in HOLDS}

    def read(self, fact: Fact) -> Fraction:
        """A fact as printed, or as a root has put it right."""
        return self.mended.get(fact, fact.value)

    def roots(self) -> list[RootCause]:
        """One root at a time, the one that explains most first."""
        found: list[RootCause] = []
        for part in self._parts(self.kinds.keys() - self.held):
            open_ = part
            while open_ := self._unplugged(open_):
                root = self._next(open_)
                found.append(root)
                open_ -= {root.tie, *root.dependants}
        return found

    def _unplugged(self, open_: set[Tie]) -> set[Tie]:
        plugged = dict.fromkeys(self.plugs.among(open_, self.read), Kind.PLUG)
        self.plugged |= plugged
        return open_ - plugged.keys()

    def _parts(self, open_: set[Tie]) -> list[set[Tie]]:
        """Ties that share a cell, or a translated column, belong together."""
        groups: dict[object, set[Tie]] = {}
        for tie in self._in_order(open_):
            joined = {tie}.union(*(groups.get(mark, ()) for mark in self._marks(tie)))
            groups |= {mark: joined for each in joined for mark in self._marks(each)}
        return list({id(group): group for group in groups.values()}.values())

    def _marks(self, tie: Tie) -> Iterator[object]:
        yield from tie.facts
        if tie.target.currency == self.plugs.profile.translated:
            yield Table.column(tie.target)

    def _next(self, open_: set[Tie]) -> RootCause:
        changes = self._changes(open_)
        best = max(changes, key=lambda each: each.rank, default=None)
        if best and best.gain >= 2 and not _tied(best, changes):
            return self._changed(best, open_)
        clean = [each for each in changes if each.gain == 1 and not each.spoils]
        if best and best.gain == 1 and len({each.cell for each in clean}) == 1:
            return self._changed(clean[0], open_)
        if best and best.gain >= 1:
            return self._narrowed(best, changes)
        tie = self._in_order(open_)[0]
        return RootCause(self.kinds[tie], tie, tie.target, tie.expected(self.read))

    def _changed(self, change: Change, open_: set[Tie]) -> RootCause:
        """The cell is known: put it right and hang what it mends under it."""
        ties = self._in_order(change.mends)
        own = [tie for tie in ties if tie.target is change.cell and self._is_broken(tie)]
        first = (own or [tie for tie in ties if self._is_broken(tie)] or ties)[0]
        rest = [tie for tie in ties if tie is not first]
        self.mended[change.cell] = change.value
        self.held.update(change.mends)
        kind = self.kinds[first]
        return RootCause(kind, first, change.cell, change.value, [t for t in rest if t in open_])

    def _narrowed(self, best: Change, changes: Sequence[Change]) -> RootCause:
        """Several cells could each be the one: name the tie and list them."""
        tie = self._in_order(best.mends)[0]
        equal = [each for each in changes if each.gain == best.gain and tie in each.mends]
        equal.sort(key=lambda each: each.value not in misreadings(each.cell))
        suspects = list(dict.fromkeys(each.cell for each in equal))
        rest = [each for each in best.mends if each is not tie]
        return RootCause(self.kinds[tie], tie, tie.target, tie.expected(self.read), rest, suspects)

    def _is_broken(self, tie: Tie) -> bool:
        return self.kinds[tie] is Kind.BROKEN

    def _in_order(self, ties: Iterable[Tie]) -> list[Tie]:
        return sorted(ties, key=self.place.__getitem__)

    def _changes(self, open_: set[Tie]) -> list[Change]:
        """Every change of one cell that mends an open tie."""
        cells = dict.fromkeys(fact for tie in self._in_order(open_) for fact in tie.facts)
        found = []
        for cell in cells:
            ties = [tie for tie in self.of_cell[cell] if tie in open_]
            ties.sort(key=lambda tie: (tie.step is not None, -abs(tie.target.value)))
            values = dict.fromkeys(tie.solve(cell, self.read) for tie in ties[:_TRIES])
            tried = [self._change(cell, value, open_) for value in values if value is not None]
            if len(ties) > 1 and all(len(each.mends) < len(ties) for each in tried):
                tried += [self._change(cell, value, open_) for value in misreadings(cell)]
            found += tried
        return [change for change in found if change.mends]

    def _change(self, cell: Fact, value: Fraction, open_: set[Tie]) -> Change:
        def read(fact: Fact) -> Fraction:
            return value if fact is cell else self.read(fact)

        mends, spoils = [], 0
        for tie in self.of_cell[cell]:
            holds = tie.judge(read) in HOLDS
            if tie in open_:
                if holds:
                    mends.append(tie)
            elif not holds and tie in self.held:
                spoils += 1
        if cell.currency == self.plugs.profile.translated and cell.is_money:
            column = [tie for tie in open_ if Table.column(tie.target) == Table.column(cell)]
            excused = [tie for tie in self.plugs.among(column, read) if tie not in mends]
            return Change(cell, value, (*mends, *excused), spoils, len(excused))
        return Change(cell, value, tuple(mends), spoils, 0)


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


def _tied(best: Change, changes: Sequence[Change]) -> bool:
    """Whether another cell explains as much as the best."""
    return any(each.rank == best.rank and each.cell is not best.cell for each in changes)


def merge_inherited(roots: Sequence[RootCause], kinds: Mapping[Tie, Kind]) -> list[RootCause]:
    """Roots whose difference is only passed on from a part are put under that part."""
    makers: dict[Fact, list[Fact]] = defaultdict(list)
    for tie, kind in kinds.items():
        if not tie.check_only and not tie.bottom and kind is Kind.EXACT:
            makers[tie.target] += [fact for fact, _ in tie.top]
    kept: list[RootCause] = []
    by_cell = {root.cell: root for root in roots}
    for root in roots:
        source = _source(root, by_cell, makers)
        if source is None:
            kept.append(root)
        else:
            source.dependants += [root.tie, *root.dependants]
    return kept


def _source(
    root: RootCause, by_cell: dict[Fact, RootCause], makers: dict[Fact, list[Fact]]
) -> RootCause | None:
    """The deepest root below this one that has the same rule and, in size, the same difference."""
    found: RootCause | None = None
    frontier, seen = [root.cell], {root.cell}
    while frontier:
        below = [fact for cell in frontier for fact in makers.get(cell, ()) if fact not in seen]
        seen.update(below)
        frontier = below
        for fact in below:
            other = by_cell.get(fact)
            if other and other.tie.rule == root.tie.rule and _passes_on(root, other):
                found = other
    return found


def _passes_on(root: RootCause, other: RootCause) -> bool:
    if root.expected is None or other.expected is None or root.suspects or other.suspects:
        return False
    if root.kind is Kind.RESTATED:
        return other.kind is Kind.RESTATED
    return abs(root.expected - root.found) == abs(other.expected - other.found)
