"""Results of classes against a second reading, on random deals."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tests.fund.random_deals import deal_inputs
from tests.fund.results_oracle import results
from tests.fund.test_waterfall import deal_of
from usance.fund.results import class_results
from usance.fund.scenarios import scenario_shorts

TRIED = 12
LARGEST = 9_200_000_000 * 10**9
"""A yield beyond it is said to be none."""


@settings(max_examples=60)
@given(deal_inputs())
def test_two_readings_agree_on_the_results_of_every_class(given: dict[str, Any]) -> None:
    deal = deal_of(given)
    found = class_results(deal, shorts=scenario_shorts(deal))
    for name, expected in results(given, TRIED).items():
        own = found[name]
        assert own.wal_ppm == expected["wal_ppm"]
        assert own.short_minor == expected["short_minor"]
        assert own.expected_loss_ppm == expected.get("expected_loss_ppm")
        wanted = expected["yield_ppb"]
        assert own.yield_ppb == (wanted if wanted is None or wanted <= LARGEST else None)
        if "break_even" not in expected:
            assert own.break_even_hundredths is None
        elif expected["break_even"] is None:
            assert own.break_even_hundredths is not None
            assert own.break_even_hundredths >= TRIED - 1
        else:
            assert own.break_even_hundredths == expected["break_even"]
