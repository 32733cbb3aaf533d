"""The worked loans of the specification: terms, facts and estimates, and the books they make.

A table of expected movements is written as in the specification: an event a row, an account a
column, debit positive, in yuan. What a row posts is told by a step: money as it moves, what is
earned, what is written off, or everything that is still to be posted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np

from tests.books.cells import cells_of
from usance.base.codes import Basis, FactKind, FundingModel, IfrsAdjustment
from usance.base.dates import parse_date, to_day, to_month
from usance.base.parameters import Parameters
from usance.books.chart import load_chart
from usance.books.effective_interest.expected_lives import ExpectedLives
from usance.books.effective_interest.loans import effective_rates
from usance.books.group.entities import Entities, parse_entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.facts import GroupFact
from usance.books.group.posting import group_lines
from usance.books.group.rules import activities, load_group_rules
from usance.books.kernel import policy_layout as places
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.measurement import LoanColumns, amounts
from usance.books.policies import Policies
from usance.books.postings import Cells, Lines, post
from usance.books.rules import Activity, Rule, load_rules
from usance.books.statements.closing_entries import VAT, vat_paid
from usance.books.statements.ledger import Ledger
from usance.loan import CONVENTIONS, Fact, Terms, schedule
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import visible

DRAWN = date(2023, 12, 31)
COMMON = {
    "principal_minor": 9_000_00, "instalments": 6, "disbursed_on": DRAWN,
    "first_due_on": date(2024, 1, 31), "convention": CONVENTIONS["equal_principal_monthly"],
}  # fmt: skip
HEAVY = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=381_60, guarantee_fee_minor=254_40)  # type: ignore[arg-type]
OWN_BOOK = Terms(**COMMON, rate_ppm=180_000, upfront_fee_minor=63_60)  # type: ignore[arg-type]
LIGHT = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=190_80)  # type: ignore[arg-type]

PLATFORM, TRUST = 2, 4
GROUP: Entities = parse_entities("""
currency: CNY
entities:
  - {number: 1, name: Example Holding, role: parent}
  - {number: 2, name: Example Platform, role: platform, owner: 1, tax: 25%}
  - {number: 3, name: Example Microcredit, role: microcredit, owner: 2, tax: 25%}
  - {number: 4, name: Example Trust, role: trust, owner: 2}
""")
KNOWN = datetime(2030, 1, 1, tzinfo=UTC)
PARAMETERS = Parameters.load()


@dataclass(frozen=True)
class Worked:
    """A loan and its facts; facts of the group that stand beside it; estimates by close."""

    model: FundingModel
    terms: Terms
    facts: Sequence[Fact]
    fee_ppm: int = 0
    estimates: Mapping[date, Policies] = field(default_factory=dict)
    group: Sequence[GroupFact] = ()
    entity: int = PLATFORM
    fund_cash: str = "cash"

    def estimate(self, day: date) -> Policies:
        """The estimates of the last close before or on a day."""
        return self.estimates[max(each for each in self.estimates if each <= day)]


def paid_on_time(terms: Terms, count: int) -> list[Fact]:
    rows = schedule(terms)[:count]
    return [Fact(FactKind.PAID, row.due_on, row.total, ref=10 + row.number) for row in rows]


def drawn(terms: Terms) -> Fact:
    return Fact(FactKind.DISBURSED, DRAWN, terms.principal_minor, ref=1)


def columns(loans: Sequence[Worked], day: date) -> LoanColumns:
    """The loans as columns, with the facts of each up to a day."""
    size = len(loans)
    terms = TermColumns.of([loan.terms for loan in loans])
    upfront = np.array([loan.terms.upfront_fee_minor for loan in loans], np.int64)
    zeros = np.zeros(size, np.int32)
    return LoanColumns(
        np.arange(1, size + 1, dtype=np.int64),
        terms,
        FactColumns.of([visible(list(loan.facts), as_of=day) for loan in loans]),
        np.array([int(loan.model) for loan in loans], np.int8),
        upfront,
        np.array([loan.fee_ppm for loan in loans], np.int32),
        effective_rates(terms, upfront),
        zeros, zeros, zeros,
    )  # fmt: skip


def policies(
    day: date, *, lost_ppm: int = 0, survival: Sequence[int] | None = None, **rates_ppb: int
) -> Policies:
    """Policies of a day with one share lost to prepayment and loss rates by place.

    IFRS takes the loss rates of US GAAP in all its stages: their difference is nothing.
    """
    rates = np.zeros((1, places.RATE_COUNT), np.int64)
    for name, rate in rates_ppb.items():
        rates[0, getattr(places, name.upper())] = rate
    rates[0, places.IFRS_LOANS : places.IFRS_LOANS + 3] = rates[0, places.LOANS]
    rates[0, places.IFRS_CONTINGENT : places.IFRS_CONTINGENT + 3] = rates[0, places.CONTINGENT]
    return replace(
        Policies.at(day, PARAMETERS),
        lost_ppm=np.full((1, 1), lost_ppm, np.int64),
        first_month=to_month(day),
        rates_ppb=rates,
        lives=None if survival is None else ExpectedLives.always(np.array([survival], np.int64)),
    )


def rate_ppb(target: str, exposure: str) -> int:
    """The loss rate that makes a target of an exposure."""
    return round(Decimal(target.replace(",", "")) * 10**9 / Decimal(exposure.replace(",", "")))


def is_money(rule: Rule) -> bool:
    """True for a rule posted as money moves, rather than at a close."""
    names = {rule.debit.account, rule.credit.account}
    in_hand = names & MONEY or rule.activity is not Activity.NONE
    return bool(in_hand) or rule.amount in ("penalty_vat", "recovered_other_vat")


MONEY = {
    "cash", "restricted_cash", "providers_institution", "providers_principal",
    "providers_interest", "providers_fees", "providers_recovery", "payable_institutions",
}  # fmt: skip
STEPS: Mapping[str, Callable[[Rule], bool]] = {
    "all": lambda _: True,
    "money": is_money,
    "earned": lambda rule: (
        not is_money(rule) and not rule.amount.endswith(("_provision", "_written_off"))
    ),
    "written off": lambda rule: rule.amount.endswith("_written_off"),
    "settled": lambda rule: not rule.amount.endswith("_provision"),
    "vat": lambda _: False,
    "investors": lambda _: False,
    "group": lambda _: False,
}
INVESTORS = ("funding_repaid", "funding_interest_paid", "trust_buy_out")


class Books:
    """The books of one worked loan, posted step by step as its table tells."""

    def __init__(self, loan: Worked) -> None:
        """Nothing is posted yet."""
        self.loan = loan
        self.posted: dict[int, int] = {}
        self.ledger = Ledger.joined([])

    def post(self, day: date, step: str, *, lag_days: int = 0) -> Ledger:
        """Post what a step still has to post by a day."""
        lines = Ledger.joined([self._of_loan(day, step, lag_days), self._of_group(day, step)])
        self.ledger = Ledger.joined([self.ledger, lines])
        return lines

    def _of_loan(self, day: date, step: str, lag_days: int) -> Ledger:
        cutoff = np.array([to_day(day) - lag_days], np.int32)
        now = amounts(columns([self.loan], day), self.loan.estimate(day), day, cutoff)[0]
        parts = []
        for rule in load_rules():
            if not STEPS[step](rule) or (step != "all" and rule.basis is not Basis.US_GAAP):
                continue
            place = AMOUNTS.index(rule.amount)
            moved = int(now[place]) - self.posted.get(rule.number, 0)
            self.posted[rule.number] = int(now[place])
            if moved:
                movement = np.zeros((1, len(AMOUNTS)), np.int64)
                movement[0, place] = moved
                parts.append(_ledger(post(movement, self._cell, [rule], PLATFORM), day))
        return Ledger.joined(parts)

    def _of_group(self, day: date, step: str) -> Ledger:
        known = load_group_rules()
        vat = {rule.number for rule in known if rule.amount in VAT}
        if step == "vat":
            rates = Rates.of((), GROUP.currency)
            now, kept = vat_paid(self.ledger, GROUP, rates, day), vat
        elif self.loan.group and step in ("all", "group", "investors"):
            now = group_lines(self.loan.group, GROUP, day, KNOWN, parameters=PARAMETERS)
            kept = {
                rule.number for rule in known if step != "investors" or rule.amount in INVESTORS
            }
            kept -= vat
        else:
            return Ledger.joined([])
        before = self.ledger.take(np.isin(self.ledger.rule, list(kept)))
        lines = Ledger.of_group(now, day)
        lines = lines.take(np.isin(lines.rule, list(kept)))
        back = Ledger(
            before.entity, before.basis, before.tag, before.account, before.currency, before.rule,
            np.full(len(before), _quarter(day)), before.day, -before.amount,
        )  # fmt: skip
        joined = Ledger.joined([lines, back])
        joined.period[:] = _quarter(day)
        return joined

    @property
    def _cell(self) -> Cells:
        loan = self.loan
        return cells_of([1], [loan.model], [loan.entity], fund_cash=loan.fund_cash)

    def balances(self, tag: IfrsAdjustment = IfrsAdjustment.NONE) -> dict[str, int]:
        """Balances by account, without zeros."""
        return balances(self.ledger, tag)

    def flows(self) -> dict[Activity, int]:
        """Cash by activity."""
        named, cash = activities(), [each.number for each in load_chart() if each.is_cash]
        found = dict.fromkeys(Activity, 0)
        for (rule, account), minor in self.ledger.sums(lambda own: [own.rule, own.account]).items():
            if account in cash:
                found[named[rule]] += minor
        return found


def balances(lines: Ledger, tag: IfrsAdjustment = IfrsAdjustment.NONE) -> dict[str, int]:
    """Sums of the lines of a tag by account, without zeros."""
    summed = lines.sums(lambda own: [own.tag, own.account])
    return {
        load_chart().by_number[account].name: minor
        for (of, account), minor in summed.items()
        if of == tag
    }


def _quarter(day: date) -> int:
    month = to_month(day)
    return month + 2 - month % 3


def _ledger(lines: Lines, day: date) -> Ledger:
    size = len(lines)
    return Ledger(
        lines.entity, lines.basis, lines.tag, lines.account, np.zeros(size, np.int64), lines.rule,
        np.full(size, _quarter(day)), np.full(size, to_day(day)), lines.amount,
    )  # fmt: skip


@dataclass(frozen=True)
class TableRow:
    """One row of a table: its day, what it posts, and what each column moves by."""

    day: date
    step: str
    minor: tuple[int, ...]


def rows_of(table: str) -> Iterator[TableRow]:
    """The rows of a table; an empty place is nothing."""
    for line in table.strip().splitlines():
        day, step, *cells = (cell.strip() for cell in line.split("|"))
        yield TableRow(parse_date(day), step, tuple(minor_of(cell) for cell in cells))


def minor_of(text: str) -> int:
    """Yuan as a specification writes them, in fen."""
    return int(Decimal(text.replace(",", "").replace("−", "-") or "0") * 100)
