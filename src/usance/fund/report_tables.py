"""The investor report of a payment date: tables in English, Chinese or both, and a workbook.

>>> from usance.fund.projection import project
>>> from usance.fund.sample import sample_deal
>>> run = project(sample_deal())
>>> report = investor_report(run.deal, DealTerms(), run.distributions[:2], language="zh")
>>> report.title, [table.title for table in report.tables][:3]
('投资者报告 PLAN1', ['归集', '证券分层', '累计情况与覆盖率'])
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from usance.base.documents import read_document
from usance.base.errors import unknown
from usance.base.formula_text import formula_text
from usance.base.formulas import Call, Formula, evaluate
from usance.base.money import Money
from usance.base.rates import PPM
from usance.fund.deal import Deal, Trigger
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PaymentDateError
from usance.fund.payment_date import Distribution, ratio_ppm
from usance.fund.pool_strata import PoolStratum
from usance.fund.state import DealState, account_balances

LANGUAGES = ("en", "zh", "both")
_NUMBER = re.compile(r"[-–+,.%\d\s]*")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the report, as printed."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Columns of numbers, which stand to the right; the first is never one."""
        return tuple(
            at for at in range(1, len(self.headings))
            if all(_NUMBER.fullmatch(row[at]) for row in self.rows)
        )  # fmt: skip


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

    def role(self, name: str) -> str:
        """The role of a party, in its own words if the report has none for it."""
        return self[name] if name in _words() else name


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    words: Mapping[str, Mapping[str, str]] = read_document(
        Path(__file__).with_name("report_texts.yaml")
    )
    return words


def investor_report(
    deal: Deal, terms: DealTerms, distributions: Sequence[Distribution],
    state: DealState | None = None, strata: Sequence[PoolStratum] = (), *, language: str = "both",
) -> InvestorReport:  # fmt: skip
    """The report of the last of these dates."""
    if not distributions:
        fix = "Pay a date first, with `usance fund pay`"
        raise PaymentDateError("no payment date to report", where=deal.name, fix=fix)
    texts, row = Texts(language), distributions[-1]
    since = distributions[-2].paid_on if len(distributions) > 1 else deal.closing_on
    facts = [
        (texts["deal"], deal.name),
        (texts["payment_date"], row.paid_on.isoformat()),
        (texts["period"], f"{row.period} / {deal.periods}"),
        (texts["accrual"], f"{since} – {row.paid_on}, {deal.day_count.value}"),
        (texts["status"], texts[row.status.value]),
        *((texts.role(role), name) for role, name in terms.parties.items()),
    ]
    tables = [
        _collections(deal, distributions, terms, texts),
        _classes(deal, distributions, terms, texts),
        _tests(deal, distributions, terms, texts),
        _fees(row, state, terms, texts),
        _accounts(deal, distributions, terms, texts),
    ]
    if state is not None and deal.triggers:
        tables.append(_triggers(deal, state, texts))
    if strata:
        tables.append(_strata(strata, terms, texts))
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
        "cost": row.cost_minor,
        "called": row.called_minor,
        "pool_end": row.pool_end_minor,
    }
    listed = tuple((texts[key], _money(minor, terms)) for key, minor in amounts.items())
    return ReportTable(texts["collections"], ("", texts["amount"]), listed)


def _classes(
    deal: Deal, rows: Sequence[Distribution], terms: DealTerms, texts: Texts
) -> ReportTable:
    keys = ("class", "rate", "opening", "interest", "residual", "principal", "closing", "unpaid")
    listed = []
    for each in deal.classes:
        paid = rows[-1].classes[each.name]
        amounts = (
            paid.balance_minor + paid.principal_minor, paid.interest_minor, paid.residual_minor,
            paid.principal_minor, paid.balance_minor, paid.unpaid_minor,
        )  # fmt: skip
        rate = _percent(each.rate_ppm) if each.rate_ppm else ""
        listed.append((each.name, rate, *(_money(minor, terms) for minor in amounts)))
    return ReportTable(texts["classes"], tuple(texts[key] for key in keys), tuple(listed))


def _tests(
    deal: Deal, rows: Sequence[Distribution], terms: DealTerms, texts: Texts
) -> ReportTable:  # fmt: skip
    """Payments to each class since the closing, and its cover."""
    keys = ("class", "original", "factor", "principal_to_date", "interest_to_date", "oc", "ic")
    listed = []
    for each in deal.classes:
        parts, last = [row.classes[each.name] for row in rows], rows[-1].classes[each.name]
        listed.append((
            each.name, _money(each.balance_minor, terms),
            _percent(ratio_ppm(last.balance_minor, each.balance_minor)),
            _money(sum(part.principal_minor for part in parts), terms),
            _money(sum(part.interest_minor + part.residual_minor for part in parts), terms),
            _percent(last.oc_ppm), _percent(last.ic_ppm),
        ))  # fmt: skip
    return ReportTable(texts["tests"], tuple(texts[key] for key in keys), tuple(listed))


def _fees(
    row: Distribution, state: DealState | None, terms: DealTerms, texts: Texts
) -> ReportTable:  # fmt: skip
    listed = []
    for name, minor in row.fees.items():
        unpaid = "" if state is None else _money(state.names[f"fee.{name}.due"], terms)
        listed.append((name, _money(minor, terms), unpaid))
    headings = (texts["fee"], texts["amount"], texts["fee_unpaid"])
    return ReportTable(texts["fees"], headings, tuple(listed))


def _accounts(
    deal: Deal, rows: Sequence[Distribution], terms: DealTerms, texts: Texts
) -> ReportTable:
    """Every account before and after the date; all of them with what came in and went out."""
    before = (rows[-2].accounts if len(rows) > 1 else account_balances(deal)) or {}
    row, after = rows[-1], rows[-1].accounts or {}
    sums = (sum(before.values()), row.collected_minor, row.paid_minor, sum(after.values()))
    listed = [(name, _money(before[name], terms), "", "", _money(held, terms))
              for name, held in after.items()]  # fmt: skip
    whole = [(texts["total"], *(_money(minor, terms) for minor in sums))]
    keys = ("account", "opening", "collected", "paid", "closing")
    headings = tuple(texts[key] for key in keys)
    return ReportTable(texts["accounts"], headings, (*listed, *whole))


def _triggers(deal: Deal, state: DealState, texts: Texts) -> ReportTable:
    keys = ("trigger", "condition", "value", "threshold", "used", "fired")
    listed = tuple(_distance(trigger, state, texts) for trigger in deal.triggers)
    return ReportTable(texts["triggers"], tuple(texts[key] for key in keys), listed)


def _distance(trigger: Trigger, state: DealState, texts: Texts) -> tuple[str, ...]:
    """Both sides of a trigger's comparison as things stand; a joined condition has none."""
    found = trigger_value(trigger, state)
    value, threshold = ("" if side is None else f"{side:,}"
                        for side in (found.value, found.threshold))  # fmt: skip
    fires = texts["yes" if found.fires else "no"]
    used = _percent(found.used_ppm)
    return trigger.name, formula_text(trigger.when), value, threshold, used, fires


class TriggerValue(NamedTuple):
    """A trigger as things stand: both sides of its comparison, none of a joined condition."""

    value: int | None
    threshold: int | None
    fires: bool

    @property
    def used_ppm(self) -> int | None:
        """The value in parts per million of its threshold, if there is one above zero."""
        if self.value is None or not self.threshold or self.threshold < 0:
            return None
        return ratio_ppm(self.value, self.threshold)


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


def _strata(strata: Sequence[PoolStratum], terms: DealTerms, texts: Texts) -> ReportTable:
    headings = tuple(texts[key] for key in ("by", "member", "loans", "principal", "share"))
    listed = []
    for each in strata:
        whole = sum(other.principal_minor for other in strata if other.by == each.by)
        share = _percent(ratio_ppm(each.principal_minor, whole))
        listed.append((texts[each.by], each.member, f"{each.loans:,}",
                       _money(each.principal_minor, terms), share))  # fmt: skip
    return ReportTable(texts["strata"], headings, tuple(listed))


def _history(rows: Sequence[Distribution], terms: DealTerms, texts: Texts) -> ReportTable:
    names = list(rows[-1].classes)
    headings = (texts["payment_date"], texts["collected"], texts["defaulted_in_period"],
                texts["pool_end"], *(f"{name} {texts['closing']}" for name in names))  # fmt: skip
    listed = tuple(
        (row.paid_on.isoformat(), _money(row.collected_minor, terms),
         _money(row.flows.defaulted_minor, terms), _money(row.pool_end_minor, terms),
         *(_money(row.classes[name].balance_minor, terms) for name in names))
        for row in rows
    )  # fmt: skip
    return ReportTable(texts["history"], headings, listed)


def _money(minor: int, terms: DealTerms) -> str:
    whole, _, cents = Money(minor, terms.currency).number.partition(".")
    return f"{int(whole):,}.{cents}"


def _percent(ppm: int | None) -> str:
    return "" if ppm is None else f"{ppm // (PPM // 100)}.{ppm % (PPM // 100):04} %"
