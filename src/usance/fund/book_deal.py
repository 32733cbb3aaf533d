"""A deal on the loans of a book folder: closed on a selection, paid date by date from the book.

The deal's own folder keeps what it holds. Deals whose folders stand beside it are the other deals:
a loan is in one of them at most.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from usance.base.arrays import I64
from usance.base.atomic_files import naming_failures, replace
from usance.base.book import Book
from usance.base.dates import to_month
from usance.fund.book_loans import BookLoans
from usance.fund.deal import Deal
from usance.fund.deal_folder import held_loans, holds_loans, paid_files, read_held
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PaymentDateError, PoolError
from usance.fund.held_deal import (
    NO_LOANS,
    HeldDeal,
    PaidDate,
    close_deal,
    collect,
    cut_off,
    pay_collected,
)
from usance.fund.payment_date import Distribution
from usance.fund.payment_files import STATE, read_dates, state_file
from usance.fund.pool_columns import PoolColumns, read_pool
from usance.fund.pool_strata import strata_of
from usance.fund.replenishment import replenishment
from usance.fund.warranties import refused, restated


def end_of_day(book: Book, day: date) -> datetime:
    """The last moment of a business day of a book."""
    zone = ZoneInfo(book.manifest.time_zone)
    return datetime.combine(day, time(23, 59, 59, 999_999), zone).astimezone(UTC)


def close_in_book(
    deal: Deal, terms: DealTerms, book: Book, ids: I64, taken: I64
) -> HeldDeal:  # fmt: skip
    """The deal on its closing day with some loans of a book; `taken` are those of other deals."""
    if (twice := np.intersect1d(ids, taken)).size:
        what = f"loan {twice[0]} and {len(twice) - 1} others are in another deal"
        raise PoolError(what, where=deal.name, fix="Leave them out: a loan is in one deal")
    day, known_at = cut_off(deal, 0), end_of_day(book, deal.closing_on)
    pool = BookLoans.of(book, ids=ids).pool(day, known_at)
    if (gone := np.setdiff1d(ids, pool["loan_id"])).size:
        what = f"loan {gone[0]} owes nothing on {day}"
        raise PoolError(what, where=deal.name, fix="Leave it out of the selection")
    return close_deal(deal, terms, pool, known_at)


def pay_from_book(held: HeldDeal, book: Book, taken: I64) -> PaidDate:
    """The next date of a deal from what its loans did in a book, with loans bought if it revolves.

    `taken` are the loans of other deals, which are not on offer.
    """
    if held.next_on is None:
        raise PaymentDateError("the deal has ended", where=held.deal.name, fix="Pay no date more")
    known_at = end_of_day(book, held.next_on)
    every = BookLoans.of(book, source=held.terms.source)
    loans = every.loans.among(held.pool.loan_id)
    gone = [refused(held, every.only(some).pool(day, known_at))
            for some, day in restated(held, loans, known_at)]  # fmt: skip
    ineligible = np.sort(np.concatenate([NO_LOANS, *gone]))
    collected = collect(held, loans, known_at, ineligible=ineligible)
    bought = None
    if collected.wanted_minor:
        pool = every.pool(collected.until, known_at)
        free = ~np.isin(pool["loan_id"], np.union1d(taken, held.pool.loan_id))
        rows = np.flatnonzero(np.isin(pool["loan_id"], held.performing))
        has = pool.take(rows) if len(rows) else None
        bought = replenishment(
            held.deal, held.terms, held.state, collected.wanted_minor,
            pool.take(np.flatnonzero(free)), has,
        )  # fmt: skip
    paid = pay_collected(held, collected, known_at, bought)
    if not len(performing := paid.held.performing):
        return paid
    there = every.loans.among(performing).pool(collected.until, known_at)
    return dataclasses.replace(paid, strata=tuple(strata_of(there)))


def offered_loans(
    path: Path, deal: Deal, terms: DealTerms, deals: Path | None = None
) -> PoolColumns:
    """Loans of a file, or those of a book that owe principal on the eve of the closing.

    `deals` is a folder of deals that hold some of the book's loans.
    """
    if not path.is_dir():
        return read_pool(path)
    book = Book.open(path)
    loans = BookLoans.of(book, source=terms.source)
    pool = loans.pool(cut_off(deal, 0), end_of_day(book, deal.closing_on))
    taken = loans_in_deals(deals) if deals is not None else np.zeros(0, np.int64)
    held = np.where(np.isin(pool["loan_id"], taken), "another deal", "")
    return PoolColumns(pool.values, held)


def pay_in_folder(
    deal: Deal, terms: DealTerms, home: Path, folder: Path, loans: Path | None
) -> Distribution:
    """Pay the next date of the deal in a folder from a book; the first needs the loans selected."""
    book, taken = Book.open(home), loans_in_deals(folder.parent, folder.name)
    selected = read_pool(loans) if loans is not None else None
    read = partial(_read, folder)
    if (folder / STATE).exists():
        if not holds_loans(read):
            raise PaymentDateError("this deal was paid from files of collections",
                                   where=str(folder / STATE),
                                   fix="Go on so, or choose another folder")  # fmt: skip
        if selected is not None:
            raise PaymentDateError("the deal has its loans", where=str(folder / STATE),
                                   fix="Leave --loans out")  # fmt: skip
        held = read_held(deal, terms, read)
    elif selected is None:
        raise PaymentDateError("the deal has no loans yet", where=str(folder),
                               fix="Give --loans, as 'usance fund select' writes them")  # fmt: skip
    else:
        held = close_in_book(deal, terms, book, selected["loan_id"], taken)
    _check_known(held, book)
    paid = pay_from_book(held, book, taken)
    with naming_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files = paid_files(paid, read_dates(folder))
        for name, content in files.items():
            replace(folder / name, content)
    return paid.row


def _check_known(held: HeldDeal, book: Book) -> None:
    """Refuse a date whose period the book has not lived through."""
    until = cut_off(held.deal, held.state.period + 1)
    last = max((file.month or 0 for file in book.files("tape")), default=0)
    if held.next_on is not None and last < to_month(until):
        raise PaymentDateError(f"the book ends before {until}", where=str(book.path),
                               fix="Go on with the run, or wait for the period's end")  # fmt: skip


def loans_in_deals(home: Path, but: str = "") -> I64:
    """Loans that the deals of a folder hold, but those of one of them."""
    found = [np.zeros(0, np.int64)]
    for folder in sorted(home.glob("*/")):
        read = partial(_read, folder)
        if folder.name != but and state_file(folder) and holds_loans(read):
            found.append(held_loans(read))
    return np.unique(np.concatenate(found))


def _read(folder: Path, name: str) -> bytes:
    """A file of a deal; of its states the last."""
    file = state_file(folder) if name == STATE else folder / name
    return (file or folder / name).read_bytes()
