"""From a history of requests to the demand of the coming days, and on to a plan."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import to_day
from usance.cli import main
from usance.match.backtest.stream_sources import FIRST
from usance.match.backtest.streams import StreamKind, make_stream
from usance.match.mandates.file import read_mandates
from usance.match.plan.demand_file import read_demand
from usance.match.plan.demand_from_history import SEGMENT_KEYS, forecast_demand
from usance.match.plan.planner import make_plan
from usance.match.router.requests import from_columns

DAY = 86_400_000_000
a_request = st.tuples(
    st.integers(0, 20), st.integers(0, 1), st.integers(1, 2), st.sampled_from([3, 12]),
    st.integers(1, 2_000_000_000), st.integers(0, 1_000_000),
)  # fmt: skip


@given(st.lists(a_request, min_size=1, max_size=30), st.integers(1, 40))
def test_segments_have_the_means_of_their_requests(
    rows: list[tuple[int, int, int, int, int, int]], days: int
) -> None:
    rows = sorted(rows)
    day, product, grade, months, amount, rate = zip(*rows, strict=True)
    none = np.zeros(len(rows))
    history = from_columns(
        requested_at=np.array(day) * DAY, loan_id=np.arange(1, len(rows) + 1), product=product,
        grade=grade, months=months, amount_minor=amount, rate_ppm=rate, region=none, channel=none,
    )  # fmt: skip
    made = forecast_demand(history, "UTC", days=days)
    own = defaultdict(list)
    for each in rows:
        own[each[1], each[2], each[3]].append((each[4], each[5]))
    assert made.segments == len(own)
    assert (made.first_day, made.last_day) == (max(day) + 1, max(day) + days)
    parts = made.demand.segments
    assert ((made.demand.day >= made.first_day) & (made.demand.day <= made.last_day)).all()
    for row in range(len(parts)):
        found = own[int(parts.product[row]), int(parts.grade[row]), int(parts.months[row])]
        whole = sum(a for a, _ in found)
        assert abs(parts.amount_minor[row] - Fraction(whole, len(found))) <= Fraction(1, 2)
        mean = Fraction(sum(a * r for a, r in found), whole)
        assert abs(parts.rate_ppm[row] - mean) <= Fraction(1, 2)


def test_rare_segments_are_not_rounded_away() -> None:
    """Fifty segments with one request a week each: together fifty a week, not none."""
    weeks, kinds = np.divmod(np.arange(400), 50)
    history = from_columns(
        requested_at=(7 * weeks + kinds % 7) * DAY + kinds, loan_id=np.arange(1, 401),
        product=np.ones(400), amount_minor=np.full(400, 1_000_00), months=np.full(400, 12),
        rate_ppm=np.full(400, 200_000), grade=np.full(400, 3), region=kinds, channel=kinds * 0,
    )  # fmt: skip
    made = forecast_demand(history, "UTC", days=28)
    assert made.requests == pytest.approx(200, rel=0.1)
    assert len(np.unique(made.demand.segments.region)) > 45
    assert made.requests_low <= made.requests <= made.requests_high


def test_a_forecast_can_be_planned_and_is_near_what_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second half of a stream against what its first half says of it."""
    made = make_stream(StreamKind.STEADY, seed=5, requests=4_000, sources=12, segments=30)
    made.write(tmp_path)
    lines = (tmp_path / "STREAM.csv").read_text().splitlines(keepends=True)
    moments = made.requests.requested_at // 1_000_000 + 8 * 3_600
    half = int((moments // 86_400 < to_day(FIRST) + 15).sum())
    history, out = tmp_path / "HISTORY.csv", tmp_path / "AHEAD.csv"
    history.write_text("".join(lines[: half + 1]))
    files = [str(tmp_path / "MANDATES.yaml")]
    words = ["match", "forecast", str(history), "--out", str(out), "--days", "15", "--json"]
    assert main([*words, "--mandates", *files]) == 0
    answer = json.loads(capsys.readouterr().out)["data"]
    assert (answer["from"], answer["to"]) == ("2024-06-16", "2024-06-30")
    assert answer["requests"] == pytest.approx(4_000 - half, rel=0.1)
    demand = read_demand(out, read_mandates(Path(files[0])))
    assert demand.total_requests == answer["requests"]
    volume = (demand.segments.amount_minor * demand.requests).sum()
    assert volume == pytest.approx(made.requests.amount_minor[half:].sum(), rel=0.1)
    assert (
        len(np.unique(np.stack([getattr(demand.segments, n) for n in SEGMENT_KEYS]), axis=1).T)
        <= 30
    )
    assert main(["match", "plan", str(out), *files, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["data"]
    assert planned["demand_minor"] == int(volume)
    known = make_plan(made.demand.over_period().scaled(1, 2), made.mandates)
    assert planned["margin_minor"] == pytest.approx(known.expected_margin, rel=0.1)


def test_an_empty_history_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history, out = tmp_path / "HISTORY.csv", tmp_path / "DEMAND.csv"
    history.write_text("requested_at,loan_id,product,amount_minor,months,rate_ppm,grade,region\n")
    assert main(["match", "forecast", str(history), "--out", str(out)]) == 2
    assert "no requests" in capsys.readouterr().err
    assert not out.exists()
