"""Trusts of a run: deals from files, on the run's own loans, paid date by date by their waterfalls.

A scenario names deal files. On its closing day a deal takes loans of its source that owe principal,
at the run's scale; on each payment date it takes what they paid, as known that end_of_day, and its
waterfall says who gets it. The run keeps every deal under `deals/`, as `usance fund pay` writes it,
so that `usance fund report` reads it there. What no deal holds is funded as it was before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import numpy as np

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.book_step import Step
from usance.base.codes import FundingModel
from usance.base.dates import first_of_month, format_month, last_of_month, to_month
from usance.base.documents import parse_json, parse_yaml
from usance.base.stated_fact import StatedFact
from usance.fund.book_deal import end_of_day, pay_from_book
from usance.fund.book_loans import BookLoans
from usance.fund.deal_folder import deal_of_text, held_files, paid_files, read_held
from usance.fund.deal_terms import DealTerms
from usance.fund.facts import RAISED, deal_facts, schedule_facts
from usance.fund.held_deal import HeldDeal, close_deal, cut_off
from usance.fund.payment_date import Distribution
from usance.fund.payment_files import STATE, distribution_of_dict
from usance.fund.pool_columns import PoolColumns, eligible
from usance.fund.projection import project
from usance.fund.remaining_strata import remaining_strata
from usance.fund.selection import SelectionRules, select_pool
from usance.fund.sizing import scaled_deal
from usance.twin.errors import RunError
from usance.twin.run.trust_month import Holdings, TrustMonth
from usance.world.scenario.scenario import Scenario

HOME, DEAL = "deals", "deal.json"


@dataclass(frozen=True)
class TrustFile:
    """A deal of the scenario, at its own size."""

    name: str
    text: str
    closing_on: date


class Trusts:
    """The deals of a run."""

    def __init__(self, scenario: Scenario, scale: Fraction, platform: int) -> None:
        self.scale, self.platform = scale, platform
        self.files = sorted(_files(scenario), key=lambda each: (each.closing_on, each.name))

    def month(
        self, step: Step, month: int, book: Book, balance_minor: int, *, closes: bool
    ) -> TrustMonth:
        """Deals that close in a month and dates that fall into it; `book` has its facts.

        At the end of a month that is closed they say when they will repay what they owe.
        """
        if not self.files:
            return TrustMonth()
        before = {each.name: _stored(book, each) for each in self.files}
        after = dict(before)
        facts: list[StatedFact] = []
        to_group = bought_out = 0
        for each in self.files:
            held = after[each.name]
            if held is None and to_month(each.closing_on) == month:
                text, held = self._close(each, book, _taken(after, each.name))
                facts += deal_facts(held.deal, held.terms, [])
                _keep(step, held, {DEAL: text.encode(), **held_files(held)})
                after[each.name] = held
            while held is not None and held.next_on and to_month(held.next_on) == month:
                paid = pay_from_book(held, book, _taken(after, each.name))
                bought = paid.held.bought_out[len(held.bought_out) :]
                held = after[each.name] = paid.held
                _keep(step, held, paid_files(paid, _dates(book, held)))
                facts += _facts(held, paid.row, bought, self.platform)
                to_group += sum(paid.row.classes[name].principal_minor
                                for name in held.terms.retained)  # fmt: skip
                bought_out += sum(minor for _, minor in bought)
        facts += _schedules(after, book, last_of_month(month)) if closes else []
        holdings = _holdings(after)
        rest = max(balance_minor - holdings.pool_minor, 0)
        step.keep(_rest_name(month), json.dumps({"balance_minor": rest}).encode())
        return TrustMonth(
            facts, _holdings(before), holdings, to_group, bought_out, _rest(book, month - 1)
        )

    def _close(self, file: TrustFile, book: Book, taken: I64) -> tuple[str, HeldDeal]:
        """A deal on its closing day and its file, at the size of the loans there are."""
        deal, terms = deal_of_text(file.text, file.name)
        known_at = end_of_day(book, deal.closing_on)
        pool = BookLoans.of(book, source=terms.source).pool(cut_off(deal, 0), known_at)
        pool = pool.take(np.flatnonzero(~np.isin(pool["loan_id"], taken)))
        fits, _ = eligible(pool, terms.eligibility, deal.name)
        pool = pool.take(np.flatnonzero(fits))
        wanted = int(deal.pool.balance_minor * self.scale)
        pool = _selected(pool, terms, wanted, file.name)
        ticket = int(pool["principal_minor"].max())
        owed, share = pool.principal_total_minor, self.scale
        if owed < wanted - ticket:
            share *= Fraction(owed, wanted)
        given = parse_yaml(file.text, where=file.name)
        text = json.dumps(scaled_deal(given, share, owed), default=str)
        deal, terms = deal_of_text(text, file.name)
        return text, close_deal(deal, terms, pool, known_at)


def _selected(pool: PoolColumns, terms: DealTerms, wanted: int, name: str) -> PoolColumns:
    if not len(pool) or wanted <= 0:
        fix = "Let it close later, or widen its eligibility; a larger --scale has more loans"
        raise RunError(f"{name} finds no eligible loan on its closing day", where=name, fix=fix)
    rules = SelectionRules(wanted, terms.limits, borrower_minor=terms.borrower_minor)
    return pool.take(select_pool(pool, rules).rows)


def _files(scenario: Scenario) -> Iterator[TrustFile]:
    """The deals of a scenario, each checked against it."""
    own = [each for each in scenario.funding if each.model is FundingModel.ON_BALANCE_SHEET]
    names: set[str] = set()
    for file, text in scenario.group.deals.items():
        deal, terms = deal_of_text(text, file)
        entities = {each.entity for each in own}
        if terms.entity not in entities:
            listed = ", ".join(map(str, sorted(entities)))
            what = f"entity {terms.entity} has no loans on the balance sheet"
            raise RunError(what, where=file, fix=f"Let entity be {listed}")
        if not deal.name or "/" in deal.name or deal.name in names:
            raise RunError(f"its name is {deal.name!r}", where=file,
                           fix="Give each deal a name of its own, without /")  # fmt: skip
        if deal.closing_on < (first := first_of_month(scenario.first_month)):
            what = f"it closes on {deal.closing_on}, before any loan of the run"
            raise RunError(what, where=file, fix=f"Let it close on {first} or later")
        names.add(deal.name)
        yield TrustFile(deal.name, text, deal.closing_on)


def _rest_name(month: int) -> str:
    return f"{HOME}/rest-{format_month(month)}.json"


def _rest(book: Book, month: int) -> int | None:
    """The balance that no deal held at the end of a month, if it was kept."""
    name = _rest_name(month)
    if name not in book.manifest.versions:
        return None
    return int(json.loads(book.kept(name))["balance_minor"])


def _stored(book: Book, file: TrustFile) -> HeldDeal | None:
    """A deal as the run keeps it, or None before its closing."""
    home, period = f"{HOME}/{file.name}", len(_date_names(book, file.name))
    if f"{home}/{DEAL}" not in book.manifest.versions:
        return None
    deal, terms = deal_of_text(book.kept(f"{home}/{DEAL}").decode(), file.name)
    return read_held(deal, terms, lambda name: book.kept(f"{home}/{_versioned(name, period)}"))


def _versioned(name: str, period: int) -> str:
    """No file of a run is written again: the state has the number of its date."""
    return f"state-{period:03}.json" if name == STATE else name


def _keep(step: Step, held: HeldDeal, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if name != "facts.json":  # the book has them as group facts
            step.keep(f"{HOME}/{held.deal.name}/{_versioned(name, held.state.period)}", content)


def _date_names(book: Book, deal: str) -> list[str]:
    prefix = f"{HOME}/{deal}/date-"
    return sorted(name for name in book.manifest.versions if name.startswith(prefix))


def _dates(book: Book, held: HeldDeal) -> list[Distribution]:
    found = (parse_json(book.kept(name).decode()) for name in _date_names(book, held.deal.name))
    return [distribution_of_dict(each) for each in found]


def _taken(deals: dict[str, HeldDeal | None], but: str) -> I64:
    """Loans that other deals hold."""
    found = [each.pool.loan_id[each.pool.to_on < 0]
             for name, each in deals.items() if each is not None and name != but]  # fmt: skip
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))


def _holdings(deals: dict[str, HeldDeal | None]) -> Holdings:
    there = [each for each in deals.values() if each is not None and not each.is_over]
    return Holdings(
        sum(each.notes_minor for each in there),
        sum(each.state.names["pool_end"] for each in there),
        sum(each.held_minor for each in there),
    )


def _schedules(deals: dict[str, HeldDeal | None], book: Book, day: date) -> Iterator[StatedFact]:
    """Principal that the classes of every deal will be repaid, projected on the loans it has."""
    for held in deals.values():
        if held is None or held.is_over:
            continue
        pool = None
        if len(held.performing):
            pool = BookLoans.of(book, ids=held.performing).pool(held.until, held.known_at)
        strata = remaining_strata(held, pool)
        run = project(held.deal, state=held.state, strata=strata)
        yield from schedule_facts(held.deal, held.terms, day, run.distributions)


def _facts(
    held: HeldDeal, row: Distribution, bought_out: Sequence[tuple[date, int]], platform: int
) -> list[StatedFact]:
    ended = held.state if held.is_over else None
    made = deal_facts(held.deal, held.terms, [row], ended, bought_out, platform)
    return [each for each in made if each.kind != RAISED]
