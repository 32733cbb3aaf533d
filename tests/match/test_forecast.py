"""Demand forecasts on series whose effects are known, and intervals that keep their promise."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from usance.base.arrays import I64
from usance.match.errors import ForecastError
from usance.match.plan.time_series import daily, forecast

FIRST = 19_358  # 2023-01-01
WEEKDAYS = np.array([1.2, 1.1, 1.0, 1.0, 0.9, 0.5, 0.4])  # from Monday


def calendar(day: int) -> tuple[int, int]:
    """Weekday and days left in the month, from Python's own calendar."""
    on = date(1970, 1, 1) + timedelta(days=day)
    following = (on.replace(day=28) + timedelta(days=4)).replace(day=1)
    return on.weekday(), (following - on).days - 1


def effects(days: range, last_day: float = 1.8, day_before: float = 1.3) -> np.ndarray:
    """What a series of these effects is on each day, over its level."""
    ends = {0: last_day, 1: day_before}
    found = (calendar(day) for day in days)
    return np.array([WEEKDAYS[weekday] * ends.get(left, 1.0) for weekday, left in found])


def series(level: float, days: int, seed: int, noise: float, count: int) -> I64:
    """Segments with the known effects and multiplicative noise."""
    rng = np.random.default_rng(seed)
    mean = level * effects(range(FIRST, FIRST + days))
    return np.rint(mean * rng.lognormal(-noise * noise / 2, noise, (count, days))).astype(np.int64)


def test_known_effects_without_noise_come_back_to_the_unit() -> None:
    past, horizon = 420, 62
    truth = np.rint(1e6 * effects(range(FIRST, FIRST + past + horizon))).astype(np.int64)
    made = forecast(truth[None, :past], FIRST, horizon=horizon)
    error = np.abs(made.day[0] - truth[past:]) / truth[past:]
    assert error.max() < 1e-4
    assert abs(made.total[0] - truth[past:].sum()) < 1e-4 * truth[past:].sum()


def test_noisy_effects_are_found() -> None:
    past, horizon, count = 730, 31, 50
    made = forecast(series(20_000, past, 1, 0.2, count), FIRST, horizon=horizon)
    truth = 20_000 * effects(range(FIRST + past, FIRST + past + horizon))
    error = made.day.mean(axis=0) / truth - 1
    assert np.abs(error).max() < 0.04
    plain = np.abs(made.day / truth - 1).mean()
    flat = np.abs(20_000 * effects(range(FIRST, FIRST + past)).mean() / truth - 1).mean()
    assert plain < 0.25 * flat  # without its effects the forecast is four times as wrong


def test_the_level_follows_its_latest_days() -> None:
    past = 360
    demand = series(10_000, past, 2, 0.05, 4)
    demand[:, 240:] *= 3
    made = forecast(demand, FIRST, horizon=7)
    truth = 30_000 * effects(range(FIRST + past, FIRST + past + 7))
    assert np.abs(made.day / truth - 1).max() < 0.2
    slow = forecast(demand, FIRST, horizon=7, half_life_days=10_000)
    assert (slow.total < 0.75 * made.total).all()


def test_a_segment_of_few_requests_leans_on_all() -> None:
    """Its own weekends are noise; those of the others are not."""
    past, count = 60, 40
    demand = series(10_000, past, 3, 0.1, count)
    small = series(3, past, 4, 1.0, 1)
    alone = forecast(small, FIRST, horizon=28).day[0]
    among = forecast(np.concatenate([demand, small]) * 1000, FIRST, horizon=28).day[-1]
    truth = effects(range(FIRST + past, FIRST + past + 28), 1.0, 1.0)
    fit = [np.corrcoef(made, truth)[0, 1] for made in (alone, among)]
    assert fit[1] > fit[0]


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("coverage_ppm", [500_000, 900_000])
def test_the_interval_covers_what_it_promises(noise: float, coverage_ppm: int) -> None:
    past, horizon, count = 365, 30, 300
    whole = series(50_000, past + horizon, 5, noise, count)
    made = forecast(whole[:, :past], FIRST, horizon=horizon, coverage_ppm=coverage_ppm)
    after = whole[:, past:]
    inside = ((after >= made.day_low) & (after <= made.day_high)).mean()
    assert made.promised_ppm == coverage_ppm
    assert abs(inside - coverage_ppm / 1e6) < 0.03
    total = after.sum(axis=1)
    covered = ((total >= made.total_low) & (total <= made.total_high)).mean()
    assert covered >= coverage_ppm / 1e6 - 0.03
    # The sum of many days is surer than a day: its interval is narrower in proportion.
    width = (made.total_high - made.total_low) / made.total
    assert (width < 0.7 * ((made.day_high - made.day_low) / made.day).mean(axis=1)).mean() > 0.95


def test_an_interval_of_no_errors_would_fail_the_coverage_test() -> None:
    whole = series(50_000, 395, 5, 0.5, 300)
    made = forecast(whole[:, :365], FIRST, horizon=30)
    narrow_low, narrow_high = made.day * 9 // 10, made.day * 11 // 10
    inside = ((whole[:, 365:] >= narrow_low) & (whole[:, 365:] <= narrow_high)).mean()
    assert inside < 0.5


@pytest.mark.parametrize(
    ("past", "promised"), [(1, 0), (2, 0), (4, 333_333), (14, 750_000), (60, 900_000)]
)
def test_a_short_history_promises_less(past: int, promised: int) -> None:
    made = forecast(series(1000, past, 6, 0.2, 3), FIRST, horizon=5)
    assert made.promised_ppm == promised
    assert (made.day_low <= made.day).all()
    assert (made.day <= made.day_high).all()


def test_an_effect_must_be_seen_twice() -> None:
    """Ten days show no weekday; one month end is an accident."""
    made = forecast(np.array([[10, 20, 30] * 3]), FIRST, horizon=7)
    assert len(set(made.day[0].tolist())) == 1
    demand = np.full((1, 45), 100)
    demand[0, 30] = 500  # 31 January, the only last day of a month so far
    quiet = forecast(demand, FIRST, horizon=20)  # to 6 March, over the end of February
    assert quiet.day.max() < 150


def test_a_single_day_is_carried_on() -> None:
    made = forecast(np.array([[70], [0]]), FIRST, horizon=2)
    assert made.day.tolist() == [[70, 70], [0, 0]]
    assert (made.total.tolist(), made.promised_ppm) == ([140, 0], 0)


def test_no_demand_stays_no_demand() -> None:
    made = forecast(np.zeros((2, 200), np.int64), FIRST, horizon=40)
    assert not any(np.any(part) for part in made[:-1])


demands = arrays.arrays(
    np.int64, st.tuples(st.integers(1, 4), st.integers(1, 80)), elements=st.integers(0, 10**12)
)


@given(demands, st.integers(-20_000, 60_000), st.integers(1, 40))
def test_any_history_gives_whole_numbers_in_order(demand: I64, first: int, horizon: int) -> None:
    made = forecast(demand, first, horizon=horizon)
    for low, mid, high in (
        (made.day_low, made.day, made.day_high),
        (made.total_low, made.total, made.total_high),
    ):
        assert low.dtype == mid.dtype == high.dtype == np.int64
        assert (low >= 0).all()
        assert (low <= mid).all()
        assert (mid <= high).all()
    assert np.abs(made.day.sum(axis=1) - made.total).max() <= horizon
    again = forecast(demand, first, horizon=horizon)
    assert all(
        np.array_equal(each, other) for each, other in zip(made[:-1], again[:-1], strict=True)
    )


@given(demands, st.randoms(use_true_random=False))
def test_a_segment_is_the_same_among_the_same_others(demand: I64, random: Random) -> None:
    order = list(range(len(demand)))
    random.shuffle(order)
    made, mixed = (forecast(each, FIRST, horizon=3) for each in (demand, demand[order]))
    difference = np.abs(made.day[order] - mixed.day)
    assert (difference <= 1 + mixed.day * 1e-9).all()  # sums in another order


def test_daily_adds_up_a_stream() -> None:
    rng = np.random.default_rng(7)
    days, segments, amounts = rng.integers([[10], [0], [1]], [[40], [5], [10**12]], (3, 1000))
    demand = daily(days, segments, amounts, first=12, last=30, count=5)
    for segment, day in ((0, 12), (4, 30), (2, 20)):
        assert demand[segment, day - 12] == amounts[(days == day) & (segments == segment)].sum()
    assert demand.shape == (5, 19)


@pytest.mark.parametrize(
    ("demand", "options", "what"),
    [
        (np.zeros((2, 0), np.int64), {}, "history of shape"),
        (np.zeros(5, np.int64), {}, "history of shape"),
        (np.zeros((2, 5)), {}, "float64"),
        (np.array([[1, -2]]), {}, "segment 0 has -2 on day 1"),
        (np.array([[1, 2]]), {"horizon": 0}, "horizon 0"),
        (np.array([[1, 2]]), {"half_life_days": 0}, "half-life 0"),
        (np.array([[1, 2]]), {"coverage_ppm": 1_000_000}, "coverage 1000000"),
    ],
)
def test_a_history_that_makes_no_sense_is_named(
    demand: I64, options: dict[str, int], what: str
) -> None:
    with pytest.raises(ForecastError, match=what):
        forecast(demand, FIRST, **{"horizon": 5, **options})
