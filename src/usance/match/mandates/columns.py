"""Mandates as the arrays the kernels read: sets of bits for the hard filter, tables of margins.

Each mandate is a column, in the order of the file. A place, product, grade, channel or tenor has a
set of columns that take it, 64 to a word, so a request's candidates are a few `and`s away.

>>> from datetime import date
>>> from usance.base.codes import FundingModel
>>> bank = Mandate(
...     source=1, valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31), model=FundingModel.ICE,
...     fee_ppm=27_000, eligibility=Eligibility(regions=frozenset({4})),
... )  # fmt: skip
>>> columns = source_columns(Mandates((bank,)))
>>> columns.regions[places(columns.region_codes, np.array([4, 5]))][:, 0].tolist()
[1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from usance.base.arrays import I64, U64
from usance.base.codes import FundingModel, Product
from usance.base.dates import to_day
from usance.base.draws import CERTAIN
from usance.base.rates import PPM
from usance.match.mandates.limits import BUDGETS, PLATFORM_ROOMS, LimitKind, list_limits
from usance.match.mandates.mandate import (
    MAX_MONTHS,
    NO_LIMIT,
    Eligibility,
    Mandate,
    Mandates,
    Measure,
    MixLimit,
    Platform,
)
from usance.match.mandates.margins import margin_tables

T = TypeVar("T")
WORD = 64
NO_ROOM_LIMIT = 1 << 62
MODELS = len(FundingModel)
MEASURES = tuple(Measure)
"""The numbers kernels know the measures of a mix by: their positions here."""


class SourceColumns(NamedTuple):
    """What never changes while a stream is routed; the last axis is the mandate."""

    products: U64
    regions: U64
    grades: U64
    channels: U64
    months: U64
    region_codes: I64
    """Regions some mandate names, sorted; row n is the n-th, the last row every other one."""
    channel_codes: I64
    grade_codes: I64
    source: I64
    least: I64
    most: I64
    opens: I64
    cut_off: I64
    needs: I64
    refuses: I64
    borrower: I64
    own_ppm: I64
    approval: I64
    """Expected approval rate, parts per million."""
    priority: I64
    margin_base: I64
    margin_slope: I64
    mix_start: I64
    mix_measure: I64
    mix_member: I64
    mix_bound: I64
    rooms: I64
    """Of the platform's rooms (guarantee, microcredit, liquidity): parts per million of a loan."""
    losses: I64
    """Annual expected loss of each grade in `grade_codes`, parts per million."""
    model: I64
    model_most: I64
    """By model: its most share of everything placed, parts per million."""
    flags: I64
    """Whether hours, attributes, borrowers, platform rooms and models need to be looked at."""
    barred_users: I64
    """Users on some blacklist, sorted."""
    ones: I64
    """A million for each column: margins as they are."""
    barred: U64
    """For each of them the columns that do not lend to them."""
    last_day: I64
    """The last day a mandate is in force."""
    budget_limit: I64
    """Numbers of limits, 0 where there is none: of the total, monthly and daily budget."""
    borrower_limit: I64
    room_limit: I64
    """By platform room."""
    model_limit: I64
    """By model: of its most share."""
    mix_limit: I64
    """By limit on the mix."""


def source_columns(mandates: Mandates) -> SourceColumns:
    """The arrays of a file of mandates."""
    rows, platform = mandates.mandates, mandates.platform
    own = [each.eligibility for each in rows]
    regions = _codes([*(each.regions for each in own), _mixed_regions(rows)])
    channels = _codes(each.channels for each in own)
    grades = np.array(sorted(platform.losses), np.int64)
    losses = np.array([platform.losses[int(grade)] for grade in grades], np.int64)
    tenors = np.arange(MAX_MONTHS + 2, dtype=np.int64)
    base, slope = margin_tables(rows, platform, tenors, losses)
    bit = {name: 1 << position for position, name in enumerate(mandates.attributes)}
    needs = _each(own, lambda e: sum(bit[name] for name in e.needs))
    refuses = _each(own, lambda e: sum(bit[name] for name in e.refuses))
    opens, cut_off = _each(own, lambda e: e.opens), _each(own, lambda e: e.cut_off)
    borrower = _each(own, lambda e: e.borrower_minor)
    mix = [(column, each) for column, row in enumerate(rows) for each in row.mix]
    rooms = platform_rooms(rows)
    most = np.full(MODELS, PPM, np.int64)
    for each in platform.mix:
        most[each.model] = each.most_ppm
    flags = _flags(platform, opens, cut_off, needs | refuses, borrower, most)
    users = _codes(each.blacklist for each in own)
    return SourceColumns(
        products=_sets(list(Product), [e.products for e in own], rest=False),
        regions=_sets(regions, [e.regions for e in own], rest=True),
        grades=_sets(grades, [e.grades for e in own], rest=False),
        channels=_sets(channels, [e.channels for e in own], rest=True),
        months=_tenors(own),
        region_codes=regions,
        channel_codes=channels,
        grade_codes=grades,
        source=_each(rows, lambda e: e.source),
        least=_each(own, lambda e: e.least_minor),
        most=_each(own, lambda e: e.most_minor),
        opens=opens,
        cut_off=cut_off,
        needs=needs,
        refuses=refuses,
        borrower=borrower,
        own_ppm=_each(rows, lambda e: e.co_share_ppm),
        approval=_each(rows, lambda e: e.approval_ppm),
        priority=_each(rows, lambda e: e.priority),
        margin_base=base,
        margin_slope=slope,
        mix_start=np.searchsorted([column for column, _ in mix], np.arange(len(rows) + 1)),
        mix_measure=_each(mix, lambda e: MEASURES.index(e[1].measure)),
        mix_member=_each(mix, lambda e: _member(e[1], regions, grades)),
        mix_bound=_each(mix, lambda e: e[1].bound_ppm),
        rooms=rooms,
        losses=losses,
        model=_each(rows, lambda e: int(e.model)),
        model_most=most,
        flags=flags,
        barred_users=users,
        ones=np.full(len(rows), PPM, np.int64),
        barred=_barred(users, [e.blacklist for e in own]),
        last_day=_each(rows, lambda e: to_day(e.valid_to)),
        **_limit_numbers(mandates),
    )


def places(codes: I64, values: I64) -> I64:
    """The row of each code in a table that ends with a row for every other one."""
    if not len(codes):
        return np.zeros(len(values), np.int64)
    found = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
    return np.where(codes[found] == values, found, len(codes))


def bit_set(columns: Iterable[int], count: int) -> U64:
    """A set of columns as words."""
    words = np.zeros(-(-count // WORD), np.uint64)
    for column in columns:
        words[column // WORD] |= np.uint64(1) << np.uint64(column % WORD)
    return words


def thresholds(approval_ppm: I64) -> I64:
    """What a draw is compared with for each approval rate; see `base.draws.threshold`."""
    return np.array([CERTAIN * int(rate) // PPM for rate in approval_ppm], np.int64)


def platform_rooms(rows: Sequence[Mandate]) -> I64:
    """How much of a loan each platform room is used for, by room and mandate."""
    guaranteed = [
        each.model is FundingModel.CAPITAL_HEAVY and not each.guarantee.guarantor for each in rows
    ]
    used = {
        LimitKind.GUARANTEE: [
            PPM - each.co_share_ppm if own else 0
            for each, own in zip(rows, guaranteed, strict=True)
        ],
        LimitKind.MICROCREDIT: [PPM - e.co_share_ppm if e.microcredit else 0 for e in rows],
        LimitKind.LIQUIDITY: [each.co_share_ppm for each in rows],
    }
    return np.array([used[kind] for kind in PLATFORM_ROOMS], np.int64)


def _limit_numbers(mandates: Mandates) -> dict[str, I64]:
    """The number of every limit a kernel may find binding, where the kernel looks for it."""
    count = len(mandates.mandates)
    budget, borrower = np.zeros((len(BUDGETS), count), np.int64), np.zeros(count, np.int64)
    room, model = np.zeros(len(PLATFORM_ROOMS), np.int64), np.zeros(MODELS, np.int64)
    mix = []
    for limit in list_limits(mandates):
        if limit.kind in BUDGETS:
            budget[BUDGETS.index(limit.kind), limit.column] = limit.number
        elif limit.kind in PLATFORM_ROOMS:
            room[PLATFORM_ROOMS.index(limit.kind)] = limit.number
        elif limit.kind is LimitKind.BORROWER:
            borrower[limit.column] = limit.number
        elif limit.kind is LimitKind.MODEL_MAX:
            model[limit.member] = limit.number
        elif limit.kind is LimitKind.MIX:
            mix.append(limit.number)
    return {
        "budget_limit": budget, "borrower_limit": borrower, "room_limit": room,
        "model_limit": model, "mix_limit": np.array(mix, np.int64),
    }  # fmt: skip


def _flags(
    platform: Platform, opens: I64, cut_off: I64, tags: I64, borrower: I64,
    most: I64,
) -> I64:  # fmt: skip
    """Which looks the kernel can spare itself; in the order it knows them by."""
    rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
    needed = (
        (opens > 0).any() or (cut_off < 86_400).any(), tags.any(), (borrower != NO_LIMIT).any(),
        any(each != NO_LIMIT for each in rooms), (most < PPM).any(),
    )  # fmt: skip
    return np.array([bool(each) for each in needed], np.int64)


def _each(rows: Sequence[T], value: Callable[[T], int]) -> I64:
    return np.array([value(row) for row in rows], np.int64)


def _mixed_regions(rows: Sequence[Mandate]) -> frozenset[int]:
    named = (each for row in rows for each in row.mix if each.measure is Measure.REGION)
    return frozenset(each.member for each in named)


def _member(limit: MixLimit, regions: I64, grades: I64) -> int:
    """The row of what a limit speaks of, in the table of its kind."""
    codes = {Measure.REGION: regions, Measure.GRADE: grades}.get(limit.measure)
    return limit.member if codes is None else int(np.searchsorted(codes, limit.member))


def _sets(codes: Iterable[int], accepted: Sequence[frozenset[int]], *, rest: bool) -> U64:
    """The columns that take each code; an empty set takes all, and the rest where there is one."""
    rows = [
        [column for column, own in enumerate(accepted) if not own or int(code) in own]
        for code in codes
    ]
    if rest:
        rows.append([column for column, own in enumerate(accepted) if not own])
    return np.stack([bit_set(row, len(accepted)) for row in rows])


def _tenors(own: Sequence[Eligibility]) -> U64:
    """By months, from none (which nobody takes) to one more than the longest."""
    rows = [
        [
            column
            for column, each in enumerate(own)
            if (months in each.months if each.months else 1 <= months <= MAX_MONTHS)
        ]
        for months in range(MAX_MONTHS + 2)
    ]
    return np.stack([bit_set(row, len(own)) for row in rows])


def _barred(users: I64, lists: Sequence[frozenset[int]]) -> U64:
    rows = [
        bit_set((c for c, own in enumerate(lists) if int(user) in own), len(lists))
        for user in users
    ]
    return np.stack(rows) if rows else np.zeros((0, -(-len(lists) // WORD)), np.uint64)


def _codes(sets: Iterable[frozenset[int]]) -> I64:
    return np.array(sorted(frozenset().union(*sets)), np.int64)
