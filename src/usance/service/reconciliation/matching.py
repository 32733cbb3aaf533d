"""Matching of two views, in the order of the rules; every line ends matched or in one break.

By reference; by amount, day and party; by the sum of a batch; one line with many; within a dated
tolerance, which is zero unless somebody says otherwise. Sums are of whole batches, parts of a
reference and whole days: no search for subsets that happen to fit, which finds false ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I32, I64, Bools
from usance.service.errors import LineError
from usance.service.reconciliation.breaks import BreakClass
from usance.service.reconciliation.pairing import pair_by_key, row_codes, sums_by


class Rule(IntEnum):
    """The rule by which lines were matched."""

    BY_HAND = 0
    REFERENCE = 1
    AMOUNT_DAY_PARTY = 2
    BATCH_SUM = 3
    ONE_TO_MANY = 4
    TOLERANCE = 5


class Side(NamedTuple):
    """One view as numbers: codes of texts are shared by both sides, −1 for none."""

    reference: I64
    amount_minor: I64
    day: I32
    party: I64
    batch: I64
    loan_id: I64
    is_known: Bools
    """False where a line names neither a loan nor a currency of ours."""


class MatchRules(NamedTuple):
    """Options of a pass."""

    tolerance_minor: int = 0
    whole_days: bool = False
    """True where one line of theirs may stand for all of ours of its day."""
    together: Collection[tuple[int, int]] = ()
    """Pairs of places that a person matched."""
    apart: Collection[tuple[int, int]] = ()
    """Pairs of places that a person separated."""


class Difference(NamedTuple):
    """A break by the places of its lines, −1 where a view has none."""

    kind: BreakClass
    ours: int
    theirs: int


@dataclass
class Matching:
    """The state of one pass, and its result."""

    ours: Side
    theirs: Side
    rules: MatchRules
    our_places: list[I64] = field(default_factory=list)
    their_places: list[I64] = field(default_factory=list)
    rule_codes: list[I8] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_ours_open = np.ones(len(self.ours.amount_minor), np.bool_)
        self.is_theirs_open = np.ones(len(self.theirs.amount_minor), np.bool_)

    @property
    def pairs(self) -> tuple[I64, I64, I8]:
        """Matched places of ours and theirs with the rule; one of ours may stand with many."""
        none = np.empty(0, np.int64)
        return (
            np.concatenate([none, *self.our_places]),
            np.concatenate([none, *self.their_places]),
            np.concatenate([np.empty(0, np.int8), *self.rule_codes]),
        )

    def match(self, ours: I64, theirs: I64, rule: Rule) -> None:
        """Keep matched places; neither is open any more."""
        self.our_places.append(ours)
        self.their_places.append(theirs)
        self.rule_codes.append(np.full(len(ours), rule, np.int8))
        self.is_ours_open[ours] = False
        self.is_theirs_open[theirs] = False

    def differ(self, kind: BreakClass, ours: I64, theirs: I64) -> None:
        """Keep breaks; their lines are explained by them."""
        self.differences += [
            Difference(kind, int(one), int(other)) for one, other in zip(ours, theirs, strict=True)
        ]
        self.is_ours_open[ours[ours >= 0]] = False
        self.is_theirs_open[theirs[theirs >= 0]] = False

    def separated(self, ours: I64, theirs: I64) -> Bools:
        """True for pairs that a person took apart."""
        if not self.rules.apart:
            return np.zeros(len(ours), np.bool_)
        size = max(len(self.is_theirs_open), 1)
        keys = np.array([one * size + other for one, other in self.rules.apart], np.int64)
        return np.isin(ours * size + theirs, keys)


def match_views(ours: Side, theirs: Side, rules: MatchRules | None = None) -> Matching:
    """Both views matched; what is left over is missing on one side, or unknown."""
    run = Matching(ours, theirs, rules or MatchRules())
    _check_references(ours)
    pairs = np.array(sorted(run.rules.together), np.int64).reshape(-1, 2)
    run.match(pairs[:, 0], pairs[:, 1], Rule.BY_HAND)
    _returned(run)
    _by_reference(run)
    _by_amount_day_party(run)
    _by_batch(run)
    if run.rules.whole_days:
        _by_day(run)
    left = np.flatnonzero(run.is_ours_open)
    run.differ(BreakClass.MISSING_WITH_THEM, left, np.full(len(left), -1, np.int64))
    _already_settled(run)
    rest = np.flatnonzero(run.is_theirs_open)
    known = theirs.is_known[rest]
    for kind, places in (
        (BreakClass.MISSING_WITH_US, rest[known]), (BreakClass.UNKNOWN, rest[~known]),
    ):  # fmt: skip
        run.differ(kind, np.full(len(places), -1, np.int64), places)
    return run


def _check_references(ours: Side) -> None:
    named = ours.reference >= 0
    keys = _way(ours.reference[named], ours.amount_minor[named])
    if len(np.unique(keys)) < len(keys):
        fix = "Give every movement of ours its own reference; only a return has that of its order"
        raise LineError("a reference is there twice", where="our lines", fix=fix)


def _returned(run: Matching) -> None:
    """Money that moved and came back under one reference: each way by itself, where it is equal."""
    ours, theirs = run.ours, run.theirs
    references, counts = np.unique(ours.reference, return_counts=True)
    twice = references[(counts > 1) & (references >= 0)]
    one = np.flatnonzero(run.is_ours_open & np.isin(ours.reference, twice))
    other = np.flatnonzero(run.is_theirs_open & np.isin(theirs.reference, twice))
    keys = row_codes(
        (ours.reference[one], ours.amount_minor[one], ours.day[one]),
        (theirs.reference[other], theirs.amount_minor[other], theirs.day[other]),
    )
    at_one, at_other = pair_by_key(*keys)
    kept = ~run.separated(one[at_one], other[at_other])
    run.match(one[at_one][kept], other[at_other][kept], Rule.REFERENCE)


def _already_settled(run: Matching) -> None:
    """Lines of theirs that name a movement of ours which is settled already."""
    rest = np.flatnonzero(run.is_theirs_open & (run.theirs.reference >= 0))
    again = rest[np.isin(run.theirs.reference[rest], run.ours.reference)]
    apart = {theirs for _, theirs in run.rules.apart}
    again = np.array([place for place in again.tolist() if place not in apart], np.int64)
    _repeated(run, again)


def _repeated(run: Matching, places: I64) -> None:
    """More lines for a reference of ours: the same way again, or a return unknown to us."""
    theirs = run.theirs
    same = np.isin(
        _way(theirs.reference[places], theirs.amount_minor[places]),
        _way(run.ours.reference, run.ours.amount_minor),
    )
    for kind, chosen in ((BreakClass.DUPLICATE, same), (BreakClass.MISSING_WITH_US, ~same)):
        run.differ(kind, np.full(int(chosen.sum()), -1, np.int64), places[chosen])


def _way(reference: I64, amount_minor: I64) -> I64:
    """A reference with the direction of its money, as one number."""
    return 2 * reference + (amount_minor > 0)


def _by_reference(run: Matching) -> None:
    """Lines of theirs that name a line of ours."""
    ours, theirs = run.ours, run.theirs
    size = int(max(ours.reference.max(initial=-1), theirs.reference.max(initial=-1))) + 2
    place_of = np.full(size, -1, np.int64)
    open_ours = np.flatnonzero(run.is_ours_open & (ours.reference >= 0))
    place_of[ours.reference[open_ours]] = open_ours
    named = np.flatnonzero(run.is_theirs_open & (theirs.reference >= 0))
    partner = place_of[theirs.reference[named]]
    found = (partner >= 0) & ~run.separated(partner, named)
    named, partner = named[found], partner[found]
    counts = np.bincount(partner, minlength=len(run.is_ours_open))
    alone = counts[partner] == 1
    _compare(run, partner[alone], named[alone])
    _several(run, partner[~alone], named[~alone])


def _several(run: Matching, partner: I64, named: I64) -> None:
    """Several lines of theirs for one of ours: its parts, or the same again."""
    wholes, sums = sums_by(partner, run.theirs.amount_minor[named])
    is_whole = np.isin(partner, wholes[sums == run.ours.amount_minor[wholes]])
    run.match(partner[is_whole], named[is_whole], Rule.ONE_TO_MANY)
    partner, named = partner[~is_whole], named[~is_whole]
    fits = run.theirs.amount_minor[named] == run.ours.amount_minor[partner]
    order = np.lexsort((named, ~fits, partner))
    partner, named = partner[order], named[order]
    first = np.ones(len(partner), np.bool_)
    first[1:] = partner[1:] != partner[:-1]
    _compare(run, partner[first], named[first])
    _repeated(run, named[~first])


def _compare(run: Matching, ours: I64, theirs: I64) -> None:
    """Pairs that name each other: equal, or different in loan, amount or day, in this order."""
    one, other = run.ours, run.theirs
    gap = np.abs(other.amount_minor[theirs] - one.amount_minor[ours])
    loans = one.loan_id[ours], other.loan_id[theirs]
    is_loan = (loans[0] != loans[1]) & (loans[0] != 0) & (loans[1] != 0)
    is_amount = ~is_loan & (gap > run.rules.tolerance_minor)
    is_day = ~is_loan & ~is_amount & (one.day[ours] != other.day[theirs])
    for kind, chosen in (
        (BreakClass.WRONG_LOAN, is_loan), (BreakClass.AMOUNT, is_amount), (BreakClass.DAY, is_day),
    ):  # fmt: skip
        run.differ(kind, ours[chosen], theirs[chosen])
    equal = ~(is_loan | is_amount | is_day)
    for rule, chosen in (
        (Rule.REFERENCE, equal & (gap == 0)), (Rule.TOLERANCE, equal & (gap > 0)),
    ):  # fmt: skip
        run.match(ours[chosen], theirs[chosen], rule)


def _by_amount_day_party(run: Matching) -> None:
    """Lines left over on both sides that are alike in everything but the reference."""
    ours = np.flatnonzero(run.is_ours_open & (run.ours.party >= 0))
    theirs = np.flatnonzero(run.is_theirs_open & (run.theirs.party >= 0))
    left, right = row_codes(
        (run.ours.amount_minor[ours], run.ours.day[ours], run.ours.party[ours]),
        (run.theirs.amount_minor[theirs], run.theirs.day[theirs], run.theirs.party[theirs]),
    )
    at_left, at_right = pair_by_key(left, right)
    pairs = ours[at_left], theirs[at_right]
    kept = ~run.separated(*pairs)
    run.match(pairs[0][kept], pairs[1][kept], Rule.AMOUNT_DAY_PARTY)


def _by_batch(run: Matching) -> None:
    """One line that names a batch, and the lines of the batch on the other side."""
    ours, theirs = run.ours, run.theirs
    many = np.flatnonzero(run.is_theirs_open & (theirs.batch >= 0))
    found, at = _batch_of(run.is_ours_open, ours, theirs.batch[many], theirs.amount_minor[many])
    run.match(at[found], many[found], Rule.BATCH_SUM)
    many = np.flatnonzero(run.is_ours_open & (ours.batch >= 0))
    found, at = _batch_of(run.is_theirs_open, theirs, ours.batch[many], ours.amount_minor[many])
    run.match(many[found], at[found], Rule.ONE_TO_MANY)


def _batch_of(is_open: Bools, single: Side, batch: I64, amount_minor: I64) -> tuple[Bools, I64]:
    """For each line of a batch: is its batch one open line of the other side, and which."""
    batches, sums = sums_by(batch, amount_minor)
    lines = np.flatnonzero(is_open & (single.reference >= 0))
    lines = lines[np.argsort(single.reference[lines], kind="stable")]
    at = np.searchsorted(single.reference[lines], batches)
    inside = at < len(lines)
    place = np.full(len(batches), -1, np.int64)
    place[inside] = lines[at[inside]]
    fits = inside.copy()
    fits[inside] &= single.reference[place[inside]] == batches[inside]
    fits[inside] &= single.amount_minor[place[inside]] == sums[inside]
    row = np.searchsorted(batches, batch)
    return fits[row], place[row]


def _by_day(run: Matching) -> None:
    """One line of theirs for everything of ours that is left of its day."""
    ours = np.flatnonzero(run.is_ours_open)
    days, sums = sums_by(run.ours.day[ours].astype(np.int64), run.ours.amount_minor[ours])
    theirs = np.flatnonzero(run.is_theirs_open & (run.theirs.reference < 0))
    left, right = row_codes((sums, days), (run.theirs.amount_minor[theirs], run.theirs.day[theirs]))
    for at, other in zip(*pair_by_key(left, right), strict=True):
        many = ours[run.ours.day[ours] == days[at]]
        rule = Rule.ONE_TO_MANY if len(many) > 1 else Rule.BATCH_SUM
        run.match(many, np.full(len(many), theirs[other]), rule)
