"""The commands of offers: `usance assess rate-card` and `offer`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    AsJson,
    PackName,
    number,
    print_answer,
    print_csv,
    print_table,
    print_warning,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Lines, prices, funding and limits: YAML.")
]
EconomicsFile = Annotated[
    Path | None, typer.Option("--economics", metavar="FILE", help="Take-up, loss, costs.")
]
OFFER = ("user_id", "line_minor", "rate_ppm", "months", "profit_minor")


_BOUND_NOISE = 1e-6
"""Of a sum of floats that is a whole number."""


@app.callback()
def offers() -> None:
    """Line and price."""


@app.command("rate-card")
def show_rate_card(
    plan: PlanFile, economics: EconomicsFile = None, pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the best price of each segment and tenor inside the rate cap."""
    from dataclasses import asdict

    from usance.assess.errors import WrongInput
    from usance.assess.offer.plan import read_offer_plan
    from usance.assess.offer.rate_card import rate_card

    read = read_offer_plan(plan)
    if not read.segments:
        fix = "List at least one under 'segments:'"
        raise WrongInput("has no segments", where=str(plan), fix=fix)
    cells = rate_card(
        _economics(economics), read.segments, sorted(read.funding_ppm), read.prices_ppm,
        read.funding_ppm, _cap_ppm(read.on, pack),
    )  # fmt: skip
    if as_json:
        print_answer([asdict(cell) for cell in cells])
        return
    rows = [
        [cell.segment, str(cell.months), _percent(cell.rate_ppm), _percent(cell.break_even_ppm),
         number(cell.profit_minor, read.currency)]
        for cell in cells
    ]  # fmt: skip
    print_table(["segment", "months", "price", "break even", "profit"], rows)


@app.command()
def offer(
    applicants: Annotated[Path, typer.Argument(metavar="APPLICANTS", help="A CSV, a row each.")],
    plan: PlanFile,
    economics: EconomicsFile = None,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Choose line, price and tenor for each applicant under the limits of a plan."""
    from usance.assess.offer.plan import choose_offers, offer_rows, read_applicants, read_offer_plan

    read = read_offer_plan(plan)
    found = choose_offers(
        _economics(economics), read, read_applicants(applicants), _cap_ppm(read.on, pack)
    )
    limits = [
        {"limit": name, "most_minor": read.limits[name], "used_minor": used, "price": price}
        for name, used, price in zip(
            found.limits, found.choice.used.tolist(), found.choice.prices.tolist(), strict=True
        )
    ]
    if as_json:
        rows = [dict(zip(OFFER, row, strict=True)) for row in offer_rows(found)]
        # Profits are whole, so no plan earns more than the whole part of the bound.
        bound_minor = math.floor(found.choice.bound + _BOUND_NOISE)
        print_answer({"profit_minor": found.choice.profit, "bound_minor": bound_minor,
                      "limits": limits, "offers": rows})  # fmt: skip
        return
    print_csv(OFFER, offer_rows(found))
    for each in limits:
        if each["price"]:
            what = f"the limit of {each['limit']} binds: one more unit earns {each['price']:.4f}"
            print_warning(what)


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:g} %" if ppm else "none"


def _economics(file: Path | None) -> Any:
    from usance.assess.offer.profit import SHIPPED, read_economics

    return read_economics(file or SHIPPED)


def _cap_ppm(on: Any, pack: str) -> int:
    from usance.base.packs import CountryPack

    return CountryPack.load(pack).cap(on).integer
