"""Sale of charged-off loans: tape and price, the loans leave servicing, later receipts go on.

The price is split over the loans by what each owes, by largest remainder; it is recovered on each,
and what is left is waived with us, since it is owed to the buyer from then on. A borrower who pays
us all the same pays a closed loan: the money waits as unallocated cash and is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.codes import Component, FactKind, FundingModel, Status
from usance.base.ids import print_id
from usance.base.money import split
from usance.platform.commands.command import CREATED, DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import book_facts, check_day, fact, own_ref
from usance.platform.commands.money.unallocated import load_cash, use_cash
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.loans.loan import outstanding
from usance.platform.reads.loans.pool_sales import load_sale, sale_answer
from usance.platform.reads.money.orders import unallocated_answer
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.records.order_record import new_order
from usance.platform.records.user_record import UserRecord, load_user, not_found, read_id
from usance.platform.refusals import AmountBeyond, WrongState
from usance.platform.settlement.guarantors import guarantor_of
from usance.platform.store.write_set import Owner, WriteSet
from usance.service.orders.payment_order import Purpose

if TYPE_CHECKING:
    import asyncpg

MAX_LOANS = 2_000
"""Loans of one sale; each is replayed, a larger pool is sold in parts."""
OURS = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)
"""Models whose charged-off loans are ours to sell."""
_IN_DEALS = "select loan_id from usance.deal_pools where loan_id = any($1) and to_on is null"


@dataclass(frozen=True)
class SellPool:
    """Charged-off loans are sold for one price, with everything still owed on them."""

    buyer: str
    loans: tuple[Any, ...]
    price_minor: int
    sold_on: date | None = None


@dataclass(frozen=True)
class PassOnCash:
    """Money received for a loan that was sold goes to its buyer."""

    unallocated: str
    sale: str
    amount_minor: int | None = None


async def sell(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: SellPool
) -> Decided:
    """Sell loans: their prices recovered, the rest waived, the tape kept."""
    numbers = _check_form(command)
    day = command.sold_on or moment.business_date
    await act_as_platform(transaction)
    loans = await load_loans(transaction, numbers)
    if missing := set(numbers) - {each.loan_id for each in loans}:
        raise not_found("ln", min(missing))
    held = {row["loan_id"] for row in await transaction.fetch(_IN_DEALS, numbers)}
    owed = [_owed(moment, loan, day, is_held=loan.loan_id in held) for loan in loans]
    whole = sum(map(sum, owed))
    if command.price_minor > whole:
        raise AmountBeyond(f"the loans owe {whole}", where="body.price_minor",
                           fix=f"Give at most {whole}")  # fmt: skip
    prices = split(command.price_minor, [sum(each) for each in owed])
    changes, users = WriteSet(), dict[int, UserRecord]()
    sale = await transaction.fetchval("select usance.next_ids('pool_sale', 1)")
    for loan, parts, price in zip(loans, owed, prices, strict=True):
        if loan.user_id not in users:
            users[loan.user_id] = await load_user(transaction, loan.user_id)
        _leave(moment, users[loan.user_id], loan, day, (parts, price), changes)
        changes.put("sold_loans", loan_id=loan.loan_id, sale_id=sale, user_id=loan.user_id,
                    principal_minor=parts[Component.PRINCIPAL], owed_minor=sum(parts),
                    price_minor=price)  # fmt: skip
    for user in users.values():
        changes.user_changes.append(user.change())
        changes.owners.append(Owner(0, user.user_id))
    row = {"sale_id": sale, "buyer": command.buyer.strip(), "sold_on": day, "loans": len(loans),
           "owed_minor": whole, "price_minor": command.price_minor,
           "principal_id": principal.principal_id, "at": moment.at}  # fmt: skip
    changes.put("pool_sales", **row)
    answer = sale_answer(moment.lender, row)
    return Decided(answer, answer["sale"], 0, changes, status=CREATED, as_platform=True)


def _check_form(command: SellPool) -> list[int]:
    if not command.buyer.strip():
        raise InvalidField("names nobody", where="body.buyer", fix="Name the buyer")
    if command.price_minor < 0:
        raise InvalidField("is below zero", where="body.price_minor", fix="Give 0 or more")
    numbers = [read_id(str(each), "ln", "body.loans") for each in command.loans]
    if not 1 <= len(numbers) <= MAX_LOANS or len(set(numbers)) < len(numbers):
        raise InvalidField(f"{len(numbers)} loans, each once", where="body.loans",
                           fix=f"Give 1 to {MAX_LOANS} loans, each once")  # fmt: skip
    return sorted(numbers)


def _owed(moment: Moment, loan: LoanRecord, day: date, *, is_held: bool) -> tuple[int, ...]:
    """Everything owed by component on a loan that may be sold on a day."""
    check_day(moment, loan, day)
    shown, view = print_id("ln", loan.loan_id), loan.at(day).view()
    last = max(each.effective_on for each in loan.facts)
    if view.status is not Status.CHARGED_OFF or last > day:
        raise WrongState("it is not charged off on that day, or something came later", where=shown,
                         fix="Sell charged-off loans on a day after their last fact")  # fmt: skip
    if loan.model not in OURS or guarantor_of(moment.lender, loan.first["source"]):
        raise WrongState("the claim is not ours", where=shown,
                         fix="Leave out loans whose loss somebody else has borne")  # fmt: skip
    if is_held:
        raise WrongState("a deal holds it", where=shown, fix="Let the deal give it back first")
    return outstanding(loan, view, day)


def _leave(
    moment: Moment, user: UserRecord, loan: LoanRecord, day: date,
    sold: tuple[Sequence[int], int], changes: WriteSet,
) -> None:  # fmt: skip
    """Recover the price of a loan and waive the rest, principal last."""
    owed, price = sold
    rest = sum(owed) - price
    for component in reversed(Component):
        waived = min(rest, owed[component])
        rest -= waived
        if waived:
            loan.added.append(fact(moment, FactKind.WAIVED, day, waived, own_ref(user, loan),
                                   int(component)))  # fmt: skip
    if price:
        loan.added.append(fact(moment, FactKind.RECOVERED, day, price, own_ref(user, loan)))
    if loan.at(day).view().status is not Status.CLOSED:
        raise WrongState("it would still be owed to us", where=print_id("ln", loan.loan_id),
                         fix="Leave it out of the sale")  # fmt: skip
    book_facts(moment, user, loan, changes, "pool.sell")


async def pass_on(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: PassOnCash
) -> Decided:
    """Make the order that sends money of a sold loan's borrower to the buyer."""
    await act_as_platform(transaction)
    cash = await load_cash(transaction, command.unallocated, command.amount_minor)
    sale = await load_sale(transaction, command.sale)
    own = await transaction.fetchval(
        "select count(*) from usance.sold_loans where sale_id = $1 and user_id = $2",
        sale["sale_id"], cash["user_id"],
    )  # fmt: skip
    if cash["user_id"] and not own:
        raise WrongState("its payer has no loan in this sale", where=command.unallocated,
                         fix="Assign it to a loan, or send it back")  # fmt: skip
    number = await transaction.fetchval("select usance.next_ids('order', 1)")
    changes = WriteSet()
    record = new_order(
        moment.lender, number, kind=Purpose.PARTY_PAYOUT,
        reference=f"{command.sale}-{command.unallocated}-{cash['uses'] + 1}",
        provider=cash["provider"] or moment.lender.payout.provider, amount_minor=cash["wanted"],
        at=moment.at, settles_on=moment.business_date,
    )  # fmt: skip
    record.save(changes, moment.lender, moment.at)
    wanted = cash["wanted"]
    after = use_cash(changes, moment, principal, cash, "passed_on", number, wanted, 0)
    answer = {"unallocated": unallocated_answer(moment.lender, after, moment.business_date),
              "order": print_id("or", number), "buyer": sale["buyer"]}  # fmt: skip
    return Decided(answer, command.unallocated, 0, changes, status=DONE, as_platform=True)
