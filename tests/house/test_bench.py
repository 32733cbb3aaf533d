"""Benchmarks are not run with the tests; that they still read what they measure is tested."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.house import tree

MODULES = sorted(path.stem for path in (tree.ROOT / "bench").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    assert import_module(f"bench.{name}").__doc__


def test_the_large_deal_of_funding_is_one() -> None:
    from bench.fund import POOL, SHARES, large_deal, large_strata

    deal = large_deal()
    assert (len(deal.classes), deal.periods) == (len(SHARES), 36)
    assert deal.warnings == ()
    assert sum(each.balance_minor for each in large_strata()) == pytest.approx(POOL, rel=1e-6)
