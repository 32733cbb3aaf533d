"""The screen *Risk*, live part: drift of scores and features, and the register of models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.responses import Response

from usance.assess.features.declared import Declared, ValueType
from usance.base.codes import Currency
from usance.base.rates import percent_of
from usance.pages.charts import columns
from usance.pages.numbers import words
from usance.platform.console.amounts import printed
from usance.platform.console.frame import HOME, Visit
from usance.platform.console.tasks import buttons
from usance.platform.reads.control import configuration
from usance.platform.reads.lending.drift import drift_rows

PROPOSED = ("flow.put", "model.put", "c_score.put", "strategy.put")
"""Commands whose proposals are shown beside the register."""
SHOWN = 4
"""Features that are drawn: those that moved most."""


def live_parts(visit: Visit) -> list[tuple[str, str]]:
    """The live parts of the screen."""
    return [(visit.texts[name], f"{HOME}/risk/{name}") for name in ("drift", "models")]


async def drift(visit: Visit) -> Response:
    """How far the last thirty days are from the ninety before, feature by feature."""
    t = visit.texts
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await drift_rows(read.transaction, read.moment.at)
    figures = []
    for row in rows[:SHOWN]:
        if row["is_known"]:
            shares = {t["before"]: _shares(row["before"]), t["recent"]: _shares(row["recent"])}
            figures.append(columns([str(each) for each in row["bins"]], shares, stacked=False,
                                   format_y=lambda y: f"{100 * y:.0f} %",
                                   caption=t.get(f"feature_{row['feature']}", row["feature"]),
                                   note=f"PSI {row['psi']:.3f}"))  # fmt: skip
    return visit.page("risk", "drift", t["drift"], rows=rows, figures=figures,
                      more=live_parts(visit))  # fmt: skip


def _shares(counts: list[int]) -> list[float]:
    whole = sum(counts) or 1
    return [each / whole for each in counts]


def _bounds(name: str, declared: Declared, currency: Currency) -> str:
    """The least and the largest value of an input, where it has any, as people read them."""
    if declared.type is ValueType.TRUTH:
        return ""
    shown: Callable[[int], str] = "{:,}".format
    if name.endswith("_minor"):
        shown = partial(printed, currency=currency)
    elif name.endswith("_ppm"):
        shown = percent_of
    return f"{shown(declared.lowest)} – {shown(declared.highest)}"


async def models(visit: Visit) -> Response:
    """Flows and models by version, and everything the flow in force reads."""
    async with visit.platform.reading(visit.operator.principal) as read:
        flow, currency = read.moment.lender.decider.flow, read.moment.lender.currency
        kinds = {kind: await configuration.settings(read.transaction, kind)
                 for kind in ("flow", "model")}  # fmt: skip
        pending = [each for each in await read.approvals("pending") if each["command"] in PROPOSED]
    register: list[dict[str, Any]] = [{"kind": kind, **row} for kind, rows in kinds.items()
                                      for row in rows]  # fmt: skip
    t = visit.texts
    inputs = [
        {"name": t.get(f"feature_{name}", words(name).capitalize()), "field": name,
         "type": t[f"type_{each.type.value}"], "meaning": each.meaning,
         "values": ", ".join(map(words, each.names)) or _bounds(name, each, currency)}
        for name, each in flow.inputs.items()
    ]  # fmt: skip
    return visit.page("risk", "models", visit.texts["models"], register=register, inputs=inputs,
                      pending=pending, more=live_parts(visit),
                      tasks=buttons(visit, "models"))  # fmt: skip
