"""Links between users over shared device, phone, address, bank card and contact, as known then.

A link says that a user has an attribute with a value (a number; live, a blind index). Users who
share a value are neighbours; users connected through any chain of values are one component. A
value that more than `HUB` users have (an office address, a shop's phone) links nobody beyond them.

>>> index = LinkIndex()
>>> for user in (1, 2, 3):
...     index.add(Link(user, Attribute.DEVICE, 77))
>>> for user in (3, 4):
...     index.add(Link(user, Attribute.PHONE, 5))
>>> index.mark_bad(2)
>>> index.features(1)
LinkFeatures(size=4, degree=2, bad_neighbours_ppm=500000)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from usance.assess.errors import WrongInput
from usance.base.arrays import I64
from usance.base.codes import Code
from usance.base.compiled import kernel
from usance.base.rates import PPM


class LinkArrays(NamedTuple):
    """Links in order of booking, by user, and the users and values they join."""

    user: I64
    value: I64
    booked_at: I64
    user_starts: I64
    """First place in `by_user` of each user."""
    by_user: I64
    value_starts: I64
    """First place among `members` of each value."""
    bad_at: I64
    """Moment at which each user turned out bad."""


class LinkGroups(NamedTuple):
    """Everything that grows while links are walked through: members of values, components."""

    members: I64
    filled: I64
    parent: I64
    size: I64
    stamp: I64
    """The last decision in which each user was met."""


@kernel
def _root(parent: I64, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def link_kernel(
    asked: I64, known_at: I64, rows: I64, hub: int, links: LinkArrays, groups: LinkGroups, out: I64
) -> None:
    """Components and neighbours of users, each as of its moment, in one walk through time.

    Links come in order of booking; decisions in order of their moment.
    """
    user, value, booked_at, value_starts = (
        links.user, links.value, links.booked_at, links.value_starts,
    )  # fmt: skip
    members, filled, parent, size, stamp = groups
    people = len(stamp)
    link = 0
    for at in range(len(asked)):
        while link < len(user) and booked_at[link] <= known_at[at]:
            who, what = user[link], value[link]
            first = value_starts[what]
            again = False
            for place in range(first, first + filled[what]):
                again |= members[place] == who
            if not again:
                members[first + filled[what]] = who
                filled[what] += 1
                if filled[what] <= hub:
                    one, two = _root(parent, who), _root(parent, people + what)
                    if one != two:
                        parent[two] = one
                        size[one] += size[two]
            link += 1
        me = asked[at]
        degree = 0
        bad = 0
        stamp[me] = at
        for position in range(links.user_starts[me], links.user_starts[me + 1]):
            mine = links.by_user[position]
            if booked_at[mine] > known_at[at]:
                continue
            first = value_starts[value[mine]]
            width = min(filled[value[mine]], hub)
            among = False
            for place in range(first, first + width):
                among |= members[place] == me
            if not among:
                continue
            for place in range(first, first + width):
                other = members[place]
                if stamp[other] != at:
                    stamp[other] = at
                    degree += 1
                    bad += links.bad_at[other] <= known_at[at]
        out[0, rows[at]] = size[_root(parent, me)]
        out[1, rows[at]] = degree
        out[2, rows[at]] = bad


HUB = 200
NO_NEIGHBOUR = -1
LARGEST = np.iinfo(np.int64).max


class Attribute(Code):
    """An attribute that two users can share; append at the end."""

    DEVICE = 1
    PHONE = 2
    ADDRESS = 3
    BANK_CARD = 4
    CONTACT = 5


@dataclass(frozen=True, slots=True)
class Link:
    """A user has an attribute with this value."""

    user_id: int
    attribute: Attribute
    value: int


@dataclass(frozen=True, slots=True)
class LinkFeatures:
    """Counts of users connected (with this one), of direct ones, and of the bad among these."""

    size: int
    degree: int
    bad_neighbours_ppm: int


class LinkIndex:
    """The links booked so far; what it says is what is known now."""

    def __init__(self, hub: int = HUB) -> None:
        self._hub = hub
        self._parent: dict[object, object] = {}
        self._size: dict[object, int] = {}
        self._users: dict[tuple[int, int], dict[int, None]] = {}
        self._values: dict[int, dict[tuple[int, int], None]] = {}
        self._bad: set[int] = set()

    def add(self, link: Link) -> None:
        """Book a link; booking it again changes nothing."""
        value = (int(link.attribute), link.value)
        users = self._users.setdefault(value, {})
        if link.user_id in users:
            return
        self._root(link.user_id, 1)
        self._root(value, 0)
        users[link.user_id] = None
        if len(users) > self._hub:
            return
        self._values.setdefault(link.user_id, {})[value] = None
        self._join(link.user_id, value)

    def mark_bad(self, user_id: int) -> None:
        """Book that a user turned out bad."""
        self._bad.add(user_id)

    def features(self, user_id: int) -> LinkFeatures:
        """The link features of a user now."""
        neighbours: dict[int, None] = {}
        for value in self._values.get(user_id, {}):
            neighbours |= dict.fromkeys([*self._users[value]][: self._hub])
        neighbours.pop(user_id, None)
        bad = sum(1 for each in neighbours if each in self._bad)
        count = len(neighbours)
        share = (2 * bad * PPM + count) // (2 * count) if count else NO_NEIGHBOUR
        known = user_id in self._parent
        return LinkFeatures(self._size[self._root(user_id, 1)] if known else 1, count, share)

    def _root(self, node: object, size: int) -> object:
        if node not in self._parent:
            self._parent[node] = node
            self._size[node] = size
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node

    def _join(self, first: object, second: object) -> None:
        one, two = self._root(first, 1), self._root(second, 0)
        if one != two:
            self._parent[two] = one
            self._size[one] += self._size[two]


def link_columns(
    decisions: Mapping[str, Any], links: Mapping[str, Any], bads: Mapping[str, Any], hub: int = HUB
) -> dict[str, I64]:
    """The same for columns; each decision sees what was booked by its moment.

    Args:
        decisions: `user_id` and `known_at` (microseconds).
        links: `user_id`, `attribute`, `value` and `booked_at`.
        bads: `user_id` and `booked_at` of users who turned out bad.
        hub: how many users of one value are linked.
    """
    asked, at = longs("decisions", decisions, "user_id", "known_at")
    users, attribute, said, booked = longs(
        "links", links, "user_id", "attribute", "value", "booked_at"
    )
    bad_users, bad_booked = longs("bads", bads, "user_id", "booked_at")
    strange = np.setdiff1d(attribute, [each.value for each in Attribute])
    if len(strange):
        fix = f"Give {', '.join(f'{each.value} {each.label}' for each in Attribute)}"
        raise WrongInput(f"no attribute {strange[0]}", where="links", fix=fix)
    order = np.lexsort((np.arange(len(booked)), booked))
    everyone, compact = np.unique(np.concatenate([users, asked]), return_inverse=True)
    pairs = np.stack([attribute, said])
    values, value = np.unique(pairs, axis=1, return_inverse=True)
    value = value.reshape(-1).astype(np.int64)
    bad_at = np.full(len(everyone), np.iinfo(np.int64).max)
    place = np.searchsorted(everyone, bad_users)
    inside = place < len(everyone)
    inside[inside] = everyone[place[inside]] == bad_users[inside]
    np.minimum.at(bad_at, place[inside], bad_booked[inside])
    rows = np.argsort(at, kind="stable")
    out = np.zeros((3, len(asked)), np.int64)
    count = values.shape[1] if len(value) else 0
    own = compact[: len(users)][order].astype(np.int64)
    sorted_value = value[order]
    arrays = LinkArrays(
        user=own,
        value=sorted_value,
        booked_at=booked[order],
        user_starts=_starts(own, len(everyone)),
        by_user=np.argsort(own, kind="stable"),
        value_starts=_starts(sorted_value, count),
        bad_at=bad_at,
    )
    groups = LinkGroups(
        members=np.empty(len(own), np.int64),
        filled=np.zeros(count, np.int64),
        parent=np.arange(len(everyone) + count),
        size=np.repeat([1, 0], [len(everyone), count]),
        stamp=np.full(len(everyone), -1),
    )
    asking = compact[len(users) :][rows].astype(np.int64)
    link_kernel(asking, at[rows], rows, hub, arrays, groups, out)
    degree, bad = out[1], out[2]
    share = (2 * bad * PPM + degree) // np.maximum(2 * degree, 1)
    return {
        "size": out[0],
        "degree": degree,
        "bad_neighbours_ppm": np.where(degree == 0, NO_NEIGHBOUR, share),
    }


def _starts(keys: I64, count: int) -> I64:
    ends: I64 = np.cumsum(np.bincount(keys, minlength=count)[:count])
    return np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int64)


def longs(title: str, table: Mapping[str, Any], *names: str) -> list[I64]:
    """Columns of whole numbers, all of one length; what is wrong is named."""
    found: list[I64] = []
    for name in names:
        if name not in table:
            raise WrongInput(f"{name} is missing", where=title, fix=f"Give the column {name}")
        array = np.asarray(table[name])
        if array.size and (array.dtype.kind not in "iu" or array.max() > LARGEST):
            fix = "Give whole numbers of 64 bits; moments as microseconds"
            raise WrongInput(f"{name} is {array.dtype}", where=title, fix=fix)
        if found and len(array) != len(found[0]):
            what = f"{name} has {len(array)} rows and {names[0]} {len(found[0])}"
            raise WrongInput(what, where=title, fix="Give columns of one length")
        found.append(array.astype(np.int64))
    return found
