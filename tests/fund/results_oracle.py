"""A second reading of the results of classes: life, yield, break-even, loss, from rows alone.

It shares no code with `usance.fund`: the yield is found by halving in decimals of sixty digits, the
break-even by living the deal again at each hundredth.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tests.fund.deal_oracle import nearest, run

Results = dict[str, dict[str, int | None]]
ALMOST_ALL = Decimal(-1) + Decimal(10) ** -40


def results(deal: dict[str, Any], tried: int) -> Results:
    """Results of each class; the break-even among the first multiples that are tried."""
    lived, closing = run(deal), date.fromisoformat(deal["closing_on"])
    ends = [run(deal, default, prepay)["short"] for _, default, prepay in deal.get("scenarios", [])]
    weights = [weight for weight, _, _ in deal.get("scenarios", [])]
    found: Results = {}
    for each in deal["classes"]:
        name, par = each["name"], each["balance_minor"]
        paid = [((date.fromisoformat(row["paid_on"]) - closing).days, row["classes"][name])
                for row in lived["rows"]]  # fmt: skip
        whole = sum(part["principal_minor"] for _, part in paid)
        later = sum(days * part["principal_minor"] for days, part in paid)
        own: dict[str, int | None] = {
            "wal_ppm": nearest(Fraction(later * 10**6, whole * 365)) if whole else None,
            "yield_ppb": annual(
                par,
                [
                    (days, part["principal_minor"] + part["interest_minor"])
                    for days, part in paid
                ],
            ),
            "short_minor": lived["short"][name],
        }  # fmt: skip
        if each["rate_ppm"]:
            own["break_even"] = break_even(deal, name, tried)
            if ends:
                lost = sum(w * end[name] for w, end in zip(weights, ends, strict=True))
                own["expected_loss_ppm"] = nearest(Fraction(lost, par))
        found[name] = own
    return found


def break_even(deal: dict[str, Any], name: str, tried: int) -> int | None:
    """The hundredth before the first multiple that leaves a class short; None: it comes later."""
    short = (hundredths for hundredths in range(tried) if run(deal, hundredths)["short"][name])
    return next((hundredths - 1 for hundredths in short), None)


def annual(cost: int, received: list[tuple[int, int]]) -> int | None:
    """Annual effective yield, actual/365, in parts per billion; None where nothing comes back."""
    if not cost or not any(amount for _, amount in received):
        return None
    with localcontext() as context:
        context.prec = 60

        def worth(rate: Decimal) -> Decimal:
            each = (amount * (1 + rate) ** (Decimal(-days) / 365) for days, amount in received)
            return sum(each, Decimal(-cost))

        low, high = ALMOST_ALL, Decimal(1)
        while worth(high) > 0:
            high *= 4
        while high - low > Decimal(10) ** -16:
            middle = (low + high) / 2
            low, high = (middle, high) if worth(middle) > 0 else (low, middle)
        return nearest(Fraction(low) * 10**9)
