"""Drill-down of a printed figure: line, accounts, journals, loans, facts, exactly.

A figure of a table is a sum of accounts before it was rounded. Each account is a sum of journals,
each journal of loans a sum over loans, each journal of the group has its fact. Every level adds up
to the one above, to the minor unit; the effect of rounding is shown apart. A figure made from other
printed figures (a translation, a margin, a figure per share) names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from usance.base.command_line import number
from usance.base.dates import to_month
from usance.base.ids import print_id
from usance.books.close.closes import known_at_of
from usance.books.periods import ClosePeriod
from usance.disclose.drill.composition import (
    AccountEntries,
    Composition,
    line_composition,
    narrative_composition,
)
from usance.disclose.drill.facts import facts_of_loans, group_fact_rows, source_of
from usance.disclose.drill.journals import Journal, Journals, LoanShares, tag_name
from usance.disclose.drill.metrics import MetricDrill, metric_of
from usance.disclose.errors import AddressError
from usance.disclose.fact_table_file import facts_of_text
from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.periods import parse_period
from usance.disclose.release.figure import Addresses, as_csv
from usance.disclose.release.release import Release
from usance.disclose.tie_out.rebuilder import derivations_of
from usance.disclose.ties import Tie

MAX_LOANS = 20
"""Loans shown of one journal; the others are shown as a sum."""


@dataclass(frozen=True)
class AccountDrill:
    """An account's part of a line."""

    part: AccountEntries
    journals: tuple[Journal, ...]

    @property
    def amount_minor(self) -> int:
        """Its part of the line, as far as it is in the group's currency."""
        own = sum(each.amount_minor for each in self.journals if not each.is_foreign)
        return self.part.sign * own


@dataclass(frozen=True)
class Drill:
    """Everything behind one figure."""

    release: Release
    address: str
    fact: Fact
    made_from: tuple[tuple[str, Fact], ...]
    rule: str
    composition: Composition | None
    accounts: tuple[AccountDrill, ...]
    metric: MetricDrill | None = None
    stated: str = ""
    """The source of a figure that is neither posted, measured nor made from others."""
    stated_ids: tuple[int, ...] = ()

    @property
    def currency(self) -> str:
        """The code of the group's currency."""
        return self.release.closed.books.entities.currency.label

    @property
    def exact_minor(self) -> int | None:
        """The amount before rounding, in the reporting currency; none for other figures."""
        return self.composition.exact_minor if self.composition else None

    @property
    def printed_minor(self) -> int | None:
        """The printed amount, where it is one of the reporting currency."""
        if self.composition is None or self.fact.currency != self.release.profile.reporting:
            return None
        exponent = self.release.closed.books.entities.currency.exponent
        return int(self.fact.value * 10**exponent)

    @property
    def translation_minor(self) -> int:
        """The effect of exchange rates on the entries; 0 where all are in one currency."""
        return (self.exact_minor or 0) - sum(each.amount_minor for each in self.accounts)

    @cached_property
    def loans(self) -> list[int]:
        """The loans behind it."""
        if self.metric is not None:
            return self.metric.loans()
        shares = (share.loan_id for account in self.accounts for journal in account.journals
                  for share in journal.loans)  # fmt: skip
        return sorted(set(shares))

    def facts_of(self, loans: Sequence[int]) -> dict[int, dict[str, Any]]:
        """The facts of some loans, as known at the release's close."""
        closed = self.release.closed
        last = closed.closes[-1]
        day = (
            self.composition.entries[0].day
            if self.composition and self.composition.entries
            else last.day
        )
        return facts_of_loans(closed.book, loans, day, known_at_of(closed.book, last))

    @cached_property
    def group_facts(self) -> dict[int, dict[str, Any]]:
        """The facts of the group behind it."""
        wanted = {journal.fact_id for account in self.accounts for journal in account.journals}
        if self.stated_ids:
            return dict(group_fact_rows(self.release.group_facts, self.stated_ids))
        return dict(group_fact_rows(self.release.closed.facts, wanted))

    def as_dict(self, most: int = MAX_LOANS) -> dict[str, Any]:
        """The answer for programs."""
        fact = self.fact
        shown = self._shown_loans(most)
        facts = self.facts_of(shown)
        return {
            "address": self.address, "statement": fact.statement, "line": fact.line,
            "parent": fact.parent, "period": fact.period.name, "currency": fact.currency,
            "unit": fact.unit, "printed": fact.text, "printed_minor": self.printed_minor,
            "exact_minor": self.exact_minor, "translation_minor": self.translation_minor,
            "rounding_minor": None if self.printed_minor is None
            else self.printed_minor - (self.exact_minor or 0),
            "made_from": {"rule": self.rule, "figures": [
                {"address": address, "printed": each.text} for address, each in self.made_from
            ]},
            "accounts": [_account(each, most) for each in self.accounts],
            "metric": self.metric.as_dict(most) if self.metric else None,
            "stated": self.stated,
            "loans": {str(loan_id): facts[loan_id] for loan_id in shown},
            "group_facts": {str(number): each for number, each in self.group_facts.items()},
        }  # fmt: skip

    def _shown_loans(self, most: int) -> list[int]:
        """Those that are listed: the largest of every journal, or the first of a metric."""
        if self.metric is not None:
            return self.metric.loans(most)
        return sorted({share.loan_id for account in self.accounts for journal in account.journals
                       for share in _largest(journal, most)})  # fmt: skip

    def lines(self) -> Iterator[str]:
        """The answer for people."""
        fact = self.fact
        yield f"{fact.line}, {fact.period.name}: {fact.text} {fact.unit} {fact.currency}"
        if self.made_from:
            yield f"made from printed figures: {self.rule}"
            for address, each in self.made_from:
                yield f"  {each.text:>20}  {address}"
        if self.metric is not None:
            yield from self.metric.lines(MAX_LOANS)
        if self.stated:
            yield f"stated: {self.stated}"
        for fact_id, known in self.group_facts.items() if self.stated_ids else ():
            amount = f"{number(known['amount_minor'], known['currency'])} {known['currency']}"
            what = f"{known['kind']} on {known['effective_on']}"
            yield f"  {amount:>20}  group fact {fact_id}: {what}, quantity {known['quantity']:,}"
        if self.composition is None:
            return
        exact = number(self.composition.exact_minor, self.currency)
        yield f"before rounding {exact} {self.currency}"
        for account in self.accounts:
            amount, part = number(account.amount_minor, self.currency), account.part
            yield f"  {amount:>20}  account {part.account} ({tag_name(part.tag)})"
            for journal in account.journals:
                yield from self._journal_lines(account, journal)
        if self.translation_minor:
            amount = number(self.translation_minor, self.currency)
            yield f"  {amount:>20}  entries in other currencies, and what rates did to them"

    @cached_property
    def _counted(self) -> dict[int, dict[str, Any]]:
        return self.facts_of(self._shown_loans(MAX_LOANS))

    def _journal_lines(self, account: AccountDrill, journal: Journal) -> Iterator[str]:
        amount = number(account.part.sign * journal.amount_minor, self.currency)
        what = f"journal {journal.journal_id}, rule {journal.rule} {journal.amount}"
        yield f"    {amount:>20}  {what}{', in another currency' if journal.is_foreign else ''}"
        known = self.group_facts.get(journal.fact_id)
        if known:
            stated = number(known["amount_minor"], known["currency"])
            yield (f"      {stated:>20}  group fact {journal.fact_id}: {known['kind']} on "
                   f"{known['effective_on']}")  # fmt: skip
        shown = _largest(journal, MAX_LOANS)
        for share in shown:
            part = number(account.part.sign * share.amount_minor, self.currency)
            known = self._counted[share.loan_id]
            count = f"{len(known['facts'])} facts"
            if "tape" in known:
                count = f"{len(known['tape'])} months of the tape {known['ref']}".rstrip()
            yield f"      {part:>20}  loan {print_id('ln', share.loan_id)}, {count}"
        rest = sum(each.amount_minor for each in journal.loans) - sum(s.amount_minor for s in shown)
        if len(journal.loans) > len(shown):
            part = number(account.part.sign * rest, self.currency)
            yield f"      {part:>20}  {len(journal.loans) - len(shown):,} other loans"


def drill(release: Release, address: str) -> Drill:
    """Follow one address of a release."""
    return DrillIndex(release).at(address)


class DrillIndex:
    """The figures of one release by address, ready to be followed one after another."""

    def __init__(self, release: Release) -> None:
        self.release = release
        profile = release.profile
        table = as_csv(release.document, release.figures, profile.reporting)
        self.facts = facts_of_text(table, profile, release.document, signs=False)
        self.addresses = Addresses(release.document, self.facts, profile.reporting)
        self.by_address = {self.addresses.of(fact): fact for fact in self.facts}
        closed = release.closed
        shares = LoanShares(closed.book, closed.closes, closed.books.entities)
        self.journals = Journals(closed, shares)

    @cached_property
    def derivations(self) -> dict[Fact, Tie]:
        """The tie that makes each derived figure."""
        return derivations_of(self.facts, self.release.profile)

    def at(self, address: str) -> Drill:
        """Everything behind one figure."""
        fact = self.by_address.get(address)
        if fact is None:
            near = get_close_matches(address, self.by_address, n=1)
            fix = f"Did you mean '{near[0]}'?" if near else "Take one from the release's CSV"
            raise AddressError("no figure has this address", where=address, fix=fix)
        tie = self.derivations.get(fact)
        terms = tuple(
            (self.addresses.of(each), each) for each in (list(tie.facts)[1:] if tie else ())
        )
        composition = self._composition(fact)
        accounts = tuple(
            drilled
            for part in (composition.entries if composition else ())
            if (drilled := AccountDrill(part, tuple(self.journals.of(part)))).journals
        )
        metric = metric_of(self.release, fact)
        stated = ("", ()) if tie or composition or metric else source_of(self.release, fact)
        return Drill(
            self.release, address, fact, terms, tie.rule if tie else "", composition, accounts,
            metric, *stated,
        )  # fmt: skip

    def _composition(self, fact: Fact) -> Composition | None:
        if not fact.is_money or fact.currency == NO_CURRENCY:
            return None
        exact = self.release.statements.rounded.exact
        before, day = fact.period.opens_on, fact.period.end
        if fact.statement in self.release.profile.statements["text"]:
            return narrative_composition(exact, fact.line, fact.parent, before, day)
        return line_composition(exact, fact.statement, (fact.line, fact.parent), before, day)


def release_period(address: str) -> ClosePeriod:
    """The period of the release that an address names first.

    >>> release_period("FY2024/operations/net-income/2024Q4").months[0]
    648
    """
    parts = address.split("/")
    if len(parts) not in (4, 5) or not all(parts):
        fix = "Write document/statement/line/period, as in the release's CSV"
        raise AddressError("is no address", where=address, fix=fix)
    known = parse_period(parts[0])
    if known is None or known.instant:
        fix = "It begins with the period of its release, such as 2024Q2/"
        raise AddressError(f"'{parts[0]}' is no period", where=address, fix=fix)
    return ClosePeriod(parts[0], tuple(range(to_month(known.start), to_month(known.end) + 1)))


def _largest(journal: Journal, most: int) -> list[Any]:
    return sorted(journal.loans, key=lambda share: (-abs(share.amount_minor), share.loan_id))[:most]


def _account(each: AccountDrill, most: int) -> dict[str, Any]:
    return {
        "account": each.part.account, "tag": tag_name(each.part.tag), "sign": each.part.sign,
        "amount_minor": each.amount_minor,
        "journals": [_journal(journal, most) for journal in each.journals],
    }  # fmt: skip


def _journal(journal: Journal, most: int) -> dict[str, Any]:
    shown = _largest(journal, most)
    rest = sum(share.amount_minor for share in journal.loans)
    return {
        "journal_id": journal.journal_id, "close_no": journal.close_no,
        "kind": journal.kind.label, "rule": journal.rule, "amount": journal.amount,
        "entity": journal.entity, "cell": journal.cell, "fact_id": journal.fact_id,
        "foreign": journal.is_foreign, "amount_minor": journal.amount_minor,
        "loans": [{"loan_id": share.loan_id, "amount_minor": share.amount_minor}
                  for share in shown],
        "other_loans": len(journal.loans) - len(shown),
        "other_loans_minor": rest - sum(share.amount_minor for share in shown),
    }  # fmt: skip
