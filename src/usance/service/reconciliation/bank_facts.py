"""Statements and settlements as rows of `group_facts`, from which the close compares cash per bank.

Kinds are words; the books number them by the same words. The balance of several accounts of one
entity is the sum of their facts.

>>> statement = Statement("CN01", "S-1", "CNY", (), 0, 1_500_00, date(2024, 6, 30))
>>> accounts = {"CN01": OwnBankAccount(entity=1), "CN02": OwnBankAccount(entity=4)}
>>> [fact] = bank_balances([statement], accounts)
>>> fact.kind, fact.entity, str(fact.effective_on), fact.amount_minor, fact.detail
('bank_balance', 1, '2024-06-30', 150000, {'account': 'cash'})
>>> bank_balances([Statement("CN03", "S-1", "CNY", ())], accounts)
Traceback (most recent call last):
usance.service.errors.LineError: statement S-1: CN03 is no account of the group. \
Choices: CN01, CN02.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple

from usance.base.stated_fact import StatedFact
from usance.service.bank_files.statement import Statement
from usance.service.errors import LineError

BANK_BALANCE, PROVIDER_SETTLEMENT = "bank_balance", "provider_settlement"


class OwnBankAccount(NamedTuple):
    """The entity that an account belongs to, and the account of the books it stands for."""

    entity: int
    ledger_account: str = "cash"


def bank_balances(
    statements: Iterable[Statement], accounts: Mapping[str, OwnBankAccount]
) -> list[StatedFact]:
    """The closing balance of every statement that states one."""
    facts = []
    for each in statements:
        own = accounts.get(each.account)
        if own is None:
            what = f"{each.account} is no account of the group"
            fix = f"Choices: {', '.join(accounts)}"
            raise LineError(what, where=f"statement {each.identity}", fix=fix)
        if each.closing_minor is not None and each.closing_on is not None:
            facts.append(StatedFact(
                BANK_BALANCE, own.entity, each.closing_on, each.currency, each.closing_minor,
                detail={"account": own.ledger_account},
            ))  # fmt: skip
    return facts


def provider_settlement(
    statement: Statement, entity: int, provider: int, day: date
) -> list[StatedFact]:
    """Settlement of a provider on a day by its own file, net of fees; none if it is nothing."""
    lines = [line for line in statement.lines if line.booked_on == day]
    net = sum(line.amount_minor - line.fee_minor for line in lines)
    if not net:
        return []
    return [StatedFact(PROVIDER_SETTLEMENT, entity, day, statement.currency, net,
                       party=provider)]  # fmt: skip
