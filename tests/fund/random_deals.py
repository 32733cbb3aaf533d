"""Random deals as a file would have them, with every field of the format."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

STATUSES = ("revolving", "amortising", "accelerated", "defaulted")
DAY_COUNTS = ("actual/365", "actual/364", "actual/360", "30/360", "30E/360", "actual/actual ISDA")
AMOUNTS = st.integers(1, 40_000_000)
RATES = st.integers(0, 300_000)

DealInput = dict[str, Any]


def curves(largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, largest), min_size=1, max_size=4)


@st.composite
def pool_terms(draw: st.DrawFn) -> DealInput:
    return {
        "rate_ppm": draw(RATES),
        "months": draw(st.integers(1, 14)),
        "amortisation": draw(st.sampled_from(["level", "equal_principal"])),
        "smm_ppm": draw(curves(80_000)),
        "mdr_ppm": draw(curves(120_000)),
        "recovery_ppm": draw(st.integers(0, 1_000_000)),
        "recovery_lag": draw(st.integers(0, 4)),
    }


@st.composite
def given_flows(draw: st.DrawFn, months: int) -> DealInput:
    flows = [
        [draw(st.integers(0, 900_000)) for _ in range(4)]
        for _ in range(months + draw(st.integers(0, 2)))
    ]
    principal = sum(flow[1] + flow[2] for flow in flows)
    return {"balance_minor": principal + draw(st.integers(0, 5)), "flows": flows}


def numbers(classes: list[str], fees: list[str], accounts: list[str]) -> st.SearchStrategy[str]:
    """Formulas that give an amount."""
    names = ["pool_original", "pool_start", "pool_end", "collected_interest", "classes",
             "collected_principal", "defaulted", "recovered", "defaulted_to_date",
             "bought_to_date"]  # fmt: skip
    names += [f"{name}.{what}" for name in classes for what in ("balance", "original", "due")]
    names += [f"fee.{name}.due" for name in fees]
    names += [f"account.{name}" for name in ("collection", *accounts)]
    name = st.sampled_from(names)
    return st.one_of(
        name,
        st.integers(0, 3_000_000).map(str),
        st.tuples(name, name).map(lambda pair: f"max([{pair[0]} - {pair[1]}, 0])"),
        st.tuples(name, name).map(lambda pair: f"{pair[0]} - {pair[1]}"),
        st.tuples(name, st.integers(1, 9)).map(lambda pair: f"floor({pair[0]} * 3 / {pair[1]})"),
        st.tuples(name, name).map(lambda pair: f"min([{pair[0]}, {pair[1]} + 7])"),
        st.just("max([classes - pool_end, 0])"),
    )


@st.composite
def truths(draw: st.DrawFn, number: st.SearchStrategy[str], periods: int) -> str:
    """Formulas that give a truth."""
    kind = draw(st.integers(0, 4))
    if kind == 0:
        op = draw(st.sampled_from([">", ">=", "==", "<"]))
        return f"period {op} {draw(st.integers(0, periods))}"
    if kind == 1:
        return f"defaulted_to_date * 100 > pool_original * {draw(st.integers(0, 30))}"
    first = f"{draw(number)} {draw(st.sampled_from(['>', '<=', '!=']))} {draw(number)}"
    if kind == 2:
        return f"not ({first})"
    if kind == 3:
        return f"{first} {draw(st.sampled_from(['and', 'or']))} period > 1"
    return first


@st.composite
def step_lists(
    draw: st.DrawFn, classes: list[str], fees: list[str], accounts: list[str], number: Any,
    truth: Any, *, buys: bool,
) -> list[DealInput]:  # fmt: skip
    kinds = ["interest", "principal", "residual"] + ["move"] * bool(accounts)
    kinds += ["fee"] * bool(fees) + ["buy"] * buys
    places = ["collection", *accounts]
    some = st.lists(st.sampled_from(classes), min_size=1, unique=True)
    steps: list[DealInput] = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(kinds))
        step: DealInput = {}
        if kind == "move":
            step = {"move": draw(st.sampled_from(places)), "to": draw(st.sampled_from(places))}
        elif kind == "buy":
            step = {"buy": draw(number)}
        elif kind == "fee":
            step = {"fee": draw(st.sampled_from(fees))}
        elif kind == "residual":
            step = {"residual": draw(st.sampled_from(classes))}
        else:
            step = {kind: draw(some)}
            if kind == "principal" and draw(st.booleans()):
                step["pro_rata"] = True
        if kind != "move" and draw(st.integers(0, 3)) == 0:
            step["from"] = draw(st.sampled_from(places))
        if draw(st.integers(0, 2)) == 0:
            step["amount"] = draw(number)
        if draw(st.integers(0, 3)) == 0:
            step["when"] = draw(truth)
        steps.append(step)
    return steps


@st.composite
def deal_inputs(draw: st.DrawFn, *, flows: bool = True) -> DealInput:
    """Any deal."""
    periods, length = draw(st.integers(1, 7)), draw(st.sampled_from([1, 1, 1, 2, 3, 6, 12]))
    names = ["A", "B", "M", "S"][-draw(st.integers(1, 4)) :]
    fees = ["trustee", "tax", "agent"][: draw(st.integers(0, 3))]
    accounts = ["reserve", "idle"][: draw(st.integers(0, 2))]
    number = numbers(names, fees, accounts)
    truth = truths(number, periods)
    by_flows = flows and draw(st.integers(0, 3)) == 0
    deal: DealInput = {
        "closing_on": f"2023-1{draw(st.integers(0, 2))}-{draw(st.integers(10, 31 - 1))}",
        "first_period": "2024-01",
        "periods": periods,
        "pay_day": draw(st.integers(1, 31)),
        "day_count": draw(st.sampled_from(DAY_COUNTS)),
        "status": draw(st.sampled_from(STATUSES)),
        "pool": draw(given_flows(periods * length))
        if by_flows
        else {"balance_minor": draw(AMOUNTS), **draw(pool_terms())},
        "classes": [_class(draw, name) for name in names],
        "fees": [_fee(draw, name, number) for name in fees],
        "accounts": {name: draw(st.integers(0, 900_000)) for name in accounts},
    }
    if length > 1:
        deal["months_per_period"] = length
    buys = draw(st.booleans())
    if buys:
        supply = draw(st.lists(st.integers(0, 6_000_000), min_size=1, max_size=3))
        price = draw(st.sampled_from([1_000_000, 987_654, 1_010_000, 300_000, 10_000_000]))
        deal["purchase"] = {**draw(pool_terms()), "price_ppm": price, "supply_minor": supply}
    deal["triggers"] = [
        {
            "name": f"t{number_of}",
            "at": draw(st.sampled_from(["collection", "distribution"])),
            "when": draw(truth),
            "to": draw(st.sampled_from(STATUSES)),
        }
        for number_of in range(draw(st.integers(0, 3)))
    ]
    if draw(st.integers(0, 2)) == 0:
        when = draw(st.sampled_from(["pool_end * 10 < pool_original * 3", "period == 3"]))
        deal["clean_up"] = {"when": when, "price": draw(st.sampled_from(["pool_end", "700000"]))}
    deal["waterfall"] = {
        status: draw(step_lists(names, fees, accounts, number, truth, buys=buys))
        for status in STATUSES
    }
    deal["scenarios"] = draw(
        st.lists(
            st.tuples(st.integers(0, 300_000), st.integers(0, 900), st.integers(0, 300)).map(list),
            max_size=3,
        )
    )
    if not deal["scenarios"]:
        del deal["scenarios"]
    return deal


def _class(draw: st.DrawFn, name: str) -> DealInput:
    made: DealInput = {
        "name": name, "balance_minor": draw(AMOUNTS), "rate_ppm": draw(RATES | st.just(0)),
    }  # fmt: skip
    if name == "S" and draw(st.integers(0, 5)) == 0:
        made |= {"balance_minor": 0, "rate_ppm": 0}
    if draw(st.booleans()):
        made["targets_minor"] = draw(st.lists(AMOUNTS, min_size=1, max_size=3))
    return made


def _fee(draw: st.DrawFn, name: str, number: st.SearchStrategy[str]) -> DealInput:
    kinds = draw(st.sets(st.sampled_from(["fixed_minor", "annual_ppm", "share_ppm"]), min_size=1))
    fee: DealInput = {"name": name, **{kind: draw(st.integers(0, 60_000)) for kind in kinds}}
    if kinds != {"fixed_minor"}:
        fee["base"] = draw(st.sampled_from(["pool_start", "collected_interest"]) | number)
    return fee
