"""Transition entries: a new value of an IFRS parameter restates what a period began with.

Expected losses under IFRS are those of US GAAP times a dated multiple. When it changes, the
balance at the beginning of the period is restated with the new value, against retained earnings
and with its tax; only what the period itself brought is its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction

from usance.base.codes import IfrsAdjustment
from usance.base.money import MILLION, half_up
from usance.base.parameters import Parameters
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.lines import GroupLines, Line
from usance.books.statements.closing_entries import amount_lines
from usance.books.statements.ledger import Ledger, own_balances

_MULTIPLES = {
    "ifrs_transition_contingent": ("losses.ifrs_payout_multiple", ("contingent",)),
    "ifrs_transition_loans": ("losses.ifrs_charge_off_multiple", ("loan_allowance",)),
}
"""By entry, the parameter and the accounts of the reserve under US GAAP."""


def transition_lines(
    ledger: Ledger, entities: Entities, rates: Rates, parameters: Parameters, before: date,
    day: date,
) -> GroupLines:  # fmt: skip
    """Entries of a close for parameters that changed since the one before; none if none did."""
    changes = {
        name: (_multiple(parameters, parameter, day) - _multiple(parameters, parameter, before))
        for name, (parameter, _) in _MULTIPLES.items()
    }
    if not any(changes.values()):
        return GroupLines.of(())
    tax_ppm = parameters.at("tax.ifrs_adjustment", day).integer
    held = own_balances(ledger, entities, rates, before)
    return GroupLines.of(_lines(held, changes, tax_ppm, entities, day))


def _lines(
    held: Mapping[tuple[int, int], Mapping[str, int]], changes: Mapping[str, Fraction],
    tax_ppm: int, entities: Entities, day: date,
) -> Iterator[Line]:  # fmt: skip
    for (entity, tag), balances in held.items():
        if tag != IfrsAdjustment.NONE:
            continue
        whole = 0
        for name, (_, accounts) in _MULTIPLES.items():
            reserve = -sum(balances.get(account, 0) for account in accounts)
            exact = reserve * changes[name]
            minor = half_up(exact.numerator, exact.denominator)
            whole += minor
            yield from amount_lines(name, entity, entities, minor, day, IfrsAdjustment.ECL)
        tax = half_up(whole * tax_ppm, MILLION)
        yield from amount_lines(
            "ifrs_transition_tax", entity, entities, tax, day, IfrsAdjustment.ECL
        )


def _multiple(parameters: Parameters, name: str, day: date) -> Fraction:
    return Fraction(Decimal(str(parameters.at(name, day).value)))
