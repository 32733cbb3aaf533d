"""Mandates as the arrays the kernels read: bit sets for eligibility, tables of margins.

Each mandate is a column, in the order of the file. A region, product, grade, channel or tenor has
the set of columns that take it, 64 to a word, so a request's candidates are a few `and`s away.

>>> from datetime import date
>>> from usance.base.codes import FundingModel
>>> bank = Mandate(
...     source=1, valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31), model=FundingModel.ICE,
...     fee_ppm=27_000, eligibility=Eligibility(regions=frozenset({4})),
... )  # fmt: skip
>>> columns = source_columns(Mandates((bank,)))
>>> columns.regions[code_rows(columns.region_codes, np.array([4, 5]))][:, 0].tolist()
[1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from usance.base.arrays import I64, U64
from usance.base.codes import FundingModel, Product
from usance.base.dates import to_day
from usance.base.draws import CERTAIN
from usance.base.rates import PPM
from usance.match.mandates.co_funding import partners_of
from usance.match.mandates.concentration import SHARES
from usance.match.mandates.limits import (
    BUDGETS,
    PLATFORM_KINDS,
    PLATFORM_LIMITS,
    LimitKind,
    list_limits,
)
from usance.match.mandates.mandate import (
    MAX_MONTHS,
    MIDNIGHT,
    NO_LIMIT,
    ConcentrationLimit,
    Eligibility,
    Mandate,
    Mandates,
    Measure,
    Platform,
)
from usance.match.mandates.margins import margin_tables

T = TypeVar("T")
WORD = 64
UNLIMITED = 1 << 62
MODELS = len(FundingModel)
MEASURES = tuple(Measure)
"""Kernels know the measures of concentration limits by their positions here."""
# Positions in `SourceColumns.flags`.
CHECK_HOURS, CHECK_ATTRIBUTES, CHECK_BORROWERS, CHECK_PLATFORM, CHECK_MODELS, CHECK_PARTNERS = (
    range(6)
)


class SourceColumns(NamedTuple):
    """Columns that do not change while a stream is routed; the last axis is the mandate."""

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
    min_amount: I64
    max_amount: I64
    opens: I64
    cut_off: I64
    needs: I64
    refuses: I64
    borrower: I64
    others_ppm: I64
    """Part of each loan that the source itself does not lend: the platform's or a partner's."""
    partner_start: I64
    """Of each mandate its rows in `partner_column`; none without a partner."""
    partner_column: I64
    """Versions of its partner, in order of time."""
    partner_least_ppm: I64
    partner_is_first: I64
    """1 where the partner has the lower number, so that an odd unit is its."""
    approval: I64
    """Expected approval rate, parts per million."""
    priority: I64
    margin_base: I64
    margin_slope: I64
    concentration_start: I64
    concentration_measure: I64
    concentration_member: I64
    concentration_bound: I64
    ramp: I64
    """Amount placed before which shares and averages are not judged, minor units."""
    platform_use_ppm: I64
    """Part of a loan that counts against each limit of the platform."""
    losses: I64
    """Annual expected loss of each grade in `grade_codes`, parts per million."""
    model: I64
    max_model_share_ppm: I64
    """By model: its maximum share of everything placed."""
    platform_ramp: I64
    """One number: amount placed in all before which shares of models are not judged."""
    flags: I64
    """1 where some mandate limits hours, attributes, borrowers, the platform or models, or has a
    partner."""
    blacklisted_users: I64
    """Users on some blacklist, sorted."""
    blacklisted: U64
    """For each of them the columns that do not lend to them."""
    unscaled: I64
    """A million for each column: margins as they are."""
    last_day: I64
    """The last day a mandate is in force."""
    budget_limit: I64
    """Numbers of limits, 0 where there is none: of the total, monthly and daily budget."""
    borrower_limit: I64
    platform_limit: I64
    """By limit of the platform."""
    model_limit: I64
    """By model: of its maximum share."""
    concentration_limit: I64
    """By concentration limit."""


def source_columns(mandates: Mandates) -> SourceColumns:
    """The arrays of a file of mandates."""
    rows, platform = mandates.mandates, mandates.platform
    own = [each.eligibility for each in rows]
    limits = [(n, each) for n, row in enumerate(rows) for each in row.concentration_limits]
    codes = {
        "region": _codes([*(each.regions for each in own), _named(limits, "region")]),
        "channel": _codes([*(each.channels for each in own), _named(limits, "channel")]),
        "grade": np.array(sorted(platform.losses), np.int64),
    }
    regions, channels, grades = codes.values()
    losses = np.array([platform.losses[int(grade)] for grade in grades], np.int64)
    base, slope = margin_tables(rows, platform, np.arange(MAX_MONTHS + 2), losses)
    bit = {name: 1 << position for position, name in enumerate(mandates.attributes)}
    needs = _each(own, lambda e: sum(bit[name] for name in e.needs))
    refuses = _each(own, lambda e: sum(bit[name] for name in e.refuses))
    opens, cut_off = _each(own, lambda e: e.opens), _each(own, lambda e: e.cut_off)
    borrower, max_share = _each(own, lambda e: e.borrower_minor), _max_model_share_ppm(platform)
    shared = _each(rows, lambda e: int(e.co_funding is not None))
    flags = _flags(platform, opens, cut_off, needs | refuses, borrower, max_share, shared)
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
        min_amount=_each(own, lambda e: e.min_amount_minor),
        max_amount=_each(own, lambda e: e.max_amount_minor),
        opens=opens,
        cut_off=cut_off,
        needs=needs,
        refuses=refuses,
        borrower=borrower,
        others_ppm=_each(rows, lambda e: e.others_ppm),
        **_partners(rows),
        approval=_each(rows, lambda e: e.approval_ppm),
        priority=_each(rows, lambda e: e.priority),
        margin_base=base,
        margin_slope=slope,
        concentration_start=np.searchsorted([c for c, _ in limits], np.arange(len(rows) + 1)),
        concentration_measure=_each(limits, lambda e: MEASURES.index(e[1].measure)),
        concentration_member=_each(limits, lambda e: _member(e[1], codes)),
        concentration_bound=_each(limits, lambda e: e[1].bound_ppm),
        ramp=_each(rows, lambda e: e.ramp_minor),
        platform_use_ppm=platform_use_ppm(rows),
        losses=losses,
        model=_each(rows, lambda e: int(e.model)),
        max_model_share_ppm=max_share,
        platform_ramp=np.array([platform.ramp_minor], np.int64),
        flags=flags,
        blacklisted_users=users,
        unscaled=np.full(len(rows), PPM, np.int64),
        blacklisted=_blacklisted(users, [e.blacklist for e in own]),
        last_day=_each(rows, lambda e: to_day(e.valid_to)),
        **_limit_numbers(mandates),
    )


def _partners(rows: Sequence[Mandate]) -> dict[str, I64]:
    """Partners of each mandate, and how their parts are rounded."""
    own = [partners_of(each, rows) for each in rows]
    given = [(each.source, each.co_funding) for each in rows]
    return {
        "partner_start": np.cumsum([0, *map(len, own)]),
        "partner_column": np.array([place for places in own for place in places], np.int64),
        "partner_least_ppm": _each(given, lambda e: e[1].least_ppm if e[1] else 0),
        "partner_is_first": _each(given, lambda e: int(e[1] is not None and e[1].partner < e[0])),
    }


def code_rows(codes: I64, values: I64) -> I64:
    """The row of each code in a table that ends with a row for every other one."""
    if not len(codes):
        return np.zeros(len(values), np.int64)
    found = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
    return np.where(codes[found] == values, found, len(codes))


def _max_model_share_ppm(platform: Platform) -> I64:
    shares = np.full(MODELS, PPM, np.int64)
    for each in platform.model_shares:
        shares[each.model] = each.max_ppm
    return shares


def bit_set(columns: Iterable[int], count: int) -> U64:
    """A set of columns as words."""
    words = np.zeros(-(-count // WORD), np.uint64)
    for column in columns:
        words[column // WORD] |= np.uint64(1) << np.uint64(column % WORD)
    return words


def thresholds(approval_ppm: I64) -> I64:
    """Bound below which a draw means approval, by approval rate; see `base.draws.threshold`."""
    return np.array([CERTAIN * int(rate) // PPM for rate in approval_ppm], np.int64)


def platform_use_ppm(rows: Sequence[Mandate]) -> I64:
    """Part of a loan that counts against each limit of the platform, by limit and mandate."""
    use = [[limit.use_ppm(each) for each in rows] for limit in PLATFORM_LIMITS.values()]
    return np.array(use, np.int64)


def _limit_numbers(mandates: Mandates) -> dict[str, I64]:
    """The number of every limit a kernel may find binding, where the kernel looks for it."""
    count = len(mandates.mandates)
    budget, borrower = np.zeros((len(BUDGETS), count), np.int64), np.zeros(count, np.int64)
    platform, model = np.zeros(len(PLATFORM_KINDS), np.int64), np.zeros(MODELS, np.int64)
    concentration = []
    for limit in list_limits(mandates):
        if limit.kind in BUDGETS:
            budget[BUDGETS.index(limit.kind), limit.column] = limit.number
        elif limit.kind in PLATFORM_KINDS:
            platform[PLATFORM_KINDS.index(limit.kind)] = limit.number
        elif limit.kind is LimitKind.BORROWER:
            borrower[limit.column] = limit.number
        elif limit.kind is LimitKind.MODEL_MAX:
            model[limit.member] = limit.number
        elif limit.kind is LimitKind.CONCENTRATION:
            concentration.append(limit.number)
    return {
        "budget_limit": budget, "borrower_limit": borrower, "platform_limit": platform,
        "model_limit": model, "concentration_limit": np.array(concentration, np.int64),
    }  # fmt: skip


def _flags(
    platform: Platform, opens: I64, cut_off: I64, attributes: I64, borrower: I64,
    max_share: I64, shared: I64,
) -> I64:  # fmt: skip
    """Checks that the kernel has to make, in the order of its constants."""
    limited = any(each.bound_minor(platform) != NO_LIMIT for each in PLATFORM_LIMITS.values())
    needed = (
        (opens > 0).any() or (cut_off < MIDNIGHT).any(), attributes.any(),
        (borrower != NO_LIMIT).any(), limited, (max_share < PPM).any(),
        shared.any(),
    )  # fmt: skip
    return np.array([bool(each) for each in needed], np.int64)


def _each(rows: Sequence[T], value: Callable[[T], int]) -> I64:
    return np.array([value(row) for row in rows], np.int64)


def _named(limits: Sequence[tuple[int, ConcentrationLimit]], column: str) -> frozenset[int]:
    """Values of a column of the requests that concentration limits name."""
    shares = ((each, SHARES.get(each.measure)) for _, each in limits)
    return frozenset(each.member for each, share in shares if share and share.column == column)


def _member(limit: ConcentrationLimit, codes: Mapping[str, I64]) -> int:
    """The value that a share is about, as the row of its code where the column has codes."""
    share = SHARES.get(limit.measure)
    known = codes.get(share.column) if share else None
    return limit.member if known is None else int(np.searchsorted(known, limit.member))


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


def _blacklisted(users: I64, lists: Sequence[frozenset[int]]) -> U64:
    rows = [
        bit_set((c for c, own in enumerate(lists) if int(user) in own), len(lists))
        for user in users
    ]
    return np.stack(rows) if rows else np.zeros((0, -(-len(lists) // WORD)), np.uint64)


def _codes(sets: Iterable[frozenset[int]]) -> I64:
    return np.array(sorted(frozenset().union(*sets)), np.int64)
