"""Checks of the rows of a tape against each other; every row that fails is named.

Rows are sorted by loan and month. Each check returns places of rows, so that all of them can be
told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.dates import format_month, from_day
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.books.errors import TapeError
from usance.books.tape.columns import COLUMNS, CONSTANT, NOT_GIVEN, TERMS
from usance.books.tape.file import MAX_PROBLEMS, GivenTape
from usance.books.tape.numbers import CODES
from usance.loan.bounds import (
    MAX_KERNEL_FIRST_DAYS,
    MAX_KERNEL_INSTALMENTS,
    MAX_KERNEL_RATE_PPM,
)
from usance.loan.convention import CONVENTIONS

Shown = Callable[[int], str]
_MAX_FEE_DAYS = 9 * 10**12
"""A fee times its days times a million stays within 64 bits."""


class Check(NamedTuple):
    """Places of rows that break a rule, what to say of each, and what to do."""

    places: I64
    say: Callable[[int], str]
    fix: str


def tape_problems(tape: GivenTape, currency: str) -> list[UsanceError]:
    """Everything wrong with the rows of a tape, in their order; up to a thousand of a kind."""
    found: list[tuple[int, UsanceError]] = []
    more = 0

    def money(value: int) -> str:
        return Money(int(value), currency).number

    for check in (
        *_rows_of_loans(tape), *_lives(tape, money), *_amounts(tape, money), *_terms(tape, money)
    ):  # fmt: skip
        found += [(int(tape.row[place]), tape.wrong(place, check.say(place), check.fix))
                  for place in check.places[:MAX_PROBLEMS].tolist()]  # fmt: skip
        more += max(0, len(check.places) - MAX_PROBLEMS)
    problems = [problem for _, problem in sorted(found, key=lambda pair: pair[0])]
    if more:
        what = f"{more} more rows are wrong like these"
        problems.append(TapeError(what, where=tape.path, fix="Correct the first ones first"))
    return problems


def same_loan(tape: GivenTape) -> NDArray[np.bool_]:
    """True for a row of the same loan as the row before."""
    loan = tape.columns["loan_id"]
    return np.append(False, loan[1:] == loan[:-1])


def months_of(tape: GivenTape) -> I64:
    """The month of origination of each row's loan."""
    drawn = tape.get("disbursed_on", 0).astype("datetime64[D]")
    return tape.get("cohort", drawn.astype("datetime64[M]").astype(np.int64))


def last_days(month: I64) -> I64:
    """The last day of each month."""
    following = (month + 1).astype("datetime64[M]").astype("datetime64[D]")
    return np.asarray(following.astype(np.int64) - 1, np.int64)


def _rows_of_loans(tape: GivenTape) -> Iterator[Check]:
    """One row for every month: none twice, none left out."""
    month, follows = tape.columns["month"], same_loan(tape)
    step = np.diff(month, prepend=0)

    def name(place: int) -> str:
        return format_month(int(month[place]))

    yield Check(
        np.flatnonzero(follows & (step == 0)),
        lambda place: f"{name(place)} is there twice, also in {tape.place(place - 1)}",
        "Keep one row a month",
    )
    yield Check(
        np.flatnonzero(follows & (step > 1)),
        lambda place: f"no row between {name(place - 1)} and {name(place)}",
        "Give a row for every month end until nothing is owed",
    )
    yield Check(
        np.flatnonzero(tape.columns["loan_id"] == 0),
        lambda _: "loan_id is 0",
        "Number loans from 1",
    )


def _lives(tape: GivenTape, money: Shown) -> Iterator[Check]:
    """A loan appears when it is made, leaves when nothing is owed, and stays what it is."""
    columns, follows = tape.columns, same_loan(tape)
    month, unpaid, cohort = columns["month"], columns["principal"], months_of(tape)

    def made(place: int) -> str:
        return f"was made in {format_month(int(cohort[place]))}"

    yield Check(
        np.flatnonzero(cohort > month),
        lambda place: f"{made(place)}, after this month end",
        "Correct the month, or when it was made",
    )
    yield Check(
        np.flatnonzero(~follows & (cohort < month) & (month > month.min())),
        lambda place: f"{made(place)} and has no earlier row",
        "Give a row for every month end since it was made",
    )
    leaves = ~np.append(follows[1:], False) & (month < month.max()) & (unpaid > 0)
    yield Check(
        np.flatnonzero(leaves & (columns["status"] == Status.ACTIVE)),
        lambda place: f"{money(unpaid[place])} is unpaid, and it has no later row",
        "Give rows until nothing is owed, or a last one that is closed or charged off",
    )
    yield Check(
        np.flatnonzero((columns["status"] == Status.CLOSED) & (unpaid > 0)),
        lambda place: f"it is closed, and {money(unpaid[place])} is unpaid",
        "Correct its status or its unpaid principal",
    )
    for name in CONSTANT:
        if name in columns:
            yield _changes(columns[name], name, follows, money)


def _changes(column: I64, name: str, follows: NDArray[np.bool_], money: Shown) -> Check:
    before = np.append(column[:1], column[:-1])

    def say(place: int) -> str:
        was, now = (_shown(name, int(each[place]), money) for each in (before, column))
        return f"its {name} was {was} a month before and is {now}"

    fix = "A loan keeps it for life; one that changes hands is two loans"
    return Check(np.flatnonzero(follows & (column != before)), say, fix)


def _shown(name: str, value: int, money: Shown) -> str:
    if value == NOT_GIVEN:
        return "empty"
    if name == "cohort":
        return format_month(value)
    if name == "disbursed_on":
        return str(from_day(value))
    if COLUMNS[name].is_money:
        return money(value)
    return CODES[name](value).label if name in CODES else str(value)


def _amounts(tape: GivenTape, money: Shown) -> Iterator[Check]:
    """Totals that only grow, and parts that do not exceed their whole."""
    columns, follows = tape.columns, same_loan(tape)
    for name, column in columns.items():
        if COLUMNS[name].is_cumulative:
            yield _falls(name, column, follows, money)
    unpaid, whole = columns["principal"], columns["originated"]
    yield Check(
        np.flatnonzero(unpaid > whole),
        lambda place: f"{money(unpaid[place])} is unpaid of {money(whole[place])} originated",
        "Correct one of them",
    )
    waived = tape.get("waived_principal", 0)
    paid = tape.get("paid_principal", whole - waived - unpaid)
    if "paid_principal" not in columns:
        yield _falls("paid_principal", paid, follows & (unpaid <= whole), money)
    differs = (unpaid <= whole) & (whole - paid - waived != unpaid)
    yield Check(
        np.flatnonzero(differs | ((unpaid <= whole) & (paid < 0))),
        lambda place: (
            f"of {money(whole[place])} originated {money(paid[place])} is paid, "
            f"{money(waived[place])} forgiven and {money(unpaid[place])} unpaid"
        ),
        "Let the three sum to what was originated",
    )
    for part in ("guarantee", "service"):
        yield _beyond(tape, part, money)
    fees = sum(tape.get(name, 0) for name in ("guarantee_fee", "service_fee", "upfront_fee"))
    yield Check(
        np.flatnonzero((tape.get("term_days", 0) == 0) & (fees > 0)),
        lambda _: "has fees and no term_days",
        f"Give them: {COLUMNS['term_days'].doc}",
    )


def _terms(tape: GivenTape, money: Shown) -> Iterator[Check]:
    """Loans are for something, and terms are those of a plan."""
    whole, upfront = tape.columns["originated"], tape.get("upfront_fee", 0)
    yield Check(np.flatnonzero(whole == 0), lambda _: "nothing was originated", "Leave it out")
    yield Check(
        np.flatnonzero((upfront >= whole) & (whole > 0)),
        lambda place: f"a fee of {money(upfront[place])} is withheld of {money(whole[place])}",
        "Correct one of them",
    )
    fees = np.maximum(tape.get("guarantee_fee", 0), tape.get("service_fee", 0))
    days = tape.get("term_days", 0)
    yield Check(
        np.flatnonzero(fees > _MAX_FEE_DAYS // np.maximum(days, 1)),
        lambda place: f"fees of {money(fees[place])} over {days[place]} days are out of range",
        "Correct one of them",
    )
    has_terms = np.all([tape.get(name) != NOT_GIVEN for name in TERMS], axis=0)
    for name, most in (
        ("rate_ppm", MAX_KERNEL_RATE_PPM), ("instalments", MAX_KERNEL_INSTALMENTS),
        ("convention", len(CONVENTIONS)),
    ):  # fmt: skip
        yield _outside(name, tape.get(name), int(name != "rate_ppm"), most, has_terms)
    drawn = tape.get("disbursed_on", last_days(months_of(tape)))
    first = tape.get("first_due_on") - drawn
    yield _outside("first_due_on − disbursed_on", first, 1, MAX_KERNEL_FIRST_DAYS, has_terms)


def _outside(name: str, column: I64, least: int, most: int, has_terms: NDArray[np.bool_]) -> Check:
    return Check(
        np.flatnonzero(has_terms & ((column < least) | (column > most))),
        lambda place: f"{name} is {column[place]}",
        f"Give {least} to {most}, or leave the terms out",
    )


def _falls(name: str, column: I64, follows: NDArray[np.bool_], money: Shown) -> Check:
    before = np.append(column[:1], column[:-1])
    given = (column != NOT_GIVEN) & (before != NOT_GIVEN)
    return Check(
        np.flatnonzero(follows & given & (column < before)),
        lambda place: f"{name} falls from {money(before[place])} to {money(column[place])}",
        "It is a total since the loan was made, and never falls",
    )


def _beyond(tape: GivenTape, part: str, money: Shown) -> Check:
    fee = tape.get(f"{part}_fee", 0)
    used = tape.get(f"paid_{part}", 0) + tape.get(f"waived_{part}", 0)
    return Check(
        np.flatnonzero(used > fee),
        lambda place: (
            f"{money(used[place])} of {money(fee[place])} {part} fees is paid or forgiven"
        ),
        f"Give in {part}_fee the fees of the whole plan",
    )
