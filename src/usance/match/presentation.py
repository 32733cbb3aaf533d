"""Plans and explanations as people read them: money, per cent, names and sentences.

>>> limit_sentence("Northern Bank: total budget 900.00 CNY", 12_500_000, "CNY")
'1000.00 CNY more of Northern Bank: total budget 900.00 CNY would earn 12.50 CNY'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.codes import Currency, Product
from usance.base.command_line import number, print_line, print_pairs, print_table
from usance.base.rates import PPB, percent_of

if TYPE_CHECKING:
    from usance.match.plan.planner import Plan

MAX_LINES = 10
"""Lines of a long list that are shown; `--json` has all of them."""
_STEP = 1_000
"""Major units by which a limit is thought to be raised in a sentence about its price."""


def limit_sentence(what: str, price_ppb: int, currency: str) -> str:
    """The cost of a limit in words: the gain of a little more of it."""
    step = _STEP * 10 ** Currency[currency].exponent
    gain = number(step * price_ppb // PPB, currency)
    return f"{number(step, currency)} {currency} more of {what} would earn {gain} {currency}"


def plan_flows(made: Plan) -> list[dict[str, Any]]:
    """Parts of the demand with the source that is to fund each, the largest first."""
    names, solved = made.mandates, made.solved
    segments = made.demand.over_period().segments
    flows = []
    for at in np.argsort(-solved.placed, kind="stable").tolist():
        minor, row = int(np.rint(solved.placed[at])), int(solved.row[at])
        if minor <= 0:
            break
        flows.append({
            "product": Product(int(segments.product[row])).label,
            "region": names.regions.label_of(int(segments.region[row])),
            "grade": int(segments.grade[row]),
            "channel": names.channels.label_of(int(segments.channel[row])),
            "months": int(segments.months[row]),
            "name": names.label_of(names.mandates[int(solved.column[at])]),
            "planned_minor": minor,
        })  # fmt: skip
    return flows


def print_plan_flows(flows: list[dict[str, Any]], currency: str) -> None:
    """The largest parts of the demand, and who is to fund them."""
    print_line()
    headings = ["product", "region", "grade", "channel", "months", "goes to", "amount"]
    print_table(headings, [
        [*(str(value) for value in list(each.values())[:-1]),
         number(each["planned_minor"], currency)]
        for each in flows[:MAX_LINES]
    ])  # fmt: skip
    _tell_rest(len(flows), "parts of the demand")


def print_limit_costs(answer: dict[str, Any], currency: str) -> None:
    """The dearest limits, each with the gain of a little more of it."""
    dear = sorted((each for each in answer["limits"] if each["price_ppb"] > 0),
                  key=lambda each: -each["price_ppb"])  # fmt: skip
    if dear:
        print_line()
    for each in dear[:MAX_LINES]:
        print_line(limit_sentence(each["what"], each["price_ppb"], currency))
    _tell_rest(len(dear), "limits have a price")


def print_explained_loan(answer: dict[str, Any], currency: str) -> None:
    """A loan: who funds it, who was next, and why the others were not asked."""
    best = answer["next_best"]
    left = f"{number(best['net_minor'], currency)} {currency}" if best else ""
    others = {each["source"]: each["name"] for each in answer["candidates"]}
    print_pairs([
        ("loan", " ".join(filter(None, (answer["loan"], answer["loan_ref"])))),
        ("funded by", answer["name"]),
        ("asked", ", ".join(others.get(each, f"source {each}") for each in answer["asked"])
         or "nobody"),
        *([("declined by", ", ".join(answer["declined"]))] if answer["declined"] else []),
        ("plan", f"number {answer['plan']}"),
        ("next best", f"{best['name']}, {left} after the price of limits" if best else "nobody"),
    ])  # fmt: skip
    print_line()
    print_table(
        ["could be asked", "margin", "price of limits", "left", "approves"],
        [[each["name"], *(number(each[f"{key}_minor"], currency)
                          for key in ("margin", "price", "net")), percent_of(each["approval_ppm"])]
         for each in answer["candidates"][:MAX_LINES]],
    )  # fmt: skip
    _tell_rest(len(answer["candidates"]), "sources could be asked")
    if answer["excluded"]:
        print_line()
        print_table(["not asked", "because of"], list(answer["excluded"].items())[:MAX_LINES])
        _tell_rest(len(answer["excluded"]), "sources were not asked")


def print_explained_source(answer: dict[str, Any], currency: str) -> None:
    """A source: the volume each rule keeps out, and what it took."""
    for version in answer["versions"]:
        kept = version["excluded_ppm"].items()
        missing = version["minimum_take_missing_minor"]
        budget = version["total_budget_minor"]
        print_pairs([
            ("source", version["name"]),
            *((f"kept out by {name}", f"{percent_of(ppm)} of the volume") for name, ppm in kept),
            ("eligible", f"{percent_of(version['eligible_ppm'])} of the volume"),
            ("asked", f"{version['asked']:,} times, {version['declined']:,} declined"),
            ("lent", f"{number(version['lent_minor'], currency)} {currency}"),
            ("loans", f"{version['loans']:,}"),
            *([("total budget", f"{number(budget, currency)} {currency}")] if budget > 0 else []),
            ("eligible, placed elsewhere", f"{version['eligible_placed_elsewhere']:,} requests"),
            ("eligible, without a source", f"{version['eligible_without_source']:,} requests"),
            *([("minimum take missing", f"{number(missing, currency)} {currency}")]
              if missing else []),
        ])  # fmt: skip


def print_explained_limit(answer: dict[str, Any], currency: str) -> None:
    """A limit: its cost, and what planning again with more of it earned."""
    print_line(f"limit {answer['limit']}: {answer['what']}")
    if answer["price_ppb"] > 0:
        print_line(limit_sentence("it", answer["price_ppb"], currency))
    else:
        print_line("it costs nothing: the plan does not use all of it")
    more, expected, gain = (
        f"{number(answer[name], currency)} {currency}"
        for name in ("more_minor", "expected_gain_minor", "gain_by_planning_again_minor")
    )
    print_line(f"planned again with {more} more: {gain} earned, {expected} expected by its price")


def _tell_rest(count: int, what: str) -> None:
    if count > MAX_LINES:
        print_line(f"{MAX_LINES} of {count:,} {what}; --json has all")
