"""Vintage curves as figures: a column for each origination quarter, a row for each month on book.

The column stands in the statement after a colon, as those of a matrix do: `vintage_30:2024Q1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from usance.disclose.facts import NO_CURRENCY
from usance.disclose.periods import Period
from usance.disclose.release.business_highlights import load_vintages
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.metrics import BookMetrics
from usance.disclose.ties import round_to

if TYPE_CHECKING:
    from usance.disclose.profile import Profile
    from usance.measure.metrics import Result

MAX_QUARTERS = 12
"""Quarters that can be told apart in one chart and stand side by side on one page."""
MONTH = "Month on book {}"


def vintage_figures(measured: BookMetrics, profile: Profile, period: Period) -> Iterator[Figure]:
    """The curves of the youngest quarters, as far as each is known in full."""
    for statement, metric in load_vintages().items():
        known = [each for each in measured.curves(metric, period) if _is_known(each)]
        quarters = list(dict.fromkeys(dict(each.dimensions)["cohort"] for each in known))
        for each in known:
            keys = dict(each.dimensions)
            if keys["cohort"] in quarters[-MAX_QUARTERS:]:
                share = Fraction(100 * each.numerator, each.denominator)
                steps = int(round_to(share, Fraction(1, 100), profile.rounding.method) * 100)
                yield Figure(
                    f"{statement}:{keys['cohort']}", MONTH.format(keys["mob"]), "",
                    period.end.isoformat(), NO_CURRENCY, "percent", format_steps(steps, 2),
                )  # fmt: skip


def vintage_at(measured: BookMetrics, statement: str, line: str, period: Period) -> Result | None:
    """The result behind a printed point of a curve."""
    name, _, quarter = statement.partition(":")
    for each in measured.curves(load_vintages().get(name, name), period):
        keys = dict(each.dimensions)
        if keys.get("cohort") == quarter and MONTH.format(keys.get("mob")) == line:
            return each
    return None


def _is_known(result: Result) -> bool:
    return result.complete and result.value is not None and "cohort" in dict(result.dimensions)
