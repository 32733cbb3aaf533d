"""Streams routed piece by piece: state out, state in, the same as one stream routed at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from usance.base.codes import FundingModel
from usance.base.dates import to_day
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.errors import CheckpointError
from usance.match.mandates.mandate import (
    Budgets,
    ConcentrationLimit,
    Mandates,
    Measure,
    ModelShare,
    Platform,
    Structure,
)
from usance.match.router.audit import audit
from usance.match.router.checkpoint import RouterCheckpoint, read_checkpoint, write_checkpoint
from usance.match.router.releases import releases_of
from usance.match.router.requests import Requests
from usance.match.router.router import RoutingResult, route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import ENGINE, POLICIES, Policy

CUTS = (0, 1, 733, 1_500, 1_500, 2_999)


@pytest.fixture(scope="module")
def made() -> Stream:
    return make_stream(StreamKind.SOURCE_LEAVES, seed=4, requests=3_000, sources=12, segments=30)


@pytest.fixture(scope="module")
def book(made: Stream) -> Mandates:
    """Borrowers, months, rooms, target mix and budgets that revolve, all at once."""
    rows = tuple(
        replace(
            each,
            eligibility=replace(each.eligibility, borrower_minor=1_500_000),
            budgets=replace(each.budgets, month_minor=each.budgets.total_minor),
            structure=Structure(revolving_until=date(2024, 6, 20)),
        )
        for each in made.mandates.mandates
    )
    platform = Platform(
        guarantee_minor=600_000_000,
        model_shares=(ModelShare(FundingModel.CAPITAL_HEAVY, 0, 400_000),),
    )
    return replace(made.mandates, mandates=rows, platform=platform)


RELEASES = releases_of(
    day=[to_day(date(2024, 6, day)) for day in (3, 9, 9, 14, 28)],
    source=[1, 2, 3, 1, 2],
    principal_minor=[9_000_000, 8_000_000, 7_000_000, 6_000_000, 5_000_000],
)


def pieces(made: Stream, book: Mandates, policy: Policy = ENGINE) -> list[RoutingResult]:
    """The stream cut at odd places; each piece is given the releases of its own days."""
    ends = (*CUTS, len(made.requests))
    before: RouterCheckpoint | None = None
    day_before, found = -1, []
    for start, stop in zip((0, *ends), ends, strict=False):
        part = made.requests.rows(start, stop)
        last = RELEASES.day[-1] + 5 if stop == ends[-1] else _day(part, day_before)
        here = (RELEASES.day > day_before) & (RELEASES.day <= last)
        day_before = max(int(last), day_before)
        came_back = releases_of(
            day=RELEASES.day[here], source=RELEASES.source[here],
            principal_minor=RELEASES.principal_minor[here],
        )  # fmt: skip
        result = route(
            part,
            book,
            policy,
            demand=made.demand,
            releases=came_back,
            checkpoint=before,
        )
        before = result.checkpoint
        found.append(result)
    return found


def _day(part: Requests, otherwise: int) -> int:
    """The last day of a piece, and a few more: what comes back early waits."""
    if not len(part):
        return otherwise
    return int(part.requested_at[-1] // 86_400_000_000) + 3


def same(parts: list[RoutingResult], whole: RoutingResult) -> None:
    rows = [row for part in parts for row in routing_table(part).to_pylist()]
    assert rows == routing_table(whole).to_pylist()
    assert parts[-1].checkpoint is not None
    assert whole.checkpoint is not None
    for name, array in whole.checkpoint.arrays.items():
        assert (parts[-1].checkpoint[name] == array).all(), name


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_pieces_are_the_whole(made: Stream, book: Mandates, policy: Policy) -> None:
    whole = route(made.requests, book, policy, demand=made.demand, releases=RELEASES)
    parts = pieces(made, book, policy)
    same(parts, whole)
    assert not audit(whole, book).violations
    assert [audit(part, book).violations for part in parts] == [[] for _ in parts]


def test_without_a_stated_period_the_days_of_each_piece_are_its_own(made: Stream) -> None:
    """Budgets of the month go on within it; the level of demand is learned anew."""
    book = replace(made.mandates, period=None)
    first = route(made.requests.rows(0, 1_000), book, ENGINE, demand=made.demand)
    again = route(
        made.requests.rows(1_000, 3_000),
        book,
        ENGINE,
        demand=made.demand,
        checkpoint=first.checkpoint,
    )
    assert not audit(again, book).violations
    assert again.plans[0].number == len(first.plans) + 1
    assert again.checkpoint is not None
    assert again.checkpoint.requests == 3_000


def test_a_checkpoint_is_kept_in_a_file_to_the_last_bit(
    made: Stream, book: Mandates, tmp_path: Path
) -> None:
    half = route(made.requests.rows(0, 1_500), book, ENGINE, demand=made.demand)
    assert half.checkpoint is not None
    for name in ("a", "b"):
        write_checkpoint(tmp_path / name, half.checkpoint)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    rest = made.requests.rows(1_500, 3_000)
    direct, kept = (
        route(rest, book, ENGINE, demand=made.demand, checkpoint=each)
        for each in (half.checkpoint, read_checkpoint(tmp_path / "a"))
    )
    assert (direct.column == kept.column).all()
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:100])
    (tmp_path / "b").write_text("not a checkpoint")
    for file in (tmp_path / "a", tmp_path / "b", tmp_path / "none"):
        with pytest.raises(CheckpointError, match="Give a file that write_checkpoint made"):
            read_checkpoint(file)


def test_use_is_found_again_when_mandates_change(made: Stream) -> None:
    """One source goes, one gets a new version, the order is turned round; the rest goes on."""
    half = route(made.requests.rows(0, 1_500), made.mandates, ENGINE, demand=made.demand)
    assert half.checkpoint is not None
    new = replace(made.mandates.mandates[5], version=2)
    rows = (new, *reversed((*made.mandates.mandates[:5], *made.mandates.mandates[6:11])))
    book = replace(made.mandates, mandates=rows)
    rest = route(
        made.requests.rows(1_500, 3_000),
        book,
        ENGINE,
        demand=made.demand,
        checkpoint=half.checkpoint,
    )
    assert rest.plans[0].reason == "mandates changed"
    assert not audit(rest, book).violations
    assert rest.checkpoint is not None
    before, after = half.checkpoint.lent_minor(), rest.checkpoint.lent_minor()
    lent = np.bincount(
        rest.column[rest.column >= 0],
        rest.requests.amount_minor[rest.column >= 0],
        len(rows),
    )
    for mandate, amount in zip(rows, lent, strict=True):
        key = (mandate.source, mandate.version)
        if not mandate.co_share_ppm:
            # A version that counts from the same day goes on with the use of the one before.
            assert after[key] == before[mandate.source, 1] + int(amount)
        assert after[key] <= mandate.budgets.total_minor
    assert (6, 1) not in after
    tightest_budget = replace(made.mandates, mandates=tuple(
        replace(each, budgets=Budgets(total_minor=1)) for each in made.mandates.mandates
    ))  # fmt: skip
    none = route(
        made.requests.rows(1_500, 3_000),
        tightest_budget,
        ENGINE,
        demand=made.demand,
        checkpoint=half.checkpoint,
    )
    assert (none.column == -1).all()


def test_versions_that_count_from_the_same_day_are_one_budget(made: Stream) -> None:
    """In one file: a version changes the ceilings at half-time, and the use goes on."""
    half = date(2024, 6, 15)
    region = int(made.requests.region[0])
    share = (ConcentrationLimit(Measure.REGION, 300_000, region),)

    def versions(*, counts: bool) -> Mandates:
        rows = []
        for each in made.mandates.mandates:
            old = replace(each, valid_to=half, concentration_limits=share)
            new = replace(
                each, version=2, valid_from=half + timedelta(days=1),
                counts_from=each.valid_from if counts else None, concentration_limits=share,
            )  # fmt: skip
            rows += [old, new]
        return replace(made.mandates, mandates=tuple(rows))

    together, apart = (
        route(made.requests, versions(counts=each), ENGINE, demand=made.demand)
        for each in (True, False)
    )

    def oversold(result: RoutingResult) -> int:
        """Sources that lent more than one budget in both versions together."""
        placed = result.column >= 0
        amount = result.requests.amount_minor[placed]
        lent = np.bincount(result.column[placed] // 2, amount, len(made.mandates.mandates))
        budgets = [each.budgets.total_minor for each in made.mandates.mandates]
        whole = [not each.co_share_ppm for each in made.mandates.mandates]
        return int(((lent > budgets) & whole).sum())

    assert oversold(together) == 0 < oversold(apart)
    assert not audit(together, versions(counts=True)).concentration_breaches
