"""How loans met their sources: who was asked, who took them, what decided, and the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.codes import FundingModel, RoutingOutcome, Scope
from usance.base.columns import arrays
from usance.base.dates import format_month
from usance.match.plan.planner import Plan
from usance.pages.charts import columns
from usance.pages.markup import Html, joined, tag
from usance.pages.numbers import grouped, percent, ppm, words
from usance.pages.site.page import Page, missing
from usance.pages.site.book_view import BookView
from usance.pages.components import cell, number, table, tr

I64 = NDArray[np.int64]
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
        names = ["loan_id", "terms_no", "source", "model", "principal_minor", "disbursed_on"]
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
        return Page("matching.html", "Matching", missing(NO_SOURCES))
    body = joined([
        _headline(matched), _chart(matched),
        tag("h2", "Sources"), _sources(matched),
        tag("h2", "Why a source got loans"), _why(matched),
        tag("h2", "Limits and their prices", id="limits"), _limits(matched, last),
        tag("h2", "The plan"), _plan(view, last),
    ])  # fmt: skip
    lead = (
        "Each request is offered where its margin, less the price of the limits it would use, "
        "times the chance of approval is highest."
    )
    return Page("matching.html", "Matching", body, lead=lead)


def _headline(matched: Matched) -> Html:
    routing = matched.routing
    if not len(routing["loan_id"]):
        return missing(NO_ROUTING)
    requests = len(np.unique(routing["loan_id"]))
    outcomes = {each: int((routing["outcome"] == int(each)).sum()) for each in RoutingOutcome}
    taken, none = outcomes[RoutingOutcome.APPROVED], outcomes[RoutingOutcome.NO_SOURCE]
    again = len(np.unique(routing["loan_id"][routing["attempt"] > 1]))
    return tag("p", (
        f"{grouped(requests)} requests were routed in {grouped(len(routing['loan_id']))} attempts: "
        f"{grouped(taken)} found a source, {grouped(none)} found none, "
        f"{grouped(outcomes[RoutingOutcome.DECLINED])} times a source declined, and "
        f"{grouped(again)} requests asked more than one."
    ))  # fmt: skip


def _chart(matched: Matched) -> Html:
    """What was lent by month and model."""
    view, loans = matched.view, matched.loans
    months = (loans["disbursed_on"].astype("datetime64[D]").astype("datetime64[M]")
              .astype(np.int64))  # fmt: skip
    if not len(months):
        return Html("")
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
    drawn = columns([format_month(each) for each in span], series,
                    format_y=lambda y: grouped(round(y)), caption="Lent by funding model",
                    note=view.unit_name)  # fmt: skip
    return tag("div", drawn, class_="pair")


def _sources(matched: Matched) -> Html:
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
        rows.append(tr([
            cell(f"source {source}"), cell(words(model)), *stated, number(grouped(len(got))),
            number(view.money(lent), minor=lent), number(percent(lent / whole, 1)),
        ], name=f"source-{source}"))  # fmt: skip
    heads = ["source", "model", "coupon", "fee", "trigger, days", "loans", "lent", "share"]
    return table(heads, rows, numbers=2)


def _why(matched: Matched) -> Html:
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
        rows.append(tr([
            cell(f"source {source}"), number(grouped(count)), number(grouped(first)),
            number(percent(answered / count, 1) if count else ""), number(grouped(answered)),
            number(grouped(next_best)), number(matched.view.money(worth), minor=worth),
            number(grouped(free)),
        ]))  # fmt: skip
    heads = ["source", "asked", "as first choice", "approved", "took", "was next best",
             "worth of what it took", "by margin alone"]  # fmt: skip
    note = "A source that was often next best lost by little: a lower coupon or a wider mandate "
    note += "would bring it loans."
    return joined([table(heads, rows, numbers=1), tag("p", note, class_="note")])


def _limits(matched: Matched, last: LastPlan) -> Html:
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
        return missing("This book has no limits.")
    listed = sorted({*known, *decided})[: max(_MAX_LIMITS, len(decided))]
    rows = [
        tr([cell(f"limit {each}"), cell(known.get(each, "not stated in the book")),
            number(grouped(decided.get(each, 0))),
            number(percent(prices[each] / _PPB, 3) if each in prices else "")],
           name=f"limit-{each}")
        for each in sorted({*listed, *decided})
    ]  # fmt: skip
    note = (
        "The price of a limit is what one more unit of it would earn. A limit decided where its "
        "price was the highest of those a request met."
    )
    return joined([table(["limit", "what", "decided", "price"], rows, numbers=2),
                   tag("p", note, class_="note")])  # fmt: skip


def _scope(view: BookView, row: dict[str, Any]) -> str:
    most = view.money(row["amount_minor"]) if row["amount_minor"] >= 0 else ppm(row["share_ppm"])
    return f"source {row['source']}: {Scope(row['scope']).label} at most {most}"


def _plan(view: BookView, last: LastPlan) -> Html:
    if last.plan is None:
        return missing(last.why_not)
    told = last.plan.as_dict()
    text = (
        f"{format_month(last.month)}, planned again from its requests and mandates: "
        f"{view.money(told['placed_minor'])} of {view.money(told['demand_minor'])} "
        f"{view.currency.label} placed in {grouped(told['segments'])} segments, margin "
        f"{view.money(told['margin_minor'])}."
    )
    lent = dict(_lent(view, last.month))
    rows = [
        tr([cell(f"source {each['source']}"),
            number(view.money(each["planned_minor"]), minor=each["planned_minor"]),
            number(percent(each["total_budget_used_ppm"] / 1e6, 1)
                   if each["total_budget_used_ppm"] is not None else ""),
            number(view.money(lent.get(each["source"], 0)), minor=lent.get(each["source"], 0))])
        for each in told["sources"]
    ]  # fmt: skip
    made = table(["source", "planned", "of its budget", "lent"], rows, numbers=1, class_="narrow")
    note = (
        "A plan counts what a source may lend on the first day; principal that comes back during "
        "the month is lent again."
    )
    return joined([tag("p", text), made, tag("p", note, class_="note"), *(
        tag("p", f"Conflict: {each['what']}", class_="note") for each in told["conflicts"]
    )])  # fmt: skip


def _lent(view: BookView, month: int) -> Iterator[tuple[int, int]]:
    """What each source lent in a month."""
    rows = arrays(view.book.read("loans", ["source", "principal_minor", "terms_no"], month=month))
    first = rows["terms_no"] == 1
    for source in np.unique(rows["source"]).tolist():
        own = first & (rows["source"] == source)
        yield source, int(rows["principal_minor"][own].sum())
