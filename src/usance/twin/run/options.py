"""Options of the commands that run a scenario: the scenario, its scale and its months."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from usance.base.dates import parse_month
from usance.twin.errors import MAX_SCALE, MIN_SCALE, RunError, scale_error
from usance.world.scenario.scenario import Scenario

Scale = Annotated[str, typer.Option(metavar="S", help="Counts and budgets against full size.")]
First = Annotated[
    str | None, typer.Option("--from", metavar="MONTH", help="First month; the scenario's.")
]
Last = Annotated[
    str | None, typer.Option("--to", metavar="MONTH", help="Last month; the scenario's.")
]


def named_scenario(name_or_path: str) -> Scenario:
    """A packaged scenario or one of a file, whose decision flow was read by `assess`."""
    from usance.assess.flow.files import read_flow
    from usance.twin.month.collection_effect import check_collections
    from usance.world.scenario.file import read_scenario

    scenario = read_scenario(name_or_path, check_flow=read_flow)
    check_collections(scenario)
    return scenario


def parse_scale(text: str) -> Fraction:
    """A scale as users write it.

    >>> parse_scale("0.01") == parse_scale("1/100")
    True
    """
    try:
        # A float knows at once what would have too many digits as a fraction, such as 1e99999999.
        near = MIN_SCALE if "/" in text else float(text)
        if MIN_SCALE <= near <= MAX_SCALE and MIN_SCALE <= Fraction(text) <= MAX_SCALE:
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        fix = "Give --scale, such as 0.01 or 1/100"
        what = f"{text!r} is no scale: it is no number"
        raise RunError(what, where="--scale", fix=fix) from None
    raise scale_error(text)


def parse_span(economy: Scenario, first: str | None, last: str | None) -> tuple[int, int]:
    """The months of a run, the scenario's where none is given."""
    return (
        parse_month(first, where="--from") if first else economy.first_month,
        parse_month(last, where="--to") if last else economy.last_month,
    )
