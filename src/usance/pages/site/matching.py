"""Matching of loans with sources: offers, answers, binding limits, and the last plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import FundingModel, Product, RoutingOutcome, Scope
from usance.base.columns import arrays
from usance.base.dates import format_month
from usance.match.plan.planner import Plan
from usance.pages.charts import Figure, columns
from usance.pages.components import cell, missing, number, table, table_row
from usance.pages.numbers import grouped, percent, ppm, words
from usance.pages.sankey import Sankey, sankey
from usance.pages.site.book_view import BookView
from usance.pages.site.page import Page

NO_ROUTING = "This book has no routing, so it does not say who was asked for its loans."
NO_SOURCES = "This book has no sources."
_PPB = 1_000_000_000
_MAX_LIMITS = 200


@dataclass(frozen=True)
class LastPlan:
    """The plan that routed the last month, or the reason why there is none."""

    month: int
    plan: Plan | None
    why_not: str = ""


LastPlanOf = Callable[[Book], LastPlan]
"""Finds the last plan of a book; the twin has one for its runs."""


def no_plan(_: Book) -> LastPlan:
    """The answer for a book that no run of a scenario wrote."""
    return LastPlan(0, None, "The book is no run of a scenario, so it has no plan.")


@dataclass(frozen=True)
class Matched:
    """Routing, loans and sources of a book as columns."""

    view: BookView

    @cached_property
    def routing(self) -> dict[str, I64]:
        """Every attempt."""
        names = ["loan_id", "attempt", "source", "outcome", "score_minor", "runner_up",
                 "runner_up_minor", "binding_limit"]  # fmt: skip
        found = arrays(self.view.book.read("routing", names))
        return {name: values.astype(np.int64) for name, values in found.items()}

    @cached_property
    def loans(self) -> dict[str, I64]:
        """First terms of every loan."""
        names = ["loan_id", "terms_no", "source", "model", "principal_minor", "disbursed_on",
                 "product"]  # fmt: skip
        found = arrays(self.view.book.read("loans", names))
        first = found["terms_no"] == 1
        return {name: values[first].astype(np.int64) for name, values in found.items()}

    @cached_property
    def sources(self) -> dict[int, dict[str, Any]]:
        """The latest version of every source."""
        return {row["source"]: row for row in self.view.book.read("sources").to_pylist()}

    @cached_property
    def numbers(self) -> list[int]:
        """Every source that is declared, was asked, or has loans."""
        asked = self.routing["source"].tolist() + self.routing["runner_up"].tolist()
        return sorted({*self.sources, *asked, *self.loans["source"].tolist()} - {0})

    def got(self, source: int) -> I64:
        """The loans a source took, as rows."""
        return np.flatnonzero(self.loans["source"] == source)


def matching_page(view: BookView, last: LastPlan) -> Page:
    """The page of the matching."""
    matched = Matched(view)
    if not matched.numbers:
        return Page.without("matching.html", "Matching", NO_SOURCES)
    values = {
        "headline": _headline(matched), "no_routing": NO_ROUTING,
        "figures": [_chart(matched)], "flow": _flow(matched), "sources": _sources(matched),
        "reasons": _why(matched), "limits": _limits(matched, last), "no_plan": last.why_not,
        "plan": _plan(view, last) if last.plan else {},
    }  # fmt: skip
    lead = (
        "Each request is offered where its margin, less the price of the limits it would use, "
        "times the chance of approval is highest."
    )
    return Page("matching.html", "Matching", "matching", values, lead=lead)


def _headline(matched: Matched) -> str:
    routing = matched.routing
    if not len(routing["loan_id"]):
        return ""
    requests = len(np.unique(routing["loan_id"]))
    outcomes = {each: int((routing["outcome"] == int(each)).sum()) for each in RoutingOutcome}
    taken, none = outcomes[RoutingOutcome.APPROVED], outcomes[RoutingOutcome.NO_SOURCE]
    again = len(np.unique(routing["loan_id"][routing["attempt"] > 1]))
    return (
        f"{grouped(requests)} requests were routed in {grouped(len(routing['loan_id']))} attempts: "
        f"{grouped(taken)} found a source, {grouped(none)} found none, "
        f"{grouped(outcomes[RoutingOutcome.DECLINED])} times a source declined, and "
        f"{grouped(again)} requests asked more than one."
    )


def _chart(matched: Matched) -> Figure | None:
    """Principal lent by month and model."""
    view, loans = matched.view, matched.loans
    months = (loans["disbursed_on"].astype("datetime64[D]").astype("datetime64[M]")
              .astype(np.int64))  # fmt: skip
    if not len(months):
        return None
    last = int(months.max())
    span = range(max(int(months.min()), last - 23), last + 1)
    scale = view.unit.minor
    series = {
        words(model.label): [
            int(loans["principal_minor"][(months == each) & (loans["model"] == int(model))].sum())
            / scale for each in span
        ]
        for model in FundingModel if (loans["model"] == int(model)).any()
    }  # fmt: skip
    return columns([format_month(each) for each in span], series,
                   format_y=lambda y: grouped(round(y)), caption="Lent by funding model",
                   note=view.unit_name)  # fmt: skip


def _flow(matched: Matched) -> Sankey | None:
    """Flow of what was lent from products over funding models to sources."""
    view, loans = matched.view, matched.loans
    stages: list[dict[tuple[str, str], float]] = [{}, {}]
    pairs = np.stack([loans["product"], loans["model"], loans["source"]])
    kinds, place = np.unique(pairs, axis=1, return_inverse=True)
    lent = np.bincount(place.ravel(), weights=loans["principal_minor"], minlength=kinds.shape[1])
    for (product, model, source), amount in zip(kinds.T.tolist(), lent.tolist(), strict=True):
        name = words(FundingModel(model).label)
        first, second = (words(Product(product).label), name), (name, f"source {source}")
        stages[0][first] = stages[0].get(first, 0.0) + amount
        stages[1][second] = stages[1].get(second, 0.0) + amount
    scale = view.unit.minor
    note = f"from product to source, {view.unit_name}"
    return sankey(stages, format_value=lambda value: grouped(round(value / scale)),
                  caption="Flow of loans", note=note)  # fmt: skip


def _sources(matched: Matched) -> Markup:
    view, rows = matched.view, []
    whole = int(matched.loans["principal_minor"].sum()) or 1
    for source in matched.numbers:
        terms, got = matched.sources.get(source), matched.got(source)
        lent = int(matched.loans["principal_minor"][got].sum())
        model = FundingModel(terms["model"]).label if terms else ""
        stated = (
            [number(ppm(terms["coupon_ppm"])), number(ppm(terms["fee_ppm"])),
             number(grouped(terms["trigger_days"]))] if terms else [number("")] * 3
        )  # fmt: skip
        rows.append(table_row([
            cell(f"source {source}"), cell(words(model)), *stated, number(grouped(len(got))),
            number(view.money(lent), minor=lent), number(percent(lent / whole, 1)),
        ], anchor=f"source-{source}"))  # fmt: skip
    heads = ["source", "model", "coupon", "fee", "trigger, days", "loans", "lent", "share"]
    return table(heads, rows, numbers=2)


def _why(matched: Matched) -> Markup:
    routing, rows = matched.routing, []
    if not len(routing["loan_id"]):
        return missing(NO_ROUTING)
    approved = int(RoutingOutcome.APPROVED)
    for source in matched.numbers:
        asked = routing["source"] == source
        took = asked & (routing["outcome"] == approved)
        first = int((asked & (routing["attempt"] == 1)).sum())
        next_best = int(((routing["runner_up"] == source) & ~asked).sum())
        worth = int(routing["score_minor"][took].sum())
        free = int((took & (routing["binding_limit"] == 0)).sum())
        count, answered = int(asked.sum()), int(took.sum())
        rows.append(table_row([
            cell(f"source {source}"), number(grouped(count)), number(grouped(first)),
            number(percent(answered / count, 1) if count else ""), number(grouped(answered)),
            number(grouped(next_best)), number(matched.view.money(worth), minor=worth),
            number(grouped(free)),
        ]))  # fmt: skip
    heads = ["source", "asked", "as first choice", "approved", "took", "was next best",
             "worth of what it took", "by margin alone"]  # fmt: skip
    return table(heads, rows, numbers=1)


def _limits(matched: Matched, last: LastPlan) -> Markup | None:
    binding = matched.routing["binding_limit"]
    numbers, counts = np.unique(binding[binding > 0], return_counts=True)
    decided = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    known = {row["limit"]: _scope(matched.view, row)
             for row in matched.view.book.read("limits").to_pylist()}  # fmt: skip
    prices: dict[int, int] = {}
    if last.plan is not None:
        known |= {each.number: each.text for each in last.plan.limits}
        prices = {each.number: last.plan.price_ppb(each.number) for each in last.plan.limits}
    if not known and not decided:
        return None
    listed = sorted({*known, *decided})[: max(_MAX_LIMITS, len(decided))]
    rows = [
        table_row([cell(f"limit {each}"), cell(known.get(each, "not stated in the book")),
            number(grouped(decided.get(each, 0))),
            number(percent(prices[each] / _PPB, 3) if each in prices else "")],
           anchor=f"limit-{each}")
        for each in sorted({*listed, *decided})
    ]  # fmt: skip
    return table(["limit", "what", "decided", "price"], rows, numbers=2)


def _scope(view: BookView, row: dict[str, Any]) -> str:
    most = view.money(row["amount_minor"]) if row["amount_minor"] >= 0 else ppm(row["share_ppm"])
    return f"source {row['source']}: {Scope(row['scope']).label} at most {most}"


def _plan(view: BookView, last: LastPlan) -> dict[str, Any]:
    """The plan of the last month beside what each source lent in it."""
    assert last.plan is not None
    stated = last.plan.as_dict()
    text = (
        f"{format_month(last.month)}, planned again from its requests and mandates: "
        f"{view.money(stated['placed_minor'])} of {view.money(stated['demand_minor'])} "
        f"{view.currency.label} placed in {grouped(stated['segments'])} segments, margin "
        f"{view.money(stated['margin_minor'])}."
    )
    lent = dict(_lent(view, last.month))
    rows = [
        table_row([cell(f"source {each['source']}"),
            number(view.money(each["planned_minor"]), minor=each["planned_minor"]),
            number(percent(each["total_budget_used_ppm"] / 1e6, 1)
                   if each["total_budget_used_ppm"] is not None else ""),
            number(view.money(lent.get(each["source"], 0)), minor=lent.get(each["source"], 0))])
        for each in stated["sources"]
    ]  # fmt: skip
    made = table(["source", "planned", "of its budget", "lent"], rows, numbers=1, kind="narrow")
    return {"text": text, "table": made, "conflicts": stated["conflicts"]}


def _lent(view: BookView, month: int) -> Iterator[tuple[int, int]]:
    """Principal that each source lent in a month."""
    rows = arrays(view.book.read("loans", ["source", "principal_minor", "terms_no"], month=month))
    first = rows["terms_no"] == 1
    for source in np.unique(rows["source"]).tolist():
        own = first & (rows["source"] == source)
        yield source, int(rows["principal_minor"][own].sum())
