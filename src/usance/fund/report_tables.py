"""The investor report of a payment date: tables in English, Chinese or both, and a workbook.

>>> from usance.fund.projection import project
>>> from usance.fund.sample import sample_deal
>>> run = project(sample_deal())
>>> report = investor_report(run.deal, DealTerms(), run.distributions[:2], language="zh")
>>> report.title, [table.title for table in report.tables][:3]
('投资者报告 PLAN1', ['归集', '证券分层', '已付费用'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from usance.base.documents import read_document
from usance.base.errors import unknown
from usance.base.formulas import Call, Formula, evaluate
from usance.base.money import Money
from usance.base.rates import PPM
from usance.fund.deal import Deal, Trigger
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PaymentDateError
from usance.fund.payment_date import Distribution, ratio_ppm
from usance.fund.pool_columns import PoolColumns
from usance.fund.state import DealState

LANGUAGES = ("en", "zh", "both")
ARREARS = ((0, 0), (1, 30), (31, 60), (61, 90), (91, 10_000))
"""Days past due from and to, as the strata show them."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the report: words in its first column, then numbers as printed."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class InvestorReport:
    """The whole report."""

    title: str
    language: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[ReportTable, ...]


class Texts:
    """Words of the report in a language, or in both beside each other."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise unknown("language", language, LANGUAGES)
        self.language = language

    def __getitem__(self, key: str) -> str:
        words = _words()[key]
        both = f"{words['en']} {words['zh']}"
        return both if self.language == "both" else words[self.language]


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    words: Mapping[str, Mapping[str, str]] = read_document(
        Path(__file__).with_name("report_texts.yaml")
    )
    return words


def investor_report(
    deal: Deal, terms: DealTerms, distributions: Sequence[Distribution],
    state: DealState | None = None, pool: PoolColumns | None = None, *, language: str = "both",
) -> InvestorReport:  # fmt: skip
    """The report of the last of these dates."""
    if not distributions:
        fix = "Pay a date first, with `usance fund pay`"
        raise PaymentDateError("no payment date to report", where=deal.name, fix=fix)
    texts, row = Texts(language), distributions[-1]
    facts = [
        (texts["deal"], deal.name),
        (texts["payment_date"], row.paid_on.isoformat()),
        (texts["period"], str(row.period)),
        (texts["status"], texts[row.status.value]),
        *((role, name) for role, name in terms.parties.items()),
    ]
    tables = [
        _collections(deal, distributions, terms, texts),
        _classes(deal, distributions, terms, texts),
        _amounts(texts["fees"], texts["fee"], row.fees, terms, texts),
        _amounts(texts["accounts"], texts["account"], row.accounts or {}, terms, texts),
    ]
    if state is not None and deal.triggers:
        tables.append(_triggers(deal, state, texts))
    if pool is not None:
        tables.append(_strata(pool, terms, texts))
    tables.append(_history(distributions, terms, texts))
    title = f"{texts['investor_report']} {deal.name}"
    return InvestorReport(title, language, tuple(facts), tuple(tables))


def _collections(
    deal: Deal, rows: Sequence[Distribution], terms: DealTerms, texts: Texts
) -> ReportTable:
    row = rows[-1]
    start = rows[-2].pool_end_minor if len(rows) > 1 else deal.pool.balance_minor
    amounts = {
        "pool_start": start,
        "interest": row.flows.interest_minor,
        "principal": row.flows.principal_minor,
        "recovered": row.flows.recovered_minor,
        "defaulted_in_period": row.flows.defaulted_minor,
        "defaulted_to_date": sum(each.flows.defaulted_minor for each in rows),
        "bought": row.bought_minor,
        "called": row.called_minor,
        "pool_end": row.pool_end_minor,
    }
    listed = tuple((texts[key], _money(minor, terms)) for key, minor in amounts.items())
    return ReportTable(texts["collections"], ("", texts["amount"]), listed)


def _classes(
    deal: Deal, rows: Sequence[Distribution], terms: DealTerms, texts: Texts
) -> ReportTable:
    keys = (
        "class",
        "opening",
        "interest",
        "residual",
        "principal",
        "closing",
        "unpaid",
        "oc",
        "ic",
    )
    listed = []
    for each in deal.classes:
        paid = rows[-1].classes[each.name]
        amounts = (
            paid.balance_minor + paid.principal_minor, paid.interest_minor, paid.residual_minor,
            paid.principal_minor, paid.balance_minor, paid.unpaid_minor,
        )  # fmt: skip
        listed.append((each.name, *(_money(minor, terms) for minor in amounts),
                       _percent(paid.oc_ppm), _percent(paid.ic_ppm)))  # fmt: skip
    return ReportTable(texts["classes"], tuple(texts[key] for key in keys), tuple(listed))


def _amounts(
    title: str, heading: str, amounts: Mapping[str, int], terms: DealTerms, texts: Texts
) -> ReportTable:
    listed = tuple((name, _money(minor, terms)) for name, minor in amounts.items())
    return ReportTable(title, (heading, texts["amount"]), listed)


def _triggers(deal: Deal, state: DealState, texts: Texts) -> ReportTable:
    headings = tuple(texts[key] for key in ("trigger", "value", "threshold", "fired"))
    listed = tuple(_distance(trigger, state, texts) for trigger in deal.triggers)
    return ReportTable(texts["triggers"], headings, listed)


def _distance(trigger: Trigger, state: DealState, texts: Texts) -> tuple[str, str, str, str]:
    """Both sides of a trigger's comparison as things stand; a joined condition has none."""
    found = trigger_value(trigger, state)
    sides = ("" if side is None else str(side) for side in (found.value, found.threshold))
    value, threshold = sides
    return trigger.name, value, threshold, texts["yes" if found.fires else "no"]


class TriggerValue(NamedTuple):
    """A trigger as things stand: both sides of its comparison, none of a joined condition."""

    value: int | None
    threshold: int | None
    fires: bool


def trigger_value(trigger: Trigger, state: DealState) -> TriggerValue:
    """Both sides of a trigger, and whether it fires.

    >>> from usance.fund.sample import sample_deal
    >>> from usance.fund.state import opening_state
    >>> deal = sample_deal()
    >>> trigger_value(deal.triggers[0], opening_state(deal))
    TriggerValue(value=0, threshold=50000000000, fires=False)
    """
    fires = bool(evaluate(trigger.when, state.names))
    sides = _sides(trigger.when)
    if sides is None:
        return TriggerValue(None, None, fires)
    value, threshold = (int(evaluate(side, state.names)) for side in sides)
    return TriggerValue(value, threshold, fires)


def _sides(formula: Formula) -> tuple[Formula, Formula] | None:
    if isinstance(formula, Call) and formula.op in ("<", "<=", ">", ">="):
        return formula.args[0], formula.args[1]
    return None


def _strata(pool: PoolColumns, terms: DealTerms, texts: Texts) -> ReportTable:
    headings = tuple(texts[key] for key in ("by", "member", "loans", "principal", "share"))
    whole = pool.principal_total_minor
    listed = tuple(
        (texts[by], member, f"{count:,}", _money(minor, terms), _percent(ratio_ppm(minor, whole)))
        for by, member, count, minor in strata_of(pool)
    )
    return ReportTable(texts["strata"], headings, listed)


def strata_of(pool: PoolColumns) -> Iterator[tuple[str, str, int, int]]:
    """Number and principal of loans by grade, region, product and days past due."""
    principal = pool["principal_minor"]
    for by in ("grade", "region", "product"):
        members, place, count = np.unique(pool[by], return_inverse=True, return_counts=True)
        sums = np.zeros(len(members), np.int64)
        np.add.at(sums, place, principal)
        yield from zip([by] * len(members), map(str, members.tolist()), count.tolist(),
                       sums.tolist(), strict=True)  # fmt: skip
    for first, last in ARREARS:
        inside = (pool["dpd"] >= first) & (pool["dpd"] <= last)
        label = (
            str(first)
            if first == last
            else f"{first}–{last}"
            if last < ARREARS[-1][1]
            else f"{first}+"
        )
        yield "arrears", label, int(inside.sum()), int(principal[inside].sum())


def _history(rows: Sequence[Distribution], terms: DealTerms, texts: Texts) -> ReportTable:
    names = list(rows[-1].classes)
    headings = (texts["payment_date"], texts["pool_end"],
                *(f"{name} {texts['closing']}" for name in names))  # fmt: skip
    listed = tuple(
        (row.paid_on.isoformat(), _money(row.pool_end_minor, terms),
         *(_money(row.classes[name].balance_minor, terms) for name in names))
        for row in rows
    )  # fmt: skip
    return ReportTable(texts["history"], headings, listed)


def _money(minor: int, terms: DealTerms) -> str:
    whole, _, cents = Money(minor, terms.currency).number.partition(".")
    return f"{int(whole):,}.{cents}"


def _percent(ppm: int | None) -> str:
    return "" if ppm is None else f"{ppm // (PPM // 100)}.{ppm % (PPM // 100):04} %"
