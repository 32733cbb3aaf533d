"""Notes to the primary statements: equity, tax, income per share, unrecognised awards.

Each note is computed independently from facts and lines; `note_controls` ties it to the statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from usance.base.codes import Currency
from usance.base.dates import last_of_month, to_month
from usance.base.errors import UsanceError
from usance.base.parameters import Parameters
from usance.books.errors import ControlFailed
from usance.books.group.exchange_rates import converted_at
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.shares import holdings_of, register_of
from usance.books.group.tax import ReconciliationStep, rate_reconciliation
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.primary import ATTRIBUTABLE, Row, movement, operations
from usance.books.statements.roll_forwards import equity_roll_forwards, equity_rows
from usance.books.statements.tax_years import tax_years
from usance.capital.attribution import costs, straight_line_with_floor
from usance.capital.awards import Holding
from usance.capital.per_share import (
    PerShare,
    earnings_per_share,
    per_ads_printed,
    per_share_printed,
    potential_shares,
)
from usance.capital.prices import Number, to_minor, whole
from usance.capital.share_based_compensation import US_GAAP, unrecognised

TAX = "Income taxes expense"
TO_COME = "Share-based compensation still to be recognised"
_SHARE = "Net income per ordinary share attributable to ordinary shareholders of {}"
_ADS = "Net income per ADS attributable to ordinary shareholders of {}"
_WEIGHTED = "Weighted average shares used in calculating net income per ordinary share"


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A figure per share, or a number of shares, as printed."""

    statement: str
    line: str
    parent: str
    period: str
    unit: str
    value: Decimal


def note_rows(
    books: GroupBooks, facts: Iterable[GroupFact], before: date, day: date, period: str,
    *, parameters: Parameters | None = None,
) -> list[Row | ShareRow]:  # fmt: skip
    """The notes of a period whose opening stands at `before`; `facts` are those visible then.

    A note without facts is left out: figures per share need shares, and with awards the average
    price of the period.
    """
    given, known = list(facts), parameters or Parameters.load()
    return [
        *equity_rows(equity_roll_forwards(books, before, day), period),
        *_tax_rows(books, given, before, day, period, known),
        *_to_come_rows(books, given, day),
        *_share_rows(books, given, before, day, period, known),
    ]


def tax_steps(
    books: GroupBooks, facts: Sequence[GroupFact], day: date, standard_ppm: int,
    parameters: Parameters | None = None,
) -> list[ReconciliationStep]:  # fmt: skip
    """The reconciliation of the effective tax rate, for the year to date.

    `parameters` are those of the book's market, whose value-added tax is in its differences.
    """
    ledger, first = books.ledger.through(to_month(day)), date(day.year, 1, 1)
    years = tax_years(ledger, facts, books.entities, books.rates, day, parameters)
    moved = movement(books.at(first - timedelta(days=1)), books.at(day))
    expense = moved("income_tax") + moved("deferred_tax")
    closes = [period for period in ledger.periods() if period >= to_month(first)]
    first_day = books.span(closes[0])[0] if closes else first

    def worth(minor: int, currency: Currency) -> int:
        return converted_at(minor, books.rates.average(currency, first_day, day)) if minor else 0

    return rate_reconciliation(years, expense, standard_ppm, worth)


def unrecognised_by_year(held: Holding, day: date) -> dict[int, Fraction]:
    """By calendar year, the cost of an award still to be recognised if nobody else leaves."""
    grant = held.grant
    found: dict[int, Fraction] = {}
    stays = held.remaining(day)
    # What vests with the grant was due on its day, before the first that is counted.
    due_before = straight_line_with_floor(grant.parts, 0)
    for elapsed, cost in enumerate(costs(grant.parts, straight_line_with_floor), start=1):
        on = grant.granted_on + timedelta(days=elapsed)
        if on > day:
            found[on.year] = found.get(on.year, Fraction(0)) + stays * (cost - due_before)
        due_before = Fraction(0)
    return {year: cost for year, cost in found.items() if cost}


def per_share(
    facts: Iterable[GroupFact], income_minor: int, currency: Currency, first: date, last: date,
    average_price: Number,
) -> PerShare:  # fmt: skip
    """Basic and diluted income per share in major units; `average_price` is that of one share."""
    given = list(facts)
    shares = register_of(given).average(first, last)
    held = [holding for _, holding in holdings_of(given).values()]
    income = Fraction(income_minor, 10**currency.exponent)
    potentials = potential_shares(held, US_GAAP, first, last)
    return earnings_per_share(income, shares, potentials, average_price)


def per_share_rows(
    found: PerShare, income_minor: int, currency: Currency, company: str, period: str,
    ads_ratio: int,
) -> list[ShareRow]:  # fmt: skip
    """The lines below the statement of operations; figures are made from printed share counts."""
    income = Fraction(income_minor, 10**currency.exponent)
    counts = {
        "Basic": whole(found.weighted_shares), "Diluted": whole(found.diluted_shares)
    }  # fmt: skip
    each = {line: per_share_printed(income, count) for line, count in counts.items()}
    ads = {line: per_ads_printed(value, ads_ratio) for line, value in each.items()}
    weighted = {line: Decimal(count) for line, count in counts.items()}
    groups = (
        (_SHARE.format(company), "per_share", each),
        (_ADS.format(company), "per_ads", ads),
        (_WEIGHTED, "shares", weighted),
    )
    return [
        ShareRow("per_share", line, parent, period, unit, value)
        for parent, unit, values in groups
        for line, value in values.items()
    ]


def income_per_share(
    books: GroupBooks, facts: Sequence[GroupFact], before: date, day: date
) -> tuple[PerShare, int] | None:
    """Income per share of a period and its income; None if facts do not suffice."""
    first = before + timedelta(days=1)
    prices = [
        each.detail["price"]
        for each in sorted(facts, key=lambda fact: fact.fact_id)
        if each.kind is GroupFactKind.SHARE_PRICE
        and (each.detail["first"], each.detail["last"]) == (first, day)
    ]
    issued = any(each.kind is GroupFactKind.SHARES_ISSUED for each in facts)
    if not issued or not register_of(facts).average(first, day):
        return None
    if holdings_of(facts) and not prices:
        return None
    moved = movement(books.at(before), books.at(day))
    (income,) = [row.amount_minor for row in operations(moved, "") if row.line == ATTRIBUTABLE]
    price = prices[-1] if prices else 1  # nothing to buy back: any price will do
    found = per_share(facts, income, books.entities.currency, first, day, price)
    return found, income


def note_controls(
    books: GroupBooks, facts: Sequence[GroupFact], start: date, end: date
) -> dict[str, list[UsanceError]]:
    """Every note tied to its statement, with its failures."""
    rolls = equity_roll_forwards(books, start, end).values()
    return {
        "equity: opening + movements = closing": [
            problem for roll in rolls for problem in roll.problems()
        ],
        "tax explained = tax expense": list(_tax_problems(books, facts, end)),
        "awards: recognised + to come = promised": list(_award_problems(facts, end)),
        "income per share × shares = income": list(_share_problems(books, facts, start, end)),
    }


def _tax_problems(
    books: GroupBooks, facts: Sequence[GroupFact], day: date
) -> Iterator[UsanceError]:
    *steps, total = tax_steps(books, facts, day, books.entities.platform.tax_ppm)
    year = movement(books.at(date(day.year - 1, 12, 31)), books.at(day))
    (shown,) = [-row.amount_minor for row in operations(year, "") if row.line == TAX]
    if {sum(step.minor for step in steps), total.minor} != {shown}:
        what = f"steps come to {sum(step.minor for step in steps)}, the statement shows {shown}"
        yield ControlFailed(what, where=TAX, fix="See the lines of the tax accounts")


def _award_problems(facts: Sequence[GroupFact], day: date) -> Iterator[UsanceError]:
    for name, (_, held) in holdings_of(facts).items():
        left = unrecognised(held, US_GAAP, day)
        if left != sum(unrecognised_by_year(held, day).values()):
            what = f"{left} of its cost is open, and its days to come have another sum"
            yield ControlFailed(what, where=f"grant {name!r}", fix="See its tranches and leavers")


def _share_problems(
    books: GroupBooks, facts: Sequence[GroupFact], start: date, end: date
) -> Iterator[UsanceError]:
    found = income_per_share(books, facts, start, end)
    if found is None:
        return
    each, income_minor = found
    income = Fraction(income_minor, 10**books.entities.currency.exponent)
    if each.basic * each.weighted_shares != income or abs(each.diluted) > abs(each.basic):
        what = f"{each.basic} basic and {each.diluted} diluted do not fit an income of {income}"
        yield ControlFailed(what, where="income per share", fix="See shares, awards and the price")


def _tax_rows(
    books: GroupBooks, facts: Sequence[GroupFact], before: date, day: date, period: str,
    parameters: Parameters,
) -> list[Row]:  # fmt: skip
    """The steps of the period itself, signed as the statement is: a charge below zero."""
    standard_ppm = parameters.at("tax.profits_standard", day).integer
    steps = tax_steps(books, facts, day, standard_ppm, parameters)
    closes = [last_of_month(close) for close in books.ledger.periods()]
    if any(close <= before and close.year == day.year for close in closes):
        until = tax_steps(books, facts, before, standard_ppm, parameters)
        earlier = {step.name: step.minor for step in until}
        steps = [step._replace(minor=step.minor - earlier.get(step.name, 0)) for step in steps]
    return [
        Row("tax_reconciliation", step.name, "" if step.name == TAX else TAX, period, -step.minor,
            step.name == TAX)
        for step in steps
        if any(each.minor for each in steps)
    ]  # fmt: skip


def _to_come_rows(books: GroupBooks, facts: Sequence[GroupFact], day: date) -> list[Row]:
    own = books.entities.currency
    by_year: dict[int, int] = {}
    for granted, held in holdings_of(facts).values():
        for year, cost in unrecognised_by_year(held, day).items():
            minor = to_minor(cost, granted.currency.label)
            worth = books.rates.convert(minor, granted.currency, own, day)
            by_year[year] = by_year.get(year, 0) + worth
    rows = [
        Row("awards_to_come", str(year), TO_COME, day.isoformat(), minor)
        for year, minor in sorted(by_year.items())
    ]
    total = sum(by_year.values())
    last = Row("awards_to_come", TO_COME, "", day.isoformat(), total, is_total=True)
    return [*rows, last] if rows else []


def _share_rows(
    books: GroupBooks, facts: Sequence[GroupFact], before: date, day: date, period: str,
    parameters: Parameters,
) -> list[ShareRow]:  # fmt: skip
    found = income_per_share(books, facts, before, day)
    if found is None:
        return []
    each, income = found
    ratio = parameters.at("capital.ads_ratio", day).integer
    name, own = books.entities.parent.name, books.entities.currency
    return per_share_rows(each, income, own, name, period, ratio)
